//go:build amd64 || arm64 || (js && wasm)

package intnet

import (
	"sync"
	"unsafe"
)

// tiles are the arguments of a kernel, which goes over rows of tiles of some pixels and outputs.
// Distances are in bytes.
type tiles struct {
	in, out, res  uintptr // of the first pixel of a row; kernels move them, also beyond the last
	rows          uintptr // int64: from a pixel to each run of numbers that lie side by side
	nrows, run    int64   // runs, and steps of a dword in each
	weights, bias uintptr
	scale         uintptr
	pixel         int64 // from an input pixel to the next
	nx, ny        int64 // tiles of a row, rows
	left          int64 // of the row
	inX, inY      int64 // to the next tile, to the next row
	outX, outY    int64
	resX, resY    int64
	outPixel      int64
	resPixel      int64
	shift, mode   int64
	factor, down  int64
}

// kernelOf are kernels by pixels and blocks of 16 outputs, the one with most pixels first.
type kernelOf struct {
	pixels, blocks int
	run            func(a *tiles)
}

// choose takes the kernel that computes the fewest pixels of a row for nothing, and reads least for each product.
func choose(kernels []kernelOf, pixels, blocks int) kernelOf {
	var best kernelOf
	least := 0.0
	for _, k := range kernels {
		if k.pixels > pixels || k.blocks > blocks {
			continue
		}
		p, v := float64(k.pixels), float64(k.blocks)
		computed := float64((pixels+k.pixels-1)/k.pixels) * p / float64(pixels)
		cost := computed * max(1, (p+v)/(p*v), 4/(p*v))
		if (p+v)/(p*v) > 1 {
			cost *= 1.02
		}
		if best.run == nil || cost < least-1e-9 {
			best, least = k, cost
		}
	}
	return best
}

// mode numbers, as in the assembly.
const (
	toBytes = iota
	plusBytes
	toWide
	plusWideBytes
	toRaw
	packedBytes
	packedPlus
)

// place is where the numbers of a value stand: pixel by pixel with a border, channels filled up to 16.
type place struct {
	value
	stride  int // numbers of a pixel
	size    int // bytes of a number
	border  [4]int
	row     int // bytes
	bytes   int
	at      int // in the workspace
	between int // bytes from an image to the next; 0: they take turns
}

func (p *place) pixel() int { return p.stride * p.size }

// inside is the first byte of the first pixel.
func (p *place) inside() int { return p.border[0]*p.row + p.border[1]*p.pixel() }

// vectorLayer is a layer as calls of kernels.
type vectorLayer struct {
	*Layer
	blocks  []block
	offsets []int64 // of the places of a window
	split   bool    // weights are 256·hi + lo
}

// block is some blocks of 16 outputs of a convolution.
type block struct {
	first   int // output
	kernel  kernelOf
	offsets []int64
	run     int
	weights []byte
	bias    []int32
	scale   []int16
	packs   bool // its kernel has the modes for packed pixels
}

// together is how many images the last layers take at once: a tile of them.
const together = 8

type vectorProgram struct {
	net    *Network
	vnni   bool
	places []place
	layers []vectorLayer
	heavy  int // the first of the layers that serve several images in turn, while their weights are near
	tail   int // the first of the last layers, which take several images at once
	bytes  int
	pool   sync.Pool // *workspace
}

// workspace is the memory of one call.
type workspace struct {
	memory []byte // aligned to 64 bytes
	tiles  tiles
	raw    []int32
}

// aligned is a slice of so many bytes that begins at a multiple of 64.
func aligned(n int) []byte {
	b := make([]byte, n+63)
	off := int(-uintptr(unsafe.Pointer(unsafe.SliceData(b))) & 63)
	return b[off : off+n : off+n]
}

