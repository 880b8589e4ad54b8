package mip

// The plain form of the two passes over the iterate. It makes the same roundings in the same order as the
// vector form; the conversions keep the compiler from fusing a product with a sum.

// clip is min(max(x, low), high) for numbers, in less time.
func clip(x, low, high float64) float64 {
	if x < low {
		x = low
	}
	if x > high {
		x = high
	}
	return x
}

// assignPlain makes the gradient step on a, updates v1 and v2, and sums Σ_n a(z − c), Σ_m a, Σ_m k·a and, per
// lane, ‖v2‖².
func (s *iterate) assignPlain(norm *pack) {
	rho, before, eta := s.rho, s.before, s.stepA
	ratio := before / rho
	turned := before * (s.keep - s.scale)
	sphereRatio := ratio * (s.keep - s.scale)
	sphere := turned - float64(rho*s.scale)
	for i := range s.samples {
		b, j := i/lanes, i%lanes
		from, to := b*s.bins, (b+1)*s.bins
		a := s.a[from:to]
		z, v1, v2, signs, sums := s.z[from:to][:len(a)], s.v1[from:to][:len(a)], s.v2[from:to][:len(a)],
			s.sign[:len(a)], s.sums[:len(a)]
		c, pull, push := s.c[b][j], s.pull[b][j], s.push[b][j]
		low, high := s.p.low[i], s.p.high[i]
		all, outside, squares := 0., 0., norm[j]
		for m := range a {
			old, w1, w2, e := a[m][j], v1[m][j], v2[m][j], z[m][j]-c
			q := clip(w1, 0, 1)
			d := w1 - q
			g := float64(before * d)
			g += float64(rho * ((old + old) - q))
			g += float64(sphere * w2)
			g += pull
			g -= float64(signs[m][j] * e)
			inside := m >= low && m <= high
			if !inside {
				g += push
			}
			next := clip(old-float64(eta*clip(g, -clipGrad, clipGrad)), -clipIterate, clipIterate)
			v := (next + float64(sphereRatio*w2)) - .5
			a[m][j], v1[m][j], v2[m][j] = next, next+float64(ratio*d), v
			squares += float64(v * v)
			sums[m][j] += float64(e * next)
			all += next
			if !inside {
				outside += next
			}
		}
		s.unique[b][j], s.valid[b][j], norm[j] = all, outside, squares
	}
}

// confidePlain makes the gradient step on z, updates v3, sums Σ_n a(z − c), and projects every sample into the bin of
// its largest a among those it meets, the lowest such one.
func (s *iterate) confidePlain() {
	rho, before, eta := s.rho, s.before, s.stepZ
	ratio := before / rho
	for i := range s.samples {
		b, j := i/lanes, i%lanes
		from, to := b*s.bins, (b+1)*s.bins
		a := s.a[from:to]
		z, v3, signs, sums := s.z[from:to][:len(a)], s.v3[from:to][:len(a)], s.sign[:len(a)], s.sums[:len(a)]
		lower, upper := s.lower[:len(a)], s.upper[:len(a)]
		c, l, u := s.c[b][j], s.p.Lower[i], s.p.Upper[i]
		first, last := s.p.low[i], s.p.high[i]
		top, near, most := 0, 0., -4*clipIterate
		for m := range a {
			inside := m >= first && m <= last
			low, high := 0., 0.
			if inside {
				low, high = max(l, lower[m][j]), min(u, upper[m][j])
			}
			old, w, assigned := z[m][j], v3[m][j], a[m][j]
			g := clip(w, low, high)
			d := w - g
			slope := float64(before * d)
			slope += float64(rho * (old - g))
			slope -= float64(signs[m][j] * assigned)
			next := clip(old-float64(eta*slope), -clipIterate, clipIterate)
			z[m][j], v3[m][j] = next, next+float64(ratio*d)
			sums[m][j] += float64((next - c) * assigned)
			if inside && assigned > most {
				top, near, most = m, clip(next, low, high), assigned
			}
		}
		s.top[b][j], s.near[b][j] = float64(top), near
	}
}
