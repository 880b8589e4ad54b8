package property

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/ood/internal/attack"
)

// Verdict is what was decided.
type Verdict string

// The verdicts.
const (
	Holds    Verdict = "holds"    // proven: no input of any box meets its conditions, in exact arithmetic and in float32
	Violated Verdict = "violated" // the witness meets them, in float64
	Unknown  Verdict = "unknown"
)

// Result is a verdict with what shows it.
type Result struct {
	Verdict Verdict   `json:"verdict"`
	Method  string    `json:"method"`            // that decided: ibp, crown, full-crown, or the attack
	Witness []float64 `json:"witness,omitempty"` // an input, where the verdict is Violated
}

// Options say how hard to try. The zero value works.
type Options struct {
	Steps, Restarts int    // of the attack; 0: 100 and 3
	Seed            uint64 // of its random starts
}

// Decide proves a property, refutes it, or does neither. It holds where for each case some condition is proven to fail on the
// whole box, by outward-rounded interval bounds, CROWN, or CROWN between all layers, whichever is the first (feedforward, Rigorous). It
// is violated where Auto-PGD finds an input whose outputs in float64 meet all conditions of a case. A witness is in float64:
// a network in float32 may be on the other side by its rounding. Errors: a network of other sizes, those of the context.
func Decide(ctx context.Context, n *feedforward.Network, p *Property, o Options) (Result, error) {
	if in := n.InputShape().Size(); in != p.Inputs || n.Outputs() != p.Outputs {
		return Result{}, fmt.Errorf("property: the network has %d inputs and %d outputs, the property %d and %d", in, n.Outputs(), p.Inputs, p.Outputs)
	}
	if o.Steps == 0 {
		o.Steps = 100
	}
	if o.Restarts == 0 {
		o.Restarts = 3
	}
	open := p.Cases
	methods := []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN}
	for i, method := range methods {
		var left []Case
		for _, c := range open {
			if err := ctx.Err(); err != nil {
				return Result{}, err
			}
			proven, err := fails(ctx, n, c, method)
			if err != nil {
				return Result{}, err
			}
			if !proven {
				left = append(left, c)
			}
		}
		if open = left; len(open) == 0 {
			return Result{Verdict: Holds, Method: string(method)}, nil
		}
		if i+1 < len(methods) { // a short attack before the next, dearer bound: most violated properties show at once
			if found, err := search(ctx, n, open, attack.APGD{Steps: 10 * (i + 1), Restarts: 1}, o.Seed); err != nil || found != nil {
				return violated(found), err
			}
		}
	}
	found, err := search(ctx, n, open, attack.APGD{Steps: o.Steps, Restarts: o.Restarts}, o.Seed)
	if err != nil || found != nil {
		return violated(found), err
	}
	return Result{Verdict: Unknown, Method: string(feedforward.FullCROWN)}, nil
}

func violated(witness []float64) Result {
	return Result{Verdict: Violated, Method: "apgd", Witness: witness}
}

// fails says whether some condition, Row·Y ≤ Bound, is proven to fail on the whole box: Bound − Row·Y is below 0 everywhere. A
// case without conditions is met by every input of its box.
func fails(ctx context.Context, n *feedforward.Network, c Case, method feedforward.Method) (bool, error) {
	if len(c.Conditions) == 0 {
		return false, nil
	}
	var rows, offsets []float64
	for _, q := range c.Conditions {
		for _, v := range q.Row {
			rows = append(rows, -v)
		}
		offsets = append(offsets, q.Bound)
	}
	bounds, err := n.LinearBounds(ctx, c.Box, rows, offsets, method, feedforward.Rigorous)
	if err != nil {
		return false, err
	}
	for _, b := range bounds {
		if b < 0 {
			return true, nil
		}
	}
	return false, nil
}

// search looks for an input of a case's box that meets its conditions, and checks it by evaluating the network once more.
func search(ctx context.Context, n *feedforward.Network, cases []Case, a attack.APGD, seed uint64) ([]float64, error) {
	for i, c := range cases {
		centre := make([]float64, len(c.Nearest.Lower))
		for j, lo := range c.Nearest.Lower {
			centre[j] = lo + (c.Nearest.Upper[j]-lo)/2
		}
		best, err := a.Run(ctx, attack.Problem{Network: n, Objective: c.margin,
			Boxes: []feedforward.Box{c.Nearest}, Starts: [][]float64{centre}, IDs: []uint64{uint64(i)}, Seed: seed})
		if err != nil {
			return nil, err
		}
		f, err := n.Forward(best[0].Point)
		if err != nil {
			return nil, err
		}
		if margin, _ := c.margin(f); margin >= 0 {
			return best[0].Point, nil
		}
	}
	return nil, nil
}

// margin is the least of Bound − Row·Y over the conditions, which is not negative where all are met, with its gradient.
func (c Case) margin(f []float64) (float64, []float64) {
	least, gradient := math.Inf(1), make([]float64, len(f))
	for _, q := range c.Conditions {
		v := q.Bound
		for i, r := range q.Row {
			v -= r * f[i]
		}
		if v < least {
			least = v
			for i, r := range q.Row {
				gradient[i] = -r
			}
		}
	}
	return least, gradient
}
