package nb

import (
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// counting counts the images that a model is asked about.
type counting struct {
	classifier.Linear
	asked *atomic.Int64
}

func (c counting) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	c.asked.Add(int64(batch.N))
	return c.Linear.Classify(ctx, batch, result)
}

// brightness tells dark grey pictures of 8×8 pixels from bright ones.
func brightness(bias float64) counting {
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	w := make([]float64, shape.Len())
	for i := range w {
		w[i] = 1. / 64
	}
	return counting{classifier.Linear{Shape: shape, Weights: w, Bias: bias}, new(atomic.Int64)}
}

// greyPictures are pictures in folders dark and light, each of one grey value.
func greyPictures(t *testing.T, folder string, levels ...uint8) {
	t.Helper()
	for i, level := range levels {
		class := map[bool]string{false: "dark", true: "light"}[level > 127]
		at := filepath.Join(folder, class)
		if err := os.MkdirAll(at, 0o777); err != nil {
			t.Fatal(err)
		}
		m := image.NewGray(image.Rect(0, 0, 8, 8))
		for k := range m.Pix {
			m.Pix[k] = level
		}
		m.SetGray(0, 0, color.Gray{Y: uint8(i)})
		f, err := os.Create(filepath.Join(at, fmt.Sprintf("%d.png", i)))
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(png.Encode(f, m), f.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// What Certify keeps is found again by what it is of: the model's identity, the images' content and all settings. A name
// alone finds nothing, and nothing else is asked of the model.
func TestCertifyKeepsByContent(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 60, 90, 150, 200, 240)
	pics := Data("pics[channels=grey]")
	m := brightness(-.5)
	at := Smoothing{Sigma: .25, N: 1000}
	first := Certify(m, pics, at)
	if !first.Complete() || len(first.Rows) != 6 || first.Abstained() > 0 || first.Header.MaxSamples() != 1000 {
		t.Fatalf("%v", first)
	}
	asked := m.asked.Load()
	if again := Certify(m, pics, at); again.Digest != first.Digest || m.asked.Load() != asked {
		t.Errorf("asked again: %d answers, %v", m.asked.Load()-asked, again)
	}
	kept := func() []string {
		all, err := filepath.Glob("out/*.ledger")
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if all := kept(); len(all) != 1 || !strings.HasPrefix(all[0], filepath.Join("out", "linear-pics-s0.25-")) && !strings.Contains(all[0], "pics-s0.25-") {
		t.Fatalf("%v", all)
	}
	n := 1
	for name, change := range map[string]func() (classifier.Classifier, rs.Source, Smoothing){
		"sigma": func() (classifier.Classifier, rs.Source, Smoothing) { return m, pics, Smoothing{Sigma: .5, N: 1000} },
		"n":     func() (classifier.Classifier, rs.Source, Smoothing) { return m, pics, Smoothing{Sigma: .25, N: 2000} },
		"alpha": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, Alpha: .01}
		},
		"rule": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, Rule: rs.Fixed}
		},
		"seed": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, Seed: 3}
		},
		"paired": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, Paired: true}
		},
		"scores": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, KeepScores: true}
		},
		"radii": func() (classifier.Classifier, rs.Source, Smoothing) {
			return m, pics, Smoothing{Sigma: .25, N: 1000, Rule: rs.Betting, Radii: []float64{.1, .2}}
		},
		"weights": func() (classifier.Classifier, rs.Source, Smoothing) { return brightness(-.4), pics, at },
		"images": func() (classifier.Classifier, rs.Source, Smoothing) {
			greyPictures(t, "pics", 21)
			return m, Data("pics[channels=grey]"), at
		},
	} {
		run := Certify(change())
		if n++; len(kept()) != n || !run.Complete() {
			t.Errorf("%s: %d ledgers, want %d", name, len(kept()), n)
		}
	}
}

