package examples

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/pipe"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// python is the Python of an environment with NumPy.
func python(t testing.TB) string {
	t.Helper()
	program, err := pyenv.Ensure(context.Background(), pyenv.NumPy, progress.Messages(t.Logf))
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	return program
}

func open(t testing.TB, height, width, channels string) *pipe.Model {
	t.Helper()
	m, err := pipe.Open([]string{python(t), "pipe/numpy_model.py", height, width, channels}, pipe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestNumPyModelConforms(t *testing.T) {
	classifiertest.Run(t, func(t *testing.T) classifier.Classifier { return open(t, "4", "3", "1") },
		classifiertest.Options{Batches: []int{1, 7, 100}})
}

type images struct{ *dataset.Images }

func (s images) Load(context.Context) (*dataset.Images, error) { return s.Images, nil }

// toy are images of 4×3 whose rows are of one grey each: image i has its upper half at 128 + 4·i, its lower at 128 − 4·i.
// The model's logits differ by twice 3·(1+1/3)·8i/255, which noise of σ moves by 2σ·√(3·(2+2/9)).
func toy() *dataset.Images {
	data := &dataset.Images{Name: "toy", Shape: pixel.Shape{Height: 4, Width: 3, Channels: 1}, Digest: "sha256:toy"}
	for i := -6; i <= 6; i++ {
		data.IDs, data.Labels = append(data.IDs, len(data.IDs)), append(data.Labels, 0)
		for row := range 4 {
			grey := 128 + 4*i
			if row > 1 {
				grey = 128 - 4*i
			}
			data.Pixels = append(data.Pixels, uint8(grey), uint8(grey), uint8(grey))
		}
	}
	return data
}

func TestNumPyModelAndLedgerReader(t *testing.T) {
	data, path := toy(), filepath.Join(t.TempDir(), "toy.ledger")
	run, err := rs.Certify(t.Context(), open(t, "4", "3", "1"), images{data},
		rs.Options{Sigma: 0.1, Rule: rs.Fixed, MaxSamples: 2000, Ledger: path})
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range run.Rows {
		// The distance of image i to the boundary is the largest radius that is true.
		step := float64(i-6) * 4 / pixel.Steps
		distance := 3 * (2 + 2.0/3) * step / 2.581988897471611 // √(3·2·(1+1/9)) = √6.666…
		if row.Certified() && (row.Class == 0) != (step > 0) || row.Radius > max(distance, -distance) {
			t.Errorf("image %d: class %d with radius %v; the boundary is at distance %v", i, row.Class, row.Radius, distance)
		}
	}
	if run.Abstained() == 0 || !run.Rows[12].Certified() || !run.Rows[0].Certified() {
		t.Errorf("rows %+v; expected an abstention in the middle and certificates at both ends", run.Rows)
	}

	out, err := exec.Command(python(t), "read_ledger.py", path, "0", "0.05", "0.1").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	words := strings.Fields(string(out))
	want := []string{"model", run.Header.Model.Name, "images", "13", "abstained", strconv.Itoa(run.Abstained()), "acr", ""}
	number := func(word string) float64 {
		v, err := strconv.ParseFloat(word, 64)
		if err != nil {
			t.Fatalf("%v in\n%s", err, out)
		}
		return v
	}
	if len(words) != len(want)+9 {
		t.Fatalf("it prints\n%s", out)
	}
	for i, word := range want {
		if word != "" && words[i] != word {
			t.Errorf("word %d is %q; expected %q", i, words[i], word)
		}
	}
	if d := number(words[7]) - run.ACR().Value; d > 1e-12 || d < -1e-12 {
		t.Errorf("ACR %s; expected %v", words[7], run.ACR())
	}
	for i, a := range run.CertifiedAccuracy(0, 0.05, 0.1) {
		if got := number(words[8+3*i+2]); got != a.Value {
			t.Errorf("certified accuracy at %v is %v; expected %v", a.Radius, got, a.Value)
		}
	}

	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, changed := range map[string]string{"open": string(text[:len(text)/2]), "changed": strings.Replace(string(text), "\n0 0 0 1 ", "\n0 0 0 1  ", 1)} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(changed), 0o666); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command(python(t), "read_ledger.py", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "not closed, or was changed") {
			t.Errorf("%s ledger: %v\n%s", name, err, out)
		}
	}
	// A header of which two readers may see two, with its digest put right.
	for _, form := range [][2]string{{`"alpha":0.001`, `"alpha":0.000001,"ALPHA":0.001`}, {`"alpha":0.001`, `"alpha":0.000001,"alpha":0.001`}, {`"block":`, `"Block":`},
		{`"classes":`, `"classes":99,"classes":`}, {`"looks":[{"copies":`, `"looks":[{"alpha":1,"copies":`}, {`"order":`, `"extra":1,"order":`}} {
		if !strings.Contains(string(text), form[0]) {
			t.Fatalf("the ledger has no %s", form[0])
		}
		altered := strings.Replace(string(text), form[0], form[1], 1)
		body := altered[:strings.LastIndex(altered, "sha256 ")]
		file := filepath.Join(t.TempDir(), "form")
		os.WriteFile(file, fmt.Appendf([]byte(body), "sha256 %x\n", sha256.Sum256([]byte(body))), 0o666)
		if out, err := exec.Command(python(t), "read_ledger.py", file).CombinedOutput(); err == nil || !strings.Contains(string(out), "ValueError: header: the keys of") {
			t.Errorf("%s: %v\n%s", form[1], err, out)
		}
	}
}

// An answer of another shape ends the program; its words are in the error.
func TestHelperRefusesAnswersOfAnotherShape(t *testing.T) {
	m, err := pipe.Open([]string{python(t), "-c", `
import sys
sys.path.insert(0, "pipe")
from certspec_pipe import serve
print("printed before the hello goes astray", file=sys.stderr)
def classify(images):
    print("printed in between goes to standard error")
    return images.reshape(len(images), -1)
serve(classify, height=4, width=3, channels=1, classes=10)`}, pipe.Options{Restarts: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	err = m.Classify(t.Context(), classifier.Batch{N: 2, Grid: make([]int16, 24)}, &classifier.Result{Classes: make([]int32, 2)})
	if err == nil || !strings.Contains(err.Error(), "(2, 12) is not the shape of logits for 2 images") || !strings.Contains(err.Error(), "printed in between") {
		t.Errorf("error %v", err)
	}
}

// Every example compiles, those whose packages are not installed too.
func TestExamplesCompile(t *testing.T) {
	for _, pattern := range []string{"*.py", "pipe/*.py", "mlp/*.py"} {
		files, _ := filepath.Glob(pattern)
		if len(files) == 0 {
			t.Errorf("no files %s", pattern)
		}
		for _, file := range files {
			if out, err := exec.Command(python(t), "-c", "import sys; compile(open(sys.argv[1]).read(), sys.argv[1], 'exec')", file).CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	}
}

// The overhead of a model in NumPy that costs little, in blocks of 100 CIFAR images.
func BenchmarkNumPyModel(b *testing.B) {
	m := open(b, "32", "32", "3")
	batch := classifier.Batch{N: 100, Grid: make([]int16, 100*32*32*3)}
	result := classifier.Result{Classes: make([]int32, batch.N)}
	if _, err := m.Info(); err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for range b.N {
		if err := m.Classify(b.Context(), batch, &result); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*batch.N)/b.Elapsed().Seconds(), "images/s")
}
