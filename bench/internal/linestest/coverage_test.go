package linestest

import (
	"testing"

	"github.com/certspec/certspec/resample"
)

// Each kind of interval against the truth, 100 times each. If one holds it with probability 0.95, fewer than 85 hits have probability 4·10⁻⁵; of the 24
// counts here, one fails falsely with probability 10⁻³. Of models on the line at most 5 % may be called effectively robust or fragile on each side: more
// than 13 of 100 have probability 4·10⁻⁴. "go run ./bench coverage" counts 1,000 of each.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of a second or more")
	}
	const trials, least, most = 100, 85, 13
	for _, k := range []int{2, 3, 4, 6, 8, 9} {
		s := Studies[k]
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			c, err := s.World.Cover(t.Context(), trials, s.Over, s.Counts, resample.Options{Resamples: 200})
			if err != nil {
				t.Fatal(err)
			}
			if c.Slope < least || c.Intercept < least || c.R2 < least || c.Robustness < least {
				t.Errorf("too few intervals hold the truth: %+v", c)
			}
			if s.Null && (c.Robust > most || c.Fragile > most) {
				t.Errorf("too many models on the line are called out of it: %+v", c)
			}
		})
	}
}

// The slope through sampled accuracies is too flat by the reliability, and Deming's is right where sampling is all the scatter there is.
func TestReliabilityMendsTheSlope(t *testing.T) {
	s := Studies[0] // 300 images: reliability about 0.97
	c, err := s.World.Cover(t.Context(), 200, s.Over, s.Counts, resample.Options{Resamples: 1})
	if err != nil {
		t.Fatal(err)
	}
	// A slope of 200 means has a standard error of about 0.004.
	if mended := c.SlopeMean / c.Reliability; mended < 0.788 || mended > 0.828 || c.SlopeMean > 0.79 || c.DemingMean < 0.78 || c.DemingMean > 0.815 {
		t.Errorf("mean slope %.4f, by the reliability %.4f, of Deming %.4f; the truth is 0.8", c.SlopeMean, mended, c.DemingMean)
	}
}