// newVectorProgram packs a network for a kernel, where so many weights stay near.
func newVectorProgram(n *Network, kernel string, near int) *vectorProgram {
	p := &vectorProgram{net: n, vnni: kernel == "vnni", tail: len(n.Layers)}
	for p.tail > 0 {
		l, out := &n.Layers[p.tail-1], n.values[p.tail]
		if out.height*out.width != 1 || l.Op == SumPool {
			break
		}
		p.tail--
	}
	p.heavy = n.heavyFrom(p.tail, near)
	p.lay()
	for i := range n.Layers {
		p.layers = append(p.layers, p.prepare(i))
	}
	p.pool.New = func() any { return p.workspace() }
	return p
}

// heavyFrom is the first layer from which on, up to the tail, each has more weights than numbers that it reads and
// writes. It is the tail itself where all weights of the network stay near.
func (n *Network) heavyFrom(tail, near int) int {
	all, first := 0, tail
	for i := tail - 1; i >= 0; i-- {
		l := &n.Layers[i]
		all += len(l.Weight)
		if first == i+1 && (len(l.Weight) == 0 || len(l.Weight) > n.values[l.From[0]].size()+n.values[i+1].size()) {
			first = i
		}
	}
	if all <= near {
		return tail
	}
	return first
}

// lay finds a place for every value. Values of one form whose lives do not meet share one.
func (p *vectorProgram) lay() {
	n := p.net
	p.places = make([]place, len(n.values))
	last := make([]int, len(n.values)) // the layer that reads it last
	for i, v := range n.values {
		q := place{value: v, stride: (v.channels + 15) &^ 15}
		switch {
		case v.kind == Grid:
			q.stride, q.size = v.channels, 2
		case v.kind == Sums:
			q.size = 4
		case v.kind == Byte && p.vnni:
			q.size = 1
		default:
			q.size = 2
		}
		p.places[i] = q
	}
	for i := range n.Layers {
		l := &n.Layers[i]
		reads := l.From
		if l.Addend > 0 {
			reads = append(reads[:len(reads):len(reads)], l.Addend)
		}
		for _, from := range reads {
			last[from] = i
			if i >= p.heavy {
				p.places[from].between = 1
			}
		}
		if i >= p.heavy {
			p.places[i+1].between = 1
		}
		if l.Op == Conv || l.Op == MaxPool {
			from := &p.places[l.From[0]]
			for k, pad := range l.Pad {
				from.border[k] = max(from.border[k], pad)
			}
		}
	}
	free := map[place][]int{} // by form
	died := make([][]int, len(n.Layers))
	for i, at := range last {
		died[at] = append(died[at], i)
	}
	const slack = 256 // kernels may read behind the end
	form := func(i int) place {
		q := p.places[i]
		q.top, q.at = 0, 0
		return q
	}
	allot := func(i int) {
		q := &p.places[i]
		q.row = (q.border[1] + q.width + q.border[3]) * q.pixel()
		q.bytes = ((q.border[0]+q.height+q.border[2])*q.row + slack + 63) &^ 63
		copies := 1
		if q.between > 0 {
			q.between, copies = q.bytes, together
		}
		if list := free[form(i)]; len(list) > 0 {
			q.at, free[form(i)] = list[len(list)-1], list[:len(list)-1]
			return
		}
		q.at = p.bytes
		p.bytes += q.bytes * copies
	}
	allot(0)
	for i := range n.Layers {
		allot(i + 1)
		for _, dead := range died[i] {
			if dead > 0 && dead != i+1 {
				free[form(dead)] = append(free[form(dead)], p.places[dead].at)
			}
		}
	}
}

func (p *vectorProgram) workspace() *workspace {
	w := &workspace{memory: aligned(p.bytes), raw: make([]int32, 2*together*p.places[len(p.places)-1].stride)}
	q := &p.places[0]
	for at := q.at; at == q.at || q.between > 0 && at < q.at+together*q.between; at += q.bytes {
		all := unsafe.Slice((*int16)(unsafe.Pointer(&w.memory[at])), q.bytes/2)
		for i := range (q.border[0] + q.height + q.border[2]) * q.row / 2 {
			all[i] = p.net.Border[i%len(p.net.Border)]
		}
	}
	return w
}
