package spectral_test

import (
	"strings"
	"testing"

	"github.com/certspec/certspec/spectral"
)

func TestReadMap(t *testing.T) {
	const good = "i\tj\tacr\tn_images\n1\t0\t0.5\t9\n0\t0\t0.25\t9\n0\t3\t1\t9\n1\t3\t2\t9\n"
	m, err := spectral.ReadMap("map.tsv", strings.NewReader(good), 8, 8)
	if err != nil {
		t.Fatal(err)
	}
	for f, want := range map[spectral.Frequency]float64{{1, 0}: .5, {0, 0}: .25, {0, 3}: 1, {1, 3}: 2} {
		if got, found := m.At(f.U, f.V); !found || got != want {
			t.Errorf("%v has %v, want %v", f, got, want)
		}
	}
	for name, text := range map[string]string{
		"empty": "", "no lines": "i\tj\tacr\n", "missing": good[:len(good)-8], "twice": good + "1\t3\t2\t9\n", "NaN": strings.Replace(good, "0.25", "NaN", 1),
		"words": strings.Replace(good, "0.25", "x", 1), "too high": strings.ReplaceAll(good, "\t3", "\t5"), "short line": good + "1\n",
	} {
		if m, err := spectral.ReadMap("map.tsv", strings.NewReader(text), 8, 8); err == nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
}

func FuzzReadMap(f *testing.F) {
	f.Add("i\tj\tacr\n0\t0\t0.5\n")
	f.Add("i\tj\tacr\n0\t0\t0.5\n0\t1\t1e9\t7\n")
	f.Fuzz(func(t *testing.T, text string) {
		m, err := spectral.ReadMap("fuzz", strings.NewReader(text), 8, 8)
		if err == nil && len(m.Values) != len(m.U)*len(m.V) {
			t.Errorf("%d values for %d×%d frequencies", len(m.Values), len(m.U), len(m.V))
		}
	})
}
