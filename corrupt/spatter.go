package corrupt

import (
	"math"
	"slices"
)

// spatter lays drops over the image where smoothed normal noise is high: water (pale turquoise, bright at the edges of the drops) at severities 1 to
// 3, mud at 4 and 5. On grey images the colours are their luminances.
func spatter(j job) func() operator {
	c := [...]struct{ mean, deviation, sigma, threshold, strength float64 }{
		{.62, .1, .7, .7, .5}, {.65, .1, .8, .7, .5}, {.65, .3, 1, .69, .5}, {.65, .1, .7, .69, .6}, {.65, .1, .5, .68, .6},
	}[j.Severity-1]
	mud := j.Severity >= 4
	colour := []float64{175. / 255, 238. / 255, 238. / 255}
	if mud {
		colour = []float64{63. / 255, 42. / 255, 20. / 255}
	}
	if j.shape.Channels == 1 {
		colour = []float64{luminance(colour[0], colour[1], colour[2])}
	}
	grey := j.shape
	grey.Channels = 1
	channels := j.shape.Channels
	return func() operator {
		smooth, edge := newSmoother(grey, c.sigma*j.scale(), 4, replicate), newSmoother(grey, c.strength*j.scale(), 4, replicate)
		layer := make([]float64, grey.Len())
		drops := newDrops(grey.Height, grey.Width)
		return func(dst, src []uint8, r *stream) {
			for i := range layer {
				layer[i] = c.mean + float64(c.deviation*r.normal())
			}
			smooth.apply(layer)
			if mud {
				for i, v := range layer {
					layer[i] = 0
					if v > c.threshold {
						layer[i] = 1
					}
				}
				edge.apply(layer)
			} else {
				for i, v := range layer {
					if v < c.threshold {
						v = 0
					}
					drops.layer[i] = truncated(v)
				}
				drops.light(layer)
			}
			for i, m := range layer {
				for k := range channels {
					x := unit[src[i*channels+k]]
					switch {
					case !mud:
						x += float64(float64(m*c.strength) * colour[k])
					case m >= 0.8:
						x = float64(x*(1-m)) + float64(m*colour[k])
					}
					dst[i*channels+k] = truncated(x)
				}
			}
		}
	}
}

// drops computes how light falls on water, all in bytes, step by step as the public generator asks it of OpenCV.
type drops struct {
	height, width  int
	layer          []uint8 // thickness of the water
	work           []uint8
	gx, gy         []int32
	distance, near []float64
	edges          []uint8
	stack          []int
}

func newDrops(height, width int) *drops {
	n := height * width
	return &drops{height: height, width: width, layer: make([]uint8, n), work: make([]uint8, n), gx: make([]int32, n), gy: make([]int32, n),
		distance: make([]float64, n), near: make([]float64, n), edges: make([]uint8, n)}
}

// light fills out with layer × relief, scaled to a maximum of 1; with 0 where there is no water. The relief is
// the distance to the drops' edges, at most 20 pixels, blurred, its histogram equalised, lit from the upper left, and blurred.
func (d *drops) light(out []float64) {
	d.findEdges()
	d.distances()
	for i, v := range d.distance {
		d.near[i] = min(v, 20)
	}
	for i := range d.work {
		d.work[i] = uint8(d.around(i, func(at int) float64 { return d.near[at] }, &boxWeights) / 9)
	}
	equalise(d.work)
	relief := d.edges
	for i := range relief {
		relief[i] = truncatedSteps(d.around(i, func(at int) float64 { return float64(d.work[at]) }, &reliefWeights))
	}
	for i := range out {
		mean := math.RoundToEven(d.around(i, func(at int) float64 { return float64(relief[at]) }, &boxWeights) / 9)
		out[i] = float64(d.layer[i]) * mean
	}
	most := slices.Max(out)
	for i := range out {
		if most > 0 {
			out[i] /= most
		}
	}
}

var (
	boxWeights    = [9]float64{1, 1, 1, 1, 1, 1, 1, 1, 1}
	reliefWeights = [9]float64{-2, -1, 0, -1, 1, 1, 0, 1, 2}
)

// around is the weighted sum over 3×3 pixels, mirrored about the outermost ones.
func (d *drops) around(i int, value func(at int) float64, weights *[9]float64) float64 {
	y, x := i/d.width, i%d.width
	sum := 0.0
	for k, w := range weights {
		if w != 0 {
			sum += float64(w * value(reflect101(y+k/3-1, d.height)*d.width+reflect101(x+k%3-1, d.width)))
		}
	}
	return sum
}

// equalise spreads the histogram of the bytes over the whole range; an image of one value stays.
func equalise(image []uint8) {
	var histogram [256]int
	for _, v := range image {
		histogram[v]++
	}
	first := 0
	for histogram[first] == 0 {
		first++
	}
	if histogram[first] == len(image) {
		return
	}
	scale := 255 / float64(len(image)-histogram[first])
	var table [256]uint8
	sum := 0
	for v := first + 1; v < 256; v++ {
		sum += histogram[v]
		table[v] = uint8(min(math.RoundToEven(float64(sum)*scale), 255))
	}
	for i, v := range image {
		image[i] = table[v]
	}
}
