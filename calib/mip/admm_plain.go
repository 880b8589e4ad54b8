package mip

// The plain form of the two passes over the iterate. It makes the same roundings in the same order as the
// vector form; the conversions keep the compiler from fusing a product with a sum.

// assignPlain makes the gradient step on a, updates v1 and v2, and sums Σ_n a(z − c), Σ_m a, Σ_m k·a and, per
// lane, ‖v2‖².
func (s *iterate) assignPlain(norm *[lanes]float64) {
	rho, before, eta := s.rho, s.before, s.stepA
	ratio := before / rho
	sphere := before * (s.keep - s.scale)
	sphereRatio := ratio * (s.keep - s.scale)
	for i := range s.samples {
		c, pull, push := s.c[i], s.pull[i], s.push[i]
		low, high := s.p.low[i], s.p.high[i]
		all, outside, squares := 0., 0., norm[i%lanes]
		for m, k := 0, s.at(i, 0); m < s.bins; m, k = m+1, k+lanes {
			old, w1, w2, e := s.a[k], s.v1[k], s.v2[k], s.z[k]-c
			q := min(max(w1, 0), 1)
			d := w1 - q
			g := float64(before * d)
			g += float64(rho * (old - q))
			g += float64(sphere * w2)
			g += float64(rho * ((old - .5) - float64(s.scale*w2)))
			g += pull
			g -= float64(s.sign[m*lanes] * e)
			inside := m >= low && m <= high
			if !inside {
				g += push
			}
			g = min(max(g, -clipGrad), clipGrad)
			next := min(max(old-float64(eta*g), -clipIterate), clipIterate)
			v := (next + float64(sphereRatio*w2)) - .5
			s.a[k], s.v1[k], s.v2[k] = next, next+float64(ratio*d), v
			squares += float64(v * v)
			s.sums[m*lanes+i%lanes] += float64(e * next)
			all += next
			if !inside {
				outside += next
			}
		}
		s.unique[i], s.valid[i], norm[i%lanes] = all, outside, squares
	}
}

// confidePlain makes the gradient step on z, updates v3, and sums Σ_n a(z − c).
func (s *iterate) confidePlain() {
	rho, before, eta := s.rho, s.before, s.stepZ
	ratio := before / rho
	for i := range s.samples {
		c := s.c[i]
		for m, k := 0, s.at(i, 0); m < s.bins; m, k = m+1, k+lanes {
			low, high, _ := s.box(i, m)
			g := max(min(s.v3[k], high), low)
			d := s.v3[k] - g
			slope := float64(before * d)
			slope += float64(rho * (s.z[k] - g))
			slope -= float64(s.sign[m*lanes] * s.a[k])
			next := min(max(s.z[k]-float64(eta*slope), -clipIterate), clipIterate)
			s.z[k], s.v3[k] = next, next+float64(ratio*d)
			s.sums[m*lanes+i%lanes] += float64((next - c) * s.a[k])
		}
	}
}
