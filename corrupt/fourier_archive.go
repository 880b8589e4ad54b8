package corrupt

import (
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// archiveNoise is fourierNoise as the authors' archive computes it, on which the published curves rest:
//
//   - frequencies are counted from a centre that is off by one, (u+1, v+1);
//   - |f − fc| is the least distance from the ring of nine points of the bin (±½ in both
//     directions), and 0 where the ring passes between the nearest and the farthest of them from
//     the centre;
//   - one phase serves a column, all rows and channels;
//   - nothing is mirrored: the modulus of the complex inverse of X + δ is clipped to [0, 1], and
//     what it differs from x is scaled to the norm ε and added to x, which is truncated to bytes.
//
// It draws the phases of the columns v = −⌊W/2⌋ … first, then for each channel U at each frequency,
// row by row, ascending.
func archiveNoise(j job) func() operator {
	ring := newArchiveRing(j.shape, j.Centre, j.Decay)
	return func() operator {
		s := ring.sampler()
		return func(dst, src []uint8, r *stream) {
			difference, norm := s.draw(src, r)
			gain := 0.0
			if norm > 0 {
				gain = j.Norm / norm
			}
			for i, b := range src {
				dst[i] = truncated(unit[b] + float64(gain*difference[i]))
			}
		}
	}
}

// archiveRing is the law of the noise around one ring.
type archiveRing struct {
	shape   pixel.Shape
	plan    *fourier.Plan[float64]
	weights []float64 // 1/(distance + 1)^α, row by row of ascending frequencies
	size    float64   // as in ring
}

func newArchiveRing(shape pixel.Shape, centre int, decay float64) *archiveRing {
	g := &archiveRing{shape: shape, plan: raster.MustPlan(shape),
		size: float64(shape.Height*shape.Width) / (published * published)}
	for u := range shape.Height {
		for v := range shape.Width {
			d := cellDistance(shape, u-shape.Height/2, v-shape.Width/2, float64(centre))
			g.weights = append(g.weights, 1/portable.Pow(d+1, decay))
		}
	}
	return g
}

// cellDistance is the distance of the bin (u, v) from the ring in the archive.
func cellDistance(shape pixel.Shape, u, v int, centre float64) float64 {
	s := float64(min(shape.Height, shape.Width))
	nearest, least, greatest := math.Inf(1), math.Inf(1), 0.0
	for _, a := range []float64{-0.5, 0, 0.5} {
		for _, b := range []float64{-0.5, 0, 0.5} {
			x, y := (float64(u)+1+a)*(s/float64(shape.Height)), (float64(v)+1+b)*(s/float64(shape.Width))
			f := math.Sqrt(float64(x*x) + float64(y*y))
			nearest, least, greatest = min(nearest, math.Abs(f-centre)), min(least, f), max(greatest, f)
		}
	}
	if least <= centre && centre <= greatest {
		return 0
	}
	return nearest
}

// archiveSampler draws the noise in one goroutine.
type archiveSampler struct {
	*archiveRing
	workspace          *fourier.Workspace[float64]
	half, other, whole fourier.Spectrum[float64]
	plane, imaginary   []float64
	sin, cos           []float64 // of the phases of the columns
	difference         []float64 // HWC
}

func (g *archiveRing) sampler() *archiveSampler {
	h, n, w := g.plan.Half(), g.shape.Height*g.shape.Width, g.shape.Width
	return &archiveSampler{g, g.plan.NewWorkspace(), fourier.NewSpectrum[float64](h), fourier.NewSpectrum[float64](h),
		fourier.Spectrum[float64]{Re: make([]float64, n), Im: make([]float64, n)}, make([]float64, n),
		make([]float64, n), make([]float64, w), make([]float64, w), make([]float64, n*g.shape.Channels)}
}

// draw gives clip(|F⁻¹(X + δ)|) − x and its ℓ2 norm.
func (s *archiveSampler) draw(src []uint8, r *stream) (difference []float64, norm float64) {
	half, height, width, channels := s.plan.Half(), s.shape.Height, s.shape.Width, s.shape.Channels
	for v := range width {
		s.sin[v], s.cos[v] = portable.Sincos(2 * math.Pi * r.uniform())
	}
	sum := 0.0
	for c := range channels {
		for i := range s.plane {
			s.plane[i] = unit[src[i*channels+c]]
		}
		s.plan.Forward(s.workspace, s.half, s.plane)
		fourier.Expand(half, s.whole, s.half)
		for u := range height {
			for v := range width {
				// Index 0 stands for the lowest frequency.
				k := (u+height-height/2)%height*width + (v+width-width/2)%width
				re, im := s.whole.Re[k], s.whole.Im[k]
				clean := math.Sqrt(float64(re*re) + float64(im*im))
				a := min(max(clean, shared.FourierLower*s.size), shared.FourierUpper*s.size) * s.weights[u*width+
					v] * r.between(1-shared.FourierSpread, 1+shared.FourierSpread)
				s.whole.Re[k], s.whole.Im[k] = re+float64(a*s.cos[v]), im+float64(a*s.sin[v])
			}
		}
		fourier.Project(half, s.half, s.other, s.whole)
		s.plan.Inverse(s.workspace, s.plane, s.half)
		s.plan.Inverse(s.workspace, s.imaginary, s.other)
		for i, re := range s.plane {
			im := s.imaginary[i]
			d := min(math.Sqrt(float64(re*re)+float64(im*im)), 1) - unit[src[i*channels+c]]
			s.difference[i*channels+c] = d
			sum += float64(d * d)
		}
	}
	return s.difference, math.Sqrt(sum)
}
