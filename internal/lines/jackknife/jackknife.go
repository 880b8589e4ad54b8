// Package jackknife says how far other models of the same kind would move a statistic of models.
package jackknife

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/lines"
)

// Result is a statistic of models, and how far other models of the same kind would move it.
type Result struct {
	Value float64 `json:"value"` // of all models
	// without the bias that few models give it, such as R² above 0 of models that lie on no line
	Corrected float64 `json:"corrected"`
	Error     float64 `json:"standard_error"`
	Freedom   float64 `json:"degrees_of_freedom"`
}

// Of leaves out each model in turn (Quenouille 1956, Tukey 1958). The models of a stratum, those with equal
// values of the labels, are taken as drawn from one law. With θ₍ᵢ₎ the statistic without model i, n their number and θ̄
// the mean of θ₍ᵢ₎, their share of the variance is (n−1)/n Σ(θ₍ᵢ₎−θ̄)², and of the bias (n−1)(θ̄−θ). It has n − 2
// degrees of freedom, since a line takes two; Satterthwaite's rule joins strata.
//
// Sampling error of the accuracies is scatter between models like any other. Images that are hard for all models alike
// are not in it. In simulated worlds its 95 % intervals hold slopes in 95 to 96 %. They hold R² in 93 to 96 % with
// twenty models a stratum, but in 87 to 90 % with six.
//
// Errors: those of the statistic; a stratum with fewer than four models, as *lines.FewPoints; a
// statistic that is not finite.
func Of(models lines.Models, strata []string, statistic func(lines.Models) (float64, error)) (Result, error) {
	of := func(models lines.Models) (float64, error) {
		v, err := statistic(models)
		if err == nil && (math.IsNaN(v) || math.IsInf(v, 0)) {
			err = fmt.Errorf("lines: the statistic of %d models is %v", len(models), v)
		}
		return v, err
	}
	var j Result
	var err error
	if j.Value, err = of(models); err != nil {
		return j, err
	}
	members := map[string][]int{}
	for i, m := range models {
		var key strings.Builder
		for _, label := range strata {
			fmt.Fprintf(&key, "%q ", m.Labels[label])
		}
		members[key.String()] = append(members[key.String()], i)
	}
	bias, variance, parts := 0., 0., 0.
	for _, key := range slices.Sorted(maps.Keys(members)) {
		n := float64(len(members[key]))
		if n < 4 {
			return j, &lines.FewPoints{N: len(members[key])}
		}
		var without []float64
		mean := 0.
		for _, i := range members[key] {
			v, err := of(append(models[:i:i], models[i+1:]...))
			if err != nil {
				return j, err
			}
			without, mean = append(without, v), mean+v/n
		}
		part := 0.
		for _, v := range without {
			part += (n - 1) / n * (v - mean) * (v - mean)
		}
		bias += (n - 1) * (mean - j.Value)
		variance += part
		parts += part * part / (n - 2)
	}
	j.Corrected, j.Error = j.Value-bias, math.Sqrt(variance)
	if parts > 0 {
		j.Freedom = variance * variance / parts
	}
	return j, nil
}

// Interval is Student's, about the corrected value; level is in (0, 1), as 0.95.
func (j Result) Interval(level float64) lines.Interval {
	var out lines.Interval
	half := 0.
	if j.Error > 0 {
		half = j.Error * distuv.StudentsT{Sigma: 1, Nu: j.Freedom}.Quantile((1+level)/2)
	}
	out.Low, out.High = j.Corrected-half, j.Corrected+half
	return out
}

// P is the two-sided p-value of the hypothesis that the law of the models has this value.
func (j Result) P(value float64) float64 {
	d := math.Abs(j.Corrected - value)
	switch {
	case d == 0:
		return 1
	case j.Error == 0:
		return 0
	}
	return min(1, 2*distuv.StudentsT{Sigma: 1, Nu: j.Freedom}.CDF(-d/j.Error))
}
