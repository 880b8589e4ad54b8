package onnx

import (
	"math"
	"sync"
	"unsafe"

	"github.com/x448/float16"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/pixel"
)

// element is a type that a network takes: float32, float64, float16 in its bits, or uint8.
type element interface {
	float32 | float64 | uint16 | uint8
}

// converter turns images into the input of a network: normalisation, rounding to the type
// of the input, and the order of channels and axes, in one pass. A grid value is looked up:
// its table holds every one of the 65,536 inputs, rounded once.
type converter[T element] struct {
	layout  layout
	tables  []*[1 << 16]T // per channel of the network; the same table where channels are alike
	source  []int         // channel of the image, per channel of the network
	inOrder bool          // values stay in their order and channels are alike
	scale   []float32     // per channel of the network: a real value x enters as round(scale·x + shift)
	shift   []float32
	round   func(float64) T
	threads int
}

// newConverter takes a completed card.
func newConverter[T element](l layout, card Card, threads int, round func(float64) T) *converter[T] {
	k := &converter[T]{layout: l, round: round, threads: threads}
	for c := range l.shape.Channels {
		source := c
		if card.ChannelOrder == bgr {
			source = l.shape.Channels - 1 - c
		}
		mean, std := card.Mean[source], card.Std[source]
		k.source = append(k.source, source)
		k.scale = append(k.scale, float32(card.Scale/std))
		k.shift = append(k.shift, float32(-mean/std))
		if c > 0 && mean == card.Mean[k.source[c-1]] && std == card.Std[k.source[c-1]] {
			k.tables = append(k.tables, k.tables[c-1])
			continue
		}
		table := new([1 << 16]T)
		for i := range table {
			table[i] = round((float64(int16(uint16(i)))/pixel.Steps*card.Scale - mean) / std)
		}
		k.tables = append(k.tables, table)
	}
	k.inOrder = l.shape.Channels == 1 || !l.planar && card.ChannelOrder != bgr
	for _, table := range k.tables {
		k.inOrder = k.inOrder && table == k.tables[0]
	}
	return k
}

func toFloat32(v float64) float32 { return float32(v) }
func toFloat64(v float64) float64 { return v }

// toFloat16 rounds twice, by way of float32: a fixed function of the image all the same.
func toFloat16(v float64) uint16 { return float16.Fromfloat32(float32(v)).Bits() }

// toUint8 gives 0 for NaN, whose image is a Miss anyway.
func toUint8(v float64) uint8 {
	if !(v > 0) {
		return 0
	}
	return uint8(math.RoundToEven(min(v, 255)))
}

// fill converts images first … first+n of a batch into dst, on several threads where there
// is much to do.
func (k *converter[T]) fill(dst []T, batch classifier.Batch, first, n int) {
	const worthwhile = 1 << 15 // values; some 20 µs
	size := k.layout.shape.Len()
	threads := min(k.threads, n*size/worthwhile, n)
	if threads < 2 {
		k.images(dst, batch, first, n)
		return
	}
	var group sync.WaitGroup
	for i := range threads {
		from, to := n*i/threads, n*(i+1)/threads
		group.Go(func() { k.images(dst[from*size:to*size], batch, first+from, to-from) })
	}
	group.Wait()
}

func (k *converter[T]) images(dst []T, batch classifier.Batch, first, n int) {
	size, channels := k.layout.shape.Len(), k.layout.shape.Channels
	if batch.Grid != nil && k.inOrder {
		lookUpInOrder(dst[:n*size], batch.Grid[first*size:(first+n)*size], k.tables[0])
		return
	}
	pixels := size / channels
	for i := range n {
		image := dst[i*size : (i+1)*size]
		start := (first + i) * size
		for c := range channels {
			from, to, step := k.source[c], c, channels // interleaved
			if k.layout.planar {
				to, step = c*pixels, 1
			}
			if batch.Grid != nil {
				lookUp(image, batch.Grid[start:start+size], k.tables[c], from, channels, to, step)
			} else {
				k.compute(image, batch.Real[start:start+size], c, from, to, step)
			}
		}
	}
}

