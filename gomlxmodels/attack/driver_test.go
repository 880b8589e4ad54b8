package attack

import (
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/calib"
)

func state(n int) *State {
	random := rand.New(rand.NewPCG(3, 4))
	s := &State{Sigma: 0.25, Epsilon: 0.1, Confidence: make([]float64, n), Correct: make([]bool, n), Direction: make([]float32, n)}
	for i := range n {
		s.Confidence[i], s.Correct[i] = 0.4+0.6*random.Float64(), random.Float64() < 0.6
	}
	return s
}

// value is the augmented Lagrangian of Emde et al. 2025 (equations 27 and 31), with one confidence for all bins of a sample.
func (s *lagrangian) value() (l float64) {
	for m := range Bins {
		sum := 0.0
		for n := range s.z {
			sum += s.gap(n) * s.a[n*Bins+m]
		}
		l -= math.Abs(sum)
	}
	square := func(dual, r float64) float64 { return dual*r + s.rho/2*r*r }
	for k, a := range s.a {
		l += square(s.lam1[k], a-s.q1[k]) + square(s.lam2[k], a-s.q2[k])
		if !s.outside[k] {
			l += square(s.lam3[k], s.z[k/Bins]-s.g[k])
		}
	}
	for n := range s.z {
		unique, valid := s.residuals(n)
		l += square(s.lam4[n], unique) + square(s.lam5[n], valid)
	}
	return l
}

// Every step of ACCE against the Lagrangian: the way of the confidences and the step of the assignment by central differences, the
// copies by their sets and because they lower it.
func TestACCEAgainstTheLagrangian(t *testing.T) {
	const h, eta = 1e-6, 0.02
	st := state(12)
	d := &ACCE{Relaxation: Relaxation{Growth: 1.5, Rho: 0.2, StepA: eta}}
	if err := d.Drive(st); err != nil {
		t.Fatal(err)
	}
	for step := range 6 {
		random := rand.New(rand.NewPCG(uint64(step), 9))
		for i := range st.Confidence {
			st.Confidence[i] = math.Min(1, math.Max(0, st.Confidence[i]+0.05*random.NormFloat64()))
		}
		s := *d.s
		s.z = append([]float64(nil), st.Confidence...)
		slope := make([]float64, len(s.z))
		for n, z := range s.z {
			s.z[n] = z + h
			up := s.value()
			s.z[n] = z - h
			slope[n] = (up - s.value()) / (2 * h)
			s.z[n] = z
		}
		want := make([]float64, len(s.a))
		s.a = append([]float64(nil), s.a...)
		for k, a := range s.a {
			s.a[k] = a + h
			up := s.value()
			s.a[k] = a - h
			want[k] = a - eta*math.Max(-5, math.Min(5, (up-s.value())/(2*h)))
			s.a[k] = a
		}
		rho := d.s.rho
		if err := d.Drive(st); err != nil {
			t.Fatal(err)
		}
		for n, g := range slope {
			if math.Abs(g) > 1e-6 && float64(st.Direction[n]) != -math.Copysign(1, g) {
				t.Errorf("step %d: the confidence of sample %d goes by %g where the slope is %g", step, n, st.Direction[n], g)
			}
		}
		sphere := 0.0
		for k, a := range d.s.a {
			if math.Abs(a-want[k]) > 1e-7 {
				t.Fatalf("step %d: a[%d] is %g, want %g", step, k, a, want[k])
			}
			if q := d.s.q1[k]; q < 0 || q > 1 {
				t.Errorf("step %d: the copy %g is not in [0, 1]", step, q)
			}
			if !d.s.outside[k] && !(d.s.g[k] >= d.s.low[k] && d.s.g[k] <= d.s.high[k]) {
				t.Errorf("step %d: the copy %g is not in its interval", step, d.s.g[k])
			}
			sphere += (d.s.q2[k] - 0.5) * (d.s.q2[k] - 0.5)
		}
		if math.Abs(sphere-float64(len(want))/4) > 1e-9 {
			t.Errorf("step %d: the copy is not on the sphere: %g", step, sphere)
		}
		if d.s.rho != math.Min(rho*1.5, 10) {
			t.Errorf("step %d: ρ goes from %g to %g", step, rho, d.s.rho)
		}
	}
}

