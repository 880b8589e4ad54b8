package examples

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/engine/pipe"
	"github.com/certspec/certspec/pixel"
)

// A network trained by train.py conforms over the pipe, and gives the same scores from its ONNX file.
func TestMLP(t *testing.T) {
	program, dir := python(t), t.TempDir()
	if err := Write(dir); err != nil {
		t.Fatal(err)
	}
	run := func(args ...string) {
		t.Helper()
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	// Class c is bright in rows 2c and 2c+1.
	const n = 640
	random := rand.New(rand.NewPCG(1, 2))
	images, labels := make([]byte, n*784), make([]byte, n)
	for i := range images {
		image, row := i/784, i%784/28
		labels[image] = byte(image % 10)
		if images[i] = byte(random.IntN(100)); row/2 == image%10 {
			images[i] += 150
		}
	}
	for name, content := range map[string][]byte{"images": images, "labels": labels} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("mlp/train.py", "images", "labels", "mlp.npz", "28", "28", "1", "0.1", "8", "16")

	open := func(t *testing.T) classifier.Classifier {
		m, err := pipe.Open([]string{program, filepath.Join(dir, "mlp", "serve.py"), filepath.Join(dir, "mlp.npz"), "0.5", "0.5"}, pipe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { m.Close() })
		return m
	}
	classifiertest.Run(t, open, classifiertest.Options{Batches: []int{1, 7, 100}})

	batch := classifier.Batch{N: 100, Real: make([]float32, 100*784)}
	for i := range batch.Real {
		batch.Real[i] = float32(images[i]) / pixel.Steps
	}
	scores := func(m classifier.Classifier) classifier.Result {
		t.Helper()
		result := classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, 10*batch.N)}
		if err := m.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		return result
	}
	piped, right := scores(open(t)), 0
	for i, class := range piped.Classes {
		if class == int32(labels[i]) {
			right++
		}
	}
	if right < 90 {
		t.Errorf("%d of 100 training images are right", right)
	}

	if _, err := onnx.Library(""); err != nil {
		t.Skipf("the ONNX file needs ONNX Runtime: %v", err)
	}
	run("mlp/to_onnx.py", "mlp.npz", "mlp.onnx")
	card, err := json.Marshal(onnx.Card{Mean: []float64{0.5}, Std: []float64{0.5}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "mlp.onnx")
	if err := os.WriteFile(file+".json", card, 0o644); err != nil {
		t.Fatal(err)
	}
	m, err := onnx.Open(file, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, score := range scores(m).Scores {
		if d := math.Abs(float64(score - piped.Scores[i])); !(d < 1e-5) {
			t.Fatalf("score %d: %v; over the pipe %v", i, score, piped.Scores[i])
		}
	}
}
