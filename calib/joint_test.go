package calib

import (
	"math"
	"math/rand/v2"
	"testing"
)

// jointByForce is the largest calibration error over all confidences in the intervals, but for at most k samples that are free in
// confidence and correctness, by trying all signs: for fixed signs the samples decouple.
func jointByForce(correct []bool, lower, upper, edges []float64, k int) float64 {
	size := len(edges) - 1
	best := 0.0
	for mask := range 1 << size {
		sign := func(m int) float64 {
			if mask>>m&1 == 1 {
				return 1
			}
			return -1
		}
		earn := func(lo, hi, c float64) float64 {
			most := math.Inf(-1)
			for m := range size {
				a, b := math.Max(lo, edges[m]), math.Min(hi, edges[m+1])
				if a > b || a == edges[m+1] && m < size-1 { // a bin is open on the right, but its supremum counts
					continue
				}
				most = math.Max(most, math.Max(sign(m)*(a-c), sign(m)*(b-c)))
			}
			return most
		}
		free := math.Max(earn(0, 1, 0), earn(0, 1, 1))
		var values []float64
		for i, c := range correct {
			y := 0.0
			if c {
				y = 1
			}
			values = append(values, earn(lower[i], upper[i], y))
		}
		total := 0.0
		for _, v := range values {
			total += v
		}
		for range min(k, len(values)) { // free those that earn least
			worst := 0
			for i, v := range values {
				if v < values[worst] {
					worst = i
				}
			}
			total += free - values[worst]
			values[worst] = free
		}
		best = math.Max(best, total)
	}
	return best / float64(len(correct))
}

func leftClosed(t testing.TB, edges []float64) *Bins {
	t.Helper()
	bins, err := NewBins(edges, LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	return bins
}

func TestJointCCEAgainstForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	tight, trials := 0, 2000
	for range trials {
		n, size := 1+rng.IntN(9), 1+rng.IntN(4)
		edges := []float64{0}
		for m := 1; m < size; m++ {
			edges = append(edges, (float64(m)+0.6*rng.Float64())/float64(size))
		}
		edges = append(edges, 1)
		correct, lower, upper := make([]bool, n), make([]float64, n), make([]float64, n)
		for i := range correct {
			correct[i] = rng.IntN(2) == 0
			a, b := float64(rng.IntN(9))/8, float64(rng.IntN(9))/8
			if rng.IntN(3) == 0 {
				b = a
			}
			lower[i], upper[i] = min(a, b), max(a, b)
		}
		k := rng.IntN(4)
		j, err := JointCCE(correct, lower, upper, leftClosed(t, edges), k)
		if err != nil {
			t.Fatal(err)
		}
		truth := jointByForce(correct, lower, upper, edges, k)
		if truth > j.Upper+1e-12 || j.Lower > truth+1e-12 || j.Upper > j.CCE+2*float64(min(k, n))/float64(n)+1e-12 || j.Upper < j.CCE-1e-12 {
			t.Fatalf("k = %d, %v, [%v, %v], edges %v: between %v and %v (CCE %v); by trying all signs %v", k, correct, lower, upper, edges, j.Lower, j.Upper, j.CCE, truth)
		}
		if j.Upper-truth < 1e-6 {
			tight++
		}
	}
	if tight < trials/3 {
		t.Errorf("the bound is met in %d of %d trials: far too loose", tight, trials)
	}
}

// The clipped program against trying all signs, at any clip.
func TestClippedProgramIsExact(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 2000 {
		n, size := 1+rng.IntN(6), 1+rng.IntN(4)
		edges := make([]float64, size+1)
		for m := range edges {
			edges[m] = float64(m) / float64(size)
		}
		bins, err := NewBins(edges, LeftClosed)
		if err != nil {
			t.Fatal(err)
		}
		correct, lower, upper := make([]bool, n), make([]float64, n), make([]float64, n)
		for i := range correct {
			a, b := rng.Float64(), rng.Float64()
			correct[i], lower[i], upper[i] = rng.IntN(2) == 0, min(a, b), max(a, b)
		}
		least := 2*rng.Float64() - 1
		c := newClipped(correct, lower, upper, bins, 0)
		_, got := bestSigns(c.samples(least), edges, size, least)
		want := math.Inf(-1)
		for mask := range 1 << size {
			total := 0.0
			for i, y := range correct {
				v := math.Inf(-1)
				for m := c.low[i]; m <= c.high[i]; m++ {
					for _, z := range []float64{max(lower[i], edges[m]), min(upper[i], edges[m+1])} {
						gap := z
						if y {
							gap--
						}
						if mask>>m&1 == 0 {
							gap = -gap
						}
						v = max(v, gap)
					}
				}
				total += max(v, least)
			}
			want = max(want, total)
		}
		if math.Abs(got-want) > 1e-12 {
			t.Fatalf("clip %v, edges %v, %v, [%v, %v]: %v; by trying all signs %v", least, edges, correct, lower, upper, got, want)
		}
	}
}

