package quantize

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/pixel"
)

// Bounded is an integer network whose confidence is bounded by intervals. It serves package ood as a network in real
// numbers does.
type Bounded struct {
	*intnet.Network
	bounds *intnet.Bounds
	Record ExactRecord
}

// Open reads a file of an integer network, for bounds.
func Open(path string) (*Bounded, error) {
	n, note, err := intnet.Read(path)
	if err != nil {
		return nil, err
	}
	b := &Bounded{Network: n}
	if b.bounds, err = n.Bounds(""); err != nil {
		return nil, err
	}
	if len(note) > 0 {
		err = json.Unmarshal(note, &b.Record)
	}
	return b, err
}

func (b *Bounded) Outputs() int    { return b.Classes() }
func (b *Bounded) Digest() string  { return b.Identity() }
func (b *Bounded) Assumes() string { return "" }
func (b *Bounded) InputShape() feedforward.Shape {
	return feedforward.Shape{b.Height, b.Width, b.Channels}
}

// Compared is the definition that every kernel is tested against.
func (b *Bounded) Compared() string { return "integers" }

// Confidence is that of feedforward.Network.Confidence, over the images of whole numbers of 1/255 in a box, and in its
// middle. Errors: another set than a box, another method than intervals.
func (b *Bounded) Confidence(_ context.Context, x []float64, set feedforward.Set, method feedforward.Method,
	a feedforward.Arithmetic) (c feedforward.Confidence, err error) {
	box, ok := set.(feedforward.Box)
	if !ok || method != feedforward.IBP || a != feedforward.Integers {
		return c, fmt.Errorf("integer network: method %q in arithmetic %q of %T; expected %q in %q of a box", method, a,
			set, feedforward.IBP, feedforward.Integers)
	}
	middle, low, high := make([]int16, len(x)), make([]int16, len(x)), make([]int16, len(x))
	const outwards = 1e-4 // in 1/255, so that a radius may be given in decimals
	whole := func(to []int16, at int, value float64) error {
		if !(value >= float64(b.Low) && value <= float64(b.High)) {
			return fmt.Errorf("integer network: value %d of the input is %v/255; the network is made for %d to %d", at,
				value, b.Low, b.High)
		}
		to[at] = int16(value)
		return nil
	}
	for i, v := range x {
		if err := cmp.Or(whole(middle, i, math.RoundToEven(v*pixel.Steps)),
			whole(low, i, math.Ceil(box.Lower[i]*pixel.Steps-outwards)),
			whole(high, i, math.Floor(box.Upper[i]*pixel.Steps+outwards))); err != nil {
			return c, err
		}
	}
	logits := func(low, high []int16) ([]float64, error) {
		u, err := b.bounds.Differences(low, high)
		out := make([]float64, len(u))
		for i, v := range u {
			if out[i] = b.LogitUnit() * float64(v); v != 0 && &low[0] != &high[0] {
				out[i] = math.Nextafter(out[i], math.Inf(1))
			}
		}
		return out, err
	}
	u, err := logits(middle, middle)
	if err != nil {
		return c, err
	}
	k := b.Classes()
	first := make([]float64, k) // logits above that of class 0
	for i := range first {
		first[i] = u[i*k]
	}
	c.Class, c.Log = feedforward.LogConfidence(first)
	if u, err = logits(low, high); err != nil {
		return c, err
	}
	c.LogUpper, c.LogLower = feedforward.LogBounds(u, k)
	return c, nil
}
