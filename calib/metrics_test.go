package calib

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/resample"
)

// referenceECE is the definition, with the bin of every confidence found by trying all.
func referenceECE(in instance, convention Convention) float64 {
	total := 0.0
	for m := range len(in.edges) - 1 {
		gap := 0.0
		for i, z := range in.clean {
			low, high := in.edges[m], in.edges[m+1]
			inside := low <= z && z < high || m == len(in.edges)-2 && z == 1
			if convention == RightClosed {
				inside = low < z && z <= high || m == 0 && z == 0
			}
			if inside {
				gap += z - float64(bit(in.correct[i]))
			}
		}
		total += math.Abs(gap)
	}
	return total / float64(len(in.correct))
}

func TestECEAgainstDefinition(t *testing.T) {
	r := newRandom(10)
	for k := range 20_000 {
		in := randomInstance(r, 20, 20)
		for i := range in.clean {
			in.clean[i] = value(r, in.edges)
		}
		convention := Convention(k % 2)
		bins := must(NewBins(in.edges, convention))
		if got, want := must(ECE(in.correct, in.clean, bins)), referenceECE(in, convention); !near(got, want, 1e-13) {
			t.Fatalf("%v, convention %d: ECE %v, want %v", in, convention, got, want)
		}
	}
}

// Every edge, and its neighbours, of every number of uniform bins: the multiplication finds the bin that
// comparison finds.
func TestUniformIndex(t *testing.T) {
	for bins := 1; bins <= maxBins; bins++ {
		for _, convention := range []Convention{LeftClosed, RightClosed} {
			b := must(Uniform(bins, convention))
			if b.scale == 0 {
				t.Fatalf("%d bins are not taken for uniform", bins)
			}
			for m, e := range b.edges {
				for _, z := range []float64{math.Nextafter(e, -1), e, math.Nextafter(e, 2)} {
					if z < 0 || z > 1 {
						continue
					}
					want := m
					if z < e || convention == RightClosed && z == e && m > 0 || z == 1 && m == bins {
						want = m - 1
					}
					if got := b.Index(z); got != want {
						t.Fatalf("%d bins, convention %d: %v is in bin %d, want %d", bins, convention, z, got, want)
					}
				}
			}
		}
	}
}

// Confidences of exactly 0 and 1, and on an edge. The values of torchmetrics are those that its
// binary_calibration_error (version 1.9.0, norm l1, float64) returns: it puts a confidence of 1 into a bin of
// its own, and compares with edges in float32. Code that selects a bin by lower < z ≤ upper loses a
// confidence of 0 altogether.
func TestEndsAreInTheRightBin(t *testing.T) {
	for _, c := range []struct {
		confidence         []float64
		correct            []bool
		bins               int
		want, torchmetrics float64
	}{
		{[]float64{.95, 1}, []bool{true, false}, 10, .475, .525},
		{[]float64{.9, 1, 1}, []bool{true, true, false}, 5, .3, .36666666666666664},
		{[]float64{.3, .35}, []bool{true, false}, 10, .175, .5249999999999999},
		{[]float64{0, .05}, []bool{true, false}, 10, .475, .475},
		{[]float64{.5, .55}, []bool{true, false}, 10, .025, .025000000000000022},
	} {
		got := must(ECE(c.correct, c.confidence, must(Uniform(c.bins, LeftClosed))))
		if !near(got, c.want, 1e-15) {
			t.Errorf("%v, %v: ECE %v, want %v (torchmetrics %v)", c.confidence, c.correct, got, c.want, c.torchmetrics)
		}
	}
	for _, convention := range []Convention{LeftClosed, RightClosed} {
		bins := must(Uniform(10, convention))
		bars := must(Reliability([]bool{true, true, false}, []float64{0, math.Copysign(0, -1), 1}, bins))
		if bars[0].Count != 2 || bars[0].Gap != -1 || bars[9].Count != 1 || bars[9].Gap != 1 {
			t.Errorf("convention %d: %+v", convention, bars)
		}
		if got := must(ECE([]bool{true}, []float64{0}, bins)); got != 1 {
			t.Errorf("convention %d: ECE %v of a correct sample of confidence 0, want 1", convention, got)
		}
	}
	left, right := must(Uniform(2, LeftClosed)), must(Uniform(2, RightClosed))
	if left.Index(.5) != 1 || right.Index(.5) != 0 {
		t.Errorf("0.5 is in bin %d of [L, U) and %d of (L, U], want 1 and 0", left.Index(.5), right.Index(.5))
	}
}