func TestFailuresAtMost(t *testing.T) {
	for _, c := range []struct {
		n        int
		p, delta float64
		want     int
	}{{2000, 0.002, 0.001, 11}, {1, 0.002, 0.001, 1}, {1, 0.0005, 0.001, 0}, {10, 0.5, 0.001, 9}, {10, 0.5, 0.0009, 10}} {
		// P[Bin(10, ½) > 9] = 2⁻¹⁰ = .000977; P[Bin(2000, .002) > 11] = .00090, > 10: .0028 (Poisson tail of mean 4 gives .00092 and .0028)
		if got, err := FailuresAtMost(c.n, c.p, c.delta); err != nil || got != c.want {
			t.Errorf("%+v: %d, %v", c, got, err)
		}
	}
	for _, bad := range []struct {
		n        int
		p, delta float64
	}{{0, .1, .1}, {5, 0, .1}, {5, 1, .1}, {5, .1, 0}, {5, .1, 1}, {5, math.NaN(), .1}} {
		if _, err := FailuresAtMost(bad.n, bad.p, bad.delta); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
}

// The claim holds as often as it says: intervals that fail with probability 2α each, all failed samples at their worst.
func TestJointClaimCovers(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	const n, p, delta = 60, 0.05, 0.05
	k, err := FailuresAtMost(n, p, delta)
	if err != nil {
		t.Fatal(err)
	}
	edges := []float64{0, 0.25, 0.5, 0.75, 1}
	missed := 0
	for range 1000 {
		correct, lower, upper := make([]bool, n), make([]float64, n), make([]float64, n)
		truth, right := make([]float64, n), make([]bool, n)
		for i := range correct {
			truth[i], right[i] = rng.Float64(), rng.IntN(2) == 0
			correct[i], lower[i], upper[i] = right[i], max(0, truth[i]-.05), min(1, truth[i]+.05)
			if rng.Float64() < p { // the certificate is false: it says the most harmless thing
				correct[i], lower[i], upper[i] = true, 1, 1
				truth[i], right[i] = 1, false
			}
		}
		bins, _ := NewBins(edges, LeftClosed)
		ece := 0.0
		gaps := make([]float64, bins.Len())
		for i, z := range truth {
			c := 0.0
			if right[i] {
				c = 1
			}
			gaps[bins.index(z)] += z - c
		}
		for _, g := range gaps {
			ece += math.Abs(g) / n
		}
		j, err := JointCCE(correct, lower, upper, bins, k)
		if err != nil {
			t.Fatal(err)
		}
		if ece > j.Upper {
			missed++
		}
	}
	if missed > 80 { // 50 expected at most; more than 80 with probability below 10⁻⁴
		t.Errorf("the claim failed in %d of 1000 runs at δ = %v", missed, delta)
	}
}

func BenchmarkJointCCE(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	const n = 2000
	correct, lower, upper := make([]bool, n), make([]float64, n), make([]float64, n)
	for i := range correct {
		a, c := rng.Float64(), rng.Float64()
		correct[i], lower[i], upper[i] = rng.IntN(3) > 0, min(a, c), max(a, c)
	}
	edges := make([]float64, 16)
	for i := range edges {
		edges[i] = float64(i) / 15
	}
	for b.Loop() {
		if _, err := JointCCE(correct, lower, upper, leftClosed(b, edges), 11); err != nil {
			b.Fatal(err)
		}
	}
}
