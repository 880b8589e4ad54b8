package calib

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// instance is a problem for ExactCCE with feasible confidences.
type instance struct {
	correct             []bool
	lower, upper, clean []float64
	edges               []float64
}

func (in instance) String() string {
	if len(in.correct) > 20 || len(in.edges) > 20 {
		return fmt.Sprintf("%d samples, %d bins", len(in.correct), len(in.edges)-1)
	}
	type plain instance
	return fmt.Sprintf("%+v", plain(in))
}

func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 77)) }

// value draws a number in [0, 1] that is often an edge, a coarse decimal, 0 or 1, so that ties are many.
func value(r *rand.Rand, edges []float64) float64 {
	switch r.IntN(4) {
	case 0:
		return edges[r.IntN(len(edges))]
	case 1:
		return float64(r.IntN(11)) / 10
	}
	return r.Float64()
}

func randomEdges(r *rand.Rand, bins int) []float64 {
	if r.IntN(2) == 0 {
		edges, err := UniformEdges(bins)
		if err != nil {
			panic(err)
		}
		return edges
	}
	edges := []float64{0, 1}
	for len(edges) < bins+1 {
		if e := float64(1+r.IntN(999)) / 1000; !slices.Contains(edges, e) {
			edges = append(edges, e)
		}
	}
	slices.Sort(edges)
	return edges
}

func randomInstance(r *rand.Rand, maxSamples, maxBins int) instance {
	in := instance{edges: randomEdges(r, 1+r.IntN(maxBins))}
	for range 1 + r.IntN(maxSamples) {
		l, u := value(r, in.edges), value(r, in.edges)
		switch r.IntN(8) {
		case 0:
			u = l
		case 1:
			l, u = 0, 1
		}
		l, u = min(l, u), max(l, u)
		in.lower, in.upper = append(in.lower, l), append(in.upper, u)
		in.clean = append(in.clean, l+(u-l)*r.Float64())
		in.correct = append(in.correct, r.IntN(2) == 0)
	}
	return in
}

// meets says from the definition whether the interval [l, u] meets bin m.
func meets(l, u float64, edges []float64, m int, convention Convention) bool {
	if convention == RightClosed {
		return (u > edges[m] || m == 0) && l <= edges[m+1]
	}
	return u >= edges[m] && (l < edges[m+1] || m == len(edges)-2)
}

// bruteForce tries every assignment of samples to bins. Within a bin the gap is largest in absolute value
// where all its confidences are highest, or all lowest.
func bruteForce(in instance, convention Convention) float64 {
	n, size := len(in.correct), len(in.edges)-1
	up, down := make([]float64, size), make([]float64, size)
	best := math.Inf(-1)
	var place func(i int)
	place = func(i int) {
		if i == n {
			total := 0.0
			for m := range size {
				total += max(up[m], -down[m])
			}
			best = max(best, total)
			return
		}
		for m := range size {
			if !meets(in.lower[i], in.upper[i], in.edges, m, convention) {
				continue
			}
			c := 0.0
			if in.correct[i] {
				c = 1
			}
			u, d := up[m], down[m]
			up[m] += min(in.upper[i], in.edges[m+1]) - c
			down[m] += max(in.lower[i], in.edges[m]) - c
			place(i + 1)
			up[m], down[m] = u, d
		}
	}
	place(0)
	return best / float64(n)
}

// enumerate tries every vector of signs, and for each the best bin and value of every sample (section 6.1 of
// the specification, without its shortcuts).
func enumerate(in instance) float64 {
	size := len(in.edges) - 1
	earns := make([][2]float64, len(in.correct)*size) // by a sample in a bin of sign −, +
	for i, correct := range in.correct {
		c := 0.0
		if correct {
			c = 1
		}
		for m := range size {
			earns[i*size+m] = [2]float64{math.Inf(-1), math.Inf(-1)}
			if meets(in.lower[i], in.upper[i], in.edges, m, LeftClosed) {
				earns[i*size+m] = [2]float64{c - max(in.lower[i], in.edges[m]), min(in.upper[i], in.edges[m+1]) - c}
			}
		}
	}
	best := math.Inf(-1)
	for signs := range 1 << size {
		total := 0.0
		for i := range in.correct {
			most := math.Inf(-1)
			for m, e := range earns[i*size : (i+1)*size] {
				if v := e[signs>>m&1]; v > most {
					most = v
				}
			}
			total += most
		}
		best = max(best, total)
	}
	return best / float64(len(in.correct))
}

