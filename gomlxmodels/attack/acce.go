package attack

import (
	"math"

	"github.com/certspec/certspec/calib"
)

// ACCE is the driver of ACCE-ACT (Emde et al. 2025, equation 31): ADMM on the augmented Lagrangian of the mixed-integer program of the
// certified calibration error, with z(γ) in the place of z. After a step of the confidences its assignment a, copies and duals make theirs.
//
// The assignment starts at the largest calibration error that the certified intervals of the batch allow (calib.ExactCCE). A start that is the same for
// all bins, as in evaluation, gives all of them the same sign, and few steps do not part them: all confidences then go the same way. A confidence
// goes along −Σ_n (z_n − c_n)·a_nm of the bin m to which a assigns it, as far as the interval of that bin allows, l̃ ≤ z ≤ ũ: the
// penalty for that constraint would begin to count only long after the confidence has left the bin.
type ACCE struct {
	Growth float64 // φ, by which the penalty grows at each step, up to 10
	Rho    float64 // ρ at the start
	StepA  float64 // η_a, gradient step on the assignment

	HoeffdingAlpha float64 // as in Exact
	Noises         int

	// Original is what certspec computed at first: a starts at 1/M, makes its step before the confidences have made theirs, and the constraint is a
	// penalty, λ3 and ρ3, for the bins that the sample can reach; with Weighted in proportion to its assignment, clip(a, 0, 1).
	Original, Weighted bool

	s     *lagrangian
	bins  *calib.Bins
	steer steering
}

func (d *ACCE) Drive(state *State) error {
	if d.Original {
		return d.driveOriginal(state)
	}
	if d.s == nil {
		if err := d.start(state); err != nil {
			return err
		}
	} else {
		d.s.z, d.s.correct = state.Confidence, state.Correct
		d.s.stepAssignment(d.StepA)
		d.s.stepCopies()
		d.s.rho = math.Min(d.s.rho*d.Growth, 10)
	}
	d.steer.toward(state, d.s.aims(d.bins))
	return nil
}

// start sets the assignment, which is feasible: its copies are equal to it.
func (d *ACCE) start(state *State) error {
	worst, bins, err := solve(state, d.HoeffdingAlpha, d.Noises)
	if err != nil {
		return err
	}
	if d.s, err = newLagrangian(d, state); err != nil {
		return err
	}
	d.bins, d.s.z, d.s.correct = bins, state.Confidence, state.Correct
	clear(d.s.a)
	for n, m := range worst.Bin {
		d.s.a[n*Bins+m] = 1
	}
	copy(d.s.q1, d.s.a)
	copy(d.s.q2, d.s.a)
	return nil
}

// aims are the confidences that the assignment asks for: in the reachable bin with the greatest a, at the end of its interval on the side of its sign.
func (s *lagrangian) aims(bins *calib.Bins) []float64 {
	signs, aims := s.signs(), make([]float64, len(s.z))
	for n := range aims {
		best := -1
		for m := range Bins {
			if k := n*Bins + m; !s.outside[k] && (best < 0 || s.a[k] > s.a[n*Bins+best]) {
				best = m
			}
		}
		end := s.high[n*Bins+best]
		if signs[best] < 0 {
			end = s.low[n*Bins+best]
		}
		aims[n] = inside(end, best, bins)
	}
	return aims
}

func (d *ACCE) driveOriginal(state *State) error {
	if d.s == nil {
		s, err := newLagrangian(d, state)
		if err != nil {
			return err
		}
		d.s = s
	}
	d.s.z, d.s.correct = state.Confidence, state.Correct
	signs := d.s.signs()
	for n := range state.Direction {
		state.Direction[n] = -sign(d.s.slope(n, signs))
	}
	d.s.stepAssignment(d.StepA)
	d.s.stepCopies()
	d.s.rho = math.Min(d.s.rho*d.Growth, 10)
	return nil
}

// Assignment is the iterate a after the last step.
func (d *ACCE) Assignment() []float32 {
	a := make([]float32, len(d.s.a))
	for k, v := range d.s.a {
		a[k] = float32(v)
	}
	return a
}

// lagrangian is the state of ADMM; arrays of N·M are sample by sample.
type lagrangian struct {
	weighted         bool
	z                []float64
	correct          []bool
	outside          []bool    // k: the bin does not meet the interval
	low, high        []float64 // the interval's part of the bin
	a, q1, q2, g     []float64
	lam1, lam2, lam3 []float64
	lam4, lam5       []float64 // one per sample
	rho              float64
}

