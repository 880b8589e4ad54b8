package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// onEngine is a model on an engine of another name.
type onEngine struct {
	classifier.Classifier
	name string
}

func (m onEngine) Info() (classifier.Info, error) {
	info, err := m.Classifier.Info()
	info.Identity.Engine = m.name
	return info, err
}

// separately runs a command line and gives what it prints on standard output and on standard error.
func separately(t *testing.T, args ...string) (out string, code int, errs string) {
	t.Helper()
	errs = ofStderr(t, func() { out, code = output(t, args...) })
	return out, code, errs
}

func ofStderr(t *testing.T, call func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "stderr"))
	if err != nil {
		t.Fatal(err)
	}
	stderr := os.Stderr
	os.Stderr = file
	call()
	os.Stderr = stderr
	file.Close()
	text := testkit.Read(t, file.Name())
	return string(text)
}

// again certifies greys with one model, or another, under settings that change changes.
func again(t *testing.T, path, data string, model classifier.Classifier, change func(*rs.Options)) string {
	t.Helper()
	images := &dataset.Images{Name: data, Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Digest: "sha256:" + data}
	for i := range 60 {
		grey := uint8(4 * i)
		images.IDs, images.Pixels = append(images.IDs, i), append(images.Pixels, grey)
		images.Labels = append(images.Labels, int(grey/86))
	}
	o := rs.Options{Sigma: .25, MaxSamples: 1000, Rule: rs.Fixed, Alpha: .001, Seed: 1, Ledger: path}
	if change != nil {
		change(&o)
	}
	if _, err := rs.Certify(t.Context(), model, fixedImages{images}, o); err != nil {
		t.Fatal(err)
	}
	return path
}

// One model that is certified again under another setting shows no difference of models, whatever reads the two runs: each
// names the setting and leaves the verdict open. Where the model alone differs, a verdict is given.
func TestSettingsAreNoModels(t *testing.T) {
	model := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{1. / 3, 2. / 3}}
	other := model
	other.Thresholds = []float64{.8, .9}
	folder := func(name string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.MkdirAll(path, 0o777); err != nil {
			t.Fatal(err)
		}
		return path
	}
	// Each is a clean run and one that stands for a corruption.
	sweepOf := func(name, data string, m classifier.Classifier, change func(*rs.Options)) string {
		to := folder(name)
		again(t, filepath.Join(to, "clean.ledger"), data, m, change)
		again(t, filepath.Join(to, "fog-3.ledger"), data, m, change)
		return to
	}
	first := sweepOf("first", "greys", model, nil)
	for setting, c := range map[string]struct {
		data   string
		on     string
		change func(*rs.Options)
		says   string
	}{
		"n":           {change: func(o *rs.Options) { o.MaxSamples = 4000 }, says: "n 1,000, 4,000"},
		"rule":        {change: func(o *rs.Options) { o.Rule, o.Tolerance = rs.Staged, .05 }, says: "rule fixed, staged"},
		"α":           {change: func(o *rs.Options) { o.Alpha = .1 }, says: "α 0.001, 0.1"},
		"σ":           {change: func(o *rs.Options) { o.Sigma = .12 }, says: "σ 0.25, 0.12"},
		"seed":        {change: func(o *rs.Options) { o.Seed = 9 }, says: "seed 1, 9"},
		"noise":       {change: func(o *rs.Options) { o.Noise = noise.LawGaussian }, says: "noise grid/1, gaussian/1"},
		"n0":          {change: func(o *rs.Options) { o.Selection = 400 }, says: "n0 100, 400"},
		"block":       {change: func(o *rs.Options) { o.Block, o.Selection = 50, 100 }, says: "block 100, 50"},
		"engine":      {on: "another", says: "engine toy 1, another 1"},
		"images":      {data: "folder:greys[max_index=60]", says: "images folder:greys, folder:greys[max_index=60]"},
		"several":     {change: func(o *rs.Options) { o.MaxSamples, o.Alpha = 2000, .01 }, says: "n 1,000, 2,000; α 0.001, 0.01"},
		"a selection": {data: "folder:greys[count=60]", says: "images folder:greys, folder:greys[count=60]"},
	} {
		t.Run(setting, func(t *testing.T) {
			a, m := first, classifier.Classifier(model)
			data := "greys"
			if c.data != "" {
				a, data = sweepOf("folder", "folder:greys", model, nil), c.data
			}
			if c.on != "" {
				m = onEngine{model, c.on}
			}
			b := sweepOf("again", data, m, c.change)
			clean := filepath.Join(a, "clean.ledger")
			for _, args := range [][]string{
				{"ledger", "compare", clean, filepath.Join(b, "clean.ledger"), "--radii", "0,0.05,0.1"},
				{"ledger", "compare", a, b},
				{"ledger", "metrics", clean, filepath.Join(b, "clean.ledger")},
			} {
				out, code, errs := separately(t, args...)
				if said := strings.Count(out, c.says) + strings.Count(errs, c.says); code != 0 || said == 0 {
					t.Errorf("%v: exit code %d, %q is not said:\n%s%s", args, code, c.says, out, errs)
				}
				for _, claim := range []string{"| higher |", "| lower |", "Only the model", "Models differ"} {
					if strings.Contains(out, claim) {
						t.Errorf("%v claims %q:\n%s", args, claim, out)
					}
				}
				if args[1] == "compare" && !strings.Contains(out, "| open |") {
					t.Errorf("%v has no verdict:\n%s", args, out)
				}
			}
			var got struct {
				Heading  string
				Differ   []struct{ Name string }
				Verdicts []struct{ Verdict string }
			}
			text, _ := output(t, "ledger", "compare", clean, filepath.Join(b, "clean.ledger"), "--json")
			if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Differ) == 0 ||
				len(got.Verdicts) == 0 || !strings.Contains(got.Heading, c.says) {
				t.Errorf("%v: %s", err, text)
			}
			for _, v := range got.Verdicts {
				if v.Verdict != "open" {
					t.Errorf("a verdict in %s", text)
				}
			}
		})
	}
	b := sweepOf("other", "greys", other, nil)
	third := other
	third.Thresholds = []float64{.5, .6}
	c := sweepOf("third", "greys", third, nil)
	fit := []string{"lines", "fit", "--x", "clean", "--y", "fog", "--over", "nothing", "--ledgers", first, b, c}
	for refused, d := range map[string]string{
		" are one network, certified again: seed 1, 9":               sweepOf("again", "greys", model, func(o *rs.Options) { o.Seed = 9 }),
		" are one network, certified again: engine toy 1, another 1": sweepOf("engine", "greys", onEngine{model, "another"}, nil),
		" with settings that differ: noise grid/1, gaussian/1":       sweepOf("noise", "greys", onThresholds(.45), func(o *rs.Options) { o.Noise = noise.LawGaussian }),
		"expected equal settings":                                    sweepOf("n", "greys", onThresholds(.4), func(o *rs.Options) { o.MaxSamples = 2000 }),
	} {
		if _, code, errs := separately(t, append(fit, d)...); code != cli.ExitFailed || !strings.Contains(errs, refused) {
			t.Errorf("exit code %d, %q is not said: %s", code, refused, errs)
		}
	}
	d := sweepOf("engine", "greys", onEngine{onThresholds(.4), "another"}, nil)
	if out, code, errs := separately(t, append(fit, d)...); code != 0 || !strings.Contains(out+errs, "engine toy 1, another 1") {
		t.Errorf("exit code %d, the engine is not said: %s%s", code, out, errs)
	}
	for _, args := range [][]string{{"ledger", "compare", first, b}, {"ledger", "compare", filepath.Join(first, "clean.ledger"), filepath.Join(b, "clean.ledger")}} {
		if out, code := output(t, args...); code != 0 || !strings.HasPrefix(out, "Only the model differs: step (") || !strings.Contains(out, "| higher |") {
			t.Errorf("%v: exit code %d:\n%s", args, code, out)
		}
	}
}