func lookUpInOrder[T element](dst []T, src []int16, table *[1 << 16]T) {
	for i, v := range src[:len(dst)] {
		dst[i] = table[uint16(v)]
	}
}

// lookUp sets dst[to + p·step] from src[from + p·channels], for every pixel p.
func lookUp[T element](dst []T, src []int16, table *[1 << 16]T, from, channels, to, step int) {
	for ; from < len(src); from += channels {
		dst[to] = table[uint16(src[from])]
		to += step
	}
}

func (k *converter[T]) compute(dst []T, src []float32, c, from, to, step int) {
	channels, scale, shift := k.layout.shape.Channels, k.scale[c], k.shift[c]
	for ; from < len(src); from += channels {
		dst[to] = k.round(float64(float32(src[from]*scale) + shift))
		to += step
	}
}

// filler converts images first … first+n of a batch into images at, at+1 … of dst.
type filler func(dst *values, at int, batch classifier.Batch, first, n int)

func newFiller(l layout, card Card, threads int) filler {
	size := l.shape.Len()
	switch l.kind {
	case onnxfile.Float16:
		k := newConverter(l, card, threads, toFloat16)
		return func(dst *values, at int, batch classifier.Batch, first, n int) {
			k.fill(dst.halves[at*size:], batch, first, n)
		}
	case onnxfile.Float64:
		k := newConverter(l, card, threads, toFloat64)
		return func(dst *values, at int, batch classifier.Batch, first, n int) {
			k.fill(dst.doubles[at*size:], batch, first, n)
		}
	case onnxfile.Uint8:
		k := newConverter(l, card, threads, toUint8)
		return func(dst *values, at int, batch classifier.Batch, first, n int) {
			k.fill(dst.bytes[at*size:], batch, first, n)
		}
	default:
		k := newConverter(l, card, threads, toFloat32)
		return func(dst *values, at int, batch classifier.Batch, first, n int) {
			k.fill(dst.floats[at*size:], batch, first, n)
		}
	}
}

// values is the memory of a tensor, in the form of its type.
type values struct {
	floats  []float32
	doubles []float64
	halves  []uint16
	bytes   []uint8
	wholes  []int64 // of a shape
}

// array is a tensor.
type array struct {
	values
	kind onnxfile.Type
	dims []int64
}

// newArray makes an array of zeros.
func newArray(kind onnxfile.Type, dims ...int64) *array {
	a, n := &array{kind: kind, dims: dims}, int64(1)
	for _, d := range dims {
		n *= d
	}
	switch kind {
	case onnxfile.Float32:
		a.floats = make([]float32, n)
	case onnxfile.Float64:
		a.doubles = make([]float64, n)
	case onnxfile.Uint8:
		a.bytes = make([]uint8, n)
	case onnxfile.Float16:
		a.halves = make([]uint16, n)
	case onnxfile.Int64:
		a.wholes = make([]int64, n)
	default:
		panic("onnx: array of " + kind.String())
	}
	return a
}

// raw is the memory of the values.
func (v *values) raw() []byte {
	switch {
	case v.floats != nil:
		return rawOf(v.floats)
	case v.doubles != nil:
		return rawOf(v.doubles)
	case v.halves != nil:
		return rawOf(v.halves)
	case v.wholes != nil:
		return rawOf(v.wholes)
	}
	return v.bytes
}

func rawOf[T any](v []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), len(v)*int(unsafe.Sizeof(v[0])))
}

// logits appends the values of an output as float32.
func (v *values) logits(dst []float32) []float32 {
	switch {
	case v.floats != nil:
		return append(dst, v.floats...)
	case v.doubles != nil:
		for _, x := range v.doubles {
			dst = append(dst, float32(x))
		}
	case v.halves != nil:
		for _, x := range v.halves {
			dst = append(dst, float16.Frombits(x).Float32())
		}
	}
	return dst
}