func newLagrangian(d *ACCE, state *State) (*lagrangian, error) {
	lower, upper, err := intervals(state, d.HoeffdingAlpha, d.Noises)
	if err != nil {
		return nil, err
	}
	bins, err := calib.Uniform(Bins, calib.LeftClosed)
	if err != nil {
		return nil, err
	}
	edges, n := bins.Edges(), len(state.Confidence)
	each := func() []float64 { return make([]float64, n*Bins) }
	s := &lagrangian{
		weighted: d.Weighted, outside: make([]bool, n*Bins), low: each(), high: each(),
		a: each(), q1: each(), q2: each(), g: each(), lam1: each(), lam2: each(), lam3: each(),
		lam4: make([]float64, n), lam5: make([]float64, n), rho: d.Rho,
	}
	for i, z := range state.Confidence {
		first, last := bins.Index(lower[i]), bins.Index(upper[i])
		for m := range Bins {
			k := i*Bins + m
			s.a[k], s.q1[k], s.q2[k] = 1./Bins, 1./Bins, 1./Bins
			if m < first || m > last {
				s.outside[k] = true
				continue
			}
			s.low[k], s.high[k] = math.Max(lower[i], edges[m]), math.Min(upper[i], edges[m+1])
			s.g[k] = math.Max(s.low[k], math.Min(s.high[k], z))
		}
	}
	return s, nil
}

// gap is z_n − c_n.
func (s *lagrangian) gap(n int) float64 {
	if s.correct[n] {
		return s.z[n] - 1
	}
	return s.z[n]
}

// signs are those of Σ_n (z_n − c_n)·a_nm, per bin.
func (s *lagrangian) signs() (signs [Bins]float64) {
	for n := range s.z {
		for m := range Bins {
			signs[m] += s.gap(n) * s.a[n*Bins+m]
		}
	}
	for m, v := range signs {
		signs[m] = float64(sign(v))
	}
	return signs
}

// slope is the derivative of the Lagrangian in the confidence of sample n.
func (s *lagrangian) slope(n int, signs [Bins]float64) float64 {
	total := 0.0
	for m := range Bins {
		k := n*Bins + m
		total -= signs[m] * s.a[k]
		if s.outside[k] {
			continue
		}
		weight := 1.0
		if s.weighted {
			weight = math.Max(0, math.Min(1, s.a[k]))
		}
		total += weight * (s.lam3[k] + s.rho*(s.z[n]-s.g[k]))
	}
	return total
}

// residuals of sample n are Σ_m a − 1 and Σ_m k·a.
func (s *lagrangian) residuals(n int) (unique, valid float64) {
	for m := range Bins {
		k := n*Bins + m
		unique += s.a[k]
		if s.outside[k] {
			valid += s.a[k]
		}
	}
	return unique - 1, valid
}

// stepAssignment makes one gradient step on a, whose entries are clipped to [−5, 5], and a to [−2, 2].
func (s *lagrangian) stepAssignment(eta float64) {
	signs := s.signs()
	for n := range s.z {
		unique, valid := s.residuals(n)
		for m := range Bins {
			k := n*Bins + m
			g := -signs[m]*s.gap(n) + s.lam1[k] + s.lam2[k] + s.rho*(2*s.a[k]-s.q1[k]-s.q2[k]) + s.lam4[n] + s.rho*unique
			if s.outside[k] {
				g += s.lam5[n] + s.rho*valid
			}
			g = math.Max(-5, math.Min(5, g))
			s.a[k] = math.Max(-2, math.Min(2, s.a[k]-eta*g))
		}
	}
}

// stepCopies sets the copies to their closed forms (equations 28 to 30) and makes the step of the duals.
func (s *lagrangian) stepCopies() {
	total := 0.0
	for k, a := range s.a {
		s.q1[k] = math.Max(0, math.Min(1, a+s.lam1[k]/s.rho))
		s.q2[k] = a + s.lam2[k]/s.rho - 0.5
		total += s.q2[k] * s.q2[k]
	}
	scale := math.Sqrt(float64(len(s.a))) / 2 / math.Max(math.Sqrt(total), math.SmallestNonzeroFloat32)
	for k, a := range s.a {
		s.q2[k] = 0.5 + scale*s.q2[k]
		s.lam1[k] += s.rho * (a - s.q1[k])
		s.lam2[k] += s.rho * (a - s.q2[k])
		if !s.outside[k] {
			z := s.z[k/Bins]
			s.g[k] = math.Max(s.low[k], math.Min(s.high[k], z+s.lam3[k]/s.rho))
			s.lam3[k] += s.rho * (z - s.g[k])
		}
	}
	for n := range s.z {
		unique, valid := s.residuals(n)
		s.lam4[n] += s.rho * unique
		s.lam5[n] += s.rho * valid
	}
}
