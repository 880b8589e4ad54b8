package mip

import (
	"math"
	"slices"
	"testing"
)

// variables belong to the Lagrangian that an iterate stands for, with the duals of its last step.
func variables(s *iterate, clean []float64) *literal {
	v := newLiteral(s.p, clean, ADMM{Rho: s.rho})
	for x := range v.a {
		k, j := s.at(x/s.bins, x%s.bins)
		v1, v2, v3 := s.v1[k][j], s.v2[k][j], s.v3[k][j]
		v.a[x], v.z[x] = s.a[k][j], s.z[k][j]
		v.q1[x], v.q2[x], v.g[x] = min(max(v1, 0), 1), .5+s.scale*v2, min(max(v3, v.lower[x]), v.upper[x])
		v.lam1[x], v.lam2[x], v.lam3[x] = s.before*(v1-v.q1[x]), s.before*(s.keep-s.scale)*v2, s.before*(v3-v.g[x])
	}
	for i := range v.lam4 {
		v.lam4[i], v.lam5[i] = s.lam4[i/lanes][i%lanes], s.lam5[i/lanes][i%lanes]
	}
	return v
}

// slopes are the derivatives of the Lagrangian in x, by central differences.
func slopes(v *literal, x []float64) []float64 {
	const h = 1e-6
	d := make([]float64, len(x))
	for k, old := range x {
		x[k] = old + h
		up := v.lagrangian()
		x[k] = old - h
		d[k] = (up - v.lagrangian()) / (2 * h)
		x[k] = old
	}
	return d
}

// Section 11.F (1) and (2), of both forms of the steps: a and z move against the slope of the Lagrangian, and the new
// copies lie in their sets and lower it.
func TestStepsDescend(t *testing.T) {
	was := vector
	defer func() { vector = was }()
	for _, on := range []bool{false, true} {
		if on && !was {
			continue // there is no vector form
		}
		vector = on
		p, clean := synthetic(1, 10, 5, .6)
		s := newIterate(p, clean, must(ADMM{StepA: .01, StepZ: .02, Growth: 1.03}.withDefaults()))
		checked := 0
		for step := range 150 {
			before := variables(s, clean)
			if step%15 != 7 {
				s.stepAssignment()
				s.stepConfidences()
				s.grow()
				continue
			}
			steep := slopes(before, before.a)
			s.stepAssignment()
			// Only a has moved: the slope in z counts at the new one.
			next := variables(s, clean)
			next.z = slices.Clone(before.z)
			moved := *before
			moved.a = next.a
			zSlopes := slopes(&moved, moved.z)
			s.stepConfidences()
			after := variables(s, clean)
			for x := range after.a {
				want := before.a[x] - s.stepA*min(max(steep[x], -5), 5)
				if math.Abs(after.a[x]-want) > 1e-8 {
					t.Fatalf("vector %v, step %d: a[%d] moves from %v to %v, against the slope %v to %v", on, step, x, before.a[x], after.a[x], steep[x], want)
				}
				want = before.z[x] - s.stepZ*zSlopes[x]
				if math.Abs(after.z[x]-want) > 1e-8 {
					t.Fatalf("vector %v, step %d: z[%d] moves from %v to %v, against the slope %v to %v", on, step, x, before.z[x], after.z[x], zSlopes[x], want)
				}
			}
			// The copies take their turns at the old duals.
			moved.z = after.z
			value := moved.lagrangian()
			for _, form := range []struct {
				name     string
				old, new *[]float64
			}{{"q1", &moved.q1, &after.q1}, {"q2", &moved.q2, &after.q2}, {"g", &moved.g, &after.g}} {
				*form.old = *form.new
				if lowered := moved.lagrangian(); lowered > value+1e-12 {
					t.Fatalf("vector %v, step %d: the new %s raises the Lagrangian from %v to %v", on, step, form.name, value, lowered)
				} else {
					value = lowered
				}
			}
			norm := 0.
			for x, q := range after.q2 {
				norm += (q - .5) * (q - .5)
				if after.q1[x] < 0 || after.q1[x] > 1 || after.g[x] < after.lower[x] || after.g[x] > after.upper[x] {
					t.Fatalf("vector %v, step %d: a copy is outside its set", on, step)
				}
			}
			if relative(norm, float64(len(after.q2))/4) > 1e-12 {
				t.Fatalf("vector %v, step %d: ‖q2−½‖² = %v, want %v", on, step, norm, float64(len(after.q2))/4)
			}
			checked++
			s.grow()
		}
		if checked < 5 {
			t.Errorf("%d steps were checked", checked)
		}
	}
}
