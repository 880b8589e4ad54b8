package mip

import (
	"math"
	"testing"
)

// literal is ADMM as the specification writes it down (sections 5.2, 5.3): every copy and every dual in an
// array of its own, without any of the shortcuts of iterate.
type literal struct {
	n, m                                    int
	c                                       []float64
	k, lower, upper                         []float64
	a, z, q1, q2, g, lam1, lam2, lam3       []float64
	lam4, lam5                              []float64
	rho, growth, stepA, stepZ               float64
	box, sphere, interval, unique, notValid float64 // penalty groups, filled by lagrangian
}

func newLiteral(p *Program, z []float64, o ADMM) *literal {
	n, m := len(p.Correct), p.Bins.Len()
	all := func() []float64 { return make([]float64, n*m) }
	s := &literal{
		n: n, m: m, c: make([]float64, n), k: all(), lower: all(), upper: all(), a: all(), z: all(), q1: all(), q2: all(), g: all(),
		lam1: all(), lam2: all(), lam3: all(), lam4: make([]float64, n), lam5: make([]float64, n),
		rho: o.Rho, growth: o.Growth, stepA: o.StepA, stepZ: o.StepZ,
	}
	edges := p.Bins.Edges()
	for i := range n {
		if p.Correct[i] {
			s.c[i] = 1
		}
		for j := range m {
			x := i*m + j
			s.a[x] = 1 / float64(m)
			l, u := p.Lower[i], p.Upper[i]
			if !(u >= edges[j] && (l < edges[j+1] || j == m-1)) {
				s.k[x] = 1
			} else {
				s.lower[x], s.upper[x] = max(l, edges[j]), min(u, edges[j+1])
			}
			s.z[x] = max(s.lower[x], min(s.upper[x], z[i]))
		}
	}
	copy(s.q1, s.a)
	copy(s.q2, s.a)
	copy(s.g, s.z)
	return s
}

func (s *literal) signs() []float64 {
	sums := make([]float64, s.m)
	for x := range s.a {
		sums[x%s.m] += (s.z[x] - s.c[x/s.m]) * s.a[x]
	}
	for j, v := range sums {
		switch {
		case v > 0:
			sums[j] = 1
		case v < 0:
			sums[j] = -1
		}
	}
	return sums
}

func (s *literal) rows() (unique, valid []float64) {
	unique, valid = make([]float64, s.n), make([]float64, s.n)
	for i := range unique {
		unique[i] = -1
	}
	for x, a := range s.a {
		unique[x/s.m] += a
		valid[x/s.m] += s.k[x] * a
	}
	return unique, valid
}

func (s *literal) lagrangian() float64 {
	sums := make([]float64, s.m)
	unique, valid := s.rows()
	s.box, s.sphere, s.interval, s.unique, s.notValid = 0, 0, 0, 0, 0
	term := func(dual, r float64) float64 { return dual*r + s.rho/2*r*r }
	for x := range s.a {
		sums[x%s.m] += (s.z[x] - s.c[x/s.m]) * s.a[x]
		s.box += term(s.lam1[x], s.a[x]-s.q1[x])
		s.sphere += term(s.lam2[x], s.a[x]-s.q2[x])
		s.interval += term(s.lam3[x], s.z[x]-s.g[x])
	}
	for i := range unique {
		s.unique += term(s.lam4[i], unique[i])
		s.notValid += term(s.lam5[i], valid[i])
	}
	total := s.box + s.sphere + s.interval + s.unique + s.notValid
	for _, v := range sums {
		total -= math.Abs(v)
	}
	return total
}

func (s *literal) gradA() []float64 {
	sign := s.signs()
	unique, valid := s.rows()
	g := make([]float64, len(s.a))
	for x := range g {
		i := x / s.m
		g[x] = -sign[x%s.m]*(s.z[x]-s.c[i]) + s.lam1[x] + s.lam2[x] + s.rho*(s.a[x]-s.q1[x]) + s.rho*(s.a[x]-s.q2[x]) +
			s.lam4[i] + s.rho*unique[i] + s.k[x]*(s.lam5[i]+s.rho*valid[i])
	}
	return g
}

