package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/attest"
	gating "github.com/certspec/certspec/internal/rs/gate"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
)

// The verdict of a gate follows from its record; an altered record is refused, or says another verdict only where its
// numbers allow it.
func TestGate(t *testing.T) {
	im, err := greys{}.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	old := classifier.Step{Shape: one1, Thresholds: []float64{.2, .4, .6, .8}}
	rng := rand.New(rand.NewPCG(1, 1))
	for i, v := range []struct {
		thresholds []float64
		drop       float64
		want       gating.Verdict
	}{
		{old.Thresholds, .3, gating.Pass}, {[]float64{.3, .45, .7, .9}, 0, gating.Fail}, {[]float64{.3, .45, .7, .9}, .2, ""},
	} {
		o := gating.Options{Record: filepath.Join(t.TempDir(), "record")}
		o.Sigma, o.Radius, o.Drop, o.Level = .05, .01, v.drop, .1
		o.Alpha, o.MaxSamples, o.Selection, o.Block = stopping.DefaultAlpha, 400, 20, 20
		if i == 2 {
			o.Radius = 0
		}
		out, err := gating.Run(t.Context(), old, classifier.Step{Shape: one1, Thresholds: v.thresholds}, im.Indexed(), o)
		if err != nil || v.want != "" && out.Verdict != v.want {
			t.Fatalf("%s, %v", out.Verdict, err)
		}
		var says bytes.Buffer
		want := fmt.Sprintf("%s after %d of %d images, net loss %d; a loss of %d of all is allowed",
			out.Verdict, out.Test.Seen, out.Images, out.Test.Sum, out.Test.Allowed)
		if code := run([]string{"--gate", o.Record}, &says, &says); code != 0 || !strings.Contains(says.String(), want) {
			t.Errorf("code %d, %s, expected %q", code, &says, want)
		}
		text, err := os.ReadFile(o.Record)
		if err != nil {
			t.Fatal(err)
		}
		said, err := attest.Gate(out, o.Record)
		if reason := stated(string(said), text, nil); (reason != "") != (out.Verdict == gating.Undecided) ||
			err != nil && out.Verdict != gating.Undecided {
			t.Errorf("%s: statement %s: %s, %v", out.Verdict, said, reason, err)
		}
		for range 100 {
			if some := alterText(rng, string(said)); some != string(said) && stated(some, text, nil) == "" {
				t.Errorf("passed: %s", some)
			}
		}
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		for range 200 {
			at := rng.IntN(len(lines))
			f := strings.Fields(lines[at])
			k := rng.IntN(len(f))
			switch {
			case at == 0:
				place := rng.IntN(len(f[0]))
				f = []string{lines[0][:place] + string(lines[0][place]+1) + lines[0][place+1:]}
			case k == 0 || k == 4 || k == 7: // place, or noise samples, which are whole blocks
				f[k] += "1"
			case k == 1 || f[k] == "-1": // a label is free, hits are as long as they decide the same
				continue
			case k == 2 || k == 5:
				f[k] = "-1"
			default:
				f[k] = "1"
				if class := f[k-1]; class == "-1" {
					continue
				}
			}
			altered := append(append([]string{}, lines[:at]...), strings.Join(f, " "))
			altered = append(altered, lines[at+1:]...)
			if _, reason, _ := verdict(strings.Join(altered, "\n") + "\n"); reason == "" {
				t.Errorf("passed: %s", difference(altered, lines))
			}
		}
	}
	if code := run([]string{"--gate", "none"}, &bytes.Buffer{}, &bytes.Buffer{}); code != 1 {
		t.Errorf("no file: code %d", code)
	}
}
