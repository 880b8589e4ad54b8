package results

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// RankCorrelation is Spearman's of two figures over all models of a table at a radius (Emde et al.
// 2025, section 5.3 and figure 19); models with equal figures share their mean rank.
type RankCorrelation struct {
	Radius float64 `json:"radius"`
	A      string  `json:"a"` // one of CA, ACR, CCE, ACCE and CBS
	B      string  `json:"b"`
	Models int     `json:"models"`
	Rho    float64 `json:"rho"`
	// Interval is from the bootstrap over the images, the same for all models; nil with ACCE,
	// which takes a search for each draw, and where a model has few certified images or its radii
	// are of other images.
	Interval *resample.Interval `json:"interval,omitempty"`
}

// ranked are the figures in their order: certified accuracy, average certified radius of clean
// images, and the largest errors.
var ranked = [...]string{"CA", "ACR", "CCE", "CBS", "ACCE"}

const drawnFigures = 4 // of ranked, that can be found again for drawn images

// RankCorrelations are the correlations of each pair of figures at each radius of a table with certified
// calibration. A radius with less than three models, and a pair of which all models have the same
// figure, are left out.
//
// Errors: those of Fill; a table without certified calibration.
func RankCorrelations(ctx context.Context, folder, name string, o resample.Options) ([]RankCorrelation, error) {
	f, err := newTableBuilder(ctx, folder, name, o)
	if err != nil {
		return nil, err
	}
	t, err := f.fill()
	if err != nil {
		return nil, err
	}
	asked := f.Table.Measure.Calibration()
	if asked == nil {
		return nil, fmt.Errorf("experiment: %s shows no certified calibration, whose figures are compared", t.Name)
	}
	clean := slices.IndexFunc(t.Metrics, func(m Metric) bool { return m.Name == "clean" })
	var all []RankCorrelation
	for k, radius := range asked.Radii {
		at, err := f.modelsAt(t, k, clean)
		if err != nil {
			return nil, err
		}
		if len(at) < 3 {
			continue
		}
		found, err := f.correlate(at, radius)
		if err != nil {
			return nil, err
		}
		all = append(all, found...)
	}
	return all, nil
}

// modelAt is a line at a radius: its figures, NaN where there is none, and what they are made of,
// image by image, where that is there.
type modelAt struct {
	figures [len(ranked)]float64
	images  []*measure.PerImage
	radii   [][]float64 // by model of the line
}

// modelsAt are the lines with errors at the k-th radius.
func (f *TableBuilder) modelsAt(t *Filled, k, clean int) (all []modelAt, err error) {
	for _, l := range t.Lines {
		at := l.Calibration[k]
		if at == nil || at.CCE == nil {
			continue
		}
		m := modelAt{figures: [...]float64{at.Accuracy, math.NaN(), *at.CCE, *at.CBS, *at.ACCE}}
		if m.images, err = f.kept(l, measure.CalibratedImages); err != nil {
			return nil, err
		}
		if clean >= 0 && l.Values[clean] != nil {
			m.figures[1] = l.Values[clean].Mean
			s := l.Values[clean].sample
			if len(m.images) > 0 && slices.Equal(s.Images, m.images[0].Images) {
				m.radii = s.Values
			}
		}
		all = append(all, m)
	}
	return all, nil
}

// correlate finds the correlations of lines at a radius, with their intervals.
func (f *TableBuilder) correlate(at []modelAt, radius float64) (all []RankCorrelation, err error) {
	values := func(figure int) (of []float64) {
		for _, m := range at {
			of = append(of, m.figures[figure])
		}
		return of
	}
	var drawn [][2]int // pairs with an interval
	drawable := [drawnFigures]bool{}
	for i := range drawable {
		drawable[i] = !slices.ContainsFunc(at, func(m modelAt) bool {
			return !enough(m.images, radius) || i == 1 && len(m.radii) != len(m.images)
		})
	}
	for i := range ranked {
		for j := i + 1; j < len(ranked); j++ {
			rho := spearman(values(i), values(j))
			if math.IsNaN(rho) {
				continue
			}
			all = append(all, RankCorrelation{Radius: radius, A: ranked[i], B: ranked[j], Models: len(at), Rho: rho})
			if j < drawnFigures && drawable[i] && drawable[j] {
				drawn = append(drawn, [2]int{i, j})
			}
		}
	}
	if len(drawn) == 0 {
		return all, nil
	}
	o := f.bootstrap
	o.Method = "percentile"
	first := at[0].images[0]
	for _, m := range at {
		if err := f.sameImages(append([]*measure.PerImage{first}, m.images...)); err != nil {
			return nil, err
		}
	}
	found, err := resample.Run(f.ctx, resample.Paired(len(first.Images)), len(drawn),
		func(d resample.Draw, rhos []float64) error {
			var figures [drawnFigures][]float64
			for _, m := range at {
				of, err := m.drawn(radius, d.First)
				if err != nil {
					return err
				}
				for i, v := range of {
					figures[i] = append(figures[i], v)
				}
			}
			for k, pair := range drawn {
				if rhos[k] = spearman(figures[pair[0]], figures[pair[1]]); math.IsNaN(rhos[k]) {
					rhos[k] = 0
				}
			}
			return nil
		}, o)
	if err != nil {
		return nil, err
	}
	for k, pair := range drawn {
		i := slices.IndexFunc(all, func(r RankCorrelation) bool {
			return r.A == ranked[pair[0]] && r.B == ranked[pair[1]]
		})
		all[i].Interval = &found[k].Interval
	}
	return all, nil
}

// drawn are the figures of a line on drawn images.
func (m *modelAt) drawn(radius float64, images []int) (of [drawnFigures]float64, err error) {
	below, _ := measure.BoundColumns(radius)
	for _, p := range m.images {
		low := p.Column(below)
		for _, i := range images {
			if p.Correct[i] && !math.IsNaN(low[i]) {
				of[0] += 1 / float64(len(images)*len(m.images))
			}
		}
	}
	for _, radii := range m.radii {
		for _, i := range images {
			of[1] += radii[i] / float64(len(images)*len(m.radii))
		}
	}
	if of[2], err = errorOver(m.images, radius, images, study.CCE); err != nil {
		return of, err
	}
	of[3], err = errorOver(m.images, radius, images, study.CBS)
	return of, err
}

// spearman is the correlation of the ranks; NaN where a value is missing or all of a side are equal.
func spearman(a, b []float64) float64 {
	if slices.ContainsFunc(slices.Concat(a, b), math.IsNaN) {
		return math.NaN()
	}
	return stat.Correlation(ranks(a), ranks(b), nil)
}

// ranks are the places in ascending order, of equal values their mean.
func ranks(values []float64) []float64 {
	of := make([]float64, len(values))
	for i, v := range values {
		for _, other := range values {
			if other < v {
				of[i]++
			} else if other == v {
				of[i] += 0.5
			}
		}
	}
	return of
}
