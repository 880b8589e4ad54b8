//go:build external

package external

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// The nine architectures of the package onnx's light models: 224×224 pixels, a batch of one image, weights that
// are constants made when they load. Each opens, gets a batch of any size and certifies; the log has the rates
// of the file as it is and of the batch made symbolic, in images per second of a processor. bench/results/onnx-light.md keeps them.
func TestExternalONNXLightModels(t *testing.T) {
	if _, err := onnx.Install(t.Context(), progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	var files []string
	python(t, `
import glob, os, onnx
answer = sorted(glob.glob(os.path.join(os.path.dirname(onnx.__file__), "backend", "test", "data", "light", "*.onnx")))
`, nil, &files)
	if len(files) != 9 {
		t.Fatalf("%d models; expected 9", len(files))
	}
	const n = 4
	shape := pixel.Shape{Height: 224, Width: 224, Channels: 3}
	random := rand.New(rand.NewPCG(1, 2))
	batch := classifier.Batch{N: n, Grid: make([]int16, n*shape.Len())}
	for i := range batch.Grid {
		batch.Grid[i] = int16(random.IntN(pixel.Steps + 1))
	}
	data := &dataset.Images{Name: "noise", Shape: shape, IDs: []int{0}, Labels: []int{0}, Digest: "sha256:noise"}
	for class := range 1000 {
		data.Classes = append(data.Classes, fmt.Sprint(class))
	}
	for _, v := range batch.Grid[:shape.Len()] {
		data.Pixels = append(data.Pixels, uint8(v))
	}
	for _, file := range files {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "light_"), ".onnx")
		rate := map[bool]float64{}
		for _, keep := range []bool{true, false} {
			model, err := onnx.Open(file, onnx.Options{KeepBatch: keep})
			if err != nil {
				t.Fatal(err)
			}
			details, err := model.Details()
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !keep && details.Batch != 0 || details.BatchOf != 1 || len(details.ClassNames) != 0 {
				t.Errorf("%s: %v", name, details)
			}
			result := classifier.Result{Classes: make([]int32, n)}
			if err := model.Classify(t.Context(), batch, &result); err != nil { // memory is taken here
				t.Fatal(err)
			}
			start := processorSeconds(t)
			if err := model.Classify(t.Context(), batch, &result); err != nil {
				t.Fatal(err)
			}
			rate[keep] = n / (processorSeconds(t) - start)
			if !keep {
				run, err := rs.Certify(t.Context(), model, source{data}, rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 8, Selection: 4, Block: 4, Alpha: .05})
				if err != nil || len(run.Rows) != 1 {
					t.Errorf("%s: %v", name, err)
				}
			}
			model.Close()
		}
		t.Logf("| %s | %.1f | %.1f | %.2f |", name, rate[true], rate[false], rate[false]/rate[true])
	}
}

func processorSeconds(t *testing.T) float64 {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()).Seconds()
}
