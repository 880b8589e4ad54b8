package results

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// reader reads what a measure left in a folder.
type reader interface {
	// fill reads the results of the folder into the lines of a table, by FilledLine.Found, and
	// gives notes for its caption.
	fill(f *TableBuilder, out *Filled) (notes []string, err error)
	// tables are what is printed: columns and head are what stands before the figures of a line,
	// add takes a table with its title.
	tables(f *Filled, columns []string, head func(FilledLine) []any, add func(t *table.Table, title string))
}

// The readers of each measure, with its settings.
type (
	radiusReader           struct{ recipe.Radius }
	calibrationReader      struct{ *measure.Calibration }
	confidenceAttackReader struct{ *measure.ACE }
	agreementReader        struct{}
	heatMapReader          struct{}
	evaluationReader       struct{}
	boundReader            struct{ *measure.Bound }
	attackReader           struct{ *measure.Attack }
	recordReader           struct{ *measure.Record }
)

var readers = map[string]func(measure.Measure) reader{
	"radius":           func(m measure.Measure) reader { return radiusReader{m.(measure.Radius).Radius} },
	"calibration":      func(m measure.Measure) reader { return calibrationReader{m.(*measure.Calibration)} },
	"ace":              func(m measure.Measure) reader { return confidenceAttackReader{m.(*measure.ACE)} },
	"agreement":        func(measure.Measure) reader { return agreementReader{} },
	measure.HeatMapKey: func(measure.Measure) reader { return heatMapReader{} },
	"evaluate":         func(measure.Measure) reader { return evaluationReader{} },
	"bound":            func(m measure.Measure) reader { return boundReader{m.(*measure.Bound)} },
	"attack":           func(m measure.Measure) reader { return attackReader{m.(*measure.Attack)} },
	"record":           func(m measure.Measure) reader { return recordReader{m.(*measure.Record)} },
}

// readerOf is the reader of a measure: its own, or that of columns.
func readerOf(m measure.Measure) reader {
	if own := readers[m.Name()]; own != nil {
		return own(m)
	}
	return shownReader{m.(measure.Shown), m.Name()}
}

// Agreement of two models, in the mean over the seeds.
type Agreement struct {
	Agree    float64           `json:"agree"`    // share of images with the same class
	Interval resample.Interval `json:"interval"` // of that, by the bootstrap over the images
	Accuracy float64           `json:"accuracy"` // of the line's own models
	Images   int               `json:"images"`
}

func (agreementReader) fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		all := &study.Sample{} // whether the two agree, by seed
		accuracy := 0.0
		for _, name := range l.Models {
			model := f.Manifest.Model(name)
			other := f.Reference(model)
			if other == nil {
				continue
			}
			mine, err := measure.ReadPredictions(f.Result(model, ".predictions.csv"), model.Name)
			if err != nil {
				return nil, err
			}
			theirs, err := measure.ReadPredictions(f.Result(other, ".predictions.csv"), other.Name)
			if err != nil {
				return nil, err
			}
			if mine == nil || theirs == nil || !slices.Equal(mine.Images, theirs.Images) {
				continue
			}
			values := make([]float64, len(mine.Images))
			right := 0
			for k, class := range mine.Values {
				if class == theirs.Values[k] && class != float64(classifier.Miss) {
					values[k] = 1
				}
				if int(class) == mine.Labels[k] {
					right++
				}
			}
			if all.Images != nil && !slices.Equal(all.Images, mine.Images) {
				return nil, fmt.Errorf("experiment: %s: the predictions of its models are of different images", l.Title)
			}
			all.Images, all.Values = mine.Images, append(all.Values, values)
			accuracy += float64(right) / float64(len(mine.Values))
		}
		if all.Starts() == 0 {
			continue
		}
		drawn, err := all.Joined().Interval(f.ctx, f.bootstrap)
		if err != nil {
			return nil, err
		}
		found := &Agreement{Agree: drawn.Value, Accuracy: accuracy / float64(all.Starts()), Images: len(all.Images),
			Interval: drawn.Interval}
		l.Found["agreement"] = found
	}
	return nil, nil
}

func (agreementReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "images", "accuracy", "agreement", "low", "high")}
	for _, l := range f.Lines {
		if a, ok := l.Found["agreement"].(*Agreement); ok {
			t.Rows = append(t.Rows, append(head(l), a.Images, Rounded(a.Accuracy, 4), Rounded(a.Agree, 4),
				Rounded(a.Interval.Low, 4), Rounded(a.Interval.High, 4)))
		}
	}
	add(t, "how often a model answers as "+f.Compare+" does, without noise")
}

// Accuracies are the sets of a line with their mean accuracy over its models.
type Accuracies struct {
	Sets   []string          `json:"sets"`
	Shares []float64         `json:"shares"`
	Clean  resample.Interval `json:"clean_interval"` // exact, of one model; of several starts, over these, too
	Models int               `json:"models"`
}

