package pipe

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"unsafe"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// payload holds the memory of requests between batches.
type payload struct {
	onGrid, grid []int16
	turned, real []float32
	bytes        []byte // where the host is not little-endian
}

// encode gives the content of a request. It may be the batch itself, and is good until the next call.
func (p *payload) encode(h *hello, batch classifier.Batch) ([]byte, error) {
	size := 2
	if h.Type == typeFloat32 {
		size = 4
	}
	if most := math.MaxUint32 / size / h.shape().Len(); batch.N > most {
		return nil, fmt.Errorf("batch of %d images; at most %d fit into a request", batch.N, most)
	}
	grid, real := batch.Grid, batch.Real
	if h.Type == typeInt16 && grid == nil {
		var err error
		if p.onGrid, err = onGrid(p.onGrid[:0], real); err != nil {
			return nil, err
		}
		grid, real = p.onGrid, nil
	}
	if h.Layout == layoutCHW {
		if grid != nil {
			p.grid = channelsFirst(p.grid, grid, h.shape())
			grid = p.grid
		} else {
			p.turned = channelsFirst(p.turned, real, h.shape())
			real = p.turned
		}
	}
	if h.Type == typeInt16 {
		return wire(p, grid), nil
	}
	if grid != nil {
		p.real = slices.Grow(p.real[:0], len(grid))[:len(grid)]
		for i, v := range grid {
			p.real[i] = float32(v) / pixel.Steps
		}
		real = p.real
	}
	return wire(p, real), nil
}

// onGrid appends values as multiples of 1/255, which they must be. Those that are not finite become
// 0: decode makes a Miss of their image.
func onGrid(grid []int16, values []float32) ([]int16, error) {
	for i, v := range values {
		step := math.Round(float64(v) * pixel.Steps)
		switch {
		case math.IsNaN(step) || math.IsInf(step, 0):
			grid = append(grid, 0)
		case step < math.MinInt16 || step > math.MaxInt16 || float32(step)/pixel.Steps != v:
			return nil, fmt.Errorf("it takes int16 multiples of 1/255, and value %d of the batch is %v; use noise "+
				"on the grid, or a program that takes float32", i, v)
		default:
			grid = append(grid, int16(step))
		}
	}
	return grid, nil
}

// channelsFirst copies images from height × width × channel to channel × height × width, into the memory of to.
func channelsFirst[T int16 | float32](to, from []T, s pixel.Shape) []T {
	to = slices.Grow(to[:0], len(from))[:len(from)]
	plane := s.Height * s.Width
	for start := 0; start < len(from); start += s.Len() {
		for c := range s.Channels {
			out, in := to[start+c*plane:][:plane], from[start+c:]
			at := 0
			for i := range out {
				out[i] = in[at]
				at += s.Channels
			}
		}
	}
	return to
}

// wire gives values as little-endian bytes, without a copy where the host has them so.
func wire[T int16 | float32](p *payload, values []T) []byte {
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))),
			len(values)*int(unsafe.Sizeof(values[0])))
	}
	p.bytes, _ = binary.Append(p.bytes[:0], binary.LittleEndian, values)
	return p.bytes
}

// decode fills result from the content of an answer.
func decode(h *hello, info classifier.Info, batch classifier.Batch, answer []byte, result *classifier.Result) error {
	if h.Output == outputClasses {
		size := info.Shape.Len()
		for i := range batch.N {
			class := int32(binary.LittleEndian.Uint32(answer[4*i:]))
			if class < classifier.Miss || int(class) >= h.Classes {
				return fmt.Errorf("it gives image %d of a batch the class %d; expected 0 to %d, or −1 for a miss", i,
					class, h.Classes-1)
			}
			if batch.Real != nil && !finite(batch.Real[i*size:(i+1)*size]) {
				class = classifier.Miss
			}
			result.Classes[i] = class
		}
		return nil
	}
	scores := make([]float32, batch.N*h.Classes)
	for i := range scores {
		scores[i] = math.Float32frombits(binary.LittleEndian.Uint32(answer[4*i:]))
	}
	if h.Output == outputLogits {
		classifier.Decide(info, batch, scores, result)
		return nil
	}
	// Decide with no scores to fill: rows are probabilities already.
	classifier.Decide(info, batch, scores, &classifier.Result{Classes: result.Classes})
	for i := range batch.N {
		row, miss := scores[i*h.Classes:(i+1)*h.Classes], result.Classes[i] == classifier.Miss
		sum := 0.0
		for _, v := range row {
			if v < 0 {
				sum = math.NaN()
			}
			sum += float64(v)
		}
		if !miss && !(math.Abs(sum-1) <= 1e-3) {
			return fmt.Errorf("its row for image %d of a batch is no probability distribution: %.100v; let it say "+
				"that its output is %s", i, row, outputLogits)
		}
		if result.Scores == nil {
			continue
		}
		for c, v := range row {
			if miss {
				v = 0
			} else {
				v = float32(float64(v) / sum)
			}
			result.Scores[i*h.Classes+c] = v
		}
	}
	return nil
}

func finite(values []float32) bool {
	for _, v := range values {
		if math.IsNaN(float64(v)) || math.IsInf(float64(v), 0) {
			return false
		}
	}
	return true
}