// checkWorst compares the recovered assignment with its definition: feasible, worth the value, attained by
// ordinary confidences next to it.
func checkWorst(t *testing.T, in instance, bins *Bins, got Worst) {
	t.Helper()
	sums := make([]float64, bins.Len())
	inside := make([]float64, len(in.correct))
	for i, m := range got.Bin {
		z := got.Confidence[i]
		if z < in.lower[i] || z > in.upper[i] || z < in.edges[m] || z > in.edges[m+1] {
			t.Fatalf("%+v: sample %d has confidence %v in bin %d", in, i, z, m)
		}
		inside[i] = bins.Inside(m, z)
		if bins.Index(inside[i]) != m || inside[i] < in.lower[i] || inside[i] > in.upper[i] {
			t.Fatalf("%+v: sample %d cannot be in bin %d, tried %v", in, i, m, inside[i])
		}
		sums[m] += z
		if in.correct[i] {
			sums[m]--
		}
	}
	total := 0.0
	for m, s := range sums {
		total += math.Abs(s)
		if got.Signs[m] != 1 && got.Signs[m] != -1 {
			t.Fatalf("%+v: signs %v", in, got.Signs)
		}
	}
	total /= float64(len(in.correct))
	ece, err := ECE(in.correct, inside, bins)
	if err != nil {
		t.Fatal(err)
	}
	slack := float64(3*(len(in.correct)+3*bins.Len()+5)) * 0x1p-53
	if !near(total, got.Value, 1e-14) || !near(ece, got.Value, 1e-13) || got.CCE < total || got.CCE > total+1e-14+slack {
		t.Fatalf("%+v: CCE %v, value %v, but the assignment is worth %v and rebinned %v", in, got.CCE, got.Value, total, ece)
	}
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// The main test of the solver: its value and its assignment against every assignment, for both conventions.
func TestExactAgainstBruteForce(t *testing.T) {
	r := newRandom(1)
	var w Workspace
	const instances = 120_000
	for k := range instances {
		in := randomInstance(r, 5, 4)
		convention := Convention(k % 2)
		bins, err := NewBins(in.edges, convention)
		if err != nil {
			t.Fatal(err)
		}
		got, err := w.ExactCCE(in.correct, in.lower, in.upper, bins)
		if err != nil {
			t.Fatal(err)
		}
		if want := bruteForce(in, convention); !near(got.CCE, want, 1e-14) {
			t.Fatalf("instance %d, convention %d, %+v: CCE %v, brute force %v", k, convention, in, got.CCE, want)
		}
		checkWorst(t, in, bins, got)
	}
}

func TestExactAgainstEnumeration(t *testing.T) {
	r := newRandom(2)
	for range 1500 {
		in := randomInstance(r, 40, 9)
		got, err := ExactCCE(in.correct, in.lower, in.upper, in.edges)
		if err != nil {
			t.Fatal(err)
		}
		if want := enumerate(in); !near(got.CCE, want, 1e-13) {
			t.Fatalf("%+v: CCE %v, enumeration %v", in, got.CCE, want)
		}
	}
	for range 3 {
		in := paperInstance(r, 100, 0.5)
		in.edges = must(UniformEdges(12))
		got, err := ExactCCE(in.correct, in.lower, in.upper, in.edges)
		if err != nil {
			t.Fatal(err)
		}
		bins := must(NewBins(in.edges, LeftClosed))
		checkWorst(t, in, bins, got)
		if want := enumerate(in); !near(got.CCE, want, 1e-12) {
			t.Fatalf("CCE %v, enumeration %v", got.CCE, want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// paperInstance is the synthetic instance of section 6.7 of the specification, with 15 equal bins: clean
// confidences min(.999, .3+.7(1−U^2.2)), correctness Bernoulli(z−.05), and the standard interval of
// half-width .006 at R/σ = shift.
func paperInstance(r *rand.Rand, n int, shift float64) instance {
	in := instance{edges: must(UniformEdges(15))}
	phi := func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	quantile := func(p float64) float64 { return -math.Sqrt2 * math.Erfcinv(2*p) }
	for range n {
		z := min(.999, .3+.7*(1-math.Pow(r.Float64(), 2.2)))
		in.clean = append(in.clean, z)
		in.correct = append(in.correct, r.Float64() < min(.99, max(.02, z-.05)))
		in.lower = append(in.lower, phi(quantile(max(0, z-.006))-shift))
		in.upper = append(in.upper, phi(quantile(min(1, z+.006))+shift))
	}
	return in
}

// Section 4.4 of the specification: two samples, three bins, all four cases of correctness.
func TestWorkedExample(t *testing.T) {
	lower, clean, upper := []float64{.1, .5}, []float64{.23, .78}, []float64{.6, .9}
	edges := must(UniformEdges(3))
	bins := must(NewBins(edges, LeftClosed))
	for _, c := range []struct {
		correct                                  []bool
		ece, brier, eceOfBrier, cbs, gap, cceMax float64
	}{
		{[]bool{false, false}, .505, .33065, .75, .585, .75, .75},
		{[]bool{false, true}, .225, .05065, .05, .305, .55, .4666666666666667},
		{[]bool{true, false}, .775, .60065, .9, .81, .9, .9},
		{[]bool{true, true}, .495, .32065, .7, .53, .7, .7},
	} {
		worst := must(ExactCCE(c.correct, lower, upper, edges))
		cbs, gap, err := CertifiedBrier(c.correct, lower, upper)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, 2)
		BrierConfidences(z, c.correct, lower, upper)
		for name, pair := range map[string][2]float64{
			"ECE":                      {must(ECE(c.correct, clean, bins)), c.ece},
			"Brier":                    {must(Brier(c.correct, clean)), c.brier},
			"ECE at Brier confidences": {must(ECE(c.correct, z, bins)), c.eceOfBrier},
			"CBS":                      {cbs, c.cbs},
			"G":                        {gap, c.gap},
			"CCE":                      {worst.CCE, c.cceMax},
		} {
			if !near(pair[0], pair[1], 1e-12) {
				t.Errorf("%v: %s is %v, want %v", c.correct, name, pair[0], pair[1])
			}
		}
	}
	got := must(ExactCCE([]bool{false, true}, lower, upper, edges))
	if !slices.Equal(got.Bin, []int{1, 2}) || !slices.Equal(got.Confidence, []float64{.6, 2. / 3}) {
		t.Errorf("assignment %v, %v; want bins 1 and 2, confidences .6 and 2/3", got.Bin, got.Confidence)
	}
}

// Section 11.E (4) to (6) and (12) of the specification, and the convention for suprema of its section 6.5.
func TestExactKnownCases(t *testing.T) {
	for _, c := range []struct {
		name         string
		correct      []bool
		lower, upper []float64
		edges        []float64
		want         float64
	}{
		{"six samples", []bool{true, false, true, true, false, true}, []float64{.40, .55, .60, .70, .30, .65}, []float64{.70, .80, .95, .90, .60, .99}, must(UniformEdges(3)), .4277777777777778},
		{"supremum", []bool{false, true}, []float64{.2, .6}, []float64{.6, .9}, []float64{0, .5, 1}, .45},
		{"half-open", []bool{false, true}, []float64{.5, .7}, []float64{.5, .7}, []float64{0, .5, 1}, .1},
		{"anything, two bins", []bool{true, false, true}, []float64{0, 0, 0}, []float64{1, 1, 1}, []float64{0, .3, 1}, 1},
		{"anything, one bin", []bool{true, false, true}, []float64{0, 0, 0}, []float64{1, 1, 1}, []float64{0, 1}, 2. / 3},
		{"all correct", []bool{true, true}, []float64{.2, .7}, []float64{.3, .9}, must(UniformEdges(10)), (.8 + .3) / 2},
		{"all wrong", []bool{false, false}, []float64{.2, .7}, []float64{.3, .9}, must(UniformEdges(10)), (.3 + .9) / 2},
	} {
		got, err := ExactCCE(c.correct, c.lower, c.upper, c.edges)
		if err != nil || !near(got.CCE, c.want, 1e-12) {
			t.Errorf("%s: %v, %v, want %v", c.name, got.CCE, err, c.want)
		}
	}
	// The other numbers of the six samples.
	six := instance{
		correct: []bool{true, false, true, true, false, true}, clean: []float64{.55, .70, .80, .85, .45, .90},
		lower: []float64{.40, .55, .60, .70, .30, .65}, upper: []float64{.70, .80, .95, .90, .60, .99},
	}
	thirds := must(Uniform(3, LeftClosed))
	z := make([]float64, 6)
	BrierConfidences(z, six.correct, six.lower, six.upper)
	cbs, gap, err := CertifiedBrier(six.correct, six.lower, six.upper)
	if err != nil || !near(cbs, .288750, 1e-12) || !near(gap, .508333, 1e-6) ||
		!near(must(ECE(six.correct, six.clean, thirds)), .041667, 1e-6) || !near(must(ECE(six.correct, z, thirds)), .208333, 1e-6) {
		t.Errorf("six samples: CBS %v, G %v, %v", cbs, gap, err)
	}
	// The supremum uses .5 as a confidence of the first bin; as an ordinary confidence it is in the second.
	bins := must(NewBins([]float64{0, .5, 1}, LeftClosed))
	got := must(new(Workspace).ExactCCE([]bool{false, true}, []float64{.2, .6}, []float64{.6, .9}, bins))
	if got.Bin[0] != 0 || got.Confidence[0] != .5 {
		t.Errorf("sample 0 is in bin %d at %v, want bin 0 at .5", got.Bin[0], got.Confidence[0])
	}
	if ece := must(ECE([]bool{false, true}, got.Confidence, bins)); !near(ece, .05, 1e-12) {
		t.Errorf("rebinned, the ECE is %v, want .05", ece)
	}
	if ece := must(ECE([]bool{false, true}, []float64{bins.Inside(0, .5), got.Confidence[1]}, bins)); !near(ece, .45, 1e-12) {
		t.Errorf("one step inside, the ECE is %v, want .45", ece)
	}
}

// tieIn draws a number in [l, u] that is often an end of it or an edge.
func tieIn(r *rand.Rand, l, u float64, edges []float64) float64 {
	switch e := edges[r.IntN(len(edges))]; r.IntN(4) {
	case 0:
		return l
	case 1:
		return u
	case 2:
		if l <= e && e <= u {
			return e
		}
	}
	return min(l+(u-l)*r.Float64(), u)
}

// Section 11.E (3), (7), (9) to (12), and 11.D: no feasible confidences exceed the optimum; degenerate intervals
// give the ECE; wider intervals and finer bins never lower it; the chain of inequalities; where no bin is the
// top of a wrong and the bottom of a correct sample, it is the mean gap, as where all are correct, or all wrong.
func TestExactProperties(t *testing.T) {
	r := newRandom(3)
	disjoint := 0
	var w Workspace
	exact := func(correct []bool, lower, upper []float64, bins *Bins) float64 {
		return must(w.ExactCCE(correct, lower, upper, bins)).CCE
	}
	instances := 100_000
	if testing.Short() {
		instances = 10_000
	}
	for range instances {
		in := randomInstance(r, 12, 8)
		bins := must(NewBins(in.edges, LeftClosed))
		worst := exact(in.correct, in.lower, in.upper, bins)
		cbs, gap, err := CertifiedBrier(in.correct, in.lower, in.upper)
		if err != nil {
			t.Fatal(err)
		}
		z := make([]float64, len(in.clean))
		BrierConfidences(z, in.correct, in.lower, in.upper)
		clean, brier := must(ECE(in.correct, in.clean, bins)), must(ECE(in.correct, z, bins))
		if max(clean, brier) > worst || worst > gap+1e-12 || gap > math.Sqrt(cbs)+1e-12 {
			t.Fatalf("%+v: ECE %v and %v ≤ CCE %v ≤ G %v ≤ √CBS %v does not hold", in, clean, brier, worst, gap, math.Sqrt(cbs))
		}
		for range 3 {
			for i, l := range in.lower {
				z[i] = tieIn(r, l, in.upper[i], in.edges)
			}
			if ece := must(ECE(in.correct, z, bins)); ece > worst {
				t.Fatalf("%+v: CCE %v, yet the feasible %v have an ECE of %v", in, worst, z, ece)
			}
		}
		for _, all := range []bool{true, false} {
			uniform, want := slices.Repeat([]bool{all}, len(in.lower)), 0.
			for i, l := range in.lower {
				if all {
					want += 1 - l
				} else {
					want += in.upper[i]
				}
			}
			want /= float64(len(uniform))
			if got := exact(uniform, in.lower, in.upper, bins); !near(got, want, 1e-13) {
				t.Fatalf("%+v, all correct %v: CCE %v, want %v", in, all, got, want)
			}
		}
		if same := exact(in.correct, in.clean, in.clean, bins); !near(same, clean, 1e-13) {
			t.Fatalf("%+v: CCE %v of single values, ECE %v", in, same, clean)
		}
		wide := instance{correct: in.correct, edges: in.edges, lower: slices.Clone(in.lower), upper: slices.Clone(in.upper)}
		i := r.IntN(len(wide.lower))
		wide.lower[i] = tieIn(r, 0, wide.lower[i], in.edges)
		wide.upper[i] = tieIn(r, wide.upper[i], 1, in.edges)
		if wider := exact(wide.correct, wide.lower, wide.upper, bins); wider < worst-1e-12 {
			t.Fatalf("%+v: CCE %v, yet %v with a wider interval", in, worst, wider)
		}
		if wider, _, err := CertifiedBrier(wide.correct, wide.lower, wide.upper); err != nil || wider < cbs-1e-14 {
			t.Fatalf("%+v: CBS %v, yet %v, %v with a wider interval", in, cbs, wider, err)
		}
		m := r.IntN(bins.Len())
		finer := must(NewBins(slices.Insert(slices.Clone(in.edges), m+1, (in.edges[m]+in.edges[m+1])/2), LeftClosed))
		if split := exact(in.correct, in.lower, in.upper, finer); split < worst-1e-12 {
			t.Fatalf("%+v: CCE %v, yet %v with bin %d split", in, worst, split, m)
		}
		tops, bottoms := make([]bool, bins.Len()), make([]bool, bins.Len())
		for i, c := range in.correct {
			if c {
				bottoms[bins.Index(in.lower[i])] = true
			} else {
				tops[bins.Index(in.upper[i])] = true
			}
		}
		apart := true
		for m, top := range tops {
			apart = apart && !(top && bottoms[m])
		}
		if apart {
			disjoint++
			if !near(worst, gap, 1e-12) {
				t.Fatalf("%+v: CCE %v, want G %v", in, worst, gap)
			}
		}
	}
	if disjoint < 3000 {
		t.Errorf("only %d instances had tops and bottoms apart", disjoint)
	}
}

func TestExactManyBins(t *testing.T) {
	r := newRandom(4)
	in := paperInstance(r, 500, 0.3)
	in.edges = must(UniformEdges(maxBins))
	bins := must(NewBins(in.edges, LeftClosed))
	worst := must(ExactCCE(in.correct, in.lower, in.upper, in.edges))
	checkWorst(t, in, bins, worst)
	coarse := must(ExactCCE(in.correct, in.lower, in.upper, must(UniformEdges(200))))
	if worst.CCE < coarse.CCE {
		t.Errorf("CCE %v with 1000 bins, %v with 200", worst.CCE, coarse.CCE)
	}
}

func TestExactAllocatesNothing(t *testing.T) {
	in := paperInstance(newRandom(5), 1000, 0.3)
	bins := must(NewBins(in.edges, LeftClosed))
	var w Workspace
	n := testing.AllocsPerRun(10, func() { must(w.ExactCCE(in.correct, in.lower, in.upper, bins)) })
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestExactBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	half, ends := []float64{.5, .5}, []float64{0, 1}
	two := []bool{true, false}
	for _, c := range []struct {
		argument            string
		correct             []bool
		lower, upper, edges []float64
	}{
		{"len(lower)", two, half[:1], half, ends},
		{"len(upper)", two, half, append(half, .5), ends},
		{"lower[1]", two, []float64{.5, nan}, half, ends},
		{"lower[1]", two, []float64{.5, -1e-300}, half, ends},
		{"lower[0]", two, []float64{.6, .5}, half, ends},
		{"upper[0]", two, half, []float64{nan, .5}, ends},
		{"upper[1]", two, half, []float64{.5, inf}, ends},
		{"upper[1]", two, half, []float64{.5, 1.0000000000000002}, ends},
		{"len(edges)", two, half, half, nil},
		{"len(edges)", two, half, half, make([]float64, maxBins+2)},
		{"edges[0]", two, half, half, []float64{.1, 1}},
		{"edges[0]", two, half, half, []float64{nan, 1}},
		{"edges[1]", two, half, half, []float64{0, nan, 1}},
		{"edges[2]", two, half, half, []float64{0, .5, .5, 1}},
		{"edges[2]", two, half, half, []float64{0, .5, .9}},
	} {
		_, err := ExactCCE(c.correct, c.lower, c.upper, c.edges)
		var input *InputError
		if !errors.As(err, &input) || input.Argument != c.argument {
			t.Errorf("%+v: error %v, want one about %s", c, err, c.argument)
		}
	}
	if _, err := ExactCCE(nil, nil, nil, ends); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no samples: error %v", err)
	}
	_, err := ExactCCE(two, []float64{.6, .5}, half, ends)
	if want := "calib: lower[0] is 0.6, expected at most upper[0] = 0.5"; err == nil || err.Error() != want {
		t.Errorf("error %q, want %q", err, want)
	}
}

func BenchmarkExactCCE(b *testing.B) {
	for _, c := range []struct {
		name    string
		samples int
		bins    int
	}{{"N=2000,M=15", 2000, 15}, {"N=1e5,M=15", 100_000, 15}, {"N=1e6,M=15", 1_000_000, 15}, {"N=2000,M=1000", 2000, 1000}} {
		b.Run(c.name, func(b *testing.B) {
			in := paperInstance(newRandom(6), c.samples, 0.5)
			bins := must(Uniform(c.bins, LeftClosed))
			var w Workspace
			b.ReportAllocs()
			for b.Loop() {
				must(w.ExactCCE(in.correct, in.lower, in.upper, bins))
			}
		})
	}
}
