package intnet

import (
	"fmt"
	"slices"
	"strings"
)

// plain is the kernel that is the definition.
const plain = "plain"

// Kernels that run on this processor, the fastest first. All give the same logits.
func Kernels() []string { return append(slices.Clone(vectorKernels), plain) }

// nearWeights is how many weights cost nothing to read again; with more, eight images take turns.
const nearWeights = 64 << 10

// Program runs a network by one kernel. It is safe for concurrent use.
type Program struct {
	*Network
	kernel string
	vector *vectorProgram // nil: as defined
}

// Program prepares the network for a kernel, of Kernels; "" is the fastest. Errors: a kernel that is not there.
func (n *Network) Program(kernel string) (*Program, error) {
	if kernel == "" {
		kernel = Kernels()[0]
	}
	if !slices.Contains(Kernels(), kernel) {
		return nil, fmt.Errorf("integer network: no kernel %q on this processor; expected %s", kernel,
			strings.Join(Kernels(), " or "))
	}
	p := &Program{Network: n, kernel: kernel}
	if kernel != plain {
		p.vector = newVectorProgram(n, kernel, nearWeights)
	}
	return p, nil
}

// Kernel is the kernel's name.
func (p *Program) Kernel() string { return p.kernel }

// RangeError says that a pixel is outside the range that a network is made for.
type RangeError struct {
	Image, Place     int
	Value, Low, High int16
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("integer network: value %d of image %d is %d, and the network is made for %d to %d: make it "+
		"again with the sigma of this run (certspec quantize --exact)", e.Place, e.Image, e.Value, e.Low, e.High)
}

// Run computes the logits of images, one after the other. It panics where the lengths do not fit.
// Errors: a pixel out of range, as *RangeError.
func (p *Program) Run(images []int16, logits []int32) error {
	size, classes := p.values[0].size(), p.Classes()
	if len(images)%size != 0 || len(images)/size*classes != len(logits) {
		panic(fmt.Sprintf("intnet: %d values and %d logits for images of %d and %d classes", len(images), len(logits),
			size, classes))
	}
	if p.vector != nil {
		return p.vector.run(images, logits)
	}
	for i := range len(images) / size {
		image := images[i*size : (i+1)*size]
		if err := p.inRange(image, i); err != nil {
			return err
		}
		copy(logits[i*classes:], p.Define(image))
	}
	return nil
}

func (n *Network) inRange(image []int16, number int) error {
	for at, v := range image {
		if v < n.Low || v > n.High {
			return &RangeError{number, at, v, n.Low, n.High}
		}
	}
	return nil
}
