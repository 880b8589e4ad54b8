package calib

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// drawn are samples whose confidence is distorted: they are right with probability sigmoid(.5 logit z + .3).
func drawn(n int, seed uint64) *Table {
	rng := rand.New(rand.NewPCG(seed, 1))
	t := &Table{}
	for range n {
		x := 2 * rng.NormFloat64()
		z := 1 / (1 + math.Exp(-x))
		t.Correct = append(t.Correct, rng.Float64() < 1/(1+math.Exp(-.5*x-.3)))
		t.Confidence = append(t.Confidence, z)
		t.Lower, t.Upper = append(t.Lower, max(0, z-.1*rng.Float64())), append(t.Upper, min(1, z+.1*rng.Float64()))
	}
	return t
}

func fitted(t *testing.T, m Method, o Objective, s *Table) *Recalibration {
	t.Helper()
	r, err := FitRecalibration(m, o, s.Correct, s.Confidence, s.Lower, s.Upper)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	return r
}

// The truth is found again: standard errors at 50,000 samples are about .01.
func TestRecalibrationFindsTheTruth(t *testing.T) {
	s := drawn(50_000, 3)
	if r := fitted(t, Platt, NLL, s); math.Abs(r.A-.5) > .04 || math.Abs(r.C-.3) > .05 {
		t.Errorf("Platt: %v", r)
	}
	if r := fitted(t, Beta, NLL, s); math.Abs(r.A-.5) > .06 || math.Abs(r.B-.5) > .06 || math.Abs(r.C-.3) > .1 {
		t.Errorf("beta: %v", r)
	}
	iso := fitted(t, Isotonic, NLL, s)
	for _, z := range []float64{.1, .5, .9} {
		want := 1 / (1 + math.Exp(-.5*math.Log(z/(1-z))-.3))
		if got := iso.At(z); math.Abs(got-want) > .05 {
			t.Errorf("isotonic at %v: %v, want %v", z, got, want)
		}
	}
}

// No map of a grid around the fitted one has a smaller objective.
func TestRecalibrationIsAMinimum(t *testing.T) {
	s := drawn(400, 5)
	ends := make([]float64, len(s.Correct))
	BrierConfidences(ends, s.Correct, s.Lower, s.Upper)
	for _, m := range []Method{Platt, Temperature, Beta} {
		for _, o := range []Objective{NLL, CertifiedBrierLoss} {
			loss := func(r Recalibration) (v float64) {
				if o == NLL {
					v, _ = logLoss(s.Correct, r.Apply(&Table{Correct: s.Correct, Confidence: s.Confidence}).Confidence)
					return v
				}
				v, _ = Brier(s.Correct, r.Apply(&Table{Correct: s.Correct, Confidence: ends}).Confidence)
				return v
			}
			best := fitted(t, m, o, s)
			for _, step := range []float64{1e-3, .03, .3, 2} {
				for i := range 27 {
					r := *best
					r.A = max(0, r.A+step*float64(i%3-1))
					r.B = max(0, r.B+step*float64(i/3%3-1))
					if m != Beta {
						r.B = r.A
					}
					if m != Temperature {
						r.C += step * float64(i/9-1)
					}
					if loss(r) < loss(*best)-1e-9 {
						t.Errorf("%s, %s: %v has %v, %v has %v", m, o, best, loss(*best), r, loss(r))
					}
				}
			}
		}
	}
}

