package results

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
)

// leastForInterval images must be certified for an interval: a resample without any happens once in 10⁸ then.
const leastForInterval = 20

// ErrorSpread is the interval of an error by the bootstrap over the images, and its difference from the
// line that the table compares with, paired by image; nil for that line itself. The choice of a
// model is not part of it.
type ErrorSpread struct {
	Interval   resample.Interval   `json:"interval"`
	Difference *compare.Difference `json:"difference,omitempty"`
}

// kept are the images of every model of a line; nil where those of one are not there.
func (f *TableBuilder) kept(l FilledLine, what string) ([]*measure.PerImage, error) {
	var all []*measure.PerImage
	for _, name := range l.Models {
		p, err := measure.ReadPerImage(f.Result(f.Manifest.Model(name), what))
		if p == nil || err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	return all, nil
}

// intervals are of statistics of one set of images, which all of them must be of, and of starts: the basic
// ones of the bootstrap, as resampling raises a certified calibration error a little, by which percentiles lie too
// high. TestCoverageOfCertifiedErrors counts how often they hold the truth. By statistic, rests says how many
// starts it rests on, and how many of them Student's t is not given; see resample.Design.Fitted.
func (f *TableBuilder) intervals(of []*measure.PerImage, rests [][2]int, find func(drawn, starts []int,
	values []float64) error) ([]resample.Estimate, error) {
	if err := f.sameImages(of); err != nil {
		return nil, err
	}
	o := f.bootstrap
	o.Method = "basic"
	starts := 1
	for _, r := range rests {
		starts = max(starts, r[0])
	}
	design := resample.Crossed(len(of[0].Images), starts).Fitted(func(statistic int) (models, parameters int) {
		return rests[statistic][0], rests[statistic][1]
	})
	return resample.Run(f.ctx, design, len(rests), func(d resample.Draw, values []float64) error {
		return find(d.First, d.Second, values)
	}, o)
}

// startsOf are the models of a line that are there. One start is given.
func startsOf(models []*measure.PerImage, starts []int) (there []*measure.PerImage) {
	for _, s := range starts {
		if s < len(models) {
			there = append(there, models[s])
		}
	}
	if len(models) < 2 {
		return models
	}
	return there
}

func (f *TableBuilder) sameImages(of []*measure.PerImage) error {
	for _, p := range of {
		if !slices.Equal(p.Images, of[0].Images) {
			return fmt.Errorf("experiment: %s: the confidences of its models are of different images", f.Table.Name)
		}
	}
	return nil
}

// chosenError is an error of a method's chosen model at a radius.
type chosenError struct {
	of     []*measure.PerImage // by start
	find   func(correct []bool, lower, upper []float64) (float64, error)
	value  float64
	starts int
	spread **ErrorSpread // where its interval goes
}

// spreadSelected finds the spread of what is selected at each radius, by the images of each line.
func (f *TableBuilder) spreadSelected(t *Filled, images [][]*measure.PerImage, radii []float64) error {
	group := t.Reference()
	for _, radius := range radii {
		var chosen []chosenError // CCE and CBS of one method after the other
		reference := -1
		for k := range t.Selected {
			s := &t.Selected[k]
			cce, cbs := images[s.cceLine], images[s.cbsLine]
			if s.Radius != radius || s.Models == 0 || !enough(cce, radius) || !enough(cbs, radius) {
				continue
			}
			if s.Group == group {
				reference = len(chosen)
			}
			starts := min(len(cce), len(cbs))
			chosen = append(chosen, chosenError{cce, study.CCE, *s.CCE, starts, &s.CCESpread},
				chosenError{cbs, study.CBS, *s.CBS, starts, &s.CBSSpread})
		}
		if err := f.spreadErrors(chosen, reference, radius); err != nil {
			return err
		}
	}
	return nil
}

// spreadErrors finds the intervals of errors and of their differences from those of the reference, whose first one has
// a place; below 0: there is none.
func (f *TableBuilder) spreadErrors(chosen []chosenError, reference int, radius float64) error {
	n := len(chosen)
	if n == 0 {
		return nil
	}
	var all []*measure.PerImage
	rests := make([][2]int, 2*n) // of the errors, then of the differences
	than := make([]int, n)       // the error of the same kind that each is compared with; none: itself
	for i, c := range chosen {
		all = append(all, c.of...)
		if than[i] = i; reference >= 0 {
			than[i] = reference + i%2
		}
		least, most := min(c.starts, chosen[than[i]].starts), max(c.starts, chosen[than[i]].starts)
		rests[i], rests[n+i] = [2]int{c.starts, 1}, [2]int{most, most - max(1, least-1)}
		if reference < 0 {
			rests[n+i] = rests[i]
		}
	}
	found, err := f.intervals(all, rests, func(drawn, seeds []int, values []float64) error {
		for i, c := range chosen {
			var err error
			if values[i], err = errorOver(startsOf(c.of, seeds), radius, drawn, c.find); err != nil {
				return err
			}
		}
		for i := range chosen {
			values[n+i] = values[i] - values[than[i]]
		}
		return nil
	})
	if err != nil {
		return err
	}
	for i, c := range chosen {
		*c.spread = &ErrorSpread{Interval: found[i].Interval}
		if r := chosen[than[i]]; than[i] != i {
			(*c.spread).Difference = &compare.Difference{A: r.value, B: c.value, Difference: c.value - r.value,
				Interval: found[n+i].Interval, P: found[n+i].P, Starts: min(c.starts, r.starts)}
		}
	}
	return nil
}

// enough reports whether all models have an interval for enough images.
func enough(of []*measure.PerImage, radius float64) bool {
	name, _ := measure.BoundColumns(radius)
	for _, p := range of {
		certified := 0
		for _, v := range p.Column(name) {
			if !math.IsNaN(v) {
				certified++
			}
		}
		if certified < leastForInterval {
			return false
		}
	}
	return len(of) > 0
}

// errorOver is the mean over the seeds of an error of the drawn images that are certified.
func errorOver(of []*measure.PerImage, radius float64, drawn []int, find func(correct []bool, lower,
	upper []float64) (float64, error)) (float64, error) {
	mean := 0.0
	below, above := measure.BoundColumns(radius)
	for _, p := range of {
		var correct []bool
		var lower, upper []float64
		low, high := p.Column(below), p.Column(above)
		for _, i := range drawn {
			if !math.IsNaN(low[i]) {
				correct, lower, upper = append(correct, p.Correct[i]), append(lower, low[i]), append(upper, high[i])
			}
		}
		v, err := find(correct, lower, upper)
		if err != nil {
			return 0, err
		}
		mean += v / float64(len(of))
	}
	return mean, nil
}

// spreadAttacks finds by how much each attack raises the calibration error of a line.
func (f *TableBuilder) spreadAttacks(l *FilledLine, bins int) error {
	of, err := f.kept(*l, measure.AttacksImages)
	if err != nil || len(of) == 0 {
		return err
	}
	names := of[0].Columns // "clean" and the attacks
	// A group of gaps for each model and name; of each attack, the sums of their absolute values
	// less those without one.
	sizes := slices.Repeat([]int{bins}, len(of)*len(names))
	var weights [][]float64
	for k := range names[1:] {
		row := make([]float64, len(sizes))
		for m := range of {
			row[m*len(names)], row[m*len(names)+k+1] = -1/float64(len(of)), 1/float64(len(of))
		}
		weights = append(weights, row)
	}
	if err := f.sameImages(of); err != nil || len(weights) == 0 {
		return err
	}
	if len(of[0].Images) < leastForInterval {
		return nil
	}
	found, err := resample.Norms(f.ctx, resample.Crossed(len(of[0].Images), len(of)), sizes, weights,
		func(d resample.Draw, values []float64) error {
			for m := range of {
				p := of[d.Second[m%len(d.Second)]] // one start by itself fills the groups of all, see resample.Norms
				for k, name := range names {
					column := p.Column(name)
					if column == nil {
						return fmt.Errorf("the attack %s is there for some seeds only", name)
					}
					correct, confidence := calib.Drawn(p.Correct, column, d.First)
					gaps, err := calib.AdaECEGaps(correct, confidence, bins)
					if err != nil {
						return err
					}
					copy(values[(m*len(names)+k)*bins:], gaps)
				}
			}
			return nil
		}, f.bootstrap)
	if err != nil {
		return fmt.Errorf("experiment: %s: %w", l.Title, err)
	}
	l.Raised = map[string]*compare.Difference{}
	for k, name := range names[1:] {
		clean, attacked := l.ACE[names[0]], l.ACE[name]
		if clean == nil || attacked == nil {
			return fmt.Errorf("experiment: %s: the attack %s is in one of its files of results only", l.Title, name)
		}
		l.Raised[name] = &compare.Difference{A: clean.Mean, B: attacked.Mean,
			Difference: attacked.Mean - clean.Mean, Interval: found[k].Interval, P: found[k].P, Starts: len(of)}
	}
	return nil
}
