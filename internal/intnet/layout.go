package intnet

import "fmt"

// Limits of what a network may cost, by whatever kernel: they suit the widest one, so that a file is read on
// every machine or on none.
const (
	mostWorkspace = 1 << 29 // bytes of one call; each processor has one
	mostMemory    = 1 << 31 // bytes of weights, as read and as packed
	mostWork      = 1 << 37 // multiply-adds or comparisons of one image: seconds, or minutes by the plain kernel
)

// affordable refuses a network by what its kernels would allocate and compute, before they do.
func (n *Network) affordable() error {
	if got := n.lay(false, nearWeights).bytes; got > mostWorkspace {
		return fmt.Errorf("the network is too large: one call takes %s of memory, with padding and channels filled up "+
			"to 16; at most %s", mebibytes(got), mebibytes(mostWorkspace))
	}
	memory, work := 0, 0
	for i := range n.Layers {
		l, out := &n.Layers[i], n.values[i+1]
		bytes, products := l.cost(n.values[l.From[0]], out)
		if memory += bytes; memory > mostMemory {
			return fmt.Errorf("layer %d (%v): the network is too large: weights to here take %s of memory, packed for "+
				"a kernel; at most %s", i+1, l.Op, mebibytes(memory), mebibytes(mostMemory))
		}
		if work += out.height * out.width * products; work > mostWork {
			return fmt.Errorf("layer %d (%v): the network is too large: one image to here takes %d million products, "+
				"with channels filled up to 16; at most %d million", i+1, l.Op, work/1e6, mostWork/1_000_000)
		}
	}
	return nil
}

func mebibytes(n int) string { return fmt.Sprintf("%d MiB", n>>20) }

// cost is at least how many bytes a layer keeps for all calls, and how many products it computes for a pixel.
func (l *Layer) cost(in, out value) (bytes, products int) {
	window := l.Kernel[0] * l.Kernel[1]
	switch l.Op {
	case MaxPool:
		return 8 * window, window * filled(out.channels)
	case SumPool:
		return 0, in.height * in.width * filled(in.channels)
	case Add, Concat:
		return 0, filled(out.channels)
	case Dense:
		products = filled(l.Out) * in.height * (in.width*in.stride() + 3)
	case Conv:
		row := l.Kernel[1]*in.stride() + 3
		if l.Groups > 1 { // a block of outputs reads all groups that it meets
			each, outs := in.channels/l.Groups, l.Out/l.Groups
			row = l.Kernel[1] * (min(in.stride(), (mostBlock/outs+2)*each) + 6)
		}
		products = filled(l.Out) * l.Kernel[0] * row
	}
	return 2*len(l.Weight) + 2*products, products
}

// mostBlock is the largest number of outputs of a kernel.
const mostBlock = 64

// filled is how many channels kernels compute.
func filled(channels int) int { return (channels + 15) &^ 15 }

// stride is how many numbers of a pixel kernels keep.
func (v value) stride() int {
	if v.kind == Grid {
		return v.channels
	}
	return filled(v.channels)
}

// together is how many images the last layers take at once: a tile of them.
const together = 8

// mostSize is more bytes than any value of an admitted network takes.
const mostSize = 1 << 40

// layout is the memory of one call of a vector kernel.
type layout struct {
	places []place
	heavy  int // the first of the layers that serve several images in turn, while their weights are near
	tail   int // the first of the last layers, which take several images at once
	bytes  int
}

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

// lay finds a place for every value. Values of one form whose lives do not meet share one. Sizes far beyond any limit
// are cut to one that no sum of them makes overflow.
func (n *Network) lay(vnni bool, near int) layout {
	p := layout{places: make([]place, len(n.values)), tail: n.tail()}
	p.heavy = n.heavyFrom(p.tail, near)
	last := make([]int, len(n.values)) // the layer that reads it last
	for i, v := range n.values {
		q := place{value: v, stride: v.stride()}
		switch {
		case v.kind == Sums:
			q.size = 4
		case v.kind == Byte && vnni:
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
		q.bytes = min((q.border[0]+q.height+q.border[2])*q.row+slack+63, mostSize) &^ 63
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
	return p
}

// tail is the first of the layers behind which every value is a single pixel.
func (n *Network) tail() int {
	at := len(n.Layers)
	for at > 0 {
		l, out := &n.Layers[at-1], n.values[at]
		if out.height*out.width != 1 || l.Op == SumPool {
			break
		}
		at--
	}
	return at
}
