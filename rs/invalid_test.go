package rs_test

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/rs"
)

func TestOutputs(t *testing.T) {
	for _, c := range []struct {
		misses, samples int
		warning, err    bool
	}{{0, 0, false, false}, {0, 100, false, false}, {10, 1000, false, false}, {11, 1000, true, false}, {999, 1000, true, false}, {1000, 1000, false, true}} {
		warning, err := rs.Outputs("m", c.misses, c.samples)
		if (warning != "") != c.warning || (err != nil) != c.err {
			t.Errorf("%+v: %q, %v", c, warning, err)
		}
	}
	// Broken misses where the first value is above its threshold: always, or for half of the samples.
	for threshold, want := range map[float64]string{-5: "no finite output for any of", .5: "(", 5: ""} {
		m := classifier.Broken{Shape: oneGrey, Classes: 2, Threshold: threshold}
		run := certify(t, m, greys(oneGrey, always(0), 128), rs.Options{Sigma: .1, Rule: rs.Fixed, MaxSamples: 200})
		warning, err := run.Outputs()
		text := warning
		if err != nil {
			text = err.Error()
		}
		if (text == "") != (want == "") || !strings.Contains(text, want) || (err != nil) != (threshold < 0) {
			t.Errorf("threshold %v: %q, %v", threshold, warning, err)
		}
	}
}
