package calib

import (
	"fmt"
	"math"
	"slices"
)

// Recalibration is a non-decreasing map g: [0, 1] → [0, 1] of confidences. The interval [g(l), g(u)] holds g of every
// confidence in [l, u]. So certified intervals stay certified, whatever g was fitted on.
//
// Platt, temperature and beta maps are
//
//	g(z) = sigmoid(A·ln z − B·ln(1−z) + C),   A, B ≥ 0.
//
// The maps of Platt (2000) on the logit have A = B; a temperature T = 1/A has C = 0 besides (Guo et al. 2017); beta
// maps holds the maps of Kull et al. (2017). They are fitted to confidences in [10⁻¹², 1−10⁻¹²] and take others as the
// nearer of these ends; see Saturated. An isotonic map is a step function: Value[i] from From[i] on.
type Recalibration struct {
	Method    Method    `json:"method"`
	Objective Objective `json:"objective"`
	A         float64   `json:"a"`
	B         float64   `json:"b"`
	C         float64   `json:"c"`
	From      []float64 `json:"from,omitempty"` // ascending, the first is 0
	Value     []float64 `json:"value,omitempty"`
}

// Method of a recalibration.
type Method string

// Objective is the loss that a recalibration minimises on the samples of its fit.
type Objective string

// The methods and objectives.
const (
	Platt       Method = "platt"
	Temperature Method = "temperature"
	Beta        Method = "beta"
	Isotonic    Method = "isotonic"

	NLL                Objective = "nll"             // negative log-likelihood of the confidences as they are
	CertifiedBrierLoss Objective = "certified-brier" // largest Brier score inside the certified intervals
)

// Check refuses what is no non-decreasing map into [0, 1], as a file may hold it.
//
// Errors: *InputError.
func (r *Recalibration) Check() error {
	finite := func(x float64) bool { return x-x == 0 }
	switch r.Method {
	case Platt, Temperature, Beta:
		if !(r.A >= 0 && r.B >= 0 && finite(r.A) && finite(r.B) && finite(r.C)) {
			return inputError("map", fmt.Sprintf("a = %v, b = %v, c = %v", r.A, r.B, r.C),
				"finite numbers and slopes of at least 0: a map that falls somewhere does not keep intervals certified")
		}
		if r.Method != Beta && r.A != r.B || r.Method == Temperature && r.C != 0 {
			return inputError("map", fmt.Sprintf("%s with a = %v, b = %v, c = %v", r.Method, r.A, r.B, r.C),
				"a = b, and of temperature c = 0")
		}
	case Isotonic:
		if len(r.From) == 0 || len(r.From) != len(r.Value) || r.From[0] != 0 {
			return inputError("map", fmt.Sprintf("%d steps with %d values", len(r.From), len(r.Value)),
				"as many values as steps, the first from 0 on")
		}
		for i, v := range r.Value {
			if !(v >= 0 && v <= 1) || i > 0 && (v < r.Value[i-1] || !(r.From[i] > r.From[i-1])) {
				return inputError("map", fmt.Sprintf("%v from %v on", v, r.From[i]),
					"ascending steps with values from 0 to 1 that do not fall: a map that falls somewhere does not "+
						"keep intervals certified")
			}
		}
	default:
		return inputError("method", r.Method, fmt.Sprintf("%q, %q, %q or %q", Platt, Temperature, Beta, Isotonic))
	}
	return nil
}

// At is g(z) of z in [0, 1].
func (r *Recalibration) At(z float64) float64 {
	if r.Method == Isotonic {
		i, found := slices.BinarySearch(r.From, z)
		if !found {
			i--
		}
		return r.Value[max(i, 0)]
	}
	up, down := logs(z)
	return 1 / (1 + math.Exp(-(r.A*up + r.B*down + r.C)))
}

// edge is the least confidence, and the least distance from 1, that logarithms are taken of.
const edge = 1e-12

// logs are ln z and −ln(1−z) of z inside the edges.
func logs(z float64) (up, down float64) {
	z = min(max(z, edge), 1-edge)
	return math.Log(z), -math.Log1p(-z)
}

// Saturated counts the confidences that are 0 or 1 but for 10⁻¹², as those that were printed with few digits or
// rounded to float32. All of them are one point to a map other than an isotonic one, far from the rest.
func Saturated(confidence []float64) (n int) {
	for _, z := range confidence {
		if z <= edge || z >= 1-edge {
			n++
		}
	}
	return n
}

// outwards pays for the rounding of At, a few units in the last place of ln, exp and their sum (|x|
// is at most some hundred).
const outwards = 1e-12

// Interval holds g of every confidence in [l, u], rounded outwards.
func (r *Recalibration) Interval(l, u float64) (lower, upper float64) {
	lower, upper = r.At(l), r.At(u)
	if r.Method != Isotonic {
		lower, upper = max(0, lower-outwards), min(1, upper+outwards)
	}
	return lower, upper
}

// Apply gives the samples with every confidence and interval mapped.
func (r *Recalibration) Apply(t *Table) *Table {
	mapped := &Table{Correct: t.Correct}
	for _, z := range t.Confidence {
		mapped.Confidence = append(mapped.Confidence, r.At(z))
	}
	for i := range t.Lower {
		l, u := r.Interval(t.Lower[i], t.Upper[i])
		mapped.Lower, mapped.Upper = append(mapped.Lower, l), append(mapped.Upper, u)
	}
	for i, z := range mapped.Confidence {
		if mapped.Lower != nil {
			mapped.Confidence[i] = min(max(z, mapped.Lower[i]), mapped.Upper[i])
		}
	}
	return mapped
}

// Constant reports whether the map gives every confidence between 0 and 1 the same value.
func (r *Recalibration) Constant() bool {
	return r.Method != Isotonic && r.A == 0 && r.B == 0 || len(r.Value) == 1
}

func (r *Recalibration) String() string {
	switch {
	case r.Constant():
		return fmt.Sprintf("the constant %.6g", r.At(0.5))
	case r.Method == Isotonic:
		return fmt.Sprintf("%d steps from %.4g to %.4g", len(r.Value), r.Value[0], r.Value[len(r.Value)-1])
	case r.Method == Temperature:
		return fmt.Sprintf("sigmoid(logit z / %.6g)", 1/r.A)
	case r.Method == Platt:
		return fmt.Sprintf("sigmoid(%.6g logit z %+.6g)", r.A, r.C)
	}
	return fmt.Sprintf("sigmoid(%.6g ln z − %.6g ln(1−z) %+.6g)", r.A, r.B, r.C)
}
