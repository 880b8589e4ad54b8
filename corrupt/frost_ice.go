package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// texture describes 32×32 crops of one of the published photographs.
type texture struct {
	mean, spread, inner [3]float64 // mean colour of crops, standard deviation of that, and inside a crop
	amplitude           [4]float64 // of the spectrum at 2, 4, 8 and 16 periods, relative to 1 period
}

// textures are equally likely; one photograph is published twice. The numbers are statistics of 2,000 crops of each.
var textures = [...]*texture{&iceA, &iceB, &iceB, &iceC, &iceD}

var (
	iceA = texture{[3]float64{77, 148, 165}, [3]float64{17, 9, 8}, [3]float64{21, 13, 13}, [4]float64{.46, .20, .13,
		.12}}
	iceB = texture{[3]float64{199, 203, 212}, [3]float64{8, 9, 10}, [3]float64{18, 18, 19}, [4]float64{.56, .32, .23,
		.18}}
	iceC = texture{[3]float64{143, 158, 171}, [3]float64{10, 10, 11}, [3]float64{26, 26, 27}, [4]float64{.56, .36, .31,
		.27}}
	iceD = texture{[3]float64{103, 114, 126}, [3]float64{17, 16, 15}, [3]float64{35, 35, 34}, [4]float64{.70, .44, .27,
		.22}}
)

// at interpolates the amplitude at a frequency linearly in the logarithms; beyond 16 periods it stays.
func (t *texture) at(frequency float64) float64 {
	if frequency <= 0 {
		return 0
	}
	place := min(max(portable.Log(frequency)/math.Ln2, 0), 4)
	points := [...]float64{1, t.amplitude[0], t.amplitude[1], t.amplitude[2], t.amplitude[3]}
	i := min(int(place), 3)
	low, high := portable.Log(points[i]), portable.Log(points[i+1])
	return portable.Exp(low + float64((place-float64(i))*(high-low)))
}

// ice draws the substitute for photographs: a field h with the spectrum of one of four textures, made sharper by
// sign(h)·|h|^1.5, of mean 0 and variance 1, and per channel the texture's mean colour, shifted by one normal number
// for all, plus the inner standard deviation times h, within 0 … 255.
type ice struct {
	fields map[*texture]*raster.Field
	height []float64
}

func newIce(shape pixel.Shape) *ice {
	s := &ice{map[*texture]*raster.Field{}, make([]float64, shape.Height*shape.Width)}
	for _, t := range textures {
		if s.fields[t] == nil {
			s.fields[t] = raster.NewField(shape, t.at)
		}
	}
	return s
}

func (s *ice) draw(layer []float64, r *stream) {
	t := textures[r.below(len(textures))]
	s.fields[t].Draw(s.height, r.uniform)
	for i, h := range s.height {
		s.height[i] = math.Copysign(float64(math.Sqrt(math.Abs(h))*math.Abs(h)), h)
	}
	mean, deviation := raster.Moments(s.height)
	shift := r.normal()
	for i, h := range s.height {
		h = (h - mean) / deviation
		for c := range 3 {
			layer[3*i+c] = min(max(t.mean[c]+float64(t.spread[c]*shift)+float64(t.inner[c]*h), 0), 255)
		}
	}
}