// Section 11.A (2), (4), (6) of the specification.
func TestMetricRelations(t *testing.T) {
	r := newRandom(11)
	for range 3000 {
		in := randomInstance(r, 30, 10)
		bins := must(NewBins(in.edges, LeftClosed))
		ece, brier := must(ECE(in.correct, in.clean, bins)), must(Brier(in.correct, in.clean))
		gap, balance := 0.0, 0.0
		for i, z := range in.clean {
			d := z - float64(bit(in.correct[i]))
			gap += math.Abs(d)
			balance += d
		}
		n := len(in.clean)
		gap /= float64(n)
		if ece > gap+1e-14 || gap > math.Sqrt(brier)+1e-14 {
			t.Fatalf("%v: ECE %v ≤ gap %v ≤ √Brier %v does not hold", in, ece, gap, math.Sqrt(brier))
		}
		if got := must(AdaECE(in.correct, in.clean, n)); !near(got, gap, 1e-14) {
			t.Fatalf("%v: AdaECE with N bins %v, want %v", in, got, gap)
		}
		one := math.Abs(balance) / float64(n)
		if got := must(ECE(in.correct, in.clean, must(Uniform(1, LeftClosed)))); !near(got, one, 1e-14) {
			t.Fatalf("%v: ECE with one bin %v, want %v", in, got, one)
		}
		if got := must(AdaECE(in.correct, in.clean, 1)); !near(got, one, 1e-14) {
			t.Fatalf("%v: AdaECE with one bin %v, want %v", in, got, one)
		}
		correct, clean := slices.Concat(in.correct, in.correct), slices.Concat(in.clean, in.clean)
		r.Shuffle(2*n, func(i, j int) {
			correct[i], correct[j] = correct[j], correct[i]
			clean[i], clean[j] = clean[j], clean[i]
		})
		if got := must(ECE(correct, clean, bins)); !near(got, ece, 1e-14) {
			t.Fatalf("%v: ECE %v, doubled and shuffled %v", in, ece, got)
		}
		if got := must(Brier(correct, clean)); !near(got, brier, 1e-14) {
			t.Fatalf("%v: Brier %v, doubled and shuffled %v", in, brier, got)
		}
	}
}

// Section 1.7 of the specification: calibration is not accuracy.
func TestCalibrationIsNotAccuracy(t *testing.T) {
	bins := must(Uniform(15, LeftClosed))
	for _, c := range []struct {
		z        float64
		correct  bool
		accuracy float64
		ece      float64
	}{{.5, true, 1, .5}, {.5, false, 0, .5}, {1, true, 1, 0}} {
		correct, z := slices.Repeat([]bool{c.correct}, 8), slices.Repeat([]float64{c.z}, 8)
		if a, e := must(Accuracy(correct)), must(ECE(correct, z, bins)); a != c.accuracy || e != c.ece {
			t.Errorf("%+v: accuracy %v, ECE %v", c, a, e)
		}
	}
}

func TestAdaECEBlocks(t *testing.T) {
	// Seven samples in three blocks of 3, 2 and 2, by hand; of the equal confidences the earlier comes first.
	z := []float64{.9, .2, .5, .5, .1, .7, .3}
	correct := []bool{true, false, true, false, false, true, true}
	want := (math.Abs(.1+.2+.3-1) + math.Abs(.5+.5-1) + math.Abs(.7+.9-2)) / 7
	if got := must(AdaECE(correct, z, 3)); !near(got, want, 1e-15) {
		t.Errorf("AdaECE %v, want %v", got, want)
	}
	// Ties cut by index: blocks {sample 0} and {sample 1}.
	if got := must(AdaECE([]bool{true, false}, []float64{.5, .5}, 2)); got != .5 {
		t.Errorf("AdaECE %v, want .5", got)
	}
	if got := must(AdaECE([]bool{true}, []float64{.75}, 15)); got != .25 {
		t.Errorf("AdaECE of one sample %v, want .25", got)
	}
}

func TestLogLoss(t *testing.T) {
	// −(ln .8 + ln .7 + ln .9)/3
	if got := must(logLoss([]bool{true, false, true}, []float64{.8, .3, .9})); !near(got, 0.22839300363692283, 1e-15) {
		t.Errorf("log loss %v", got)
	}
	if got := must(logLoss([]bool{true, false}, []float64{1, 0})); got != 0 || math.Signbit(got) {
		t.Errorf("log loss %v of certain and right samples, want 0", got)
	}
	for _, c := range []bool{true, false} {
		if got := must(logLoss([]bool{c}, []float64{float64(1 - bit(c))})); !math.IsInf(got, 1) {
			t.Errorf("log loss %v of a certain and wrong sample, want +Inf", got)
		}
	}
}

