package property

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/big"
	"slices"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/ood/attack"
)

// Verdict on a property.
type Verdict string

// The verdicts.
const (
	// Holds: proven, no input of any box meets its conditions, in exact arithmetic and in float32
	Holds    Verdict = "holds"
	Violated Verdict = "violated" // the witness meets them
	Unknown  Verdict = "unknown"
)

// Result is a verdict with what shows it.
type Result struct {
	Verdict Verdict `json:"verdict"`
	// Method decided: conditions (they contradict each other, or leave no input), ibp, crown, full-crown, alpha-crown,
	// split, or apgd.
	Method   string    `json:"method"`
	Witness  []float64 `json:"witness,omitempty"` // an input that float32 holds, where the verdict is Violated
	Outputs  []float64 `json:"outputs,omitempty"` // of the file there: those of Options.Run, else in float64
	Compared string    `json:"compared"`          // see feedforward.Network.Compared
	Assumes  string    `json:"assumes,omitempty"` // what "holds" takes for granted of float32
}

// Options say how hard to try. The zero value works.
type Options struct {
	Steps, Restarts int    // of the attack; 0: 100 and 3
	Seed            uint64 // of its random starts

	// Run gives the outputs of the file at an input in its own arithmetic, in several ways. A witness must meet the
	// conditions in each. May be nil.
	Run func(x []float64) ([2][]float64, error)
}

// Decide proves a property of a file, refutes it, or does neither. The outputs of the file are the network's
// behind its Head, a softmax or the logarithm of one.
//
// It holds where for each case some condition, or a sum of conditions, is proven to fail on the whole box. The
// conditions may contradict each other whatever the network. Or outward-rounded bounds prove it: intervals, CROWN,
// CROWN between all layers, with optimised slopes, or splits of ReLUs, whichever is the first (feedforward,
// Rigorous). It is violated where Auto-PGD finds an input that float32 holds, whose outputs meet all conditions of a
// case, strict ones strictly. These are the outputs in float64 and those of Options.Run, compared exactly. Where no
// float32 number lies between the ends of an input, the nearest one stands for it.
//
// Errors: a network of other sizes, those of the context and of Options.Run.
func Decide(ctx context.Context, n *feedforward.Network, p *Property, o Options) (Result, error) {
	if in := n.InputShape().Size(); in != p.Inputs || n.Outputs() != p.Outputs {
		return Result{}, fmt.Errorf("property: the network has %d inputs and %d outputs, the property %d and %d",
			in, n.Outputs(), p.Inputs, p.Outputs)
	}
	o.Steps = cmp.Or(o.Steps, 100)
	o.Restarts = cmp.Or(o.Restarts, 3)
	d := decision{n: n, head: head(n.Head()), o: o}
	result, err := d.decide(ctx, p.Cases)
	result.Compared, result.Assumes = n.Compared(), d.head.assumes(n.Assumes())
	return result, err
}

// decision is a call of Decide.
type decision struct {
	n    *feedforward.Network
	head head
	o    Options
}

func (d *decision) decide(ctx context.Context, cases []Case) (Result, error) {
	open := slices.DeleteFunc(slices.Clone(cases), func(c Case) bool { return contradict(c.Conditions) })
	if len(open) == 0 {
		return Result{Verdict: Holds, Method: "conditions"}, nil
	}
	methods := []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN, feedforward.AlphaCROWN,
		feedforward.Split}
	for i, method := range methods {
		var left []Case
		for _, group := range byBox(open) {
			failing, err := d.fail(ctx, group, method)
			if err != nil {
				return Result{}, err
			}
			for k, c := range group {
				if !failing[k] {
					left = append(left, c)
				}
			}
		}
		if open = left; len(open) == 0 {
			return Result{Verdict: Holds, Method: string(method)}, nil
		}
		// A short attack before the next, dearer bound: most violated properties show at once.
		a := attack.APGD{Steps: 10 * (i + 1), Restarts: 1}
		switch method {
		case feedforward.FullCROWN:
			a = attack.APGD{Steps: d.o.Steps, Restarts: d.o.Restarts}
		case feedforward.AlphaCROWN, feedforward.Split:
			continue // the attack was made
		}
		if found, err := d.search(ctx, open, a); err != nil || found != nil {
			if err != nil {
				return Result{}, err
			}
			return *found, nil
		}
	}
	return Result{Verdict: Unknown, Method: string(feedforward.Split)}, nil
}

// byBox puts cases with the same box together, so that all their conditions are bounded in one pass.
func byBox(cases []Case) (groups [][]Case) {
	const most = 1 << 22 // coefficients in a pass
	first := map[[2]float64][]int{}
	for _, c := range cases {
		var key [2]float64 // of many boxes that differ, few have these in common
		for i, lo := range c.Box.Lower {
			key[0], key[1] = key[0]+lo*float64(i%7+1), key[1]+c.Box.Upper[i]*float64(i%5+1)
		}
		at := -1
		for _, g := range first[key] {
			b, room := groups[g][0].Box, len(groups[g])*len(c.Conditions)*c.outputs() < most
			if room && sameEnds(b.Lower, c.Box.Lower) && sameEnds(b.Upper, c.Box.Upper) {
				at = g
			}
		}
		if at < 0 {
			first[key] = append(first[key], len(groups))
			groups = append(groups, nil)
			at = len(groups) - 1
		}
		groups[at] = append(groups[at], c)
	}
	return groups
}

func sameEnds(a, b []float64) bool { return &a[0] == &b[0] || slices.Equal(a, b) }

