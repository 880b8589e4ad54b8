package calib

import (
	"context"
	"math"
	"testing"
)

// The smooth error at a width is the integral of the definition, taken on a grid of its own with the images of each sample at both ends.
func TestSmoothECEAgainstDefinition(t *testing.T) {
	r := newRandom(31)
	for _, sigma := range []float64{0.02, 0.06, 0.12} {
		correct, confidence := make([]bool, 60), make([]float64, 60)
		for i := range correct {
			correct[i], confidence[i] = r.IntN(2) > 0, math.Sqrt(r.Float64())
			if i%2 > 0 { // as many at either end: a wrong reflection at one of them shows
				confidence[i] = 1 - confidence[i]
			}
		}
		want := 0.0
		const cells = 4000
		for m := range cells {
			at, sum := (float64(m)+0.5)/cells, 0.0
			for i, z := range confidence {
				for _, x := range []float64{z, -z, 2 - z} {
					sum += (z - float64(bit(correct[i]))) * math.Exp(-(at-x)*(at-x)/(2*sigma*sigma)) / (math.Sqrt(2*math.Pi) * sigma)
				}
			}
			want += math.Abs(sum) / cells / float64(len(correct))
		}
		if got := smoothECEAt(correct, confidence, sigma); !near(got, want, 0.01*want) {
			t.Errorf("σ = %v: %v, by the definition %v", sigma, got, want)
		}
	}
}

// Samples of one confidence that are all gapped by g have smooth error g; width and value are equal to the bisection's step.
func TestSmoothECE(t *testing.T) {
	correct, confidence := make([]bool, 1000), make([]float64, 1000)
	for i := range correct {
		correct[i], confidence[i] = i%2 == 0, 0.7 // accuracy ½, gap 0.2
	}
	value, width, err := SmoothECE(correct, confidence)
	if err != nil || !near(value, 0.2, 1e-3) || !near(value, width, 2./1024) {
		t.Errorf("%v at width %v, %v; want 0.2", value, width, err)
	}
	for i := range correct {
		correct[i], confidence[i] = i%2 == 0, float64(bit(i%2 == 0))
	}
	if value, _, err := SmoothECE(correct, confidence); err != nil || value != 0 {
		t.Errorf("certain and right: %v, %v", value, err)
	}
	if _, _, err := SmoothECE(nil, nil); err == nil {
		t.Error("no samples were taken")
	}
	if _, _, err := SmoothECE([]bool{true}, []float64{math.NaN()}); err == nil {
		t.Error("NaN was taken")
	}
}

// All outcomes of five samples, with their probabilities: the debiased square is right on average, the plain one is not.
func TestDebiasedECEOverAllOutcomes(t *testing.T) {
	bins := leftClosed(t, []float64{0, 0.5, 1})
	confidence := []float64{0.3, 0.3, 0.8, 0.8, 0.8}
	chance := []float64{0.45, 0.45, 0.6, 0.6, 0.6}
	want := 2./5*0.15*0.15 + 3./5*0.2*0.2
	mean, plain := 0.0, 0.0
	for outcome := range 1 << len(chance) {
		p, correct := 1.0, make([]bool, len(chance))
		for i, q := range chance {
			if correct[i] = outcome>>i&1 == 1; correct[i] {
				p *= q
			} else {
				p *= 1 - q
			}
		}
		mean += p * must(debiasedSquare(correct, confidence, bins))
		for _, b := range must(Reliability(correct, confidence, bins)) {
			plain += p * float64(b.Count) / 5 * b.Gap * b.Gap
		}
	}
	if !near(mean, want, 1e-15) || plain < 2*want {
		t.Errorf("mean %v, want %v; of the plain square %v", mean, want, plain)
	}
	// Bins of one sample add nothing; the root is not of a negative number.
	if got := must(debiasedECE([]bool{true, false}, []float64{0.1, 0.9}, bins)); got != 0 {
		t.Errorf("two bins of one sample: %v", got)
	}
	if got := must(mce([]bool{true, false, true, true}, []float64{0.1, 0.2, 0.9, 0.7}, bins)); !near(got, 0.35, 1e-15) {
		t.Errorf("MCE %v, want 0.35", got)
	}
}

