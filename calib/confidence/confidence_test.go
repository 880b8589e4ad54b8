package confidence

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/calib"
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func near(a, b, tolerance float64) bool { return math.Abs(a-b) <= tolerance }

// Section 11.B of the specification: two-sided half-widths at α = .001. They equal one-sided half-widths at α/2.
func TestHalfWidth(t *testing.T) {
	for n, want := range map[int][2]float64{100: {.185846, .194947}, 1000: {.058770, .061648}, 10_000: {.018585, .019495}, 100_000: {.005877, .006165}} {
		two, one := must(HalfWidth(n, .001)), must(HalfWidth(n, .002))
		if !near(two, want[1], 6e-7) || !near(one, want[0], 6e-7) {
			t.Errorf("n = %d: %v and %v, want %v and %v", n, one, two, want[0], want[1])
		}
		if exact := math.Sqrt(math.Log(2000) / float64(2*n)); two < exact || two > exact*(1+1e-11) {
			t.Errorf("n = %d: %v is not just above %v", n, two, exact)
		}
	}
}

// Section 11.C (1) of the specification.
func TestShift(t *testing.T) {
	low, high := shifted(.9, .5), 1-shifted(1-.9, .5)
	if !near(low, .782761, 6e-7) || !near(high, .962589, 6e-7) {
		t.Errorf("sh(.9, ∓.5) = %v, %v, want .782761, .962589", low, high)
	}
	for _, p := range []float64{1e-300, 1e-17, 1e-5, .1, .3, .5, .7, .9, 1 - 1e-10, 1 - 0x1p-53} {
		if got := shifted(p, 0); got > p || got < p*(1-1e-8) {
			t.Errorf("sh(%v, 0) = %v, want just below", p, got)
		}
		last := 1.
		for _, shift := range []float64{0, 1e-9, .1, .5, 1, 3, 10, 40, 1e300} {
			got := shifted(p, shift)
			if got > last || got < 0 {
				t.Errorf("sh(%v, −%v) = %v, more than %v at a smaller shift", p, shift, got, last)
			}
			last = got
		}
	}
	// sh(sh(p, t), −t) = p, for both signs of t, but for the rounding outwards next to 1.
	for _, p := range []float64{1e-6, .01, .3, .5, .9, .999} {
		for _, shift := range []float64{1e-6, .1, .5, 1, 2} {
			down, up := shifted(p, shift), 1-shifted(1-p, shift)
			back, again := 1-shifted(1-down, shift), shifted(up, shift)
			if !near(back, p, 1e-9*p+2e-12) || !near(again, p, 1e-9*p+2e-12) || down >= p || up <= p {
				t.Errorf("p = %v: down and up by %v %v, up and down %v, through %v and %v", p, shift, back, again, down, up)
			}
		}
	}
	for p, want := range map[float64]float64{0: 0, -1: 0, 1: 1, 2: 1, math.Inf(-1): 0} {
		if got := shifted(p, 3); got != want {
			t.Errorf("sh(%v, −3) = %v, want %v", p, got, want)
		}
	}
}

// shifted is sh(p, −t), rounded down.
func shifted(p, t float64) float64 { return shiftedTail(quantile(p), t) }

type bandKey struct {
	n                int
	halfWidth, shift float64
}

var tables = map[bandKey]*Shift{}

// table is the shift of a band, made once.
func table(n int, halfWidth, shift float64) *Shift {
	key := bandKey{n, halfWidth, shift}
	if tables[key] == nil {
		tables[key] = must(must(NewBand(n, halfWidth)).At(shift))
	}
	return tables[key]
}

// certificates are both certificates from raw scores.
func certificates(t *testing.T, scores []float64, step int, halfWidth, shift float64) (standard, cdf calib.Bounds) {
	t.Helper()
	mean := must(Mean(scores))
	standard, err := Standard(mean.Lower, mean.Upper, halfWidth, shift)
	if err != nil {
		t.Fatal(err)
	}
	d := must(NewDistribution(scores, must(OrderStatistics(scores, step))))
	cdf, err = table(len(scores), halfWidth, shift).CDF(d)
	if err != nil {
		t.Fatal(err)
	}
	return standard, cdf
}

