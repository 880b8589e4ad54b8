// Package intnet is a neural network whose every step is integer arithmetic: one function, with the same answer
// on every machine. docs/integer-networks.md has the rule and the file.
//
// Define is the definition, in plain Go. A Program computes the same values by the vector instructions of a
// processor.
package intnet

import (
	"crypto/sha256"
	"fmt"
	"math"
)

// Op is the kind of a layer.
type Op int32

const (
	Conv    Op = 1 // convolution, with requantisation; a dense layer is one whose kernel covers its input
	Add     Op = 2 // sum of two values of bytes
	MaxPool Op = 3 // maxima of windows
	SumPool Op = 4 // sum over the whole image, one a channel
	Concat  Op = 5 // channels one after the other
	Dense   Op = 6 // int32 logits; the last layer, and no other
)

func (o Op) String() string {
	if o < Conv || o > Dense {
		return fmt.Sprintf("operation %d", int32(o))
	}
	return [...]string{"convolution", "sum", "max pool", "sum pool", "concatenation", "dense layer"}[o-1]
}

// Kind is the type that the numbers of a value have.
type Kind int32

const (
	Grid Kind = iota // int16, the image in units of 1/255
	Byte             // 0 … 255
	Wide             // int16
	Sums             // int32, sums of bytes
)

func (k Kind) String() string { return [...]string{"grid", "bytes", "16-bit numbers", "sums"}[k] }

// Layer is one step. Value 0 is the image, and layer i gives value i + 1. Fields that an operation does not name are 0.
type Layer struct {
	Op     Op
	From   []int // values that it reads: two or more for Concat, two for Add, else one
	Kernel [2]int
	Stride [2]int
	Pad    [4]int // top, left, bottom, right

	// Conv and Dense.
	Out    int     // channels
	Groups int     // of Conv
	Bias   []int32 // by channel; of Conv with half of the shift's unit in it
	Weight []int16 // Out × kernel height × kernel width × channels/groups, within ±127 for Conv on bytes

	// Conv and Add.
	Shift  int     // of Conv
	Scale  []int16 // of Conv, by channel: the multiplier, from 1 on
	Wide   bool    // of Conv: the result is int16, and keeps its sign
	Addend int     // of Conv: the value that is added before the result is cut to a byte; 0: none
	Factor []int16 // of the addend where it is of bytes, or of the two of Add
	Bits   int     // behind the point of a sum: units of 1/2^Bits of a step of the result
}

// Network is a checked network. It must not be changed.
type Network struct {
	Height, Width, Channels int
	Low, High               int16   // of the image's values
	Border                  []int16 // what stands beyond the image's edges, by channel
	// a logit in its own unit is worth Unit[0]·2^Unit[1]; only scores need it
	Unit   [2]int32
	Layers []Layer

	values []value
	digest [sha256.Size]byte
}

// value is the form of what a layer gives.
type value struct {
	height, width, channels int
	kind                    Kind
	top                     int64 // no number is larger in absolute value
}

func (v value) size() int { return v.height * v.width * v.channels }

func (v value) String() string {
	return fmt.Sprintf("%d × %d × %d %v", v.height, v.width, v.channels, v.kind)
}

// Classes is the number of logits.
func (n *Network) Classes() int { return n.Layers[len(n.Layers)-1].Out }

// Products is the number of multiply-adds of one image.
func (n *Network) Products() int64 {
	sum := int64(0)
	for i := range n.Layers {
		sum += n.products(i)
	}
	return sum
}

func (n *Network) products(layer int) int64 {
	l, out := &n.Layers[layer], n.values[layer+1]
	switch l.Op {
	case Conv:
		return int64(out.height*out.width) * int64(len(l.Weight))
	case Dense:
		return int64(len(l.Weight))
	}
	return 0
}

// Identity is the digest of all integers, "sha256:…". It covers nothing else.
func (n *Network) Identity() string { return fmt.Sprintf("sha256:%x", n.digest) }

// LogitUnit is the value of a logit of 1, for scores.
func (n *Network) LogitUnit() float64 { return math.Ldexp(float64(n.Unit[0]), int(n.Unit[1])) }

// Best is the class of logits: the first greatest.
func Best(logits []int32) int {
	best := 0
	for c, v := range logits {
		if v > logits[best] {
			best = c
		}
	}
	return best
}
