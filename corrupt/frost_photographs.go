package corrupt

import (
	"fmt"
	"math"
	"os"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/picture"
	"github.com/certspec/certspec/pixel"
)

// photographs are pictures of frost, made smaller.
type photographs struct {
	shape    pixel.Shape // of a crop
	pictures []picture.Image
}

// readPhotographs reads them, shrunk by a factor with bilinear interpolation between the nearest
// pixels: 0.2 takes every fifth.
func readPhotographs(folder string, factor float64, crop pixel.Shape) (*photographs, error) {
	files, err := shared.PhotographFiles(folder)
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, &SettingError{"frost", "no .png, .jpg or .jpeg file in " + folder, "photographs of frost"}
	}
	p := &photographs{shape: crop}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("corrupt: frost: %w", err)
		}
		im, _, err := picture.Decode(data, picture.Options{})
		if err != nil {
			return nil, fmt.Errorf("corrupt: frost: %s: %w", file, err)
		}
		im = shrink(im, factor)
		if im.Shape.Height <= crop.Height || im.Shape.Width <= crop.Width {
			return nil, &SettingError{"frost", fmt.Sprintf("%s has %d×%d pixels after shrinking by %g", file,
				im.Shape.Height, im.Shape.Width, factor),
				fmt.Sprintf("more than the images' %d×%d", crop.Height, crop.Width)}
		}
		p.pictures = append(p.pictures, im)
	}
	return p, nil
}

func shrink(im picture.Image, factor float64) picture.Image {
	to := im.Shape
	to.Height = int(math.RoundToEven(float64(im.Shape.Height) * factor))
	to.Width = int(math.RoundToEven(float64(im.Shape.Width) * factor))
	from := make([]float64, len(im.Pixels))
	for i, b := range im.Pixels {
		from[i] = float64(b)
	}
	out := picture.Image{Pixels: make([]uint8, to.Len()), Shape: to}
	point := make([]float64, to.Channels)
	for y := range to.Height {
		for x := range to.Width {
			bilinear(point, from, im.Shape, (float64(y)+0.5)/factor-0.5, (float64(x)+0.5)/factor-0.5, raster.Replicate)
			for c, v := range point {
				out.Pixels[(y*to.Width+x)*to.Channels+c] = truncatedSteps(v + 0.5)
			}
		}
	}
	return out
}

// cut fills the layer, of three channels, with a random crop of a random photograph.
func (p *photographs) cut(layer []float64, r *stream) {
	im := p.pictures[r.below(len(p.pictures))]
	top, left := r.below(im.Shape.Height-p.shape.Height), r.below(im.Shape.Width-p.shape.Width)
	channels := im.Shape.Channels
	for y := range p.shape.Height {
		for x := range p.shape.Width {
			from := im.Pixels[((top+y)*im.Shape.Width+left+x)*channels:]
			for c := range 3 {
				layer[(y*p.shape.Width+x)*3+c] = float64(from[c%channels])
			}
		}
	}
}