func randomScores(r *rand.Rand) []float64 {
	scores := make([]float64, 1+r.IntN(30))
	shape := r.Float64()*4 - 2
	for i := range scores {
		switch r.IntN(4) {
		case 0:
			scores[i] = float64(r.IntN(5)) / 4 // ties, 0 and 1
		default:
			scores[i] = 1 / (1 + math.Exp(-shape-r.NormFloat64()))
		}
	}
	return scores
}

// Section 11.C (2), (3): both intervals hold the mean, widen with the radius, and that of CDF lies inside that
// of Standard for every set of scores, up to rounding; with few thresholds, up to the largest gap.
func TestCertificatesOfAnyScores(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 20_000 {
		scores := randomScores(r)
		halfWidth := []float64{0, .01, .1, .4}[r.IntN(4)]
		mean := must(Mean(scores))
		last := [2]calib.Bounds{{Lower: 1}, {Lower: 1}}
		for _, shift := range []float64{0, .2, 1.3} {
			standard, cdf := certificates(t, scores, 1, halfWidth, shift)
			if cdf.Lower < standard.Lower-1e-10 || cdf.Upper > standard.Upper+1e-10 {
				t.Fatalf("%v, ε = %v, t = %v: CDF %v is looser than standard %v", scores, halfWidth, shift, cdf, standard)
			}
			for k, i := range []calib.Bounds{standard, cdf} {
				if i.Lower > mean.Upper || i.Upper < mean.Lower || i.Lower < 0 || i.Upper > 1 {
					t.Fatalf("%v, ε = %v, t = %v: mean %v, interval %v", scores, halfWidth, shift, mean, i)
				}
				if i.Lower > last[k].Lower || i.Upper < last[k].Upper {
					t.Fatalf("%v, ε = %v, t = %v: interval %v after %v", scores, halfWidth, shift, i, last[k])
				}
				last[k] = i
			}
			step := 2 + r.IntN(5)
			thresholds := must(OrderStatistics(scores, step))
			gap := 0.0
			for j := range thresholds[1:] {
				gap = max(gap, thresholds[j+1]-thresholds[j])
			}
			_, coarse := certificates(t, scores, step, halfWidth, shift)
			if coarse.Lower > cdf.Lower+1e-10 || coarse.Upper < cdf.Upper-1e-10 || coarse.Lower < cdf.Lower-gap-1e-10 || coarse.Upper > cdf.Upper+gap+1e-10 {
				t.Fatalf("%v, ε = %v, t = %v: %v with every %dth threshold, %v with all, largest gap %v", scores, halfWidth, shift, coarse, step, cdf, gap)
			}
		}
	}
}

// sigmoid classifies linearly with two classes: its score is sigmoid(t + κξ) with ξ standard normal.
func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// smoothed is E[sigmoid(t + κξ)], by the trapezoidal rule, which converges faster than any power.
func smoothed(t, kappa float64) float64 {
	total, weights := 0., 0.
	for x := -10.; x <= 10; x += .01 {
		w := math.Exp(-x * x / 2)
		total += w * sigmoid(t+kappa*x)
		weights += w
	}
	return total / weights
}

// Section 11.C (4): a linear classifier, of which the bound of CDF is tight. t = 1, ‖w‖ = 2, σ = .5, R = .25.
func TestLinearClassifier(t *testing.T) {
	const logit, kappa, shift, n, thresholds = 1, 1, .5, 200_000, 10_000
	if g := smoothed(logit, kappa); !near(g, .696735, 6e-7) {
		t.Fatalf("mean score %v", g)
	}
	if low, high := smoothed(logit-.5, kappa), smoothed(logit+.5, kappa); !near(low, .602027, 6e-7) || !near(high, .778527, 6e-7) {
		t.Fatalf("range [%v, %v]", low, high)
	}
	d := &Distribution{N: n}
	for j := range thresholds + 1 {
		s := float64(j) / thresholds
		p := math.Erfc(-(logit-math.Log(s/(1-s)))/kappa/math.Sqrt2) / 2
		switch j {
		case 0:
			p = 1
		case thresholds:
			p = 0
		}
		d.Thresholds = append(d.Thresholds, s)
		d.AtLeast = append(d.AtLeast, int(math.Floor(p*n)))
		d.Above = append(d.Above, int(math.Ceil(p*n)))
	}
	cdf := must(must(must(NewBand(n, 0)).At(shift)).CDF(d))
	if !near(cdf.Lower, .602027, 1e-4) || !near(cdf.Upper, .778527, 1e-4) || cdf.Lower > .602027 || cdf.Upper < .778527 {
		t.Errorf("CDF %v, want [.602027, .778527] or a little more", cdf)
	}
	standard := must(Standard(.696735, .696735, 0, shift))
	if !near(standard.Lower, .505997, 2e-6) || !near(standard.Upper, .844955, 2e-6) {
		t.Errorf("standard %v, want [.505997, .844955]", standard)
	}
}