func TestProbabilities(t *testing.T) {
	p := Probabilities{Classes: 3, Labels: []int{0, 2, 1}, P: []float64{.7, .2, .1, .4, .4, .2, .1, .8, .1}}
	correct, z, err := p.TopLabel()
	if err != nil || !slices.Equal(correct, []bool{true, false, true}) || !slices.Equal(z, []float64{.7, .4, .8}) {
		t.Errorf("%v, %v, %v", correct, z, err)
	}
	if got, want := must(p.NLL()), -(math.Log(.7)+math.Log(.2)+math.Log(.8))/3; !near(got, want, 1e-15) {
		t.Errorf("NLL %v, want %v", got, want)
	}
	// One bin: per class, the mean probability less the frequency of the class.
	want := (math.Abs(1.2-1) + math.Abs(1.4-1) + math.Abs(.4-1)) / 9
	if got := must(p.ClasswiseECE(must(Uniform(1, LeftClosed)))); !near(got, want, 1e-15) {
		t.Errorf("classwise ECE %v, want %v", got, want)
	}
	nan := math.NaN()
	for _, c := range []struct {
		argument string
		p        Probabilities
	}{
		{"Classes", Probabilities{1, []int{0}, []float64{1}}},
		{"len(P)", Probabilities{2, []int{0}, []float64{1}}},
		{"Labels[1]", Probabilities{2, []int{0, 2}, []float64{1, 0, 1, 0}}},
		{"Labels[0]", Probabilities{2, []int{-1}, []float64{1, 0}}},
		{"P[1]", Probabilities{2, []int{0}, []float64{1, nan}}},
		{"P[0]", Probabilities{2, []int{0}, []float64{1.5, 0}}},
		{"the sum of row 1", Probabilities{2, []int{0, 0}, []float64{1, 0, .5, .4}}},
	} {
		var input *InputError
		if _, err := c.p.NLL(); !errors.As(err, &input) || input.Argument != c.argument {
			t.Errorf("%+v: error %v, want one about %s", c.p, err, c.argument)
		}
		if _, err := c.p.ClasswiseECE(must(Uniform(2, LeftClosed))); !errors.As(err, &input) {
			t.Errorf("%+v: error %v", c.p, err)
		}
	}
	if _, err := (Probabilities{Classes: 2}).NLL(); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no rows: %v", err)
	}
}

func TestMetricsBadInput(t *testing.T) {
	bins, odd := must(Uniform(15, LeftClosed)), must(NewBins([]float64{0, .3, 1}, LeftClosed))
	metrics := map[string]func([]bool, []float64) error{
		"ECE":         func(c []bool, z []float64) error { _, err := ECE(c, z, bins); return err },
		"ECE odd":     func(c []bool, z []float64) error { _, err := ECE(c, z, odd); return err },
		"Reliability": func(c []bool, z []float64) error { _, err := Reliability(c, z, bins); return err },
		"AdaECE":      func(c []bool, z []float64) error { _, err := AdaECE(c, z, 15); return err },
		"Brier":       func(c []bool, z []float64) error { _, err := Brier(c, z); return err },
		"LogLoss":     func(c []bool, z []float64) error { _, err := logLoss(c, z); return err },
		"Intervals": func(c []bool, z []float64) error {
			_, err := Intervals(context.Background(), c, z, bins, resample.Options{Resamples: 20})
			return err
		},
	}
	for name, metric := range metrics {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), -1e-300, 1.0000000000000002, 1e300} {
			var input *InputError
			if err := metric(make([]bool, 3), []float64{.5, bad, .5}); !errors.As(err, &input) || input.Argument != "confidence[1]" {
				t.Errorf("%s of %v: error %v", name, bad, err)
			}
		}
		if err := metric(nil, nil); !errors.Is(err, ErrNoSamples) {
			t.Errorf("%s of nothing: error %v", name, err)
		}
		if err := metric(make([]bool, 2), make([]float64, 3)); err == nil || !strings.Contains(err.Error(), "len(confidence) is 3, expected len(correct) = 2") {
			t.Errorf("%s of unequal lengths: error %v", name, err)
		}
	}
	if _, err := AdaECE([]bool{true}, []float64{1}, 0); err == nil {
		t.Error("AdaECE with no bins: no error")
	}
	if _, err := Uniform(0, LeftClosed); err == nil {
		t.Error("no bins: no error")
	}
	if _, err := Uniform(3, Convention(7)); err == nil {
		t.Error("unknown convention: no error")
	}
}