// On 1,024 drawn confidences the published start, the same assignment for all bins, gives every confidence one way
// at both of two steps: the adversary is a constant push, up where the batch is surer than right. Neither the
// growth of the penalty nor the share of right answers changes that; ten times the step on a parts at most 3 % of
// them. The exact start parts them.
func TestPublishedStartPushesAlike(t *testing.T) {
	ways := func(d Driver, right float64) (up, down int) {
		st := state(1024)
		random := rand.New(rand.NewPCG(1, 2))
		for i := range st.Correct {
			st.Correct[i] = random.Float64() < right
		}
		st.Length = st.Epsilon
		for range 2 {
			if err := d.Drive(st); err != nil {
				t.Fatal(err)
			}
			for i, way := range st.Direction {
				if way > 0 {
					up++
				} else if way < 0 {
					down++
				}
				st.Confidence[i] = math.Max(0, math.Min(1, st.Confidence[i]+0.05*float64(way)))
			}
		}
		return up, down
	}
	for _, right := range []float64{0.3, 0.6, 0.9} {
		for _, growth := range []float64{1.1, 1.5, 3} {
			for _, step := range []float64{0.01, 0.1} {
				r := Relaxation{Growth: growth, Rho: 0.01, StepA: step}
				for _, weighted := range []bool{false, true} {
					up, down := ways(&ACCE{Relaxation: r, Weighted: weighted}, right)
					if surer := right < 0.7; up+down != 2048 || min(up, down) > 0 && step < 0.1 || min(up,
						down) > 62 || surer != (up > down) {
						t.Errorf("%+v, %v right: %d go up and %d down from the uniform start", r, right, up, down)
					}
				}
				if up, down := ways(&ExactStart{Relaxation: r}, right); min(up, down) < 100 {
					t.Errorf("%+v, %v right: %d go up and %d down from the exact start", r, right, up, down)
				}
			}
		}
	}
}

// The assignment that ACCE-ACT* holds in its loss sets bins apart from the exact start, also after one step and
// two; from the uniform one it does not.
func TestAssignmentSetsBinsApart(t *testing.T) {
	type assigner interface {
		Driver
		Assignment() []float32
	}
	apart := func(d assigner, steps int) (samples, bins int) {
		st := state(50)
		st.Length = 2 * st.Epsilon / float64(steps)
		for range steps {
			if err := d.Drive(st); err != nil {
				t.Fatal(err)
			}
		}
		a, used := d.Assignment(), map[int]bool{}
		for n := range st.Confidence {
			row := a[n*Bins : (n+1)*Bins]
			best := 0
			for m, v := range row {
				if v > row[best] {
					best = m
				}
			}
			second := float32(math.Inf(-1))
			for m, v := range row {
				if m != best {
					second = max(second, v)
				}
			}
			if row[best]-second > 0.5 {
				samples++
				used[best] = true
			}
		}
		return samples, len(used)
	}
	for _, steps := range []int{1, 2} {
		if samples, bins := apart(exactStart().(*ExactStart), steps); samples != 50 || bins < 3 {
			t.Errorf("%d steps: %d of 50 samples have a bin, %d bins are used", steps, samples, bins)
		}
		if samples, _ := apart(published(1.5), steps); samples != 0 {
			t.Errorf("%d steps from the uniform start: %d samples have a bin", steps, samples)
		}
	}
}

