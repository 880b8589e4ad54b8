package resample

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// level has the statistics of the sample without each unit of a level.
type level struct {
	at      int
	without [][]float64 // by unit and statistic
}

func leaveOut(ctx context.Context, d Design, of Statistic, statistics int) (all []level, err error) {
	whole := d.all()
	for _, at := range d.leftOut() {
		l := level{at: at}
		for unit := range d.units[at] {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			v := make([]float64, statistics)
			if d.isModels(at) {
				err = of(whole.without(at, unit), v)
			} else {
				err = evaluate(of, whole.without(at, unit), v, fmt.Sprintf("the sample without unit %d", unit))
			}
			if err != nil {
				return nil, err
			}
			l.without = append(l.without, v)
		}
		all = append(all, l)
	}
	return all, nil
}

// part is a variance with the degrees of freedom of Student's t.
type part struct{ variance, freedom float64 }

// part is (n−1)/n Σδ² of a statistic, with δ a deviation for each unit that is left out and n the members that it
// rests on.
func (d Design) part(l level, k int, deviation func(unit int) float64) part {
	n, parameters := len(l.without), 1
	if d.fitted != nil && d.isModels(l.at) {
		n, parameters = d.fitted(k)
	}
	square := 0.
	for unit := range l.without {
		v := deviation(unit)
		square += v * v
	}
	switch {
	case square == 0:
		return part{0, math.Inf(1)}
	case math.IsNaN(square) || n <= parameters:
		return part{math.Inf(1), 1}
	}
	return part{square * float64(n-1) / float64(n), float64(n - parameters)}
}

// variances of a statistic by the levels that are left out.
func variances(d Design, levels []level, k int, value float64) (parts []part) {
	for _, l := range levels {
		parts = joined(parts, d.part(l, k, func(unit int) float64 { return l.without[unit][k] - value }))
	}
	return parts
}

// joined adds a part: to one of equal degrees of freedom by Satterthwaite's rule (1946), which is too short for the
// smaller of levels whose degrees of freedom differ much.
func joined(parts []part, p part) []part {
	if p.variance == 0 {
		return parts
	}
	if last := len(parts) - 1; last >= 0 && parts[last].freedom == p.freedom {
		a, b := parts[last].variance, p.variance
		if sum := a + b; !math.IsInf(sum, 1) {
			p.freedom *= sum * sum / (a*a + b*b)
		}
		parts[last] = part{a + b, p.freedom}
		return parts
	}
	return append(parts, p)
}

func total(parts []part) (variance float64) {
	for _, p := range parts {
		variance += p.variance
	}
	return variance
}

// common is the share of a statistic's variance over resamples that is not of a model by itself: 1 − V/variance,
// where V is the change by leaving out one model from resample to resample.
func (r *resamples) common(d Design, levels []level, k int, variance float64) float64 {
	own, at := 0., 0
	for _, l := range levels {
		if !d.isModels(l.at) || len(r.without) == 0 {
			continue
		}
		first := at
		p := d.part(l, k, func(unit int) float64 {
			changes := make([]float64, 0, len(r.without[first+unit][k]))
			for i, v := range r.without[first+unit][k] {
				changes = append(changes, r.values[k][i]-v)
			}
			_, deviation := moments(changes)
			return deviation
		})
		own, at = own+p.variance, at+len(l.without)
	}
	switch {
	case own == 0:
		return 1
	case !(own < variance):
		return 0
	}
	return 1 - own/variance
}

// widened adds the distances of an interval from its center, times scale, and those of Student's t by the parts, in
// squares. It is never narrower than the interval.
func widened(in Interval, center, scale float64, parts []part, confidence float64) Interval {
	if len(parts) == 0 {
		return in
	}
	square := 0.
	for _, p := range parts {
		t := distuv.StudentsT{Sigma: 1, Nu: p.freedom}.Quantile((1 + confidence) / 2)
		square += t * t * p.variance
	}
	center = min(max(center, in.Low), in.High)
	away := func(distance float64) float64 { return max(distance, math.Hypot(scale*distance, math.Sqrt(square))) }
	return Interval{center - away(center-in.Low), center + away(in.High-center)}
}

// Members widens an interval of a mean over members, such as the starts of a method, or of a difference of two such
// means. The given interval holds for these members alone. The spread of the members, given by set, is added as Run
// does. A set of one is given.
func Members(in Interval, value, confidence float64, sets ...[]float64) Interval {
	var parts []part
	for _, values := range sets {
		if n := float64(len(values)); n > 1 {
			_, deviation := moments(values)
			parts = joined(parts, part{deviation * deviation / n, n - 1})
		}
	}
	return widened(in, value, 1, parts, confidence)
}