func (s *literal) gradZ() []float64 {
	sign := s.signs()
	g := make([]float64, len(s.z))
	for x := range g {
		g[x] = -sign[x%s.m]*s.a[x] + s.lam3[x] + s.rho*(s.z[x]-s.g[x])
	}
	return g
}

// step makes one step and calls lowered with the Lagrangian before and after each closed form.
func (s *literal) step(lowered func(name string, before, after float64)) {
	clip := func(x, low, high float64) float64 { return max(low, min(high, x)) }
	for x, g := range s.gradA() {
		s.a[x] = clip(s.a[x]-s.stepA*clip(g, -5, 5), -2, 2)
	}
	for x, g := range s.gradZ() {
		s.z[x] = clip(s.z[x]-s.stepZ*g, -2, 2)
	}
	closed := func(name string, form func()) {
		if lowered == nil {
			form()
			return
		}
		before := s.lagrangian()
		form()
		lowered(name, before, s.lagrangian())
	}
	closed("q1", func() {
		for x := range s.a {
			s.q1[x] = clip(s.a[x]+s.lam1[x]/s.rho, 0, 1)
		}
	})
	closed("q2", func() {
		norm := 0.0
		for x := range s.a {
			s.q2[x] = s.a[x] + s.lam2[x]/s.rho - .5
			norm += s.q2[x] * s.q2[x]
		}
		for x := range s.a {
			s.q2[x] = .5 + math.Sqrt(float64(s.n*s.m))/2*s.q2[x]/math.Sqrt(norm)
		}
	})
	closed("g", func() {
		for x := range s.z {
			s.g[x] = clip(s.z[x]+s.lam3[x]/s.rho, s.lower[x], s.upper[x])
		}
	})
	unique, valid := s.rows()
	for x := range s.a {
		s.lam1[x] += s.rho * (s.a[x] - s.q1[x])
		s.lam2[x] += s.rho * (s.a[x] - s.q2[x])
		s.lam3[x] += s.rho * (s.z[x] - s.g[x])
	}
	for i := range unique {
		s.lam4[i] += s.rho * unique[i]
		s.lam5[i] += s.rho * valid[i]
	}
}

func (s *literal) grow() { s.rho = min(s.rho*s.growth, 10) }

func relative(a, b float64) float64 { return math.Abs(a-b) / max(1, math.Abs(a), math.Abs(b)) }

// The literal form itself: its gradients equal the Lagrangian's (section 11.F (1)), its copies lie in
// their sets and lower the Lagrangian (2).
func TestLiteralADMM(t *testing.T) {
	p, clean := synthetic(1, 12, 5, .5)
	s := newLiteral(p, clean, must(ADMM{StepA: .01, StepZ: .01}.withDefaults()))
	for step := range 200 {
		if step%20 == 10 {
			for name, pair := range map[string]struct{ x, gradient []float64 }{"a": {s.a, s.gradA()}, "z": {s.z, s.gradZ()}} {
				for k := range pair.x {
					const h = 1e-6
					old := pair.x[k]
					pair.x[k] = old + h
					up := s.lagrangian()
					pair.x[k] = old - h
					down := s.lagrangian()
					pair.x[k] = old
					if slope := (up - down) / (2 * h); relative(slope, pair.gradient[k]) > 1e-7 {
						t.Fatalf("step %d: slope in %s[%d] is %v, gradient %v", step, name, k, slope, pair.gradient[k])
					}
				}
			}
		}
		s.step(func(name string, before, after float64) {
			// The sphere is not convex, but the nearest point of it still lowers the Lagrangian.
			// At the first step the copy comes from off the sphere.
			if after > before+1e-12 && (step > 0 || name != "q2") {
				t.Fatalf("step %d: %s raises the Lagrangian from %v to %v", step, name, before, after)
			}
		})
		norm := 0.0
		for x := range s.a {
			norm += (s.q2[x] - .5) * (s.q2[x] - .5)
			if s.q1[x] < 0 || s.q1[x] > 1 || s.g[x] < s.lower[x] || s.g[x] > s.upper[x] {
				t.Fatalf("step %d: a copy is outside its set", step)
			}
		}
		if relative(norm, float64(len(s.a))/4) > 1e-12 {
			t.Fatalf("step %d: ‖q2−½‖² = %v, want %v", step, norm, float64(len(s.a))/4)
		}
		s.grow()
	}
}