// By hand: edges at places 2 and 4 of four samples are z_(2) = 0.6 and 0.9, so that the bins hold three samples and one.
func TestAdaECEQuantile(t *testing.T) {
	correct, confidence := []bool{true, false, true, false}, []float64{0.6, 0.9, 0.2, 0.6}
	// (0.2−1) + (0.6−1) + (0.6−0) = −0.6 and 0.9.
	if got := must(adaECEQuantile(correct, confidence, 2)); !near(got, 1.5/4, 1e-15) {
		t.Errorf("%v, want 0.375", got)
	}
	// One of each pair of equal blocks is right: blocks of equal count part the ties by their order, quantiles do not.
	ties := []float64{0.5, 0.5, 0.5, 0.5}
	right := []bool{true, true, false, false}
	if blocks, quantiles := must(AdaECE(right, ties, 2)), must(adaECEQuantile(right, ties, 2)); blocks != 0.5 || quantiles != 0 {
		t.Errorf("ties: %v in blocks, %v between quantiles; want 0.5 and 0", blocks, quantiles)
	}
	if got := must(adaECEQuantile([]bool{false}, []float64{1}, 15)); got != 1 {
		t.Errorf("one sample: %v, want 1", got)
	}
	if _, err := adaECEQuantile(correct, confidence, 0); err == nil {
		t.Error("no bins were taken")
	}
}

// The statistic is the sum over pairs of its definition; the p-value is that of all outcomes, weighted by their probabilities.
func TestKernelTestAgainstAllOutcomes(t *testing.T) {
	confidence := []float64{0.9, 0.2, 0.55, 0.2, 0.7, 0.99}
	statistic := func(outcome int) float64 {
		total, n := 0.0, len(confidence)
		for i := range n {
			for j := range i {
				total += (float64(outcome>>i&1) - confidence[i]) * (float64(outcome>>j&1) - confidence[j]) * math.Exp(-math.Abs(confidence[i]-confidence[j])/0.4)
			}
		}
		return total * 2 / float64(n*(n-1))
	}
	for _, seen := range []int{0b110101, 0b011010, 0b100011} {
		correct := make([]bool, len(confidence))
		for i := range correct {
			correct[i] = seen>>i&1 == 1
		}
		exact := 0.0
		for outcome := range 1 << len(confidence) {
			p := 1.0
			for i, z := range confidence {
				if outcome>>i&1 == 1 {
					p *= z
				} else {
					p *= 1 - z
				}
			}
			if statistic(outcome) >= statistic(seen)-1e-12 {
				exact += p
			}
		}
		got := must(TestKernel(context.Background(), correct, confidence, 40_000, 3))
		if !near(got.SKCE, statistic(seen), 1e-14) || !near(got.P, exact, 5*math.Sqrt(exact*(1-exact)/40_000)) {
			t.Errorf("%b: %+v; want %v with p = %v", seen, got, statistic(seen), exact)
		}
	}
}

// Calibrated samples are rejected at 5 % in about 5 % of runs, over-confident ones in most. With 2,000 runs more than 140 false alarms have a probability below
// 10⁻⁴; the seed is fixed.
func TestKernelTestFalseAlarms(t *testing.T) {
	r := newRandom(8)
	const runs, n = 2000, 80
	alarms, found := 0, 0
	for run := range runs {
		correct, confidence := make([]bool, n), make([]float64, n)
		for over := range 2 {
			for i := range correct {
				confidence[i] = 0.5 + r.Float64()/2
				correct[i] = r.Float64() < confidence[i]-0.15*float64(over)
			}
			if p := must(TestKernel(context.Background(), correct, confidence, 99, uint64(run))).P; p <= 0.05 {
				if over == 1 {
					found++
				} else {
					alarms++
				}
			}
		}
	}
	if alarms > 140 || alarms < 60 || found < runs*7/10 {
		t.Errorf("%d false alarms and %d true ones of %d", alarms, found, runs)
	}
}

