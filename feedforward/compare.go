package feedforward

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
)

// NotCompared is Compared's answer for a network that was compared with no runtime.
const NotCompared = "no"

// Compared names the runtime that gave, for the same file, values that the layers allow; else it is NotCompared.
// Package engine compares.
func (n *Network) Compared() string {
	if n.compared == "" {
		return NotCompared
	}
	return n.compared
}

// AsCompared is the network, marked as compared with a runtime.
func (n *Network) AsCompared(runtime string) *Network {
	return &Network{nodes: n.nodes, output: n.output, results: n.results, double: n.double, head: n.head,
		compared: runtime}
}

// Difference is a value that another evaluation of a file found, and that the layers do not allow.
type Difference struct {
	Result       string // name in the file
	Layer        string // kind of the layer that gives it
	Index        int    // of the value in the result
	Value        float64
	Lower, Upper float64 // where it should lie
	Sizes        [2]int  // of the layer and of the result found, where they differ
}

func (d *Difference) Error() string {
	if d.Sizes != [2]int{} {
		return fmt.Sprintf("it has %d values, the layer %s gives %d", d.Sizes[1], d.Layer, d.Sizes[0])
	}
	return fmt.Sprintf("value %d is %v, the layer %s allows %v to %v", d.Index, d.Value, d.Layer, d.Lower, d.Upper)
}

// Compare checks what another evaluation in float32 found at one input: values of results by their names in the file.
// Each must lie within rigorous interval bounds. The values found for a layer's inputs replace their bounds, so
// rounding errors do not add up. The first result that differs is where file and layers part. Where a value may
// overflow, nothing is checked. Errors: a *Difference; a box of another size, as *InputError.
func (n *Network) Compare(ctx context.Context, input Box, found map[string][]float64) error {
	if err := n.checkBox(input); err != nil {
		return err
	}
	names := make([][]string, len(n.nodes))
	for _, name := range slices.Sorted(maps.Keys(n.results)) {
		if at := n.results[name]; at < len(names) {
			names[at] = append(names[at], name)
		}
	}
	r := newRegion(len(n.nodes))
	r.boxes[0] = input
	r.reach[0].direct = input.magnitude()
	for i := range n.nodes {
		if i > 0 {
			r.boxes[i] = n.enclose(ctx, r, i, false, Rigorous)
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, name := range names[i] {
			values, ok := found[name]
			if !ok {
				continue
			}
			if d := r.boxes[i].Outside(values); d != nil {
				d.Result, d.Layer = name, n.nodes[i].op
				return d
			}
			if finite(values) == nil {
				r.boxes[i] = Box{values, values}
			}
		}
	}
	return nil
}

// Outside is the first value that does not lie in the box; nil where all do. An interval without ends holds what is
// not a number, too.
func (b Box) Outside(values []float64) *Difference {
	if len(values) != len(b.Lower) {
		return &Difference{Sizes: [2]int{len(b.Lower), len(values)}}
	}
	for i, v := range values {
		lo, hi := b.Lower[i], b.Upper[i]
		if !(lo <= v && v <= hi) && !(math.IsInf(lo, -1) && math.IsInf(hi, 1)) {
			return &Difference{Index: i, Value: v, Lower: lo, Upper: hi}
		}
	}
	return nil
}
