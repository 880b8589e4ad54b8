package feedforward

import (
	"context"
	"fmt"
)

// bounder bounds linear functions of a network's outputs over a set by a method.
type bounder struct {
	n      *Network
	a      Arithmetic
	method Method
	region *region
	tight  *region // of FullCROWN and on: bounds between the layers by CROWN
	tuned  bool    // with slopes that are optimised
}

func (n *Network) bounder(ctx context.Context, input Set, method Method, a Arithmetic) (*bounder, error) {
	if method == "" {
		method = CROWN
	}
	r, a, err := n.intervals(ctx, input, a)
	if err != nil {
		return nil, err
	}
	b := &bounder{n: n, a: a, method: method, region: r}
	switch method {
	case IBP, CROWN:
		return b, nil
	case FullCROWN, AlphaCROWN, Split:
		b.tight = r.clone()
		if b.tuned = method != FullCROWN && n.tunable() && r.lines[0] == nil; !b.tuned {
			b.method = FullCROWN
		}
		steps := 0
		if b.tuned {
			steps = tuneSteps
		}
		return b, n.tighten(ctx, b.tight, 1, tuning{steps, tuneRate, false, new(int)}, a)
	}
	return nil, &InputError{fmt.Sprintf("method %q, want %q, %q, %q, %q or %q", method, IBP, CROWN, FullCROWN, AlphaCROWN,
		Split)}
}

// merging are the affine layers with one input. merge takes rows back in float64.
type merging interface {
	merge(ctx context.Context, in, out Box, rows int, g, gin, constant []float64, a Arithmetic)
}
