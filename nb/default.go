package nb

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
	"github.com/certspec/certspec/table"
)

// shownImages are those of a data set that Show draws.
const shownImages = 12

// defaults are what Show makes of a value that is more than a word: pictures first, then a table.
func defaults(value any) ([]any, bool) {
	switch v := value.(type) {
	case *rs.Run:
		return []any{Curve(v), Table(v)}, true
	case *dataset.Dataset:
		images, err := v.Subset(dataset.Count(shownImages)).Load(Context())
		end(err)
		return []any{labelled(images)}, true
	case *dataset.Images:
		return []any{labelled(v)}, true
	case *spectral.Spectrum:
		return []any{spectrumFigure("", v)}, true
	case *spectral.Map:
		low, high := slices.Min(v.Values), slices.Max(v.Values)
		return []any{HeatMaps("a value for each frequency", low, high, []string{""}, v)}, true
	case []calib.Bin:
		return []any{reliability("Accuracy against confidence", v)}, true
	case *sweep.Sweep:
		return corrupted(v), true
	case lines.Record:
		return []any{records(v)}, true
	case []lines.Record:
		return []any{records(v...)}, true
	case *ood.Measurement:
		return []any{HistogramRows([]*ood.Measurement{v})}, true
	case *compare.Comparison:
		return []any{compared(v)}, true
	}
	return nil, false
}

// Spectrum draws the mean amplitude of the images of data at each frequency, on a logarithmic scale.
func Spectrum(data rs.Source) *Figure {
	images, err := data.Load(Context())
	end(err)
	if err != nil {
		return nil
	}
	s, err := spectral.MeanSpectrum(Context(), spectral.Bytes(images.Shape, images.Pixels), Progress())
	end(err)
	if err != nil {
		return nil
	}
	return spectrumFigure(setName(images.Name)+": ", s)
}

func spectrumFigure(of string, s *spectral.Spectrum) *Figure {
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

// corrupted are a dot plot of the average certified radius under each corruption, the largest first, and what the
// whole leaves of it.
func corrupted(s *sweep.Sweep) []any {
	mean, err := compare.MeanACR(Context(), s.Radii(), resample.Options{Resamples: 2000})
	end(err)
	if err != nil {
		return nil
	}
	clean, what := mean.MACR.ACR, "the mean of all"
	if s.Clean != nil {
		clean, what = s.Clean.ACR().Value, "clean"
	}
	data, _, _ := strings.Cut(printable.DataName(s.Header.Data.Name), "[") // which names the first corruption
	title := fmt.Sprintf("Average certified radius under corruption\n%s (%d images), %s, %s", data, mean.Images,
		s.Header.Model.Name, s.Header.Settings())
	of := figure.Forest{Title: title, X: fmt.Sprintf("average certified radius; bar: %s, %.3f", what, clean)}
	facts := []any{"mean over all corruptions (mACR)", interval(mean.MACR)}
	for _, c := range mean.Corruptions {
		of.Rows = append(of.Rows, figure.ForestRow{Name: printable.Name(c.Name), Value: c.ACR,
			Low: c.Interval.Low, High: c.Interval.High, Bound: clean, Ink: figure.Palette[0]})
	}
	slices.SortStableFunc(of.Rows, func(a, b figure.ForestRow) int { return cmp.Compare(b.Value, a.Value) })
	for _, g := range mean.Groups {
		facts = append(facts, "mean over "+g.Name, interval(g))
	}
	if s.Clean != nil {
		facts = append(facts, "clean", fmt.Sprintf("%.3f", clean))
	}
	t := Facts(append(facts, "images", mean.Images, "severities", strings.Trim(fmt.Sprint(mean.Severities), "[]"))...)
	if len(s.Unfinished) > 0 {
		t.Notes = []string{"Left out, as not complete: " + strings.Join(s.Unfinished, ", ") + "."}
	}
	return []any{Plot(of, title), t}
}

func interval(a compare.NamedACR) string {
	return fmt.Sprintf("%.3f (%.3f to %.3f)", a.ACR, a.Interval.Low, a.Interval.High)
}

// compared is a comparison of two runs as a table.
func compared(c *compare.Comparison) *Tabular {
	t := Columns("metric", "a", "b", "b − a", "95 % interval", "p", "verdict")
	add := func(name string, d compare.Difference) {
		t.Add(name, d.A, d.B, d.Difference, fmt.Sprintf("%.3f to %.3f", d.Interval.Low, d.Interval.High),
			table.Rounded{Value: d.Corrected(), Decimals: 4}, c.Verdicts[len(t.Rows)].Verdict)
	}
	add("average certified radius", c.ACR)
	for _, at := range c.CertifiedAccuracy {
		add(fmt.Sprintf("certified accuracy at %g", at.Radius), at.Difference)
	}
	t.Notes = []string{compare.Heading(c.Differ), fmt.Sprintf("%d images in both, paired; intervals of %s. p is "+
		"corrected by Holm for this table.", c.Images, compare.MethodOf(c.Images, c.Bootstrap))}
	return t
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
