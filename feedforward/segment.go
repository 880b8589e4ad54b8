package feedforward

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// Set is the inputs that bounds are over: a Box or a Segment.
type Set interface {
	// region checks that the set fits the network's input, and encloses it.
	region(n *Network, a Arithmetic) (Box, *line, error)
}

func (b Box) region(n *Network, _ Arithmetic) (Box, *line, error) { return b, nil, n.checkBox(b) }

// Segment is the inputs x + t·d with |t| ≤ ε: the images between two. Nothing is clipped. Bounds follow x and d through
// the affine layers at the beginning, as Wx + b and Wd. So the first ones are exact, of radius ε|Wd|; a box around the
// segment has ε|W||d|. In rigorous arithmetic the set holds, besides, these inputs rounded to float32.
type Segment struct {
	Centre    []float64 // x
	Direction []float64 // d
	Epsilon   float64   // ε, at least 0, in units of d
}

func (s Segment) region(n *Network, a Arithmetic) (Box, *line, error) {
	fail := func(format string, args ...any) (Box, *line, error) {
		return Box{}, nil, &InputError{fmt.Sprintf("a segment "+format, args...)}
	}
	if want := n.nodes[0].shape.Size(); len(s.Centre) != want || len(s.Direction) != want {
		return fail("of %d and %d values, want %d", len(s.Centre), len(s.Direction), want)
	}
	if !(s.Epsilon >= 0) || math.IsInf(s.Epsilon, 0) {
		return fail("with epsilon %v, want a finite number of at least 0", s.Epsilon)
	}
	for i, x := range s.Centre {
		if end := math.Abs(x) + s.Epsilon*math.Abs(s.Direction[i]); math.IsNaN(end) || math.IsInf(end, 0) {
			return fail("whose value %d is %v, in direction %v", i, x, s.Direction[i])
		}
	}
	l := &line{s.Centre, s.Direction, make([]float64, len(s.Centre)), s.Epsilon}
	if a != Plain {
		for i, x := range s.Centre {
			l.slack[i] = 2*single*(math.Abs(x)+s.Epsilon*math.Abs(s.Direction[i])) + tiny
		}
	}
	return l.box(a), l, nil
}

// line is the values c + t·v + e of a layer, |t| ≤ ε and |e| ≤ slack: affine in t, but for rounding.
type line struct {
	centre, direction, slack []float64
	epsilon                  float64
}

// straight is a layer that takes lines to lines.
type straight interface {
	// along is the line of the outputs; in encloses the line of the inputs.
	along(ctx context.Context, l *line, in Box, size int, a Arithmetic) *line
}

func (l affine) along(ctx context.Context, from *line, in Box, size int, a Arithmetic) *line {
	to := &line{make([]float64, size), make([]float64, size), l.slack(ctx, in, a), from.epsilon}
	l.start(to.centre)
	l.apply(ctx, from.centre, to.centre, false)
	l.apply(ctx, from.direction, to.direction, false)
	l.apply(ctx, from.slack, to.slack, true)
	return to
}

func (l *arrange) along(ctx context.Context, from *line, _ Box, size int, _ Arithmetic) *line {
	to := &line{make([]float64, size), make([]float64, size), make([]float64, size), from.epsilon}
	l.move(from.centre, to.centre)
	fixed := arrange{from: l.from} // its constants do not move
	fixed.move(from.direction, to.direction)
	fixed.move(from.slack, to.slack)
	return to
}

// box encloses the line. The rounding of our own sums is in the slack, which has the allowance host of all magnitudes.
func (l *line) box(a Arithmetic) Box {
	b := newBox(len(l.centre))
	for i, c := range l.centre {
		r := l.epsilon*math.Abs(l.direction[i]) + l.slack[i]
		if a != Plain {
			r *= 1 + 4*host
		}
		b.Lower[i], b.Upper[i] = a.down(c-r), a.up(c+r)
	}
	return b
}

type region struct {
	boxes  []Box
	lines  []*line // nil for a node that is not affine on a segment
	reach  []reach
	slacks [][]float64 // of affine layers that were asked for
	fixed  []fixed     // ReLUs whose inputs have a sign in all of it
}

func newRegion(nodes int) *region {
	return &region{make([]Box, nodes), make([]*line, nodes), make([]reach, nodes), make([][]float64, nodes), nil}
}

// clone is a region whose boxes may be changed.
func (r *region) clone() *region {
	c := &region{make([]Box, len(r.boxes)), r.lines, slices.Clone(r.reach), slices.Clone(r.slacks), slices.Clip(r.fixed)}
	for i, b := range r.boxes {
		c.boxes[i] = Box{slices.Clone(b.Lower), slices.Clone(b.Upper)}
	}
	return c
}

// follow is the line of a node whose input is on one, nil for another.
func (r *region) follow(ctx context.Context, nd node, a Arithmetic) *line {
	l, ok := nd.layer.(straight)
	if !ok || len(nd.in) != 1 || r.lines[nd.in[0]] == nil {
		return nil
	}
	return l.along(ctx, r.lines[nd.in[0]], r.boxes[nd.in[0]], nd.shape.Size(), a)
}

// concretise is constant + the largest value of each row of g over a node, rounded up.
func (r *region) concretise(at int, offsets, g, constant []float64, a Arithmetic) []float64 {
	b, l := r.boxes[at], r.lines[at]
	size := len(b.Lower)
	out := make([]float64, len(offsets))
	ends, finite := [3][]float64{make([]float64, size), make([]float64, size), make([]float64, size)}, l == nil
	b.centre(ends[0], ends[1], ends[2], a)
	for _, m := range ends[2] {
		finite = finite && !math.IsInf(m, 0)
	}
	for k := range out {
		sum, magnitude := constant[k], math.Abs(constant[k])+math.Abs(offsets[k])
		along, off := 0.0, 0.0
		row := g[k*size : (k+1)*size]
		if finite {
			p := kernel.Products(row, ends)
			sum, magnitude = sum+p[0]+p[1], magnitude+p[2]
			row = nil
		}
		for i, v := range row {
			switch {
			case v == 0:
				continue
			case l != nil:
				sum += v * l.centre[i]
				along += v * l.direction[i]
				off += math.Abs(v) * l.slack[i]
			case v > 0:
				sum += v * b.Upper[i]
			default:
				sum += v * b.Lower[i]
			}
			magnitude += math.Abs(v) * max(math.Abs(b.Lower[i]), math.Abs(b.Upper[i]))
		}
		if l != nil {
			sum += l.epsilon*math.Abs(along) + off
		}
		if a != Plain {
			sum += host * magnitude
		}
		if math.IsNaN(sum) {
			sum = math.Inf(1)
		}
		out[k] = sum
	}
	return out
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
