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

type vectorProgram struct {
	net  *Network
	vnni bool
	layout
	layers []vectorLayer
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
	vnni := kernel == "vnni"
	p := &vectorProgram{net: n, vnni: vnni, layout: n.lay(vnni, near)}
	for i := range n.Layers {
		p.layers = append(p.layers, p.prepare(i))
	}
	p.pool.New = func() any { return p.workspace() }
	return p
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
