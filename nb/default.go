package nb

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/strength"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
	"github.com/certspec/certspec/table"
)

const shownImages = 12

// defaults are what Show makes of a value that is more than a word: pictures first, then a table.
func defaults(value any) ([]any, bool) {
	switch v := value.(type) {
	case *rs.Run:
		return []any{Curve(v), Table(v)}, true
	case *dataset.Dataset:
		some, err := atMost(Context(), v, shownImages)
		end(err)
		images, err := some.Load(Context())
		end(err)
		return []any{labelled(images)}, true
	case *dataset.Images:
		return []any{labelled(v)}, true
	case *spectral.Spectrum:
		return []any{spectrumFigure(v)}, true
	case *spectral.SpectrumDifference:
		return differenceFigures(v), true
	case *spectral.Map:
		low, high := slices.Min(v.Values), slices.Max(v.Values)
		return []any{HeatMaps(cmp.Or(v.Measure, "a value")+" for each frequency", low, high, []string{v.Measure}, v)}, true
	case []calib.Bin:
		return []any{reliability("Accuracy against confidence", v)}, true
	case *strength.File:
		return strengthFigures([]*strength.File{v}), true
	case []*strength.File:
		return strengthFigures(v), true
	case *sweep.Sweep:
		return sweptFigures(v), true
	case lines.Record:
		return []any{records(v)}, true
	case []lines.Record:
		return []any{records(v...)}, true
	case *ood.Measurement:
		return []any{HistogramRows([]*ood.Measurement{v})}, true
	case *compare.Comparison:
		return comparison(v), true
	case []confidences.Certified:
		return calibrated(v), true
	case *ood.Comparison:
		return detected(v), true
	}
	return nil, false
}

func spectrumFigure(s *spectral.Spectrum) *Figure {
	of := ""
	if s.Name != "" {
		of = printable.DataName(s.Name) + ": "
	}
	logs := s.Amplitude
	logs.Values = nil
	for _, a := range s.Amplitude.Values {
		logs.Values = append(logs.Values, math.Log10(max(a, math.SmallestNonzeroFloat32)))
	}
	caption := fmt.Sprintf("%slogarithm, to base 10, of the mean amplitude of %d images", of, s.Images)
	f := HeatMaps(caption, slices.Min(logs.Values), slices.Max(logs.Values), []string{"mean amplitude (log10)"}, &logs)
	f.X, f.Y = "v (periods over the width)", "u (periods over the height)"
	return f
}

// records are a table of models: their labels, their accuracies in percent and what may predict them.
func records(all ...lines.Record) *Tabular {
	t := Columns("model")
	for _, r := range all {
		for _, names := range []iter.Seq[string]{maps.Keys(r.Labels), maps.Keys(r.Percent), maps.Keys(r.Numbers)} {
			for _, name := range slices.Sorted(names) {
				if !slices.Contains(t.Columns, name) {
					t.Columns = append(t.Columns, name)
				}
			}
		}
	}
	for _, r := range all {
		row := []any{r.Model}
		for _, name := range t.Columns[1:] {
			var cell any = cmp.Or(r.Labels[name], table.None)
			for _, values := range []map[string]float64{r.Percent, r.Numbers} {
				if v, ok := values[name]; ok {
					cell = v
				}
			}
			row = append(row, cell)
		}
		t.Add(row...)
	}
	return t
}

// labelled draws the first images with their labels.
func labelled(images *dataset.Images) *Figure {
	n := min(shownImages, images.Len())
	var row Row
	for i := range n {
		row.Images = append(row.Images, images.Image(i))
		row.Words = append(row.Words, className(images, images.Labels[i]))
	}
	caption := fmt.Sprintf("%s: the first %d images with their labels", setName(images.Name), n)
	return Images(caption, images.Shape, row)
}
