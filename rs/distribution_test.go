package rs_test

import (
	"testing"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

func TestBounds(t *testing.T) {
	var rows rs.Rows
	for i, lower := range []float64{.99995, .5, .95, .7, .65, .6, .9999, .3, .99} {
		row := rs.Row{Image: i, Label: 2, Outcome: rule.Outcome{Class: 1, Lower: lower}}
		if lower < .5 {
			row.Class = rs.Abstain
		}
		rows = append(rows, row)
	}
	d := rows.Bounds()
	if d.Images != 8 {
		t.Fatalf("%d images, want the 8 certified", d.Images)
	}
	// By hand, from .5 .6 .65 .7 .95 .99 .9999 .99995.
	want := map[float64]float64{0: .5, .05: .5, .25: .6, .5: .7, .75: .99, .95: .99995, 1: .99995}
	for _, q := range d.Quantiles {
		if w, ok := want[q.Share]; !ok || q.Lower != w {
			t.Errorf("%+v, want %v", q, w)
		}
	}
	counts := map[float64]int{.5: 1, .6: 2, .7: 1, .8: 0, .9: 0, .95: 1, .99: 1, .999: 0, .9999: 2}
	for _, b := range d.Histogram {
		if w, ok := counts[b.From]; !ok || b.Count != w {
			t.Errorf("%+v, want %d", b, w)
		}
	}
	if len(d.Quantiles) != len(want) || len(d.Histogram) != len(counts) {
		t.Errorf("%d quantiles, %d bins", len(d.Quantiles), len(d.Histogram))
	}
	if none := (rs.Rows{{Label: 3, Outcome: rule.Outcome{Class: 3, Radius: .5}}}).Bounds(); none.Images != 0 || len(none.Quantiles) != 0 {
		t.Errorf("rows without bounds: %+v", none)
	}
}
