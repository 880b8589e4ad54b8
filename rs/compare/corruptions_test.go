package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
)

// few resamples, where the means alone matter.
var few = resample.Options{Resamples: 2}

// spec §11.3: mACR of fifteen equal logs equals each. The groups are from §1.6.
func TestMeanACR(t *testing.T) {
	names := map[string]bool{}
	for _, g := range corrupt.Groups[:3] {
		for _, c := range g.Corruptions {
			names[c] = true
		}
	}
	if len(names) != 15 {
		t.Fatalf("%d corruptions in low, mid and high, want 15", len(names))
	}
	kinds := map[string]bool{}
	for _, g := range corrupt.Groups[3:] {
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
	var equal, graded []compare.Corrupted
	for name := range names {
		for severity := 1; severity <= 5; severity++ {
			equal = append(equal, compare.Corrupted{Corruption: name, Severity: severity, Radii: correct(.378, 0, .341, .941, 0)})
			// The mean over the severities is 3 units; fog has 8 more.
			radius := .01 * float64(severity)
			if name == "fog" {
				radius += .08
			}
			graded = append(graded, compare.Corrupted{Corruption: name, Severity: severity, Radii: correct(radius)})
		}
	}
	c, err := compare.MeanACR(t.Context(), equal, few)
	if err != nil || math.Abs(c.MACR.ACR-.332) > 1e-12 || len(c.Corruptions) != 15 || len(c.Groups) != 7 {
		t.Fatalf("%+v, %v; want mACR .332 of 15 corruptions in 7 groups", c, err)
	}
	for _, g := range c.Groups {
		if math.Abs(g.ACR-.332) > 1e-12 {
			t.Errorf("%+v, want .332", g)
		}
	}
	c, err = compare.MeanACR(t.Context(), graded, few)
	if err != nil || math.Abs(c.MACR.ACR-(.03+.08/15)) > 1e-12 {
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
	some, err := compare.MeanACR(t.Context(), []compare.Corrupted{{"gaussian_noise", 3, correct(.2)}, {"shot_noise", 3, correct(.4)}}, few)
	if err != nil || len(some.Groups) != 0 || math.Abs(some.MACR.ACR-.3) > 1e-15 {
		t.Errorf("two corruptions: %+v, %v", some, err)
	}
	for want, runs := range map[string][]compare.Corrupted{
		"no runs":              nil,
		"no image has a label": {{"fog", 1, images(map[int]int{0: -1})}},
		"twice at severity 2":  {{"fog", 2, correct(.1)}, {"fog", 2, correct(.1)}},
		"has the severities":   {{"fog", 2, correct(.1)}, {"snow", 3, correct(.1)}},
	} {
		if _, err := compare.MeanACR(t.Context(), runs, few); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
