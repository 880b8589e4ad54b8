package rs_test

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/rs"
)

// spec §11.3: mACR of fifteen equal logs equals each. The groups are those of §1.6.
func TestMeanACR(t *testing.T) {
	names := map[string]bool{}
	for _, g := range rs.Groups[:3] {
		for _, c := range g.Corruptions {
			names[c] = true
		}
	}
	if len(names) != 15 {
		t.Fatalf("%d corruptions in low, mid and high, want 15", len(names))
	}
	kinds := map[string]bool{}
	for _, g := range rs.Groups[3:] {
		for _, c := range g.Corruptions {
			kinds[c] = true
			if !names[c] {
				t.Errorf("%s of %s is in no group by frequency", c, g.Name)
			}
		}
	}
	if len(kinds) != 15 {
		t.Fatalf("%d corruptions in noise, blur, weather and digital, want 15", len(kinds))
	}
	var equal, graded []rs.Corrupted
	for name := range names {
		for severity := 1; severity <= 5; severity++ {
			equal = append(equal, rs.Corrupted{Corruption: name, Severity: severity, Rows: correct(.378, 0, .341, .941, 0)})
			// The mean over the severities is 3 units; fog has 8 more.
			radius := .01 * float64(severity)
			if name == "fog" {
				radius += .08
			}
			graded = append(graded, rs.Corrupted{Corruption: name, Severity: severity, Rows: correct(radius)})
		}
	}
	c, err := rs.MeanACR(equal)
	if err != nil || math.Abs(c.MACR-.332) > 1e-12 || len(c.Corruptions) != 15 || len(c.Groups) != 7 {
		t.Fatalf("%+v, %v; want mACR .332 of 15 corruptions in 7 groups", c, err)
	}
	for _, g := range c.Groups {
		if math.Abs(g.ACR-.332) > 1e-12 {
			t.Errorf("%+v, want .332", g)
		}
	}
	c, err = rs.MeanACR(graded)
	if err != nil || math.Abs(c.MACR-(.03+.08/15)) > 1e-12 {
		t.Errorf("mACR %+v, %v", c, err)
	}
	for _, g := range c.Groups {
		want := map[string]float64{"low": .03 + .08/5, "weather": .03 + .08/4}[g.Name]
		if want == 0 {
			want = .03
		}
		if math.Abs(g.ACR-want) > 1e-12 {
			t.Errorf("%+v, want %v", g, want)
		}
	}
	// A group that lacks a member has no mean.
	some, err := rs.MeanACR([]rs.Corrupted{{"gaussian_noise", 3, correct(.2)}, {"shot_noise", 3, correct(.4)}})
	if err != nil || len(some.Groups) != 0 || math.Abs(some.MACR-.3) > 1e-15 {
		t.Errorf("two corruptions: %+v, %v", some, err)
	}
	for want, runs := range map[string][]rs.Corrupted{
		"no runs":              nil,
		"no image has a label": {{"fog", 1, rs.Rows{{Label: -1}}}},
		"twice at severity 2":  {{"fog", 2, correct(.1)}, {"fog", 2, correct(.1)}},
		"has the severities":   {{"fog", 2, correct(.1)}, {"snow", 3, correct(.1)}},
	} {
		if _, err := rs.MeanACR(runs); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

func TestBounds(t *testing.T) {
	var rows rs.Rows
	for i, lower := range []float64{.99995, .5, .95, .7, .65, .6, .9999, .3, .99} {
		row := rs.Row{Image: i, Label: 2, Outcome: rs.Outcome{Class: 1, Lower: lower}}
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
	if none := correct(.5).Bounds(); none.Images != 0 || len(none.Quantiles) != 0 {
		t.Errorf("rows without bounds: %+v", none)
	}
}
