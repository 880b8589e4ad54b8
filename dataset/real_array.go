package dataset

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"math"

	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/pixel"
)

// Array is the images of a NumPy file, one after the other, HWC: either Bytes or Real.
type Array struct {
	Name  string // path of the file
	Shape pixel.Shape
	N     int
	Bytes []uint8   // of uint8 values
	Real  []float32 // of float32 and float64 values, in units of the full range, all finite; the latter are rounded
}

// ReadAnyArray reads a NumPy file of images, N×H×W×C with 1 or 3 channels or N×H×W, of uint8, or of float32 or float64
// in units of the full range, in [0, 1] or beyond.
//
// Errors: those of ReadArray; a value that is not finite, also as a float32, with its place.
func ReadAnyArray(ctx context.Context, path string) (*Array, error) {
	file, closer, err := openNPY(path)
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	defer closer.Close()
	if file.dtype == "|u1" {
		im, err := ReadArray(ctx, path)
		if err != nil {
			return nil, err
		}
		return &Array{Name: path, Shape: im.Shape, N: im.Len(), Bytes: im.Pixels}, nil
	}
	a := &Array{Name: path}
	if a.Shape, err = imageShape(file.dims); err == nil {
		a.N = file.dims[0]
		a.Real, err = readReal(contextReader{ctx, io.NewSectionReader(file, file.offset, maxBytes)}, file.dtype,
			a.Shape, a.N)
	}
	if err != nil {
		return nil, fmt.Errorf("dataset: %s: %w", path, err)
	}
	return a, nil
}

// readReal reads n images of float32 or float64 values.
func readReal(r io.Reader, dtype string, shape pixel.Shape, n int) ([]float32, error) {
	var number func([]byte) float64
	switch dtype {
	case "<f4":
		number = func(b []byte) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(b))) }
	case "<f8":
		number = func(b []byte) float64 { return math.Float64frombits(binary.LittleEndian.Uint64(b)) }
	default:
		return nil, fmt.Errorf("values of type %q; expected \"|u1\" (uint8), \"<f4\" (float32) or \"<f8\" (float64)",
			dtype)
	}
	if err := host.Room(4 * int64(n) * int64(shape.Len())); err != nil {
		return nil, fmt.Errorf("%d images of %v: %w", n, shape, err)
	}
	width := int(itemSizes[dtype])
	values, image := make([]float32, 0, n*shape.Len()), make([]byte, shape.Len()*width)
	for i := range n {
		if _, err := io.ReadFull(r, image); err != nil {
			return nil, err
		}
		for k := range shape.Len() {
			v := number(image[k*width:])
			x := float32(v)
			if x-x != 0 {
				at := k / shape.Channels
				return nil, fmt.Errorf("image %d has the value %v at row %d, column %d, channel %d; expected finite "+
					"float32 values",
					i, v, at/shape.Width, at%shape.Width, k%shape.Channels)
			}
			values = append(values, x)
		}
	}
	return values, nil
}

// Reals are the values of the images in units of the full range.
func (a *Array) Reals() []float32 {
	if a.Bytes == nil {
		return a.Real
	}
	values := make([]float32, len(a.Bytes))
	for k, b := range a.Bytes {
		values[k] = float32(b) / pixel.Steps
	}
	return values
}