func onThresholds(at float64) classifier.Step {
	return classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{at, at + .2}}
}

// Images whose ids and labels agree are no pairs where their digests and sets differ.
func TestOtherImagesAreNotPaired(t *testing.T) {
	model := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{1. / 3, 2. / 3}}
	dir := t.TempDir()
	a := again(t, filepath.Join(dir, "a.ledger"), "folder:pics", model, nil)
	b := again(t, filepath.Join(dir, "b.ledger"), "folder:other", model, nil)
	renamed := filepath.Join(dir, "c.ledger")
	text := testkit.Read(t, a)
	// A name that is equal, of other pixels.
	other := strings.Replace(string(text), "sha256:folder:pics", "sha256:changed", 1)
	testkit.Write(t, []byte(other[:strings.Index(other, "claims ")]), renamed)
	for _, path := range []string{b, renamed} {
		out, code, errs := separately(t, "ledger", "compare", a, path)
		if code != cli.ExitFailed || out != "" || !strings.Contains(errs, "the runs are of different images: folder:pics (sha256:folder:p) and ") {
			t.Errorf("%s: exit code %d: %s%s", path, code, out, errs)
		}
	}
}

// Radii beyond the smaller cap are not compared, --cap cuts further, and metrics marks them.
func TestRadiiBeyondACap(t *testing.T) {
	model := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{1. / 3, 2. / 3}}
	dir := t.TempDir()
	a := again(t, filepath.Join(dir, "a.ledger"), "greys", model, func(o *rs.Options) { o.Sigma, o.MaxSamples = .05, 400 })
	b := again(t, filepath.Join(dir, "b.ledger"), "greys", model, func(o *rs.Options) { o.Sigma, o.MaxSamples = .05, 40_000 })
	run, err := rs.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	most := run.RadiusCap() // 0.05 Φ⁻¹(0.001^(1/400)) = 0.1059
	if most < .105 || most > .107 {
		t.Fatalf("cap %v", most)
	}
	out, code := output(t, "ledger", "compare", a, b, "--radii", "0.05,0.15")
	if code != 0 || !strings.Contains(out, "Not compared, beyond the smaller cap of 0.1059: r = 0.15.") || strings.Contains(out, "| r = 0.15 |") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	for limit, want := range map[float64]float64{0: most, .08: .08, .5: most} {
		got := jsonOf(t, "ledger", "compare", a, b, "--json", "--cap", fmt.Sprint(limit))
		if got["cap"] != want || got["acr"].(map[string]any)["b"].(float64) > want {
			t.Errorf("--cap %v: %v", limit, got)
		}
	}
	if out, code := output(t, "ledger", "metrics", a, b, "--radii", "0.15"); code != 0 || !strings.Contains(out, "| a | 60 | 2 | – |") || !strings.Contains(out, "–: beyond the largest radius") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if _, code := output(t, "ledger", "compare", a, b, "--cap", "-1"); code != cli.ExitUsage {
		t.Errorf("--cap -1: exit code %d", code)
	}
}