// Section 11.C (5): coverage of the true range in repeated sampling, and the mean widths that the specification
// reports for 4000 trials. Both certificates are conservative; the seed is fixed.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const alpha, trials = .05, 400
	r := rand.New(rand.NewPCG(2, 2))
	low, high := smoothed(.5, 1), smoothed(1.5, 1)
	for n, widths := range map[int][2]float64{200: {.503, .357}, 2000: {.393, .242}} {
		halfWidth := must(HalfWidth(n, alpha))
		var width [2]float64
		var held [2]int
		for range trials {
			scores := make([]float64, n)
			for i := range scores {
				scores[i] = sigmoid(1 + r.NormFloat64())
			}
			standard, cdf := certificates(t, scores, 1, halfWidth, .5)
			for k, i := range []calib.Bounds{standard, cdf} {
				width[k] += (i.Upper - i.Lower) / trials
				if i.Lower <= low && i.Upper >= high {
					held[k]++
				}
			}
		}
		for k, name := range []string{"standard", "CDF"} {
			least := trials * (1 - alpha - 3*math.Sqrt(alpha*(1-alpha)/trials))
			if float64(held[k]) < least || !near(width[k], widths[k], .004) {
				t.Errorf("n = %d, %s: held %d times of %d, mean width %v, want %v", n, name, held[k], trials, width[k], widths[k])
			}
		}
	}
}

// Section 11.C (6) of the specification.
func TestOfTop(t *testing.T) {
	for _, c := range []struct {
		in      calib.Bounds
		classes int
		want    calib.Bounds
	}{
		{calib.Bounds{Lower: .6, Upper: .7}, 10, calib.Bounds{Lower: .6, Upper: .7}},
		{calib.Bounds{Lower: .5, Upper: .5}, 2, calib.Bounds{Lower: .5, Upper: .5}},
		{calib.Bounds{Lower: .3, Upper: .4}, 10, calib.Bounds{Lower: .3, Upper: .7}},
		{calib.Bounds{Lower: .01, Upper: .02}, 10, calib.Bounds{Lower: .1, Upper: .99}},
		{calib.Bounds{Lower: .3, Upper: .9}, 2, calib.Bounds{Lower: .5, Upper: .9}},
	} {
		got := must(OfTop(c.in, c.classes))
		if !near(got.Lower, c.want.Lower, 1e-15) || !near(got.Upper, c.want.Upper, 1e-15) || got.Lower > c.want.Lower || got.Upper < c.want.Upper {
			t.Errorf("%+v: %v, want %v", c, got, c.want)
		}
	}
}

// Unknown scores count as 0 below and as 1 above.
func TestUnknownScores(t *testing.T) {
	nan := math.NaN()
	known := []float64{.2, .4, .4, .9}
	scores := append([]float64{nan, nan}, known...)
	zeros, ones := append([]float64{0, 0}, known...), append([]float64{1, 1}, known...)
	standard, cdf := certificates(t, scores, 1, .05, .3)
	standardLow, cdfLow := certificates(t, zeros, 1, .05, .3)
	standardHigh, cdfHigh := certificates(t, ones, 1, .05, .3)
	want := [2]calib.Bounds{{Lower: standardLow.Lower, Upper: standardHigh.Upper}, {Lower: cdfLow.Lower, Upper: cdfHigh.Upper}}
	for k, got := range []calib.Bounds{standard, cdf} {
		if !near(got.Lower, want[k].Lower, 1e-12) || !near(got.Upper, want[k].Upper, 1e-12) {
			t.Errorf("%v, want %v", got, want[k])
		}
	}
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		s              Spending
		radius, scores float64
	}{{paper, .001, .001}, {split, .0005, .0005}, {family, .001 / 4000, .001 / 4000}} {
		radius, scores, err := c.s.Divide(.001, 2000)
		if err != nil || !near(radius, c.radius, 1e-18) || !near(scores, c.scores, 1e-18) {
			t.Errorf("%s: %v, %v, %v", c.s, radius, scores, err)
		}
	}
}