func TestKernelTestRefusals(t *testing.T) {
	two := []bool{true, false}
	for name, err := range map[string]error{
		"one sample":     second(TestKernel(t.Context(), two[:1], []float64{0.5}, 99, 0)),
		"no simulations": second(TestKernel(t.Context(), two, []float64{0.5, 0.5}, 0, 0)),
		"NaN":            second(TestKernel(t.Context(), two, []float64{0.5, math.NaN()}, 99, 0)),
	} {
		if err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := TestKernel(stopped, two, []float64{0.5, 0.5}, 99, 0); err != context.Canceled {
		t.Errorf("stopped: %v", err)
	}
	// All equal: what ties with the draw counts, so that the p-value follows from the number of hits.
	if p := must(TestKernel(t.Context(), two, []float64{0.5, 0.5}, 999, 0)).P; p != 1 {
		t.Errorf("one of two at ½: p = %v, want 1", p)
	}
}

func second[T any](_ T, err error) error { return err }

// The band holds all bins at once at least as often as it says, by the exact law of the hits (all outcomes, by convolution), and not much more.
func TestConsistencyBandExactly(t *testing.T) {
	r := newRandom(12)
	bins := leftClosed(t, []float64{0, 0.25, 0.5, 0.75, 1})
	for _, n := range []int{3, 40, 400} {
		for _, level := range []float64{0.5, 0.9, 0.99} {
			correct, confidence := make([]bool, n), make([]float64, n)
			for i := range confidence {
				confidence[i] = 0.25 + 0.75*r.Float64() // the first bin is empty
			}
			bars := must(Reliability(correct, confidence, bins))
			band := must(ConsistencyBand(bars, level))
			if band[0] != (Bounds{0, 1}) {
				t.Errorf("the empty bin has %v", band[0])
			}
			all := 1.0
			for m, b := range bars {
				law := []float64{1}
				for _, z := range confidence {
					if bins.Index(z) != m {
						continue
					}
					next := make([]float64, len(law)+1)
					for k, p := range law {
						next[k] += p * (1 - z)
						next[k+1] += p * z
					}
					law = next
				}
				inside := 0.0
				for k, p := range law {
					if share := float64(k) / math.Max(1, float64(b.Count)); b.Count == 0 || share >= band[m].Lower && share <= band[m].Upper {
						inside += p
					}
				}
				all *= inside
			}
			if all < level || n == 400 && all > 1-(1-level)/4 {
				t.Errorf("n = %d: the band of level %v holds with probability %v", n, level, all)
			}
		}
	}
	certain := must(Reliability([]bool{true, true}, []float64{1, 1}, bins))
	if band := must(ConsistencyBand(certain, 0.95)); band[3] != (Bounds{1, 1}) {
		t.Errorf("certain samples: %v", band)
	}
	for _, bad := range []float64{0, 1, math.NaN()} {
		if _, err := ConsistencyBand(certain, bad); err == nil {
			t.Errorf("level %v was taken", bad)
		}
	}
}

func BenchmarkSmoothECE10000(b *testing.B) {
	r := newRandom(1)
	in := paperInstance(r, 10_000, 0)
	for b.Loop() {
		if _, _, err := SmoothECE(in.correct, in.clean); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkKernelTest10000(b *testing.B) {
	r := newRandom(1)
	in := paperInstance(r, 10_000, 0)
	for b.Loop() {
		if _, err := TestKernel(b.Context(), in.correct, in.clean, 999, 1); err != nil {
			b.Fatal(err)
		}
	}
}
