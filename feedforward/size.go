package feedforward

import "fmt"

// Limits, so that a small file cannot ask for much memory or time.
const (
	mostValues   = 1 << 28 // of a layer
	mostProducts = 1 << 32 // of a layer, some seconds of work between two looks at an interrupt
	// mostMemory is the number of bytes for bounds and tables of all layers, and besides, for each
	// byte of weights in a file,
	mostMemory = 768 << 20
	ofWeights  = 6
)

// size is what layers need, and the weights that they come with, in bytes.
type size struct {
	values, largest int // of all layers, and of one
	held            int // by weights and tables
	file            int // weights, of 4 bytes each
	fixed           bool
}

// need are the bytes for bounds, two numbers a value, for steps from layer to layer, some arrays of the largest one,
// and for what layers hold.
func (s size) need() int { return 16*s.values + 64*s.largest + s.held }

func (s size) limit() int { return mostMemory + ofWeights*s.file }

// tooLarge says that something of a shape needs too much memory; "" where it does not.
func (s size) tooLarge(what string, shape []int) string {
	if s.need() <= s.limit() {
		return ""
	}
	return fmt.Sprintf("%s %v needs too much memory: with it the network takes %d MB, and one with so few weights "+
		"may take %d MB",
		what, shape, s.need()>>20, s.limit()>>20)
}

// sizeOf is the number of values of dimensions, each at least 1; false where there are more than mostValues.
func sizeOf(dims []int) (int, bool) {
	n := 1
	for _, d := range dims {
		if d < 1 || d > mostValues/n {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// room says why a layer of a shape that holds so many bytes a value, and so many besides, is too large, before
// anything is made for it.
func (b *Builder) room(shape []int, table, held int) string {
	n, ok := sizeOf(shape)
	if !ok {
		return fmt.Sprintf("an output of shape %v, want 1 to %d values", shape, mostValues)
	}
	s := b.size
	s.values, s.largest, s.held = s.values+n, max(s.largest, n), s.held+table*n+held
	return s.tooLarge("an output of shape", shape)
}