// Many samples, over several chunks: the same to the last bit whatever the number of cores, the bad value
// found at its place, and the sums those of the definition.
func TestManySamples(t *testing.T) {
	const n = 3*chunk + 12345
	r := newRandom(12)
	correct, z := make([]bool, n), make([]float64, n)
	for i := range z {
		z[i], correct[i] = r.Float64(), r.IntN(3) > 0
	}
	bins := must(Uniform(15, LeftClosed))
	before := runtime.GOMAXPROCS(1)
	one := must(Reliability(correct, z, bins))
	runtime.GOMAXPROCS(3)
	three := must(Reliability(correct, z, bins))
	runtime.GOMAXPROCS(before)
	if !slices.Equal(one, three) {
		t.Errorf("%v on one core, %v on three", one, three)
	}
	want, hits := make([]float64, 15), make([]int, 15)
	for i, v := range z {
		m := min(14, int(v*15)) // no drawn value lies on an edge
		want[m] += v
		hits[m] += int(bit(correct[i]))
	}
	for m, bar := range one {
		if n := float64(bar.Count); !near(bar.Confidence*n, want[m], 1e-6) || !near(bar.Accuracy*n, float64(hits[m]), 1e-6) {
			t.Errorf("bin %d: %+v", m, bar)
		}
	}
	z[n-2] = math.NaN()
	var input *InputError
	if _, err := ECE(correct, z, bins); !errors.As(err, &input) || input.Argument != fmt.Sprintf("confidence[%d]", n-2) {
		t.Errorf("error %v, want one about confidence[%d]", err, n-2)
	}
}

func TestReliabilityJSON(t *testing.T) {
	bars := must(Reliability([]bool{true, false}, []float64{.25, .5}, must(Uniform(2, RightClosed))))
	text, err := json.Marshal(bars)
	want := `[{"lower":0,"upper":0.5,"count":2,"confidence":0.375,"accuracy":0.5,"gap":-0.125},` +
		`{"lower":0.5,"upper":1,"count":0,"confidence":null,"accuracy":null,"gap":null}]`
	if err != nil || string(text) != want {
		t.Errorf("%s, %v, want %s", text, err, want)
	}
}

// Section 11.D of the specification.
func TestCertifiedBrier(t *testing.T) {
	r := newRandom(13)
	for range 5000 {
		in := randomInstance(r, 15, 3)
		cbs, gap, err := CertifiedBrier(in.correct, in.lower, in.upper)
		if err != nil {
			t.Fatal(err)
		}
		if got := must(Brier(in.correct, in.clean)); got > cbs {
			t.Fatalf("%v: CBS %v, yet %v is feasible", in, cbs, got)
		}
		z := make([]float64, len(in.clean))
		BrierConfidences(z, in.correct, in.lower, in.upper)
		if got := must(Brier(in.correct, z)); got > cbs || !near(got, cbs, 1e-14) {
			t.Fatalf("%v: CBS %v, Brier confidences %v", in, cbs, got)
		}
		if float64(gap*gap) > cbs+1e-13 {
			t.Fatalf("%v: G² %v exceeds CBS %v", in, gap*gap, cbs)
		}
		same, _, _ := CertifiedBrier(in.correct, in.clean, in.clean)
		if !near(same, must(Brier(in.correct, in.clean)), 1e-14) || same > cbs {
			t.Fatalf("%v: CBS %v of single values, of the intervals %v", in, same, cbs)
		}
	}
	if _, _, err := CertifiedBrier([]bool{true}, []float64{.6}, []float64{.5}); err == nil {
		t.Error("reversed interval: no error")
	}
	if _, _, err := CertifiedBrier(nil, nil, nil); !errors.Is(err, ErrNoSamples) {
		t.Errorf("no samples: %v", err)
	}
}

func BenchmarkECE(b *testing.B) {
	const n = 1 << 20
	correct, z := make([]bool, n), make([]float64, n)
	for i := range z {
		z[i], correct[i] = rand.Float64(), rand.IntN(3) > 0
	}
	odd := must(UniformEdges(15))
	odd[3] += 1e-3
	for name, bins := range map[string]*Bins{"uniform": must(Uniform(15, LeftClosed)), "any edges": must(NewBins(odd, LeftClosed))} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(n)
			for b.Loop() {
				must(ECE(correct, z, bins))
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Msamples/s")
		})
	}
}