// The default number of noise samples is 10,000, and each verb opens what it keeps again.
func TestVerbsOfLedgers(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 60, 200, 240)
	m, pics := brightness(-.5), Data("nothere/test", "pics[channels=grey]")
	if pics == nil || !strings.HasPrefix(pics.String(), "folder:pics") {
		t.Fatalf("%v", pics)
	}
	run := Certify(m, pics, Smoothing{Sigma: .1, Ledger: "own.ledger"})
	if run.Header.MaxSamples() != 10_000 {
		t.Errorf("n = %d", run.Header.MaxSamples())
	}
	if again := Ledger("own.ledger"); again.Digest != run.Digest {
		t.Error("another ledger")
	}
	swept := Sweep(m, pics, Smoothing{Sigma: .1, N: 200, Ledger: "swept"}, "brightness")
	if swept.Clean == nil || len(swept.Corrupted) != 5 || len(Ledgers("swept").Corrupted) != 5 {
		t.Errorf("%+v", swept)
	}
	for _, of := range []*dataset.Dataset{pics, Data("pics[channels=grey,only=light]")} { // whose ids do not begin at 0
		if f := Votes(m, of, 1, Smoothing{Sigma: .1, N: 200}); f == nil || !strings.Contains(f.Caption, "votes") {
			t.Errorf("%+v", f)
		}
	}
	if len(standIns) > 0 {
		t.Errorf("said to stand in: %v", standIns)
	}
}

// An error ends the cell with its cause and the line of the cell.
func TestVerbsEndTheCell(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 200)
	m := brightness(-.5)
	for want, cell := range map[string]func(){
		"Sigma is 0":                 func() { Certify(m, Data("pics[channels=grey]"), Smoothing{}) },
		"4×4×1":                      func() { Certify(m, Data("pics[resize=4x4]"), Smoothing{Sigma: .1}) },
		"nosuch":                     func() { Data("nosuch") },
		"no data named":              func() { Data() },
		"did you mean fog":           func() { Sweep(m, Data("pics[channels=grey]"), Smoothing{Sigma: .1}, "fgo") },
		"none.ledger":                func() { Ledger("none.ledger") },
		"folder none has no ledgers": func() { Ledgers("none") },
		"image -1":                   func() { Votes(m, Data("pics[channels=grey]"), -1, Smoothing{Sigma: .1}) },
		"image 5 of":                 func() { Votes(m, Data("pics[channels=grey]"), 5, Smoothing{Sigma: .1}) },
	} {
		code, said := stopped(t, cell)
		if code != 1 || !strings.Contains(said, want) || !strings.Contains(said, "certify_test.go:") {
			t.Errorf("exit %d, %q; want it to say %q with a line of this file", code, said, want)
		}
	}
}

func TestSaveByEnding(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 60, 200, 240)
	run := Certify(brightness(-.5), Data("pics[channels=grey]"), Smoothing{Sigma: .1, N: 200, Ledger: "l"})
	Save(Curve(run), "c.pdf", "c.svg", "c.png", "c.csv")
	Save(Table(run), "t.tex", "t.csv")
	for name, begins := range map[string]string{"c.pdf": "%PDF", "c.svg": "<", "c.png": "\x89PNG", "c.csv": "run,", "t.tex": "", "t.csv": ""} {
		text, err := os.ReadFile(name)
		if err != nil || len(text) == 0 || !strings.HasPrefix(string(text), begins) {
			t.Errorf("%s: %.20q, %v", name, text, err)
		}
	}
	for want, cell := range map[string]func(){
		`".xyz"`:   func() { Save(Curve(run), "c.xyz") },
		`".pdf"`:   func() { Save(Table(run), "t.pdf") },
		"no path":  func() { Save(Table(run)) },
		"a string": func() { Save("text", "t.txt") },
	} {
		if code, said := stopped(t, cell); code != 1 || !strings.Contains(said, want) || !strings.Contains(said, "certify_test.go:") {
			t.Errorf("exit %d, %q; want it to say %q", code, said, want)
		}
	}
	if v := Verify("l"); v.Images != 4 {
		t.Errorf("%+v", v)
	}
}
