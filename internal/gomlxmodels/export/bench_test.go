package export

import (
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/pixel"
)

// BenchmarkONNXRuntime gives samples per second of a network on ONNX Runtime: bare, with
// the input lying ready, and through Classify with images on the integer grid.
func BenchmarkONNXRuntime(b *testing.B) {
	if _, err := onnx.Library(""); err != nil {
		b.Skip(err)
	}
	for _, a := range []nets.Architecture{
		{Name: "resnet20", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10},
		{Name: "resnet110", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10},
		{Name: "small-cnn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1}, Classes: 10},
	} {
		path := filepath.Join(b.TempDir(), a.Name+".onnx")
		if err := ONNX(untrained(a), path); err != nil {
			b.Fatal(err)
		}
		model, err := onnx.Open(path, onnx.Options{})
		if err != nil {
			b.Fatal(err)
		}
		if _, err := model.Info(); err != nil {
			b.Fatal(err)
		}
		for _, n := range []int{100, 128} {
			for _, threads := range []int{1, runtime.GOMAXPROCS(0)} {
				b.Run(fmt.Sprintf("%s/batch=%d/bare/threads=%d", a.Name, n, threads), func(b *testing.B) { bare(b, path, a, n, threads) })
			}
			b.Run(fmt.Sprintf("%s/batch=%d/classify", a.Name, n), func(b *testing.B) { classify(b, model, a, n) })
		}
	}
}

// classify keeps all processors busy with calls of one thread each, as certification does.
func classify(b *testing.B, model *onnx.Model, a nets.Architecture, n int) {
	batch := noisy(a.Shape, n)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		result := classifier.Result{Classes: make([]int32, n)}
		for pb.Next() {
			if err := model.Classify(b.Context(), batch, &result); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}

// bare runs the network again and again in one session, as ONNX Runtime does by default.
func bare(b *testing.B, path string, a nets.Architecture, n, threads int) {
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	settings, err := ort.NewSessionOptions()
	must(err)
	defer settings.Destroy()
	must(settings.SetIntraOpNumThreads(threads))
	in, err := ort.NewEmptyTensor[float32](ort.NewShape(int64(n), int64(a.Shape.Channels), int64(a.Shape.Height), int64(a.Shape.Width)))
	must(err)
	defer in.Destroy()
	out, err := ort.NewEmptyTensor[float32](ort.NewShape(int64(n), int64(a.Classes)))
	must(err)
	defer out.Destroy()
	session, err := ort.NewAdvancedSession(path, []string{inputName}, []string{outputName}, []ort.Value{in}, []ort.Value{out}, settings)
	must(err)
	defer session.Destroy()
	must(session.Run())
	for b.Loop() {
		must(session.Run())
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "samples/s")
}
