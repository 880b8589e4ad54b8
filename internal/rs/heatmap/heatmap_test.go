package heatmap_test

import (
	"bytes"
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
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

func setUp(t *testing.T) (counting, *dataset.Dataset) {
	t.Helper()
	d, err := dataset.Open("synthetic/test[max_index=4]")
	if err != nil {
		t.Fatal(err)
	}
	m := classifier.Constant{Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Class: 5} // that of one of the images
	return counting{m, &atomic.Int64{}}, d
}

func options(folder string, m heatmap.Metric) heatmap.Options {
	return heatmap.Options{Metric: m, Radius: .1, Frequencies: heatmap.Both(0, 2), Folder: folder, Run: rs.Options{Sigma: .25, MaxSamples: 200, Rule: rs.Fixed, Selection: 100}}
}

// A model of one class has the same certificates at every frequency: those of rs.Certify on the images as they are. A second metric reads
// the ledgers; the error is 1 minus the accuracy, and is kept as well. The intervals of rings count one value
// for each image.
func TestRun(t *testing.T) {
	m, d := setUp(t)
	folder := t.TempDir()
	run, err := rs.Certify(t.Context(), m, d, options("", heatmap.ACR).Run)
	if err != nil {
		t.Fatal(err)
	}
	accuracy, err := rs.BaseAccuracy(t.Context(), m, mustLoad(t, d).Indexed(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	for metric, want := range map[heatmap.Metric]float64{"": run.ACR().Value, heatmap.Certified: run.CertifiedAccuracy(.1)[0].Value, heatmap.Error: 1 - accuracy} {
		for again := range 2 {
			before := m.calls.Load()
			r, err := heatmap.Run(t.Context(), m, d, options(folder, metric))
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Values) != 9 || r.Images != 4 || !(r.Norm > 0) {
				t.Errorf("%s: %+v", metric, r)
			}
			for _, v := range r.Values {
				if v != want {
					t.Errorf("%s: %v, want %v", metric, r.Values, want)
					break
				}
			}
			low, high := student(run.Rows, metric)
			switch {
			case metric == heatmap.Error:
				if r.Ends != nil {
					t.Errorf("the images of errors are not kept, but their rings have the ends %v", r.Ends)
				}
			case len(r.Ends) != len(r.Profile):
				t.Errorf("%s: ends %v of %d rings", metric, r.Ends, len(r.Profile))
			default:
				for k, ring := range r.Profile {
					if math.Abs(ring.Low-low) > 1e-6 || math.Abs(ring.High-high) > 1e-6 || r.Ends[k] != [2]float64{ring.Low, ring.High} {
						t.Errorf("%s: ring %+v, want %v to %v", metric, ring, low, high)
					}
				}
			}
			if again == 1 && m.calls.Load() != before {
				t.Errorf("%s: the model was asked again %d times", metric, m.calls.Load()-before)
			}
		}
	}
	if files, _ := filepath.Glob(filepath.Join(folder, "*.ledger")); len(files) != 5 {
		t.Errorf("%v: want a ledger for each of five frequencies that stand for nine", files)
	}
}

// student is the 95 % interval for the mean of four images, whose quantile is 3.182446, not below 0.
func student(rows rs.Rows, metric heatmap.Metric) (low, high float64) {
	var values []float64
	mean, square := 0., 0.
	for _, row := range rows {
		v := 0.
		if row.Class == row.Label && row.Certified() {
			v = row.Radius
		}
		if metric == heatmap.Certified && v > 0 {
			v = 1 // all radii are above .1
		}
		values = append(values, v)
		mean += v / 4
	}
	for _, v := range values {
		square += (v - mean) * (v - mean) / 3
	}
	half := 3.182446 * math.Sqrt(square) / 2
	return max(mean-half, 0), mean + half
}

func mustLoad(t *testing.T, d *dataset.Dataset) *dataset.Images {
	t.Helper()
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// A map goes on where it was stopped.
func TestRunGoesOn(t *testing.T) {
	m, d := setUp(t)
	o := options(t.TempDir(), heatmap.Error)
	ctx, stop := context.WithCancel(t.Context())
	o.Progress = nil
	stopping := stopAfter{m, stop}
	if _, err := heatmap.Run(ctx, stopping, d, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v", err)
	}
	text, err := os.ReadFile(filepath.Join(o.Folder, "errors.jsonl"))
	if lines := bytes.Count(text, []byte("\n")); err != nil || lines < 1 || lines > 5 {
		t.Fatalf("%v: %s", err, text)
	}
	if r, err := heatmap.Run(t.Context(), m, d, o); err != nil || len(r.Values) != 9 {
		t.Errorf("%v", err)
	}
}

// stopAfter stops the run at its third call.
type stopAfter struct {
	counting
	stop context.CancelFunc
}

func (s stopAfter) Classify(ctx context.Context, b classifier.Batch, r *classifier.Result) error {
	err := s.counting.Classify(ctx, b, r)
	if s.calls.Load() == 3 {
		s.stop()
	}
	return err
}

func TestRunRefuses(t *testing.T) {
	m, d := setUp(t)
	for name, change := range map[string]func(*heatmap.Options){
		"metric":      func(o *heatmap.Options) { o.Metric = "loss" },
		"radius":      func(o *heatmap.Options) { o.Radius = -1 },
		"sigma":       func(o *heatmap.Options) { o.Run.Sigma = 0 },
		"epsilon":     func(o *heatmap.Options) { o.Probe.Epsilon = -1 },
		"frequencies": func(o *heatmap.Options) { o.Frequencies = []int{40} },
		"none":        func(o *heatmap.Options) { o.Frequencies = nil },
	} {
		o := options("", heatmap.ACR)
		change(&o)
		if r, err := heatmap.Run(t.Context(), m, d, o); err == nil {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestBoth(t *testing.T) {
	got := heatmap.Both(3, 0, 1, 3)
	for i, want := range []int{-3, -1, 0, 1, 3} {
		if len(got) != 5 || got[i] != want {
			t.Fatalf("%v", got)
		}
	}
	if w := spectral.Window(1); len(w) != 3 || w[0] != -1 {
		t.Errorf("%v", w)
	}
}