func (c Case) outputs() int {
	for _, q := range c.Conditions {
		return len(q.Row)
	}
	return 0
}

// fail says, case by case of one box, whether some condition, Row·Y ≤ Bound, or a sum of conditions, is proven to
// fail on the whole box. A case without conditions is met by every input of its box.
func (d *decision) fail(ctx context.Context, cases []Case, method feedforward.Method) ([]bool, error) {
	var all []Condition
	var of []int
	for i, c := range cases {
		for _, q := range append(slices.Clone(c.Conditions), sums(c.Conditions)...) {
			all, of = append(all, q), append(of, i)
		}
	}
	failing := make([]bool, len(cases))
	if len(all) == 0 {
		return failing, nil
	}
	excess, err := d.head.excess(ctx, d.n, cases[0].Box, all, method)
	if err != nil {
		return nil, err
	}
	for i, v := range excess {
		if v > 0 {
			failing[of[i]] = true
		}
	}
	return failing, nil
}

// sums are conditions that follow from several: of each two of a few, and of all. They are met by no input where
// single ones are met by some.
func sums(conditions []Condition) (out []Condition) {
	const few = 4
	n := len(conditions)
	add := func(members ...int) {
		total := Condition{Row: make([]float64, len(conditions[0].Row))}
		for _, m := range members {
			q := conditions[m]
			_, exponent := math.Frexp(max(slices.Max(q.Row), -slices.Min(q.Row)))
			weight := math.Ldexp(1, -exponent) // so that no condition outweighs the others; powers of two are exact
			for i, r := range q.Row {
				before := total.Row[i]
				if total.Row[i] += r * weight; total.Row[i]-before != r*weight || total.Row[i]-r*weight != before {
					return // rounded: no sum of these
				}
			}
			if bound := q.Bound * weight; total.Bound+bound-total.Bound == bound && total.Bound+
				bound-bound == total.Bound {
				total.Bound += bound
			} else {
				total.Bound = math.Nextafter(total.Bound+bound, math.Inf(1))
			}
		}
		out = append(out, total)
	}
	if n <= few {
		for i := range n {
			for j := range i {
				add(j, i)
			}
		}
	}
	if n > 2 {
		every := make([]int, n)
		for i := range every {
			every[i] = i
		}
		add(every...)
	}
	return out
}

// search looks for an input of a case's box that meets its conditions, in several cases at once.
func (d *decision) search(ctx context.Context, cases []Case, a attack.APGD) (*Result, error) {
	size := 8
	for from := 0; from < len(cases); size = 64 {
		part := cases[from:min(from+size, len(cases))]
		points := make([][]float64, len(part))
		tasks := make([]func(attack.Network) error, len(part))
		for i, c := range part {
			tasks[i] = func(n attack.Network) error {
				if c.Nearest.Lower == nil {
					return nil // no input that float32 holds
				}
				centre := make([]float64, len(c.Nearest.Lower))
				for j, lo := range c.Nearest.Lower {
					centre[j] = lo + (c.Nearest.Upper[j]-lo)/2
				}
				best, err := a.Run(ctx, attack.Problem{
					Network: n, Objective: func(f []float64) (float64, []float64) { return d.head.margin(c, f) },
					Boxes: []feedforward.Box{c.Nearest}, Starts: [][]float64{centre}, IDs: []uint64{uint64(from + i)},
					Seed: d.o.Seed,
				})
				if err == nil {
					points[i] = best[0].Point
				}
				return err
			}
		}
		if err := attack.Together(d.n, tasks); err != nil {
			return nil, err
		}
		for i, c := range part {
			if points[i] == nil {
				continue
			}
			if found, err := d.witness(c, points[i]); found != nil || err != nil {
				return found, err
			}
		}
		from += len(part)
	}
	return nil, nil
}

// witness is the result where a point, rounded to float32 within the box, meets all conditions.
func (d *decision) witness(c Case, x []float64) (*Result, error) {
	for i, v := range x {
		x[i] = min(max(float64(float32(v)), c.Nearest.Lower[i]), c.Nearest.Upper[i])
	}
	f, err := d.n.Forward(x)
	if err != nil {
		return nil, err
	}
	outputs := d.head.of(f)
	if !c.met(outputs) {
		return nil, nil
	}
	if d.o.Run != nil {
		own, err := d.o.Run(x)
		if err != nil {
			return nil, err
		}
		if !c.met(own[0]) || !c.met(own[1]) {
			return nil, nil
		}
		outputs = own[0]
	}
	return &Result{Verdict: Violated, Method: "apgd", Witness: x, Outputs: outputs}, nil
}

// met says whether outputs meet all conditions, without rounding.
func (c Case) met(outputs []float64) bool {
	for _, v := range outputs {
		if v-v != 0 {
			return false
		}
	}
	for _, q := range c.Conditions {
		exact := q.rational()
		sum := new(big.Rat).Set(exact.number)
		for i, r := range exact.y {
			sum.Add(sum, new(big.Rat).Mul(r, new(big.Rat).SetFloat64(outputs[i])))
		}
		if sum.Sign() > 0 || q.Strict && sum.Sign() == 0 {
			return false
		}
	}
	return true
}

// margin is the least of Bound − Row·Y over the conditions, which is not negative where all are met, with its gradient.
func (c Case) margin(y []float64) (float64, []float64) {
	least, gradient := math.Inf(1), make([]float64, len(y))
	for _, q := range c.Conditions {
		v := q.Bound
		for i, r := range q.Row {
			v -= r * y[i]
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
