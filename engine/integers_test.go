package engine_test

import (
	"bytes"
	"context"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// pictures are random blots of 28 × 28.
func pictures(count int) *dataset.Images {
	data := &dataset.Images{Name: "synthetic", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1},
		Digest: "sha256:blots"}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range count {
		y, x, wide := random.IntN(28), random.IntN(28), 3+random.IntN(12)
		for k := range 28 * 28 {
			v := 255 - (max(k/28-y, y-k/28)+max(k%28-x, x-k%28))*255/wide
			data.Pixels = append(data.Pixels, uint8(max(v, 0)))
		}
		data.IDs, data.Labels = append(data.IDs, i), append(data.Labels, i%10)
	}
	return data
}

// exact makes an integer network of the small network.
func exact(t *testing.T, path string) string {
	t.Helper()
	if err := open(t, "../notebooks/models/fmnist-cnn-s025").QuantizeExact(t.Context(), pictures(30), .25, 1,
		path); err != nil {
		t.Fatal(err)
	}
	return path
}

// The battery, and certificates by every kernel of this processor: ledgers of the same bytes.
func TestIntegersAreOneFunction(t *testing.T) {
	path := exact(t, filepath.Join(t.TempDir(), "cnn.intnet"))
	var first []byte
	for _, kernel := range append(intnet.Kernels(), "auto") {
		t.Run(kernel, func(t *testing.T) {
			m := open(t, path, engine.Backend(kernel))
			if kernel == "auto" { // the plain one is slow
				classifiertest.Run(t, func(*testing.T) classifier.Classifier { return m },
					classifiertest.Options{Batches: []int{1, 7, 20}})
			}
			info, err := m.Info()
			if err != nil || info.Identity.Engine != "integers" || info.Identity.InstructionSet != "" ||
				info.Identity.Threads != 0 {
				t.Errorf("%+v, %v", info, err)
			}
			ledger := filepath.Join(t.TempDir(), "a.ledger")
			images := pictures(2)
			if _, err := rs.Certify(t.Context(), m, source{images}, rs.Options{Sigma: .25,
				Rule: rs.Fixed, MaxSamples: 100,
				Seed: 7, Ledger: ledger}); err != nil {
				t.Fatal(err)
			}
			text := testkit.Read(t, ledger)
			if first == nil {
				first = text
			} else if !bytes.Equal(text, first) {
				t.Error("another ledger than by the first kernel")
			}
		})
	}
	if _, err := engine.Open(path, engine.Backend("xla")); err == nil || !strings.Contains(err.Error(),
		`no kernel "xla"`) {
		t.Error(err)
	}
}

// Real images are rounded to the grid; what is no number is a miss, and a pixel beyond the range an error.
func TestIntegersTakeRealImages(t *testing.T) {
	m := open(t, exact(t, filepath.Join(t.TempDir(), "cnn.intnet")))
	info, err := m.Info()
	if err != nil {
		t.Fatal(err)
	}
	size := info.Shape.Len()
	batch := classifier.Batch{N: 3, Grid: make([]int16, 3*size)}
	realBatch := classifier.Batch{N: 3, Real: make([]float32, 3*size)}
	for i := range batch.Grid {
		batch.Grid[i] = int16(i*i%700 - 200)
		realBatch.Real[i] = (float32(batch.Grid[i]) + .4*float32(math.Sin(float64(i)))) / 255
	}
	realBatch.Real[size] = float32(math.NaN())
	results := [2]classifier.Result{}
	for i, b := range []classifier.Batch{batch, realBatch} {
		results[i] = classifier.Result{Classes: make([]int32, 3), Logits: make([]float32, 3*info.Classes)}
		if err := m.Classify(t.Context(), b, &results[i]); err != nil {
			t.Fatal(err)
		}
	}
	if results[1].Classes[1] != classifier.Miss || results[0].Classes[1] == classifier.Miss {
		t.Errorf("classes %v and %v", results[0].Classes, results[1].Classes)
	}
	if c := info.Classes; !slices.Equal(results[0].Logits[:c], results[1].Logits[:c]) ||
		!slices.Equal(results[0].Logits[2*c:], results[1].Logits[2*c:]) {
		t.Error("other logits of rounded images")
	}
	batch.Grid[5] = 20000
	if err := m.Classify(t.Context(), batch, &results[0]); err == nil || !strings.Contains(err.Error(),
		"value 5 of image 0 is 20000, and the network is made for -16065 to 16320") {
		t.Error(err)
	}
}

// A run that was stopped, whenever, goes on and makes the same file.
func TestExactIsResumed(t *testing.T) {
	dir := t.TempDir()
	want := testkit.Read(t, exact(t, filepath.Join(dir, "whole.intnet")))
	path := filepath.Join(dir, "stopped.intnet")
	stops := 0
	for range 30 {
		ctx, stop := context.WithCancel(t.Context())
		m := open(t, "../notebooks/models/fmnist-cnn-s025", engine.Progress(func(s progress.State) {
			if strings.Contains(s.Task, "synthetic") {
				stop()
			}
		}))
		err := m.QuantizeExact(ctx, pictures(30), .25, 1, path)
		stop()
		if err == nil {
			break
		}
		if _, err := os.Stat(path); err == nil {
			t.Fatal("a stopped run left a file")
		}
		stops++
	}
	got, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(got, want) || stops < 3 {
		t.Errorf("after %d stops: other bytes, or %v", stops, err)
	}
	if left, _ := filepath.Glob(path + ".*"); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
	testkit.Write(t, []byte(`{"record":{"sigma":1},"seen":{}}`), path+".part")
	m := open(t, "../notebooks/models/fmnist-cnn-s025")
	if err := m.QuantizeExact(t.Context(), pictures(30), .25, 1, path); err == nil || !strings.Contains(err.Error(),
		"is of another network") {
		t.Error(err)
	}
}

// What needs layers in real numbers refuses the file by name.
func TestIntegersHaveNoLayers(t *testing.T) {
	m := open(t, exact(t, filepath.Join(t.TempDir(), "cnn.intnet")))
	if _, err := m.FeedForward(t.Context()); err == nil || !strings.Contains(err.Error(), "is an integer network") {
		t.Error(err)
	}
	if err := m.Quantize(t.Context(), pictures(2), .25, 1, filepath.Join(t.TempDir(), "q.onnx")); err == nil ||
		!strings.Contains(err.Error(), "is an integer network") {
		t.Error(err)
	}
	if sets := m.Trained(); len(sets) != 1 || !strings.HasPrefix(sets[0].Name, "fashionmnist") {
		t.Errorf("trained on %v", sets)
	}
	if names, err := m.ClassNames(); err != nil || len(names) != 10 {
		t.Errorf("%v, %v", names, err)
	}
	bad := testkit.Write(t, []byte("no network"), t.TempDir(), "bad.intnet")
	if _, err := engine.Open(bad); err == nil || !strings.Contains(err.Error(),
		"certspec quantize --exact writes one") {
		t.Error(err)
	}
}
