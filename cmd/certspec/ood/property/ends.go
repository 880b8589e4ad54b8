package property

import (
	"math"
	"math/big"

	"github.com/certspec/certspec/feedforward"
)

// end of an interval, which a strict one does not hold; at nil, there is none.
type end struct {
	at     *big.Rat
	strict bool
}

type ends struct{ lower, upper []end }

// narrow takes one more upper, or lower, end of an input.
func (b *ends) narrow(i int, upper bool, e end) {
	old, sign := &b.lower[i], 1
	if upper {
		old, sign = &b.upper[i], -1
	}
	if old.at != nil {
		switch c := e.at.Cmp(old.at) * sign; {
		case c < 0:
			return
		case c == 0:
			if old.strict || !e.strict {
				return // so that a box that is the same as another is found to be
			}
		}
	}
	*old = e
}

// empty reports that no input lies between the ends.
func (b *ends) empty() bool {
	for i, lo := range b.lower {
		hi := b.upper[i]
		if lo.at == nil || hi.at == nil {
			continue
		}
		if c := lo.at.Cmp(hi.at); c > 0 || c == 0 && (lo.strict || hi.strict) {
			return true
		}
	}
	return false
}

// open is the first input without a lower or an upper end, or −1.
func (b *ends) open() int {
	for i, lo := range b.lower {
		if lo.at == nil || b.upper[i].at == nil {
			return i
		}
	}
	return -1
}

// boxes are the box rounded outwards to float64, and inwards to float32.
func (b *ends) boxes() (outer, inner feedforward.Box) {
	none := false
	for i, lo := range b.lower {
		hi := b.upper[i]
		outer.Lower, outer.Upper = append(outer.Lower, outwards(lo, -1)), append(outer.Upper, outwards(hi, 1))
		l, u := inwards(lo, 1), inwards(hi, -1)
		if !(l <= u) {
			middle := new(big.Rat).Add(lo.at, hi.at)
			nearest, _ := middle.Mul(middle, big.NewRat(1, 2)).Float32()
			l, u = float64(nearest), float64(nearest)
			none = none || lo.strict || hi.strict || math.IsInf(l, 0)
		}
		inner.Lower, inner.Upper = append(inner.Lower, l), append(inner.Upper, u)
	}
	if none {
		inner = feedforward.Box{}
	}
	return outer, inner
}

// outwards rounds an end to float64.
func outwards(e end, side int) float64 {
	v, exact := e.at.Float64()
	if !exact {
		v = math.Nextafter(v, math.Inf(side))
	}
	return v
}

// inwards rounds an end to float32, to the next number where the end is strict; NaN beyond float32.
func inwards(e end, side int) float64 {
	v, _ := e.at.Float32()
	exact := new(big.Rat).SetFloat64(float64(v)) // nil: infinite
	if exact != nil {
		if c := exact.Cmp(e.at) * side; c > 0 || c == 0 && !e.strict {
			return float64(v)
		}
	}
	if v = math.Nextafter32(v, float32(math.Inf(side))); math.IsInf(float64(v), 0) {
		return math.NaN()
	}
	return float64(v)
}