// Beta holds every Platt map, so it is fitted at least as well: also where intervals are so wide that a slope is lost.
func TestBetaIsNoWorseThanPlatt(t *testing.T) {
	tables := map[string]*Table{"drawn": drawn(3000, 7), "few": drawn(60, 11)}
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 2))
		s, width := &Table{}, []float64{.02, .2, .6}[seed%3]
		for range 300 {
			z := math.Pow(rng.Float64(), []float64{.2, 1, 4, .05}[seed%4])
			s.Correct = append(s.Correct, rng.Float64() < z*z || rng.IntN(20) == 0)
			s.Confidence = append(s.Confidence, z)
			s.Lower, s.Upper = append(s.Lower, max(0, z-width*rng.Float64())), append(s.Upper, min(1, z+width*rng.Float64()))
		}
		tables[fmt.Sprint("seed ", seed)] = s
	}
	gained := 0
	for name, s := range tables {
		for _, o := range []Objective{NLL, CertifiedBrierLoss} {
			loss := func(m Method) float64 {
				g := fitted(t, m, o, s)
				z := slices.Clone(s.Confidence)
				if o == CertifiedBrierLoss {
					BrierConfidences(z, s.Correct, s.Lower, s.Upper)
				}
				mapped := g.Apply(&Table{Correct: s.Correct, Confidence: z}).Confidence
				v, err := Brier(s.Correct, mapped)
				if o == NLL {
					v, err = logLoss(s.Correct, mapped)
				}
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			platt, beta := loss(Platt), loss(Beta)
			if beta > platt+1e-9 {
				t.Errorf("%s, %s: beta ends at %v, Platt at %v", name, o, beta, platt)
			}
			if beta < platt-1e-4 {
				gained++
			}
		}
	}
	if gained < 5 {
		t.Errorf("beta is better than Platt in %d cases: the maps are hardly different", gained)
	}
}

// A map is applied as it was fitted: 800 of 2,000 confidences were rounded to 1, of which 90 % are right. All maps
// give them about that, and the calibration error falls. What is not clamped in the same way gives them 1.
func TestSaturatedConfidences(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s := &Table{}
	for i := range 2000 {
		z := .6 + .35*rng.Float64()
		right := rng.Float64() < z-.1
		if i%5 < 2 {
			z, right = 1, rng.Float64() < .9
		}
		s.Correct, s.Confidence = append(s.Correct, right), append(s.Confidence, z)
	}
	if n := Saturated(s.Confidence); n != 800 {
		t.Fatalf("%d saturated", n)
	}
	bins, err := Uniform(15, LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	before, err := ECE(s.Correct, s.Confidence, bins)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range []Method{Platt, Temperature, Beta, Isotonic} {
		r := fitted(t, m, NLL, s)
		// By hand at the clamp, ln(1e12) = 27.631: what the fit saw of them.
		x := r.A*math.Log1p(-1e-12) + r.B*27.631021 + r.C
		if want := 1 / (1 + math.Exp(-x)); m != Isotonic && math.Abs(r.At(1)-want) > 1e-6 {
			t.Errorf("%s at 1: %v, fitted as %v", m, r.At(1), want)
		}
		if math.Abs(r.At(1)-.9) > .05 || r.At(1) < r.At(1-1e-12) || r.At(0) > r.At(1e-12) {
			t.Errorf("%s gives those at 1 %v, want about .9", m, r.At(1))
		}
		after, err := ECE(s.Correct, r.Apply(s).Confidence, bins)
		if err != nil || after > before {
			t.Errorf("%s: ECE %v after, %v before, %v", m, after, before, err)
		}
	}
}

// An interval holds the map of everything in it, at the ends, too.
func TestMappedIntervalsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	maps := []*Recalibration{
		{Method: Platt, A: .7, B: .7, C: -1}, {Method: Platt, C: .4}, {Method: Temperature, A: 3, B: 3}, {Method: Beta, A: 2, C: 1}, {Method: Beta, B: .1, C: -3},
		{Method: Isotonic, From: []float64{0, .3, .8}, Value: []float64{.1, .1, 1}},
	}
	for _, r := range maps {
		if err := r.Check(); err != nil {
			t.Fatal(err)
		}
		for range 2000 {
			l, u := rng.Float64(), rng.Float64()
			l, u = min(l, u), max(l, u)
			switch rng.IntN(6) {
			case 0:
				l = 0
			case 1:
				u = 1
			}
			low, up := r.Interval(l, u)
			for _, z := range []float64{l, u, l + (u-l)*rng.Float64()} {
				if g := r.At(z); !(low <= g && g <= up) || !(low >= 0 && up <= 1) {
					t.Fatalf("%v: g(%v) = %v is outside [%v, %v] of [%v, %v]", r, z, g, low, up, l, u)
				}
			}
		}
	}
}

