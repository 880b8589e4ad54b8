package sweep_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/sweep"
)

// counting is a model that counts its calls.
type counting struct {
	classifier.Classifier
	calls *atomic.Int64
}

func (c counting) Classify(ctx context.Context, b classifier.Batch, r *classifier.Result) error {
	c.calls.Add(1)
	return c.Classifier.Classify(ctx, b, r)
}

func constant() counting {
	return counting{classifier.Constant{Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Class: 3}, &atomic.Int64{}}
}

func synthetic(t *testing.T) *dataset.Dataset {
	t.Helper()
	d, err := dataset.Open("synthetic/test[max_index=4]")
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func cells(t *testing.T) []sweep.Cell {
	t.Helper()
	list, err := sweep.Cells([]string{"contrast", "brightness"}, corrupt.Setting{}, []int{3, 1})
	if err != nil {
		t.Fatal(err)
	}
	return append([]sweep.Cell{{}}, list...)
}

func TestCells(t *testing.T) {
	var names []string
	for _, c := range cells(t) {
		names = append(names, c.String())
	}
	want := []string{"clean", "contrast-1", "contrast-3", "brightness-1", "brightness-3"}
	if len(names) != len(want) {
		t.Fatalf("%v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("%v, want %v", names, want)
		}
	}
	// CIFAR-F has 192 settings: 16 rings, 4 decays, 3 norms.
	all, err := sweep.Cells([]string{"fourier"}, corrupt.Setting{}, nil)
	if err != nil || len(all) != 192 || all[0].String() != "fourier_fc1_a0.5-8" {
		t.Errorf("%d cells of fourier from %v, %v", len(all), all[0], err)
	}
	options, err := sweep.Cells([]string{"glass_blur", "fog"}, corrupt.Setting{GlassSwap: true}, []int{2})
	if err != nil || !options[0].Setting.GlassSwap || options[1].Setting.GlassSwap {
		t.Errorf("%+v, %v", options, err)
	}
	var setting *corrupt.SettingError
	if _, err := sweep.Cells([]string{"fog"}, corrupt.Setting{}, []int{3, 8}); !errors.As(err, &setting) {
		t.Errorf("severity 8 of fog: %v", err)
	}
	var unknown *corrupt.UnknownError
	if _, err := sweep.Cells([]string{"mist"}, corrupt.Setting{}, nil); !errors.As(err, &unknown) {
		t.Errorf("mist: %v", err)
	}
}

func TestRunAgainAndOpen(t *testing.T) {
	model, folder := constant(), filepath.Join(t.TempDir(), "a folder")
	var before []string
	o := sweep.Options{Folder: folder, CorruptSeed: 7, Sigma: .25, MaxSamples: 200,
		Before: func(ctx context.Context, c sweep.Cell) (context.Context, error) {
			before = append(before, c.String())
			return ctx, nil
		}}
	// The first cells, and then all of them: those that are there are not run again.
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t)[:2], o); err != nil {
		t.Fatal(err)
	}
	two := model.calls.Load()
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t), o); err != nil {
		t.Fatal(err)
	}
	if calls := model.calls.Load(); two == 0 || len(before) != 5 {
		t.Errorf("%d calls of the model for two cells, %d for five; told of %v", two, calls, before)
	}
	all := model.calls.Load()
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t), o); err != nil || model.calls.Load() != all || len(before) != 5 {
		t.Errorf("a third time: %v, %d calls after %d, told of %v", err, model.calls.Load(), all, before)
	}
	s, err := sweep.Open(folder)
	if err != nil || s.Clean == nil || len(s.Corrupted) != 4 || len(s.Unfinished) != 0 {
		t.Fatalf("%+v, %v", s, err)
	}
	if c := s.Corrupted[1]; c.Corruption != "brightness" || c.Severity != 3 || len(c.Rows) != 4 {
		t.Errorf("%+v", c)
	}
	run, err := rs.Open(filepath.Join(folder, "contrast-3.ledger"))
	if err != nil || run.Header.Data.Name != "synthetic/test[max_index=4,corrupt=contrast:3,seed=7]" || run.Header.Data.Digest == s.Clean.Header.Data.Digest {
		t.Errorf("%+v, %v", run.Header.Data, err)
	}
	// No corruption changes what a constant answers.
	c, err := compare.Sweeps(t.Context(), compare.Uncorrupted(s.Radii(), compare.Of(s.Clean.Rows.Vectors())), s.Radii(), resample.Options{Resamples: 100})
	if err != nil || c.MACR.Difference != 0 {
		t.Errorf("%+v, %v", c, err)
	}
	var mismatch *ledger.MismatchError
	o.CorruptSeed = 8
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t), o); !errors.As(err, &mismatch) {
		t.Errorf("another seed of the corruptions: %v", err)
	}
}

