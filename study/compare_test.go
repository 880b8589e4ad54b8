package study

import (
	"math"
	"testing"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
)

// madeFolder is a folder of rows, each with its starts and their radii by image.
func madeFolder(rows map[string][]Start, radii map[string][]float64) *Folder {
	f := &Folder{Name: "made", networks: map[string]network{}}
	for title, starts := range rows {
		f.Rows = append(f.Rows, Row{Title: title, Starts: starts})
	}
	for name, values := range radii {
		images, marks := make([]int, len(values)), make([]string, len(values))
		for i := range values {
			images[i] = i
		}
		f.Add(&Column{Key: Key{name, "clean", "radius"}, Images: images, Values: values, Marks: marks})
	}
	return f
}

// Two orders of one start are one start: their mean stands for it, and nothing is said over starts. Two starts are two,
// apart where they go back to other networks.
func TestOrdersOfOneStart(t *testing.T) {
	a := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	moved := func(by float64) []float64 {
		v := make([]float64, len(a))
		for i := range a {
			v[i] = a[i] + by
		}
		return v
	}
	f := madeFolder(map[string][]Start{
		"orders": {{"o@1", 1, "root"}, {"o@2", 2, "root"}}, "other": {{"p@1", 1, "root"}},
		"starts": {{"s@1", 1, "s@1"}, {"s@2", 2, "s@2"}}, "apart": {{"t@1", 1, "t@1"}, {"t@2", 2, "t@2"}},
	}, map[string][]float64{"o@1": moved(1), "o@2": moved(3), "p@1": a, "s@1": moved(1), "s@2": moved(2), "t@1": a, "t@2": a})
	f.cells = []sweep.Cell{{}} // clean images
	compare := func(a, b string) *Comparison {
		t.Helper()
		other := Cell{b, "clean", "acr"}
		d, err := f.Compare(t.Context(), Cell{a, "clean", "acr"}, &other, 0, resample.Options{Confidence: 0.95, Resamples: 200})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// (1 + 3)/2 above p on every image: no interval at all.
	if d := compare("orders", "other"); d.Of != 1 || d.Orders != 1 || d.Starts != nil || d.A-d.B != 2 ||
		math.Abs(d.Networks.Interval.High-2) > 1e-12 || math.Abs(d.Networks.Interval.Low-2) > 1e-12 {
		t.Errorf("%+v, %+v", d, d.Networks)
	}
	// Starts differ by .5 to either side of 1.5: Student's t with one degree of freedom, 12.7 · .5.
	if d := compare("starts", "apart"); d.Of != 2 || d.Starts == nil || math.Abs(d.Starts.Interval.High-1.5-12.7062*.5) > 1e-3 {
		t.Errorf("%+v, %+v", d, d.Starts)
	}
	if d := compare("orders", "orders"); d.Orders != 2 || d.Of != 1 {
		t.Errorf("%+v", d)
	}
	alone, err := f.Compare(t.Context(), Cell{"other", "clean", "acr"}, nil, 6, resample.Options{Confidence: 0.95, Resamples: 200})
	if err != nil || alone.A != 6.5 || alone.Networks.Interval.Low >= 6.5 || alone.Networks.Interval.High <= 6.5 || alone.Networks.P < 0.3 {
		t.Errorf("%+v, %+v, %v", alone, alone.Networks, err)
	}
}

// A statistic has an interval of its difference: with one confidence on right answers the largest error is 1 less it, so
// that .9 is below .75 by .15 whatever is drawn.
func TestStatisticsAreJudged(t *testing.T) {
	f := &Folder{Name: "made", networks: map[string]network{}, cells: []sweep.Cell{{}}}
	for name, confidence := range map[string]float64{"sure": .9, "unsure": .75} {
		f.Rows = append(f.Rows, Row{Title: name, Starts: []Start{{name, 1, name}}})
		for _, end := range []string{"lower 0.2", "upper 0.2"} {
			c := &Column{Key: Key{name, "clean", end}}
			for i := range 20 {
				c.Images, c.Labels = append(c.Images, i), append(c.Labels, 1)
				c.Values, c.Marks = append(c.Values, confidence), append(c.Marks, "")
			}
			f.Add(c)
		}
	}
	claim := Claim{Row: "sure", Than: "unsure", What: "cce 0.2", On: []string{"clean"}, Sign: -1}
	all, err := Judge(t.Context(), Family{claim}, f, nil, resample.Options{Resamples: 200})
	if err != nil || len(all) != 1 || all[0].Networks == nil {
		t.Fatal(all, err)
	}
	in := all[0].Networks.Interval
	if j := all[0]; math.Abs(j.A-.1) > 1e-9 || math.Abs(j.B-.25) > 1e-9 || j.Networks.Verdict != VerdictShows ||
		math.Abs(in.Low+.15) > 1e-9 || math.Abs(in.High+.15) > 1e-9 || j.OverStarts() != "one start" {
		t.Errorf("%+v, %v", j, in)
	}
	if _, err := Judge(t.Context(), Family{claim}, f, nil, resample.Options{Resamples: 200, Confidence: .999}); err == nil {
		t.Error("200 resamples have no 0.05 % quantile")
	}
	claim.By = .1
	if _, err := Judge(t.Context(), Family{claim}, f, nil, resample.Options{Resamples: 200}); err == nil {
		t.Error("a statistic less a number is judged")
	}
	f.Rows[0].Starts = append(f.Rows[0].Starts, Start{f.Rows[0].Title, 2, f.Rows[0].Title})
	claim.By = 0
	if _, err := Judge(t.Context(), Family{claim}, f, nil, resample.Options{Resamples: 200}); err == nil {
		t.Error("orders of one start are judged as starts")
	}
}
