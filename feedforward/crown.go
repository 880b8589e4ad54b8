package feedforward

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// LinearBounds returns upper bounds on rows·f + offsets over a box or segment of inputs, f being the outputs; rows
// has one row of Outputs() coefficients for each bound. IBP are intervals, with the rows taken back through affine
// layers at the end; CROWN (Zhang et al. 2018) walks back from the rows to the input through lines above and below
// the activations, with intervals between the layers; FullCROWN finds those by CROWN, too. Each method takes the
// smaller of its own bounds and those before it. Errors: those of Intervals, an unknown method, rows or offsets of
// other sizes, that of ctx, which is looked at between layers.
func (n *Network) LinearBounds(ctx context.Context, input Set, rows, offsets []float64, method Method,
	a Arithmetic) ([]float64, error) {
	if len(rows) != len(offsets)*n.Outputs() {
		return nil, &InputError{fmt.Sprintf("%d coefficients for %d bounds on %d outputs", len(rows), len(offsets),
			n.Outputs())}
	}
	b, err := n.bounder(ctx, input, method, a)
	if err != nil {
		return nil, err
	}
	bounds := make([]float64, len(offsets))
	return bounds, n.blocks(len(offsets), func(from, to int) error {
		found, err := b.block(ctx, rows[from*n.Outputs():to*n.Outputs()], offsets[from:to])
		copy(bounds[from:], found)
		return err
	})
}

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

// only returns the bounder of some outputs, in ascending order, where a dense layer gives them, and
// else that of all; and which outputs it has. A row that is zero at the others has the same bound by
// both, bit for bit: products with zeros change no sum.
func (b *bounder) only(outputs []int) (*bounder, []int) {
	n, at := b.n, b.n.output
	l, _ := n.nodes[at].layer.(affine)
	d, ok := l.linear.(*dense)
	if !ok || len(outputs) == d.out {
		return b, upTo(0, n.Outputs())
	}
	part := &Network{nodes: slices.Clone(n.nodes), output: at}
	part.once.Do(func() {
		part.added, part.lossless = n.addedTerms()
		part.dense = n.dense
	})
	part.nodes[at].shape = Shape{len(outputs)}
	part.nodes[at].layer = affine{d.part(outputs, upTo(0, d.in))}
	of := *b
	of.n, of.region = part, b.region.only(at, outputs)
	if b.tight != nil {
		of.tight = b.tight.only(at, outputs)
	}
	return &of, outputs
}

// only is a region of whose node some values are left.
func (r *region) only(at int, values []int) *region {
	c := &region{slices.Clone(r.boxes), slices.Clone(r.lines), r.reach, slices.Clone(r.slacks), r.fixed}
	c.boxes[at] = Box{pick(r.boxes[at].Lower, values), pick(r.boxes[at].Upper, values)}
	c.lines[at] = nil
	if r.slacks[at] != nil {
		c.slacks[at] = pick(r.slacks[at], values)
	}
	return c
}

func upTo(from, to int) []int {
	all := make([]int, to-from)
	for i := range all {
		all[i] = from + i
	}
	return all
}

func (b *bounder) block(ctx context.Context, rows, offsets []float64) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	best := b.n.merged(ctx, b.region, rows, offsets, b.a)
	crown := func(r *region, s lowerSlope) error {
		found, err := b.n.crown(ctx, r, b.n.output, rows, offsets, s, b.a)
		lower(best, found)
		return err
	}
	if b.method == IBP {
		return best, ctx.Err()
	}
	if err := crown(b.region, adaptive); err != nil || b.tight == nil {
		return best, err
	}
	lower(best, b.n.merged(ctx, b.tight, rows, offsets, b.a))
	for _, s := range []lowerSlope{adaptive, flat, steep} {
		if err := crown(b.tight, s); err != nil {
			return nil, err
		}
	}
	if !b.tuned {
		return best, nil
	}
	live, spent := b.live(), 0
	found, err := live.n.tune(ctx, live.tight, b.n.output, rows, offsets, nil,
		tuning{tuneSteps, tuneRate, b.method == Split, &spent}, b.a)
	if err != nil {
		return nil, err
	}
	if lower(best, found); b.method != Split || slices.Max(best) < 0 {
		return best, nil
	}
	return best, (&search{bounder: live}).prove(ctx, rows, offsets, best)
}

func lower(bounds, others []float64) {
	for i, v := range others {
		bounds[i] = min(bounds[i], v)
	}
}