// For one sample ACCE and Brier go the same way.
func TestOneSample(t *testing.T) {
	for _, correct := range []bool{true, false} {
		acce := &State{Sigma: 0.25, Epsilon: 0.1, Length: 0.02, Confidence: []float64{0.7}, Correct: []bool{correct}, Direction: make([]float32, 1)}
		brier := &State{Confidence: []float64{0.7}, Correct: []bool{correct}, Direction: make([]float32, 1)}
		Brier{}.Drive(brier)
		want := map[bool]float32{true: -1, false: 1}[correct]
		for _, d := range []Driver{published(1.5), exactStart()} {
			if err := d.Drive(acce); err != nil {
				t.Fatal(err)
			}
			if acce.Direction[0] != want || brier.Direction[0] != want {
				t.Errorf("correct %v: %T goes by %g, Brier by %g, want %g", correct, d, acce.Direction[0],
					brier.Direction[0], want)
			}
		}
	}
}

// Confidences that follow Exact reach the largest calibration error that their intervals allow.
func TestExactReachesTheBound(t *testing.T) {
	st := state(50)
	st.Length = 0.01
	e := &Exact{}
	clean := append([]float64(nil), st.Confidence...)
	for range 400 {
		if err := e.Drive(st); err != nil {
			t.Fatal(err)
		}
		for i, way := range st.Direction {
			st.Confidence[i] += 0.002 * float64(way)
		}
	}
	// The intervals by the error function, and the exact solver on them.
	shift := func(z, t float64) float64 {
		return math.Erfc(-(math.Sqrt2*math.Erfinv(2*z-1)+t)/math.Sqrt2) / 2
	}
	var lower, upper []float64
	for _, z := range clean {
		lower, upper = append(lower, shift(z, -0.4)), append(upper, shift(z, 0.4))
	}
	bins, err := calib.Uniform(Bins, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	worst, err := calib.ExactCCE(st.Correct, lower, upper, bins.Edges())
	if err != nil {
		t.Fatal(err)
	}
	gaps, edges := make([]float64, Bins), bins.Edges()
	for i, z := range st.Confidence {
		// A twentieth of a bin from its edges, where the largest value often is.
		if aim := math.Max(edges[worst.Bin[i]]+1./300, math.Min(edges[worst.Bin[i]+1]-1./300, worst.Confidence[i])); math.Abs(z-aim) > 2e-4 {
			t.Errorf("sample %d ends at %g, want %g", i, z, aim)
		}
		gaps[worst.Bin[i]] += z
		if st.Correct[i] {
			gaps[worst.Bin[i]]--
		}
	}
	total := 0.0
	for _, g := range gaps {
		total += math.Abs(g) / float64(len(clean))
	}
	if total < worst.Value-1./300 {
		t.Errorf("calibration error %g of %g", total, worst.Value)
	}
}

// An attack without a budget leaves everything where it is.
func TestSteeringWithoutLength(t *testing.T) {
	st := state(20)
	st.Epsilon = 0
	for _, d := range []Driver{&Exact{}, exactStart()} {
		if err := d.Drive(st); err != nil {
			t.Fatal(err)
		}
		for i, way := range st.Direction {
			if way != 0 {
				t.Errorf("sample %d goes by %v", i, way)
			}
		}
	}
}

func TestIntervalsNeedNoise(t *testing.T) {
	st := state(3)
	st.Sigma = 0
	if err := (&Exact{}).Drive(st); err == nil {
		t.Error("intervals without noise")
	}
}

func TestBudget(t *testing.T) {
	a := &Adversary{Epsilon: 1, WarmUp: 4, Delay: 2}
	for epoch, want := range []float64{0, 0, 0.25, 0.5, 0.75, 1, 1} {
		if got := a.Ramp().At(schedule.Clock{Step: epoch, Steps: 10, StepsPerEpoch: 1}); got != want {
			t.Errorf("epoch %d: %g, want %g", epoch, got, want)
		}
	}
	if got := (&Adversary{Epsilon: 0.5}).Ramp().At(schedule.Clock{Steps: 1, StepsPerEpoch: 1}); got != 0.5 {
		t.Errorf("without a warm-up: %g", got)
	}
}
