package golden

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/plan"
	tables "github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// first holds small files that the program of commit ec78980 wrote, before the ground was re-laid: a user's recipes, an experiment of them without weights,
// a sweep, a map of errors, intervals of confidences and a card. Expected figures are those that it printed.
const first = "testdata/first"

// Every ledger that was ever published is verified, claim by claim.
func TestPublishedLedgers(t *testing.T) {
	n := 0
	err := filepath.WalkDir("../../notebooks/results", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".ledger") || testing.Short() && n > 10 {
			return err
		}
		n++
		if _, err := rs.Verify(t.Context(), path); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || n < 60 && !testing.Short() {
		t.Errorf("%d ledgers, %v", n, err)
	}
}

// A user's recipes open, and a folder that was begun by them goes on: the jobs that are left belong to its open
// rows, and tables hold the old figures.
func TestFirstExperiment(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "few")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(first, "few"))); err != nil {
		t.Fatal(err)
	}
	e, err := plan.Plan(plan.Options{Folder: folder, Table: "few", Tier: "mini", Add: []string{filepath.Join(first, "few.yaml")}, Engine: "go", Training: "go"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"few/bn@1", "few/hcr@2"} {
		m := e.Manifest.Model(name)
		if m == nil || m.Adapt != nil && m.Adapt.Sample != "" {
			t.Errorf("%s is %+v; it began with class-balanced images", name, m)
		}
	}
	_, status, err := plan.Status(folder)
	if err != nil || status[0].Done != 10 || status[0].Jobs != 24 {
		t.Errorf("status %+v, %v", status, err)
	}
	filled, err := tables.Fill(t.Context(), folder, "few", resample.Options{Resamples: 20})
	if err != nil {
		t.Fatal(err)
	}
	gaussian, hcr := filled.Lines[0], filled.Lines[2]
	if c := gaussian.Calibration; len(c) != 2 || *c[0].CCE != .63127131549097 || *c[1].ACCE != .7362620279586987 || *c[1].CBS != .5429658859882811 {
		t.Errorf("calibration %+v", c)
	}
	if a, h := gaussian.ACE, hcr.ACE; a["(1,y)"].Mean != .6870930194854736 || a["(-1,ŷ)"].Mean != .8298226594924927 || h["(-1,ŷ)"].Mean != .5968040227890015 {
		t.Errorf("attacked %+v, %+v", a, h)
	}
	if v := filled.Lines[1].Values[1]; v == nil || v.Images != 2 || v.Mean != 0 {
		t.Errorf("adapted and corrupted: %+v", v)
	}
	if _, err := tables.Merge(t.Context(), filepath.Join(t.TempDir(), "all"), []string{folder}); err != nil {
		t.Error(err)
	}
}

// A card says all that it said.
func TestFirstCard(t *testing.T) {
	c, err := modelfile.ReadCard(filepath.Join(first, "net"))
	if err != nil {
		t.Fatal(err)
	}
	r := c.Recipe
	if r.Noise() != .25 || r.Epochs != 2 || r.BatchSize != 4 || r.LearningRate != .1 || r.Schedule != "cosine" || *r.Momentum != .9 || *r.WeightDecay != 1e-4 || r.Seed != 3 ||
		r.Method != "gaussian" || r.Options["share"] != "all" || c.Architecture.Name != "small-cnn" || c.Train.Images != 8 || c.Parameters != 64666 {
		t.Errorf("%+v", c)
	}
}

// A sweep and a map of errors open, and what is in them is not computed again.
func TestFirstSweepAndMap(t *testing.T) {
	s, err := sweep.Open(filepath.Join(first, "sweep"))
	if err != nil || len(s.Corrupted) != 1 || s.Clean == nil {
		t.Fatalf("%+v, %v", s, err)
	}
	folder := filepath.Join(t.TempDir(), "map")
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(first, "map"))); err != nil {
		t.Fatal(err)
	}
	images, err := dataset.Open("synthetic/test[count=4]")
	if err != nil {
		t.Fatal(err)
	}
	found, err := heatmap.Run(t.Context(), silent{s.Header.Model.Identity}, images, heatmap.Options{Metric: heatmap.Error, Frequencies: heatmap.Both(0, 1), Probe: spectral.ProbeOptions{Epsilon: 4}, Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	if v, there := found.Map.At(1, -1); v != 1 || !there {
		t.Errorf("error %v at (1, -1); it was 1", v)
	}
}

// silent is a model of an identity that is never to be asked.
type silent struct{ classifier.Identity }

func (s silent) Info() (classifier.Info, error) {
	return classifier.Info{Name: "net", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Identity: s.Identity}, nil
}

func (silent) Classify(context.Context, classifier.Batch, *classifier.Result) error {
	return errors.New("asked again")
}

// Intervals of confidences bound what they bounded.
func TestFirstIntervals(t *testing.T) {
	f, err := os.Open(filepath.Join(first, "intervals.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	samples, err := calib.ReadCSV("intervals.csv", f)
	if err != nil {
		t.Fatal(err)
	}
	edges, err := calib.UniformEdges(15)
	if err != nil {
		t.Fatal(err)
	}
	exact, err := calib.ExactCCE(samples.Correct, samples.Lower, samples.Upper, edges)
	if err != nil || math.Abs(exact.CCE-.9144362729565696) > 1e-12 {
		t.Errorf("%+v, %v", exact, err)
	}
}
