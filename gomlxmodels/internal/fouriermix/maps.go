package fouriermix

import (
	"math"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/pixel"
)

// Maps are maps from pixels to points of an image, by which Sample reads it.
type Maps struct {
	shape  pixel.Shape
	slopes []float64 // [n, 2]: what column and row of the point grow by from one column to the next
	starts []float64 // [n, 2, height]: column and row of the point of the first pixel of each row
}

// NewMaps makes room for n maps.
func NewMaps(shape pixel.Shape, n int) *Maps {
	return &Maps{shape: shape, slopes: make([]float64, 2*n), starts: make([]float64, 2*n*shape.Height)}
}

// Set sets map i: the pixel in column x of row y shows the point in column m[0]·x + m[1]·y + m[2]
// of row m[3]·x + m[4]·y + m[5]. For the nearest pixel, coordinates are rounded to steps of 2⁻³² as
// augment rounds them, so that both read the same pixels.
func (m *Maps) Set(i int, coefficients [6]float64, nearest bool) {
	round := func(v float64) float64 { return v }
	if nearest {
		round = func(v float64) float64 { return math.RoundToEven(v*(1<<32)) / (1 << 32) }
	}
	for axis := range 2 {
		a, b, c := coefficients[3*axis], coefficients[3*axis+1], coefficients[3*axis+2]
		m.slopes[2*i+axis] = round(a)
		starts := m.starts[(2*i+axis)*m.shape.Height:][:m.shape.Height]
		for y := range starts {
			starts[y] = round(float64(b*float64(y)) + c)
		}
	}
}

// Tensors are the inputs of Sample behind the images; the caller frees them.
func (m *Maps) Tensors() []*tensors.Tensor {
	n := len(m.slopes) / 2
	return []*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(m.slopes, n, 2),
		tensors.FromFlatDataAndDimensions(m.starts, n, 2, m.shape.Height),
	}
}
