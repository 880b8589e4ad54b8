package corrupt

import (
	"math"
	"slices"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/pixel"
)

// drops computes how light falls on water, all in bytes, step by step as the public generator asks it of OpenCV.
type drops struct {
	height, width  int
	layer          []uint8 // thickness of the water
	work           []uint8
	distance, sums []float64
	canvas         *padded
	edges          *raster.Edges
}

func newDrops(height, width int) *drops {
	n := height * width
	return &drops{height: height, width: width, layer: make([]uint8, n), work: make([]uint8, n),
		distance: make([]float64, n), sums: make([]float64, n), edges: raster.NewEdges(height, width),
		canvas: newPadded(pixel.Shape{Height: height, Width: width, Channels: 1}, 1)}
}

// light fills out with layer × relief, scaled to a maximum of 1; with 0 where there is no water.
// The relief is the distance to the drops' edges, at most 20 pixels, blurred, its histogram
// equalised, lit from the upper left, and blurred.
func (d *drops) light(out []float64) {
	d.edges.Find(d.layer)
	d.distances()
	for i, v := range d.distance {
		d.distance[i] = min(v, 20)
	}
	d.filter(boxTaps)
	for i, v := range d.sums {
		d.work[i] = uint8(v / 9)
	}
	equalise(d.work)
	for i, v := range d.work {
		d.distance[i] = float64(v)
	}
	d.filter(reliefTaps)
	for i, v := range d.sums {
		d.distance[i] = float64(truncatedSteps(v))
	}
	d.filter(boxTaps)
	for i, v := range d.sums {
		out[i] = float64(float64(d.layer[i]) * math.RoundToEven(v/9))
	}
	most := slices.Max(out)
	for i := range out {
		if most > 0 {
			out[i] /= most
		}
	}
}

// filter writes to sums the weighted sums of distance over 3×3 pixels, mirrored about the outermost ones.
func (d *drops) filter(taps []tap) {
	d.canvas.fill(d.distance, raster.Reflect101)
	d.canvas.correlate(d.sums, taps)
}

var (
	boxTaps    = taps3([9]float64{1, 1, 1, 1, 1, 1, 1, 1, 1})
	reliefTaps = taps3([9]float64{-2, -1, 0, -1, 1, 1, 0, 1, 2})
)

func taps3(weights [9]float64) (taps []tap) {
	for k, w := range weights {
		taps = append(taps, tap{k/3 - 1, k%3 - 1, w})
	}
	return taps
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

// chamfer holds half of the 5×5 mask of distances, what comes before a pixel in reading order
// (Borgefors 1986, with OpenCV's lengths 1, 1.4 and 2.1969).
var chamfer = []struct {
	dy, dx int
	length float64
}{
	{-2, -1, 2.1969}, {-2, 1, 2.1969}, {-1, -2, 2.1969}, {-1, -1, 1.4}, {-1, 0, 1}, {-1, 1, 1.4}, {-1, 2, 2.1969},
	{0, -1, 1},
}

// distances fills distance with the length of a shortest way to an edge; very long where there is none.
func (d *drops) distances() {
	for i, v := range d.edges.Marks {
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
