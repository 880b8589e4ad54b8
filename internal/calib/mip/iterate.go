package mip

import (
	"math"
	"math/rand/v2"
)

// lanes is the number of float64 in a vector.
const lanes = 4

// pack holds one value for each of as many samples as a vector has lanes.
type pack [lanes]float64

// sum adds up in the order of all our sums over lanes.
func (p *pack) sum() float64 { return (p[0] + p[1]) + (p[2] + p[3]) }

// iterate is the state of ADMM. Samples are in blocks of a pack each; arrays of N·M hold for each block a pack per bin.
// Samples that fill up the last block have zeros.
//
// Of each copy and its dual only their sum survives: with v1 = a + λ1/ρ, the box copy is q1 = clip(v1) and
// the dual after its update ρ(v1 − q1); with v2 = a + λ2/ρ − ½, the sphere's copy is q2 = ½ + scale·v2 and
// its dual ρ(keep − scale)·v2; with v3 = z + λ3/ρ, the interval's copy is g = clip(v3) and its dual ρ(v3 − g).
type iterate struct {
	p             *Program
	samples, bins int
	a, z          []pack
	v1, v2, v3    []pack
	// Per block: correctness, interval, first and last bin it meets, ½ (0 in the filling).
	c, l, u, first, last, half []pack
	unique, valid              []pack // Σ_m a − 1 and Σ_m k·a
	lam4, lam5                 []pack // their duals
	pull, push                 []pack // what all bins, and those that a sample does not meet, add to the slope in a
	// Equal values per bin: its number, edges, and the sign of Σ_n a(z − c); and the lanes of that sum.
	number, lower, upper, sign, sums []pack
	projection
	gaps         []pack // of it, per bin
	scale, keep  float64
	rho, before  float64 // the penalty of this step and of the last
	growth       float64
	stepA, stepZ float64
	random       *rand.Rand
}

// projection is a choice of a bin and of a confidence in it for every sample, in packs.
type projection struct{ top, near []pack }

// samples gives the first n.
func (p projection) samples(n int) (bin []int, confidence []float64) {
	for i := range n {
		bin = append(bin, int(p.top[i/lanes][i%lanes]))
		confidence = append(confidence, p.near[i/lanes][i%lanes])
	}
	return bin, confidence
}

// at is the pack and the lane of a sample's entry for a bin.
func (s *iterate) at(i, m int) (k, lane int) { return i/lanes*s.bins + m, i % lanes }

func newIterate(p *Program, z []float64, o ADMM) *iterate {
	n, bins := len(p.Correct), p.Bins.Len()
	blocks := (n + lanes - 1) / lanes
	all := func() []pack { return make([]pack, blocks*bins) }
	each := func() []pack { return make([]pack, blocks) }
	wide := func() []pack { return make([]pack, bins) }
	s := &iterate{
		p: p, samples: n, bins: bins, a: all(), z: all(), v1: all(), v2: all(), v3: all(),
		c: each(), l: each(), u: each(), first: each(), last: each(), half: each(),
		unique: each(), valid: each(), lam4: each(), lam5: each(), pull: each(), push: each(),
		number: wide(), lower: wide(), upper: wide(), sign: wide(), sums: wide(), projection: projection{each(),
			each()}, gaps: wide(),
		scale: 1, keep: 1, rho: o.Rho, before: o.Rho, growth: o.Growth, stepA: o.StepA, stepZ: o.StepZ,
		random: rand.New(rand.NewPCG(o.Seed, 0)),
	}
	for m := range bins {
		for j := range lanes {
			s.number[m][j], s.lower[m][j], s.upper[m][j] = float64(m), p.edges[m], p.edges[m+1]
		}
	}
	start := 1 / float64(bins)
	for i, c := range p.Correct {
		b, j := i/lanes, i%lanes
		if c {
			s.c[b][j] = 1
		}
		s.l[b][j], s.u[b][j], s.half[b][j] = p.Lower[i], p.Upper[i], .5
		s.first[b][j], s.last[b][j] = float64(p.low[i]), float64(p.high[i])
		for m := range bins {
			k, _ := s.at(i, m)
			s.a[k][j], s.v1[k][j], s.v2[k][j] = start, start, start-.5
			if low, high, inside := s.box(i, m); inside {
				s.z[k][j] = max(low, min(high, z[i]))
				s.v3[k][j] = s.z[k][j]
			} else {
				s.valid[b][j] += start
			}
			s.unique[b][j] += start
			s.sums[m][j] += (s.z[k][j] - s.c[b][j]) * start
		}
		s.unique[b][j]--
	}
	s.setSigns()
	return s
}

// box is the interval of an entry of z; both ends are 0 where the sample does not meet the bin.
func (s *iterate) box(i, m int) (low, high float64, inside bool) {
	if m < s.p.low[i] || m > s.p.high[i] {
		return 0, 0, false
	}
	return max(s.p.Lower[i], s.p.edges[m]), min(s.p.Upper[i], s.p.edges[m+1]), true
}

// setSigns takes the signs of Σ_n a(z − c) per bin.
func (s *iterate) setSigns() {
	for m := range s.sums {
		sign := 0.
		switch v := s.sums[m].sum(); {
		case v > 0:
			sign = 1
		case v < 0:
			sign = -1
		}
		s.sign[m] = pack{sign, sign, sign, sign}
	}
}

// stepAssignment makes the gradient step on a, and updates what depends on a alone.
func (s *iterate) stepAssignment() {
	clear(s.sums)
	for b := range s.unique {
		for j, h := range s.half[b] {
			s.pull[b][j] = s.lam4[b][j] + float64(s.rho*(s.unique[b][j]-h))
			s.push[b][j] = s.lam5[b][j] + float64(s.rho*s.valid[b][j])
		}
	}
	var norm pack
	if vector {
		s.assignVector(&norm)
	} else {
		s.assignPlain(&norm)
	}
	for b := range s.unique {
		for j, h := range s.half[b] {
			s.unique[b][j] -= 2 * h
			s.lam4[b][j] += float64(s.rho * s.unique[b][j])
			s.lam5[b][j] += float64(s.rho * s.valid[b][j])
		}
	}
	s.setSigns()
	radius := math.Sqrt(float64(s.samples*s.bins)) / 2
	if squared := norm.sum(); squared > 0 {
		s.scale, s.keep = radius/math.Sqrt(squared), 1
		return
	}
	// At the centre of the sphere every direction is the nearest.
	total := 0.0
	for i := range s.samples {
		for m := range s.bins {
			v := s.random.NormFloat64()
			k, j := s.at(i, m)
			s.v2[k][j] = v
			total += v * v
		}
	}
	s.scale, s.keep = radius/math.Sqrt(total), 0
}

// stepConfidences makes the gradient step on z at the new a, and projects.
func (s *iterate) stepConfidences() {
	clear(s.sums)
	if vector {
		s.confideVector()
	} else {
		s.confidePlain()
	}
	s.setSigns()
}

// grow raises the penalty to the next step's.
func (s *iterate) grow() { s.before, s.rho = s.rho, min(s.rho*s.growth, maxRho) }

// projected is the calibration error of the projection.
func (s *iterate) projected() float64 {
	clear(s.gaps)
	for i := range s.samples {
		b, j := i/lanes, i%lanes
		s.gaps[int(s.top[b][j])][j] += s.near[b][j] - s.c[b][j]
	}
	total := 0.0
	for m := range s.gaps {
		total += math.Abs(s.gaps[m].sum())
	}
	return total / float64(s.samples)
}