// blocks calls f for parts of so many rows that a matrix of coefficients with one of them for each value of the
// widest layer stays below 64 MiB, and that a walk through the network takes about a second at most: a thousand
// classes have a million pairs, and who interrupts waits for the block under way.
func (n *Network) blocks(rows int, f func(from, to int) error) error {
	widest := 1
	for _, nd := range n.nodes {
		widest = max(widest, nd.shape.Size())
	}
	step := max(1, min(blockValues/widest, mostRows, blockProducts/n.products(n.output)))
	for from := 0; from < rows; from += step {
		if err := f(from, min(from+step, rows)); err != nil {
			return err
		}
	}
	return nil
}

var blockValues = 1 << 23 // a test makes it small

const (
	blockProducts = 1 << 34
	mostRows      = 6 * kernel.Width
)

// tighten replaces the bounds on what enters activations, in order, by those of CROWN where these are tighter.
func (n *Network) tighten(ctx context.Context, r *region, from int, how tuning, a Arithmetic) error {
	boxes := r.boxes
	entered := map[int]bool{}
	for _, nd := range n.nodes {
		if _, ok := nd.layer.(*activation); ok {
			entered[nd.in[0]] = true
		}
	}
	for i, nd := range n.nodes[from:] {
		at := from + i
		boxes[at].intersect(n.enclose(ctx, r, at, false, a))
		if err := ctx.Err(); err != nil {
			return err
		}
		if !entered[at] {
			continue
		}
		open := boxes[at].open() // the others are affine already
		size := nd.shape.Size()
		bounds := make([]float64, 2*len(open)) // of all, before the first is replaced
		err := n.blocks(len(bounds), func(from, to int) error {
			rows := make([]float64, (to-from)*size)
			for k := from; k < to; k++ {
				rows[(k-from)*size+open[k/2]] = float64(1 - 2*(k%2))
			}
			walk := func() ([]float64, error) {
				if zeros := make([]float64, to-from); how.steps > 0 {
					return n.tune(ctx, r, at, rows, zeros, nil, how, a)
				}
				return n.crown(ctx, r, at, rows, make([]float64, to-from), adaptive, a)
			}
			found, err := walk()
			copy(bounds[from:], found)
			return err
		})
		if err != nil {
			return err
		}
		for k, j := range open {
			boxes[at].Upper[j] = min(boxes[at].Upper[j], bounds[2*k])
			boxes[at].Lower[j] = max(boxes[at].Lower[j], -bounds[2*k+1])
		}
	}
	return nil
}

func (b Box) intersect(other Box) {
	for i := range b.Lower {
		b.Lower[i], b.Upper[i] = max(b.Lower[i], other.Lower[i]), min(b.Upper[i], other.Upper[i])
	}
}

// merged bounds rows·f + offsets by intervals, the rows taken back through the affine layers at the end of the network.
func (n *Network) merged(ctx context.Context, r *region, rows, offsets []float64, a Arithmetic) []float64 {
	constant := slices.Clone(offsets)
	at, rows := n.tail(ctx, r, rows, constant, a)
	return r.concretise(at, offsets, rows, constant, a)
}

// tail takes rows of coefficients on the outputs back through the affine layers at the end, to rows on the outputs of
// a node.
func (n *Network) tail(ctx context.Context, r *region, rows, constant []float64, a Arithmetic) (at int, _ []float64) {
	boxes := r.boxes
	at = n.output
	for {
		l, ok := n.nodes[at].layer.(merging)
		if !ok {
			return at, rows
		}
		if a != Plain {
			r.rounding(at, rows, constant)
		}
		in := n.nodes[at].in
		g := make([]float64, len(constant)*len(boxes[in[0]].Lower))
		l.merge(ctx, boxes[in[0]], boxes[at], len(constant), rows, g, constant, a)
		at, rows = in[0], g
	}
}

// merging are the affine layers with one input. merge takes rows back in float64.
type merging interface {
	merge(ctx context.Context, in, out Box, rows int, g, gin, constant []float64, a Arithmetic)
}

// rounding adds to each constant what the sums that made its row of g on a node's values may be off by, and what the
// values may lose because numbers are subnormal.
func (r *region) rounding(at int, g, constant []float64) {
	b, faint := r.boxes[at], r.reach[at].faint()
	size := len(b.Lower)
	off, finite := make([]float64, size), true
	for i := range off {
		off[i] = host*b.largest(i) + faint
		finite = finite && off[i]-off[i] == 0
	}
	for k := range constant {
		row := g[k*size : (k+1)*size]
		if finite {
			constant[k] += kernel.Products(row, [3][]float64{off, off, off})[1]
			continue
		}
		for i, v := range row {
			if v != 0 {
				constant[k] += math.Abs(v) * off[i]
			}
		}
	}
}
