package corrupt

import (
	"math"
	"slices"
)

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

// chamfer holds half of the 5×5 mask of distances, what comes before a pixel in reading order (Borgefors 1986, with OpenCV's
// lengths 1, 1.4 and 2.1969).
var chamfer = []struct {
	dy, dx int
	length float64
}{
	{-2, -1, 2.1969}, {-2, 1, 2.1969}, {-1, -2, 2.1969}, {-1, -1, 1.4}, {-1, 0, 1}, {-1, 1, 1.4}, {-1, 2, 2.1969}, {0, -1, 1},
}

// distances fills distance with the length of a shortest way to an edge; very long where there is none.
func (d *drops) distances() {
	for i, v := range d.edges {
		d.distance[i] = 1e4
		if v == 255 {
			d.distance[i] = 0
		}
	}
	relax := func(i, sign int) {
		y, x := i/d.width, i%d.width
		best := d.distance[i]
		for _, c := range chamfer {
			ny, nx := y+sign*c.dy, x+sign*c.dx
			if uint(ny) < uint(d.height) && uint(nx) < uint(d.width) {
				best = min(best, d.distance[ny*d.width+nx]+c.length)
			}
		}
		d.distance[i] = best
	}
	for i := range d.distance {
		relax(i, 1)
	}
	for i := len(d.distance) - 1; i >= 0; i-- {
		relax(i, -1)
	}
}
