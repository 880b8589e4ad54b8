package linestest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
)

// Every interval that is given holds the truth in 93 % or more, from 3 to 12 models and 100 to 100,000 images: a
// share of 93 % stays below the bound of four standard errors with probability 3·10⁻⁵. Fewer than four models have
// none over models. Of models on the line at most 5 % may be called effectively robust or fragile, 2.5 % on each side.
// "go run ./bench coverage" counts 500 of each.
func TestCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	studies := slices.DeleteFunc(Grid(), func(s Study) bool {
		return s.World.Models == 7 || s.World.Images == 300 || s.World.Images == 1000 && s.World.Models > 5
	})
	for _, s := range append(studies, Studies[2], Studies[6]) {
		t.Run(fmt.Sprintf("%s over %s", s.Name, s.Over), func(t *testing.T) {
			t.Parallel()
			const trials = 100
			c, err := s.World.Cover(t.Context(), trials, s.Over, resample.Options{Resamples: 100})
			if err != nil {
				t.Fatal(err)
			}
			n := float64(c.Trials)
			least := .93*n - 4*math.Sqrt(.93*.07*n)
			if float64(min(c.Slope, c.Intercept, c.R2, c.Robustness)) < least {
				t.Errorf("too few intervals hold the truth: %+v", c)
			}
			if s.Null && float64(max(c.Robust, c.Fragile)) > .025*n+4*math.Sqrt(.025*n)+1 {
				t.Errorf("too many models on the line are called out of it: %+v", c)
			}
			switch refused := s.Over != lines.Images && s.World.Models == 4; {
			case refused && (c.Refused < trials*8/10 || !strings.HasPrefix(c.Why, "No intervals for the line of ")):
				t.Errorf("intervals are given: %+v", c)
			case !refused && c.Refused > trials/3:
				t.Errorf("intervals are refused: %+v", c)
			}
		})
	}
}

// The slope through sampled accuracies is too flat by the reliability, and Deming's is right where sampling is all the scatter there is.
func TestReliabilityMendsTheSlope(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	s := Studies[0] // 300 images: reliability about 0.97
	c, err := s.World.Cover(t.Context(), 200, s.Over, resample.Options{Resamples: 1})
	if err != nil {
		t.Fatal(err)
	}
	// A slope of 200 means has a standard error of about 0.004.
	if mended := c.SlopeMean / c.Reliability; mended < 0.788 || mended > 0.828 || c.SlopeMean > 0.79 || c.DemingMean < 0.78 || c.DemingMean > 0.815 {
		t.Errorf("mean slope %.4f, by the reliability %.4f, of Deming %.4f; the truth is 0.8", c.SlopeMean, mended, c.DemingMean)
	}
}