// A confidence that tells nothing, or the wrong way round, becomes the constant of the accuracy.
func TestRecalibrationFallsBackToAConstant(t *testing.T) {
	s := &Table{}
	for i := range 200 {
		s.Correct = append(s.Correct, i%4 != 0)
		z := .2
		if i%4 == 0 {
			z = .9
		}
		s.Confidence, s.Lower, s.Upper = append(s.Confidence, z), append(s.Lower, z-.1), append(s.Upper, z+.05)
	}
	for _, m := range []Method{Platt, Beta, Isotonic} {
		for _, o := range []Objective{NLL, CertifiedBrierLoss} {
			r := fitted(t, m, o, s)
			if !r.Constant() || math.Abs(r.At(.4)-.75) > 1e-6 {
				t.Errorf("%s, %s: %v, want the constant 0.75", m, o, r)
			}
		}
	}
	even, err := Uniform(10, LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := Resolution(s.Correct, slices.Repeat([]float64{.75}, 200), even); err != nil || v != 0 {
		t.Errorf("the resolution of a constant is %v, %v", v, err)
	}
	if v, err := Resolution(s.Correct, s.Confidence, even); err != nil || math.Abs(v-.75*.25) > 1e-12 {
		t.Errorf("the resolution of a confidence that tells all is %v, %v, want acc(1−acc)", v, err)
	}
}

func TestRecalibrationRefuses(t *testing.T) {
	one := []bool{true, true}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"one kind": {func() error {
			_, err := FitRecalibration(Platt, NLL, one, []float64{.1, .2}, nil, nil)
			return err
		}(), "right and wrong"},
		"no intervals": {func() error {
			_, err := FitRecalibration(Platt, CertifiedBrierLoss, one, []float64{.1, .2}, nil, nil)
			return err
		}(), "lower"},
		"a method": {func() error {
			_, err := FitRecalibration("histogram", NLL, []bool{true, false}, []float64{.1, .2}, nil, nil)
			return err
		}(), "histogram"},
		"falls":        {(&Recalibration{Method: Platt, A: -1, B: -1}).Check(), "falls"},
		"steps fall":   {(&Recalibration{Method: Isotonic, From: []float64{0, .5}, Value: []float64{.5, .4}}).Check(), "falls"},
		"no first":     {(&Recalibration{Method: Isotonic, From: []float64{.1}, Value: []float64{.5}}).Check(), "from 0"},
		"not a number": {(&Recalibration{Method: Beta, A: math.NaN()}).Check(), "finite"},
		"two slopes":   {(&Recalibration{Method: Platt, A: 1, B: 2}).Check(), "a = b"},
		"moved":        {(&Recalibration{Method: Temperature, A: 1, B: 1, C: 1}).Check(), "c = 0"},
	} {
		if c.err == nil || !strings.Contains(c.err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, c.err, c.want)
		}
	}
}

func BenchmarkRecalibrate10000(b *testing.B) {
	s := drawn(10_000, 1)
	for _, m := range []Method{Platt, Temperature, Beta, Isotonic} {
		b.Run(string(m), func(b *testing.B) {
			for b.Loop() {
				r, err := FitRecalibration(m, CertifiedBrierLoss, s.Correct, s.Confidence, s.Lower, s.Upper)
				if err != nil {
					b.Fatal(err)
				}
				r.Apply(s)
			}
		})
	}
}

// Groups stay together, and nothing is lost.
func TestHalves(t *testing.T) {
	s := &Table{Correct: []bool{true, false, true, true, false}, Confidence: []float64{.1, .2, .3, .4, .5}}
	for _, c := range []struct {
		group []int
		want  []float64
	}{{nil, []float64{.1, .3, .5}}, {[]int{0, 1, 2, 1, 0}, []float64{.1, .3, .5}}, {[]int{0, 1, 1, 1, 1}, []float64{.1}}, {[]int{0, 1, 0, 0, 4}, []float64{.1, .3, .4, .5}}} {
		fit, judged := s.Halves(c.group)
		if !slices.Equal(fit.Confidence, c.want) || len(fit.Correct)+len(judged.Correct) != 5 || len(judged.Confidence) != len(judged.Correct) || judged.Lower != nil {
			t.Errorf("%v: %v and %v", c.group, fit, judged)
		}
	}
}