func (evaluationReader) fill(f *TableBuilder, out *Filled) (notes []string, _ error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		sum, clean := &Accuracies{}, []float64{}
		all, err := readAll[[]measure.Evaluated](f, *l, measure.EvaluateFile)
		if err != nil {
			return nil, err
		}
		for _, of := range all {
			found := *of
			if len(found) == 0 {
				continue
			}
			sum.Models++
			exact, err := rs.ExactInterval(found[0].Right, found[0].Images, resample.DefaultConfidence)
			if err != nil {
				return nil, err
			}
			clean = append(clean, found[0].Share())
			sum.Clean.Low, sum.Clean.High = sum.Clean.Low+exact.Low, sum.Clean.High+exact.High
			for k, one := range found {
				if k == len(sum.Sets) {
					sum.Sets, sum.Shares = append(sum.Sets, one.Set), append(sum.Shares, 0)
				}
				sum.Shares[k] += one.Share()
			}
		}
		if sum.Models == 0 {
			continue
		}
		for k := range sum.Shares {
			sum.Shares[k] /= float64(sum.Models)
		}
		n := float64(sum.Models) // the same images for all: their errors do not average out
		sum.Clean = resample.Members(resample.Interval{Low: sum.Clean.Low / n, High: sum.Clean.High / n},
			sum.Shares[0], resample.DefaultConfidence, clean)
		sum.Clean = resample.Interval{Low: max(0, sum.Clean.Low), High: min(1, sum.Clean.High)}
		l.Found["evaluate"] = sum
		if len(notes) == 0 && slices.Contains(sum.Sets, "frost") {
			notes = []string{shared.DrawnFrost}
		}
	}
	return notes, nil
}

func (evaluationReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	var t *table.Table
	for _, l := range f.Lines {
		a, ok := l.Found["evaluate"].(*Accuracies)
		if !ok {
			continue
		}
		if t == nil {
			t = &table.Table{Columns: append(append(slices.Clone(columns), "models"), a.Sets...)}
			t.Columns = slices.Insert(t.Columns, len(columns)+2, "low", "high")
		}
		row := append(head(l), a.Models)
		for k, v := range a.Shares {
			row = append(row, Rounded(v, 4))
			if k == 0 {
				row = append(row, Rounded(a.Clean.Low, 4), Rounded(a.Clean.High, 4))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if t != nil {
		add(t, "accuracy without noise, mean over severities")
	}
}

// HeatMap is the average certified radius at each frequency, the mean over the seeds; nil where there is none.
func (l FilledLine) HeatMap() *spectral.Map {
	m, _ := l.Found[measure.HeatMapKey].(*spectral.Map)
	return m
}

func (m heatMapReader) fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		var maps []*spectral.Map
		all, err := readAll[heatmap.Result](f, *l, measure.HeatMapFile)
		if err != nil {
			return nil, err
		}
		for _, found := range all {
			if found.Map == nil {
				continue
			}
			if len(maps) > 0 && len(maps[0].Values) != len(found.Values) {
				return nil, fmt.Errorf("experiment: %s: its maps have %d and %d frequencies", l.Title,
					len(maps[0].Values), len(found.Values))
			}
			if maps = append(maps, found.Map); notes == nil {
				notes = append(notes, printable.Sprintf("Images disturbed at one frequency by a norm of %g in each "+
					"channel, %d at each of %d frequencies: the mean over those of a ring, by periods over an image.",
					found.Epsilon, found.Images, len(found.Values)))
			}
		}
		if len(maps) == 0 {
			continue
		}
		mean := *maps[0]
		mean.Values = make([]float64, len(maps[0].Values))
		for _, one := range maps {
			for k, v := range one.Values {
				mean.Values[k] += v / float64(len(maps))
			}
		}
		l.Found[measure.HeatMapKey] = &mean
	}
	return notes, nil
}

func (heatMapReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	rings := [...]struct {
		name string
		to   int // the first ring beyond
	}{{"0 to 2", 3}, {"3 to 6", 7}, {"7 to 11", 12}, {"12 to 16", 17}, {"above", 1 << 30}}
	t := &table.Table{Columns: append([]string{}, columns...)}
	for _, r := range rings {
		t.Columns = append(t.Columns, r.name)
	}
	for _, l := range f.Lines {
		m := l.HeatMap()
		if m == nil {
			continue
		}
		row, from := head(l), 0
		for _, r := range rings {
			sum, count := 0.0, 0
			for _, at := range m.Profile() {
				if at.Frequency >= from && at.Frequency < r.to {
					sum, count = sum+at.Mean*float64(at.Bins), count+at.Bins
				}
			}
			if from = r.to; count == 0 {
				row = append(row, table.None)
			} else {
				row = append(row, Rounded(sum/float64(count), 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	add(t, "average certified radius by frequency")
}
