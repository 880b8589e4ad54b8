package rs_test

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// imagesOf is a source of images that are loaded.
type imagesOf struct{ *dataset.Images }

func (s imagesOf) Load(context.Context) (*dataset.Images, error) { return s.Images, nil }

// The images of bytes 200 lie above the boundary at 127.5; 100 steps down they lie below, and at −40, off the range of bytes, far below.
func TestCertifyImagesOffTheRange(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	model := classifier.Linear{Shape: shape, Weights: []float64{1}, Bias: -.5}
	data := imagesOf{&dataset.Images{Name: "two", Shape: shape, Classes: []string{"low", "high"}, IDs: []int{0, 1, 2}, Labels: []int{1, 0, 0},
		Pixels: []uint8{200, 200, 60}, Offsets: []int16{0, -100, -100}, Digest: "two with offsets"}}
	exact := []float64{72.5 / 255, 27.5 / 255, 167.5 / 255}
	path := filepath.Join(t.TempDir(), "offsets.ledger")
	for _, law := range []string{"grid", "gaussian"} {
		o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10_000, Seed: 1, Noise: noise.Law(law)}
		if law == "grid" {
			o.Ledger = path
		}
		run, err := rs.Certify(t.Context(), model, data, o)
		if err != nil {
			t.Fatal(err)
		}
		for i, row := range run.Rows {
			// The bound of 10,000 samples gives up less than 0.06 here.
			if !row.Correct() || row.Radius > exact[i] || row.Radius < exact[i]-.06 {
				t.Errorf("%s: %+v, want a radius just below %v", law, row, exact[i])
			}
		}
	}
	if r, err := rs.Replay(t.Context(), path, model, data, rs.ReplayOptions{}); err != nil || len(r.Flips) != 0 {
		t.Errorf("replayed: %+v, %v", r, err)
	}
	if accuracy, err := rs.BaseAccuracy(t.Context(), model, data.Indexed(), 0, 0); err != nil || accuracy != 1 {
		t.Errorf("accuracy %v, %v", accuracy, err)
	}
	// Shards take the offsets of their images.
	for i := range 2 {
		run, err := rs.Certify(t.Context(), model, data, rs.Options{Sigma: .25, MaxSamples: 1000, Shard: rs.Shard{Index: i, Count: 2}})
		if err != nil || !run.Rows[len(run.Rows)-1].Correct() {
			t.Errorf("shard %d: %+v, %v", i, run.Rows, err)
		}
	}
}

// The first image lies below the boundary on the grid, and above it with its residue.
func TestCertifyImagesOffTheGrid(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	model := classifier.Linear{Shape: shape, Weights: []float64{1}, Bias: -.5}
	const residue = 100. / 255
	data := imagesOf{&dataset.Images{Name: "off the grid", Shape: shape, Classes: []string{"low", "high"}, IDs: []int{0, 1}, Labels: []int{1, 0},
		Pixels: []uint8{100, 100}, Offsets: []int16{0, 0}, Residues: []float32{residue, 0}, Digest: "off the grid"}}
	exact := []float64{72.5 / 255, 27.5 / 255}
	path := filepath.Join(t.TempDir(), "residues.ledger")
	o := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10_000, Seed: 1, Noise: noise.LawGaussian, Ledger: path}
	run, err := rs.Certify(t.Context(), model, data, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range run.Rows {
		if !row.Correct() || row.Radius > exact[i] || row.Radius < exact[i]-.06 {
			t.Errorf("%+v, want a radius just below %v", row, exact[i])
		}
	}
	if r, err := rs.Replay(t.Context(), path, model, data, rs.ReplayOptions{}); err != nil || len(r.Flips) != 0 {
		t.Errorf("replayed: %+v, %v", r, err)
	}
	for i := range 2 {
		run, err := rs.Certify(t.Context(), model, data, rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 10_000, Noise: noise.LawGaussian, Shard: rs.Shard{Index: i, Count: 2}})
		if err != nil || !run.Rows[0].Correct() {
			t.Errorf("shard %d: %+v, %v", i, run.Rows, err)
		}
	}
	if run, err := rs.Certify(t.Context(), model, data, rs.Options{Sigma: .25, MaxSamples: 1000}); err == nil {
		t.Errorf("noise on the grid: %+v", run.Rows)
	}
	if accuracy, err := rs.BaseAccuracy(t.Context(), model, data.Indexed(), 0, 0); err == nil {
		t.Errorf("accuracy %v", accuracy)
	}
}
