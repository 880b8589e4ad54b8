package main

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
)

// ellipsoid says which changes of an image keep its claim in a ledger. For a change of D levels and
// every whole number u, the claim holds where ‖D − u·(1, …, 1)‖² + (u·σ/t)² is below (255·radius)².
// There t is the standard deviation of a shift of all values by whole levels that the noise has
// besides; without one u is 0.
//
// Proof: the noisy image is a fixed function of X + sζ and of tα, the shift before it is rounded,
// which is clamped last. Smoothed by independent normal ζ and α it keeps its class at scaled
// distances below Φ⁻¹(p), as Cohen et al. show. To move tα by u and X by D − u gives the law of the
// image X + D, as u is whole.
type ellipsoid struct {
	c    *checker
	at   map[int]image
	cost *big.Rat // (σ/t)²

	limit, farthest *big.Rat // of the image
	shift           map[int64]bool
}

// readEllipsoid checks a ledger.
func readEllipsoid(ledger []byte, digest, data string) *ellipsoid {
	c, reason := check(bytes.NewReader(ledger), 1e9)
	must(reason == "", "the ledger, line %d: %s", c.at+1, reason)
	must("sha256:"+strings.TrimPrefix(c.line, "sha256 ") == digest && c.Data.Digest == data, "it is of another ledger")
	must(c.Version == 4 || c.Noise == "grid/1", "the ledger has the noise %.40q, not one on the grid", c.Noise)
	e := &ellipsoid{c: c, at: map[int]image{}, cost: new(big.Rat)}
	if t := c.grey(); t != nil {
		e.cost.Quo(c.sigma, t)
		e.cost.Mul(e.cost, e.cost)
	}
	for _, m := range c.all {
		e.at[m.id] = m
	}
	return e
}

// grey is the standard deviation of the shift; nil: there is none.
func (h *header) grey() *big.Rat {
	text, found := strings.CutPrefix(h.Noise, "spectrum/1:grey@0=")
	f, err := strconv.ParseFloat(text, 64)
	if !found || err != nil || !(f >= 1./1020 && f <= 1) || strconv.FormatFloat(f, 'f', -1, 64) != text {
		return nil
	}
	t, _ := new(big.Rat).SetString(text)
	return t
}

// begin takes the claim on an image. A nil ellipsoid checks nothing.
func (e *ellipsoid) begin(l strengthLine) {
	if e == nil {
		return
	}
	m, ok := e.at[l.id]
	must(ok && m.class == l.class, "the ledger has no claim on image %d, or on another class", l.id)
	r, _ := new(big.Rat).SetString(strconv.FormatFloat(m.radius, 'f', -1, 64))
	e.limit = times(times(r, r), big.NewRat(255*255, 1))
	e.farthest, e.shift = new(big.Rat), map[int64]bool{0: true}
}

// inside reports whether an image keeps the claim, by the better of the two whole numbers around
// the best shift. 10⁻¹² is for σ and t, which the sampler has in binary.
func (e *ellipsoid) inside(image, changed []byte) bool {
	sum := int64(0)
	for i, v := range image {
		sum += int64(changed[i]) - int64(v)
	}
	var least *big.Rat
	var shifts map[int64]bool
	below := int64(0)
	if e.cost.Sign() > 0 {
		best := new(big.Rat).Quo(big.NewRat(sum, 1), new(big.Rat).Add(e.cost, big.NewRat(int64(len(image)), 1)))
		below = new(big.Int).Div(best.Num(), best.Denom()).Int64()
	}
	for u := below; u == below || u == below+1 && e.cost.Sign() > 0; u++ {
		squares := int64(0)
		for i, v := range image {
			d := int64(changed[i]) - int64(v) - u
			squares += d * d
		}
		n := new(big.Rat).Add(times(e.cost, big.NewRat(u*u, 1)), big.NewRat(squares, 1))
		n.Mul(n, big.NewRat(1e12+1, 1e12))
		if least == nil || n.Cmp(least) < 0 {
			least, shifts = n, map[int64]bool{}
		}
		if n.Cmp(least) == 0 {
			shifts[u] = true
		}
	}
	if least.Cmp(e.limit) >= 0 {
		return false
	}
	if least.Cmp(e.farthest) > 0 {
		e.farthest, e.shift = least, shifts
	}
	return true
}

// end compares the shift that a line names for its farthest image.
func (e *ellipsoid) end(l strengthLine) {
	if e != nil {
		must(e.shift[int64(l.agree)], "%d is not the best shift of the farthest image", l.agree)
	}
}
