package train

import (
	"math"
	"math/rand/v2"

	"github.com/certspec/certspec/pixel"
)

// part is a rectangle of an image, which may be mirrored.
type part struct {
	top, left, height, width int
	flip                     bool
}

// drawPart draws one as torchvision's RandomResizedCrop does: ten times an area of 8 to 100 % and a
// ratio of width to height between 3/4 and 4/3, uniform in its logarithm; where none fits, the
// largest part in the middle of such a ratio.
func drawPart(random *rand.Rand, of pixel.Shape, flips bool) part {
	const least, lowest, highest, tries = 0.08, 3. / 4, 4. / 3, 10
	h, w := float64(of.Height), float64(of.Width)
	p := part{}
	for range tries {
		area := h * w * (least + (1-least)*random.Float64())
		ratio := lowest * math.Pow(highest/lowest, random.Float64())
		p.width, p.height = int(math.Round(math.Sqrt(area*ratio))), int(math.Round(math.Sqrt(area/ratio)))
		if p.width > 0 && p.height > 0 && p.width <= of.Width && p.height <= of.Height {
			p.top, p.left = random.IntN(of.Height-p.height+1), random.IntN(of.Width-p.width+1)
			p.flip = flips && random.IntN(2) == 1
			return p
		}
	}
	p.height, p.width = of.Height, of.Width
	if w/h < lowest {
		p.height = int(math.Round(w / lowest))
	} else if w/h > highest {
		p.width = int(math.Round(h * highest))
	}
	p.top, p.left = (of.Height-p.height)/2, (of.Width-p.width)/2
	p.flip = flips && random.IntN(2) == 1
	return p
}

// scale writes the part in the size of to: bilinear, widened where the part shrinks, so that every pixel counts.
func (p part) scale(values []float32, from, to pixel.Shape, out []float32) {
	c := from.Channels
	rows, columns := triangle(p.height, to.Height), triangle(p.width, to.Width)
	lines := make([]float32, p.height*to.Width*c) // widths first
	for y := range p.height {
		line := values[((p.top+y)*from.Width+p.left)*c:]
		for x, t := range columns {
			if p.flip {
				x = to.Width - 1 - x
			}
			for k, weight := range t.weights {
				for channel := range c {
					lines[(y*to.Width+x)*c+channel] += weight * line[(t.first+k)*c+channel]
				}
			}
		}
	}
	size := to.Width * c
	for y, t := range rows {
		for k, weight := range t.weights {
			line := lines[(t.first+k)*size:][:size]
			for x, v := range line {
				out[y*size+x] += weight * v
			}
		}
	}
}

// weighted are neighbouring pixels with weights of sum 1.
type weighted struct {
	first   int
	weights []float32
}

// triangle are those that make each pixel of a line of another length.
func triangle(from, to int) []weighted {
	step := float64(from) / float64(to)
	support := max(step, 1)
	all := make([]weighted, to)
	for i := range all {
		middle := (float64(i) + 0.5) * step
		first, last := max(0, int(middle-support+0.5)), min(from, int(middle+support+0.5))
		weights := make([]float32, last-first)
		var sum float64
		for j := range weights {
			w := max(0, 1-math.Abs((float64(first+j)-middle+0.5)/support))
			weights[j] = float32(w)
			sum += w
		}
		for j := range weights {
			weights[j] /= float32(sum)
		}
		all[i] = weighted{first, weights}
	}
	return all
}