func TestBadInput(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	band := must(NewBand(3, .1))
	table := must(band.At(.5))
	good := func() *Distribution { return must(NewDistribution([]float64{.1, .5, .9}, []float64{0, .5, 1})) }
	change := func(f func(d *Distribution)) func() error {
		return func() error {
			d := good()
			f(d)
			_, err := table.CDF(d)
			return err
		}
	}
	for argument, calls := range map[string][]func() error{
		"n": {
			func() error { _, err := HalfWidth(0, .1); return err },
			func() error { _, err := NewBand(0, .1); return err },
		},
		"alpha": {
			func() error { _, err := HalfWidth(1, 0); return err },
			func() error { _, err := HalfWidth(1, nan); return err },
			func() error { _, _, err := paper.Divide(1, 5); return err },
		},
		"images":   {func() error { _, _, err := family.Divide(.1, 0); return err }},
		"spending": {func() error { _, _, err := Spending("x").Divide(.1, 1); return err }},
		"shift": {
			func() error { _, err := Standard(.1, .2, .1, nan); return err },
			func() error { _, err := band.At(inf); return err },
			func() error { _, err := Standard(.1, .2, .1, -1); return err },
		},
		"half-width": {
			func() error { _, err := NewBand(3, -1); return err },
			func() error { _, err := Standard(.1, .2, nan, 1); return err },
		},
		"mean": {
			func() error { _, err := Standard(.3, .2, .1, 1); return err },
			func() error { _, err := Standard(nan, .2, .1, 1); return err },
			func() error { _, err := Standard(.1, 1.1, .1, 1); return err },
		},
		"interval":    {func() error { _, err := OfTop(calib.Bounds{Lower: .5, Upper: .4}, 2); return err }},
		"classes":     {func() error { _, err := OfTop(calib.Bounds{Lower: .5, Upper: .6}, 1); return err }},
		"step":        {func() error { _, err := OrderStatistics([]float64{.5}, 0); return err }},
		"len(scores)": {func() error { _, err := Mean(nil); return err }},
		"scores[1]":   {func() error { _, err := NewDistribution([]float64{.5, 1.1}, []float64{0, 1}); return err }},
		"N": {
			change(func(d *Distribution) { d.N = 0 }),
			func() error {
				_, err := table.CDF(must(NewDistribution([]float64{.1}, []float64{0, 1})))
				return err
			},
		},
		"Thresholds":    {change(func(d *Distribution) { d.Thresholds[0] = .1 }), change(func(d *Distribution) { d.Thresholds = nil })},
		"Thresholds[1]": {change(func(d *Distribution) { d.Thresholds[1] = nan })},
		"counts":        {change(func(d *Distribution) { d.Above = d.Above[:2] })},
		"AtLeast[0]":    {change(func(d *Distribution) { d.AtLeast[0]-- })},
		"AtLeast[1]":    {change(func(d *Distribution) { d.AtLeast[1] = 4 }), change(func(d *Distribution) { d.AtLeast[1] = -1 })},
		"Above[2]":      {change(func(d *Distribution) { d.Above[2] = 2 })},
	} {
		for k, call := range calls {
			var input *InputError
			if err := call(); !errors.As(err, &input) || input.Argument != argument {
				t.Errorf("%s, call %d: error %v", argument, k, err)
			}
		}
	}
}

// Ten images at one radius with 1000 thresholds each; the table of a radius is shared by all images.
func BenchmarkCDF(b *testing.B) {
	const n = 10_000
	r := rand.New(rand.NewPCG(3, 3))
	scores, thresholds := make([]float64, n), make([]float64, 1001)
	for i := range scores {
		scores[i] = sigmoid(1 + r.NormFloat64())
	}
	for j := range thresholds {
		thresholds[j] = float64(j) / 1000
	}
	d := must(NewDistribution(scores, thresholds))
	band := must(NewBand(n, must(HalfWidth(n, .001))))
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			must(band.At(.5))
		}
	})
	b.Run("image", func(b *testing.B) {
		table := must(band.At(.5))
		for b.Loop() {
			must(table.CDF(d))
		}
	})
}
