package feedforward

import (
	"math"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// reach bounds the numbers that an evaluation in float32 meets on the way to the values of a node. An engine may fold
// the constants of neighbouring layers into each other: those of scales, and of one matrix (convolution, dense layer,
// mean) among them. So a path from a value to an output is a product of constants that may be multiplied in any
// order, and what bounds all partial products, with constants below 1 left out, bounds what is met. Where that may
// overflow nothing is known of the outputs; and each product that is lost because it is subnormal is at most the
// smallest normal number times the others.
type reach struct {
	direct float64 // sum over all paths from the last matrix or other layer
	behind float64 // the same with one matrix on the way; 0: there is none
	since  int     // constants of a path, from the last matrix
	all    int     // and with one on the way
}

// mostFolded is how many constants of a path the allowance gamma of a matrix has room for.
const mostFolded = extraTerms - 4

// reachOf is the reach of a node but for the values that it gives.
func (n *Network) reachOf(r *region, at int) reach {
	nd := n.nodes[at]
	in, f := r.reach[nd.in[0]], nd.folding
	switch l := nd.layer.(type) {
	case *arrange:
		in.direct, in.behind = max(in.direct, math.Abs(l.constant)), max(in.behind, math.Abs(l.constant))
		return in
	case affine:
		if l.matrix() {
			return reach{behind: float64(l.terms())*f.factor*in.direct + f.term, all: in.since + f.constants}
		}
		return reach{f.factor*in.direct + f.term, f.factor*in.behind + f.term, in.since + f.constants,
			in.all + f.constants}
	}
	return reach{}
}

// faint bounds what products that are subnormal, and those of more constants than mostFolded, add to the rounding
// errors of a value.
func (r reach) faint() float64 {
	sum, constants := max(r.direct, r.behind, 1), max(r.since, r.all)
	faint := float64(2*constants+4) * tiny * sum
	if constants > mostFolded {
		faint += float64(4*constants) * single * sum
	}
	return faint
}

// flush gives no bounds where numbers may overflow on the way, and puts 0 into those of a subnormal number, which may
// be flushed to it.
func (r reach) flush(out Box) {
	lost := !(max(r.direct, r.behind) <= overflow)
	for i, lo := range out.Lower {
		hi := out.Upper[i]
		switch {
		case lost:
			lo, hi = math.Inf(-1), math.Inf(1)
		case lo > 0 && lo < tiny:
			lo = 0
		case hi < 0 && hi > -tiny:
			hi = 0
		}
		out.Lower[i], out.Upper[i] = lo, hi
	}
}

// to is the reach to the values of a node, whose bounds are known; constants are not folded beyond those of a matrix
// or of another layer.
func (r reach) to(nd node, out Box) reach {
	switch l := nd.layer.(type) {
	case *arrange:
		return r
	case affine:
		if !l.matrix() {
			return r
		}
	}
	r.direct, r.since = out.magnitude(), 0
	return r
}

// matrix says whether an output of the layer is a sum over several inputs.
func (l affine) matrix() bool {
	_, ok := l.linear.(*scale)
	return !ok
}

// magnitude is the largest |v| of a box, at least 1.
func (b Box) magnitude() float64 { return array.Largest(b.Lower, b.Upper) }
