package feedforward

import (
	"math"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

func (l affine) walk(s step, at int) {
	slack := s.r.slack(s.ctx, l, s.in[0], at, s.a)
	more := 1.0
	if s.a != Plain {
		more += s.off[0] / s.a.gamma(l.terms())
	}
	s.constants(at, l.bias(), func(i int) float64 { return slack[i] * more })
	l.rowsBack(s)
}

func (l *activation) walk(s step, at int) {
	if s.bends[at] == nil {
		s.bends[at] = l.bends(s, at)
	}
	for b := range s.blocks {
		kernel.BendRows(&s.sums[b], s.block(b), s.bends[at], s.into(0, b), s.fresh[0])
	}
}

func (l *activation) bends(s step, at int) []kernel.Bend {
	in, faint := s.r.boxes[s.in[0]], s.r.reach[at].faint()
	lines := make([]kernel.Bend, len(in.Lower))
	for i, lo := range in.Lower {
		hi := in.Upper[i]
		upper, lower := segment{0, s.out.Upper[i]}, segment{0, s.out.Lower[i]}
		e := 0.0
		if !math.IsInf(lo, 0) && !math.IsInf(hi, 0) {
			upper, lower = l.chord(lo, hi, s.slope)
			if s.a != Plain {
				m := in.largest(i)
				steepest := max(math.Abs(upper.slope), math.Abs(lower.slope))
				e = l.err(m) + host*(math.Abs(upper.offset)+math.Abs(lower.offset)+2*steepest*m) +
					(s.off[0]+2*single)*steepest*m
			}
		}
		if s.a != Plain {
			e += faint
		}
		lines[i] = kernel.Bend{Up: float32(upper.slope), Low: float32(lower.slope),
			Over: upper.offset + e, Under: lower.offset - e}
	}
	return lines
}

// walk: the maximum is at least each of its inputs, and equals the one whose lower bound no other's upper bound
// exceeds; else it is at most the largest upper bound.
func (l *maximum) walk(s step, at int) {
	in := s.r.boxes[s.in[0]]
	s.constants(at, bias{}, func(i int) float64 {
		if s.off[0] == 0 || math.IsInf(s.out.largest(i), 0) {
			return 0
		}
		return s.off[0] * s.out.largest(i)
	})
	l.each(func(o int, members []int) {
		best := l.first(in.Lower, members)
		wins := true
		for _, i := range members {
			wins = wins && (i == best || in.Upper[i] <= in.Lower[best])
		}
		for b := range s.blocks {
			to := &s.into(0, b)[best]
			for r, v := range s.block(b)[o] {
				switch {
				case v > 0 && !wins:
					s.sums[b][r] += float64(float64(v) * s.out.Upper[o])
				case v != 0:
					to[r] += v
				}
			}
		}
	})
}

func (l *arrange) walk(s step, at int) {
	constants := bias{b: make([]float64, len(s.out.Lower)), times: 1}
	for o := range l.from {
		if l.from[o] < 0 {
			constants.b[o] = l.constant
		}
	}
	s.constants(at, constants, func(i int) float64 { return s.passed(0, i) })
	for b := range s.blocks {
		g, to := s.block(b), s.into(0, b)
		for o := range g {
			i := o
			if l.from != nil {
				i = int(l.from[o])
			}
			if i >= 0 {
				to[i].Add(&g[o], 1)
			}
		}
	}
}

func (l *sum) walk(s step, at int) {
	boxes := pick(s.r.boxes, s.in)
	slack := l.slack(boxes, s.a)
	s.constants(at, bias{}, func(i int) float64 {
		for j, b := range boxes {
			if s.a != Plain {
				slack[i] += s.off[j] * b.largest(i)
			}
		}
		return slack[i]
	})
	for j := range boxes {
		for b := range s.blocks {
			to := s.into(j, b)
			for i := range s.block(b) {
				to[i].Add(&s.block(b)[i], float32(l.sign[j]))
			}
		}
	}
}

func (l *concat) walk(s step, at int) {
	off := make([]float64, len(s.out.Lower))
	l.each(func(j, from, to, size int) {
		for i := to; i < to+size; i++ {
			off[i] = s.passed(j, i)
		}
	})
	s.constants(at, bias{}, func(i int) float64 { return off[i] })
	for b := range s.blocks {
		g := s.block(b)
		l.each(func(j, from, to, size int) {
			for i := range size {
				s.into(j, b)[from+i].Add(&g[to+i], 1)
			}
		})
	}
}

// passed bounds the error of the coefficients on an input, for a value that goes to output i as it is.
func (s step) passed(in, i int) float64 {
	if s.a == Plain {
		return 0
	}
	return s.off[in] * s.out.largest(i)
}
