package claims

import (
	"context"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// areas are AUC, AAUC and GAUC of own images against foreign ones, with ties as one half, and accuracies and
// confidences on own images. A row goes by its recipe.
type areas struct {
	rows
	files []*measure.Areas // by rigorous intervals, of the balls of the table
}

func openAreas(folder, name string) (study.Results, error) {
	r, err := openRows(folder, name)
	if err != nil {
		return nil, err
	}
	files, err := measure.ReadAreas(folder)
	if err != nil {
		return nil, err
	}
	asked := measure.ForeignData{}
	for _, m := range r.table.Measure.All() {
		if bound, ok := m.(*measure.Bound); ok {
			asked = bound.Sets
		}
	}
	return areas{r, slices.DeleteFunc(files, func(a *measure.Areas) bool {
		sets, ok := asked[a.Data]
		return a.By != "" || !ok || sets.Epsilon != a.Epsilon
	})}, nil
}

// of is the file of a row's set. Own images are the same in all files of a row's data.
func (a areas) of(c study.Cell) (*measure.Areas, []*recipe.Model) {
	models := a.models(c.Row)
	for _, f := range a.files {
		if len(models) > 0 && f.Data == models[0].Data && (f.Set == c.Set || c.Set == study.OwnImages) {
			return f, models
		}
	}
	return nil, nil
}

// onOwn is a number of a network's own images with its standard error over them.
func onOwn(n *measure.NetworkAreas, what string) (value, deviation float64) {
	if what == "accuracy" {
		return n.Accuracy, math.Sqrt(n.Accuracy * (1 - n.Accuracy) / float64(n.Images))
	}
	return n.Own, n.OwnError
}

// sum is a weighted sum of areas of starts.
type sum struct {
	value, deviation float64
	starts           []float64
	images           int
}

// Compare pairs areas by image (DeLong); numbers on own images are not paired, so that their intervals are wider than
// they need be. Starts of two rows were trained apart.
func (a areas) Compare(_ context.Context, x study.Cell, y *study.Cell, by float64,
	o resample.Options) (*study.Comparison, error) {
	first, err := a.sum(x)
	if err != nil || first == nil {
		return nil, err
	}
	d := &study.Comparison{A: first.value, Of: len(first.starts), Orders: 1}
	sets := [][]float64{first.starts}
	value, deviation := first.value, first.deviation
	if y != nil {
		second, err := a.sum(*y)
		if err != nil || second == nil {
			return nil, err
		}
		d.B, d.Of = second.value, min(d.Of, len(second.starts))
		sets = append(sets, second.starts)
		value -= second.value
		if deviation = math.Hypot(deviation, second.deviation); x.Set != study.OwnImages {
			if deviation, err = a.contrast(x, *y); err != nil || math.IsNaN(deviation) {
				return nil, err
			}
		}
	}
	given := normalEstimate(value, deviation, by, o.Confidence)
	d.Networks = &given
	if d.Of > 1 {
		at := func(confidence float64) resample.Interval {
			return resample.Members(normalEstimate(value, deviation, by, confidence).Interval, value, confidence, sets...)
		}
		d.Starts = &study.Estimate{Interval: at(o.Confidence), P: smallestLevel(at, by)}
	}
	return d, nil
}

func (a areas) Mean(c study.Cell) (float64, bool, error) {
	s, err := a.sum(c)
	if s == nil || err != nil {
		return 0, false, err
	}
	return s.value, true, nil
}

func (a areas) Context(c study.Cell) study.Context {
	x := a.context(c)
	x.Sigma = 0
	if f, _ := a.of(c); f != nil {
		x.Epsilon = f.Epsilon
	}
	if s, err := a.sum(c); s != nil && err == nil {
		x.Images = s.images
	}
	return x
}

// sum is that of a cell over its starts; nil where it is not there.
func (a areas) sum(c study.Cell) (*sum, error) {
	f, models := a.of(c)
	if f == nil {
		return nil, nil
	}
	out := &sum{}
	if c.Set == study.OwnImages {
		variance := 0. // the same images for all starts: their errors do not average out
		for _, m := range models {
			if n := f.Network(m.Name); n != nil {
				v, deviation := onOwn(n, c.What)
				out.starts, variance, out.images = append(out.starts, v), variance+deviation*deviation, n.Images
			}
		}
		n := float64(len(out.starts))
		if n == 0 {
			return nil, nil
		}
		out.value, out.deviation = mean(out.starts), math.Sqrt(variance/n)
		return out, nil
	}
	compared, kind := comparedOf(f, c.What, "")
	weights := map[[2]string]float64{}
	for _, m := range models {
		if !slices.Contains(compared.Networks, m.Name) {
			continue
		}
		v, _, err := compared.Contrast(map[[2]string]float64{{m.Name, kind}: 1})
		if err != nil {
			return nil, err
		}
		out.starts = append(out.starts, v)
		weights[[2]string{m.Name, kind}] = 1
	}
	if len(weights) == 0 {
		return nil, nil
	}
	for k := range weights {
		weights[k] /= float64(len(weights))
	}
	var err error
	out.images = compared.Images
	out.value, out.deviation, err = compared.Contrast(weights)
	return out, err
}

// contrast is the standard error of the difference of two cells of one set; NaN where one is not there.
func (a areas) contrast(x, y study.Cell) (float64, error) {
	f, _ := a.of(x)
	compared, kind := comparedOf(f, x.What, y.What)
	_, other := comparedOf(f, y.What, x.What)
	weights := map[[2]string]float64{}
	for _, side := range []struct {
		row, kind string
		sign      float64
	}{{x.Row, kind, 1}, {y.Row, other, -1}} {
		var names []string
		for _, m := range a.models(side.row) {
			if slices.Contains(compared.Networks, m.Name) {
				names = append(names, m.Name)
			}
		}
		if names == nil {
			return math.NaN(), nil
		}
		for _, n := range names {
			weights[[2]string{n, side.kind}] += side.sign / float64(len(names))
		}
	}
	_, deviation, err := compared.Contrast(weights)
	return deviation, err
}

// comparedOf are the images that a kind of area is of, or both of two kinds.
func comparedOf(f *measure.Areas, what, other string) (*measure.Compared, string) {
	kind := strings.ToUpper(what)
	if kind == measure.AAUC || strings.ToUpper(other) == measure.AAUC {
		return &f.Attacked, kind
	}
	return &f.All, kind
}

// normalEstimate is that of a normal number with its standard error.
func normalEstimate(value, deviation, by, confidence float64) study.Estimate {
	half := math.Sqrt2 * math.Erfinv(confidence) * deviation
	e := study.Estimate{Interval: resample.Interval{Low: value - half, High: value + half}}
	switch {
	case deviation > 0:
		e.P = math.Erfc(math.Abs(value-by) / deviation / math.Sqrt2)
	case value == by:
		e.P = 1
	}
	return e
}

// smallestLevel is the level below which an interval holds a number.
func smallestLevel(at func(confidence float64) resample.Interval, number float64) float64 {
	low, high := 0., 1.
	for range 40 {
		if level := (low + high) / 2; at(1 - level).Contains(number) {
			low = level
		} else {
			high = level
		}
	}
	return high
}

func mean(values []float64) float64 {
	sum := 0.
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}