func TestOpenRefuses(t *testing.T) {
	model, folder := constant(), t.TempDir()
	o := sweep.Options{Folder: folder, Sigma: .25, MaxSamples: 100}
	if _, err := sweep.Open(folder); err == nil {
		t.Error("a folder without ledgers is a sweep")
	}
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t)[:2], o); err != nil {
		t.Fatal(err)
	}
	clean := testkit.Read(t, folder, "clean.ledger")
	contrast := testkit.Read(t, folder, "contrast-1.ledger")
	with := func(name string, text []byte, good bool) *sweep.Sweep {
		t.Helper()
		path := testkit.Write(t, text, folder, name)
		defer os.Remove(path)
		s, err := sweep.Open(folder)
		if (err == nil) != good {
			t.Errorf("%s: %v", name, err)
		}
		return s
	}
	with("fog-3.ledger", contrast, false) // it is contrast at 1
	with("contrast.ledger", clean, false)
	with("contrast-0.ledger", clean, false)
	with("fog-2.ledger", clean, true) // says of no corruption: images from a file
	if s := with("fog-2.ledger", bytes.Join(bytes.SplitAfter(clean, []byte("\n"))[:3], nil), true); s != nil && (len(s.Unfinished) != 1 || len(s.Corrupted) != 1) {
		t.Errorf("half a ledger: %+v", s)
	}
	other := o
	other.Folder, other.Sigma = t.TempDir(), .5
	if err := sweep.Run(t.Context(), model, synthetic(t), cells(t)[:1], other); err != nil {
		t.Fatal(err)
	}
	text := testkit.Read(t, other.Folder, "clean.ledger")
	with("fog-2.ledger", text, false) // σ = 0.5
}

// A finished cell is known from its ledger: none of its images is read or corrupted again, and no model is asked.
func TestFinishedCellsReadNothing(t *testing.T) {
	var read atomic.Int64
	d := synthetic(t).Changed(dataset.Change{Name: "seen", Apply: func(_ context.Context, _ pixel.Shape, _ []int, pixels []uint8) ([]uint8, error) {
		read.Add(1)
		return pixels, nil
	}})
	model := constant()
	o := sweep.Options{Folder: t.TempDir(), Sigma: .25, Rule: rs.Fixed, MaxSamples: 100}
	for k, change := range []func(){
		func() {}, func() {}, func() { o.Sigma = .5 },
	} {
		change()
		before, asked := read.Load(), model.calls.Load()
		err := sweep.Run(t.Context(), model, d, cells(t), o)
		var mismatch *ledger.MismatchError
		if k < 2 && err != nil || k == 2 && !errors.As(err, &mismatch) {
			t.Errorf("run %d: %v", k, err)
		}
		if n := read.Load() - before; k == 0 && n == 0 || k == 1 && n > 0 {
			t.Errorf("run %d read images %d times", k, n)
		}
		if n := model.calls.Load() - asked; k == 1 && n > 0 {
			t.Errorf("run %d asked the model %d times", k, n)
		}
		model.calls.Store(0)
	}
	other := sweep.Options{Folder: o.Folder, Sigma: .25, Rule: rs.Fixed, MaxSamples: 100}
	var mismatch *ledger.MismatchError
	if err := sweep.Run(t.Context(), model, d.Subset(dataset.Count(2)), cells(t), other); !errors.As(err, &mismatch) {
		t.Errorf("other images: %v", err)
	}
}

// A cell is certified with all options of a run; its ledger has its place in the folder.
func TestOptionsHaveAllOfARun(t *testing.T) {
	if err := flat.Check(sweep.Options{}, rs.Options{}, "Ledger"); err != nil {
		t.Error(err)
	}
}
