package pipe_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/pipe"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// open opens this test binary as a program of a mode; see serve.
func open(t testing.TB, mode string, options pipe.Options) *pipe.Model {
	t.Helper()
	t.Setenv(variable, mode)
	if options.Stderr == nil {
		options.Stderr = new(bytes.Buffer)
	}
	m, err := pipe.Open([]string{os.Args[0]}, options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func TestConformance(t *testing.T) {
	for _, c := range []struct {
		mode      string
		processes int
	}{
		{"float32,hwc,logits", 1}, {"float32,chw,logits", 3}, {"int16,hwc,logits", 2}, {"int16,chw,probabilities", 1},
	} {
		t.Run(c.mode, func(t *testing.T) {
			classifiertest.Run(t, func(t *testing.T) classifier.Classifier {
				return open(t, c.mode, pipe.Options{Processes: c.processes})
			}, classifiertest.Options{ArrangementFree: true, Tolerance: 1e-5})
		})
	}
}

// some are images of 2×3×2 whose values differ all.
func some(n int) classifier.Batch {
	grid := make([]int16, n*12)
	for i := range grid {
		grid[i] = int16(7*i%400 - 60)
	}
	return classifier.Batch{N: n, Grid: grid}
}

// The classes of every form of the protocol are those that the formula of the program has for the images in our layout.
func TestLayoutsAndTypes(t *testing.T) {
	const n = 40
	batch := some(n)
	var want []int32
	for i := range n {
		image, sum := batch.Grid[12*i:12*i+12], 0.0
		for _, v := range image {
			sum += float64(v) / pixel.Steps
		}
		logits := testLogits(sum, float64(image[2])/pixel.Steps) // row 0, column 1, channel 0
		class := 0
		for c := range logits {
			if logits[c] > logits[class] {
				class = c
			}
		}
		want = append(want, int32(class))
	}
	if slices.Min(want) == slices.Max(want) {
		t.Fatal("one class only: a weak test")
	}
	for _, kind := range []string{"int16", "float32"} {
		for _, layout := range []string{"hwc", "chw"} {
			for _, output := range []string{"classes", "logits", "probabilities"} {
				result := classifier.Result{Classes: make([]int32, n)}
				if err := open(t, kind+","+layout+","+output, pipe.Options{}).Classify(t.Context(), batch, &result); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(result.Classes, want) {
					t.Errorf("%s %s %s: classes %v; expected %v", kind, layout, output, result.Classes, want)
				}
			}
		}
	}
}

// What a program says that it does to images is passed on; where it says nothing, the form in which it gets them is.
func TestPreprocessing(t *testing.T) {
	for mode, want := range map[string]string{
		"float32":             "none: the program gets values 0 to 1",
		"int16":               "none: the program gets multiples of 1/255 as int16, 0 to 255",
		"float32,normalizing": "(x - mean [0.5]) / std [0.25] (says the program, which gets values 0 to 1)",
	} {
		if got, err := open(t, mode, pipe.Options{}).Preprocessing(); err != nil || got != want {
			t.Errorf("%s: %q, %v; expected %q", mode, got, err, want)
		}
	}
}

func TestBadPrograms(t *testing.T) {
	short := pipe.Options{StartTimeout: 300 * time.Millisecond}
	impatient := pipe.Options{BatchTimeout: 300 * time.Millisecond}
	for _, c := range []struct {
		mode    string
		options pipe.Options
		want    []string
	}{
		{"garbage", pipe.Options{}, []string{"Loading the model", "standard error"}},
		{"silent", short, []string{"no hello within 300ms", "thinking"}},
		{"stillborn", pipe.Options{}, []string{"exit status 3", "No module named 'torch'"}},
		{"halfborn", pipe.Options{}, []string{"ended (exit status 0)"}},
		{"old", pipe.Options{}, []string{"version 2", "expected 1"}},
		{"nolayout", pipe.Options{}, []string{`"nhwc"`, "chw"}},
		{"unknownfield", pipe.Options{}, []string{"scale"}},
		{"nothing", pipe.Options{}, []string{"0 classes"}},
		{"lines", pipe.Options{}, []string{`preprocessing "x / 2\n\x1b[31m"`, "one line"}},
		{"dies", pipe.Options{Restarts: 2}, []string{"exit status 137", "out of memory", "2 times"}},
		{"dies", pipe.Options{Restarts: -1}, []string{"exit status 137", "out of memory"}},
		{"hangs", impatient, []string{"5 images within 300ms"}},
		{"few", pipe.Options{}, []string{"answers 4 images", "has 5"}},
		{"lies", pipe.Options{}, []string{"48 bytes", "expected 60"}},
		{"id", pipe.Options{}, []string{"request 8", "expected 1"}},
		{"prints", pipe.Options{}, []string{"processing a batch", "standard error"}},
		{"classes,classrange", pipe.Options{}, []string{"image 1", "class 3", "0 to 2"}},
	} {
		result := classifier.Result{Classes: make([]int32, 5)}
		err := open(t, c.mode, c.options).Classify(t.Context(), some(5), &result)
		if err == nil {
			t.Errorf("%s: no error", c.mode)
			continue
		}
		for _, want := range append(c.want, os.Args[0]) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", c.mode, err, want)
			}
		}
	}
	if _, err := pipe.Open(nil, pipe.Options{}); err == nil {
		t.Error("no command: no error")
	}
	m, err := pipe.Open([]string{"no-such-program-of-certspec"}, pipe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Info(); err == nil || !strings.Contains(err.Error(), "no-such-program-of-certspec") {
		t.Errorf("a program that is not there: error %v", err)
	}
}

func TestAnotherModelAfterRestart(t *testing.T) {
	m := open(t, "moody", pipe.Options{})
	result := classifier.Result{Classes: make([]int32, 5)}
	if err := m.Classify(t.Context(), some(5), &result); err != nil {
		t.Fatal(err)
	}
	pipe.KillChildren(m)
	if err := m.Classify(t.Context(), some(5), &result); err == nil || !strings.Contains(err.Error(), "before, it said") {
		t.Errorf("error %v; expected one that names both hellos", err)
	}
}

func TestMisses(t *testing.T) {
	for mode, want := range map[string][]bool{"nan": {false, true, true, false, false}, "classes,miss": {false, true, false, false, false}} {
		result := classifier.Result{Classes: make([]int32, 5)}
		if err := open(t, mode, pipe.Options{}).Classify(t.Context(), some(5), &result); err != nil {
			t.Fatal(err)
		}
		for i, miss := range want {
			if (result.Classes[i] == classifier.Miss) != miss {
				t.Errorf("%s: image %d has class %d; a miss is %t", mode, i, result.Classes[i], miss)
			}
		}
	}
}

func TestWhatCannotBeAsked(t *testing.T) {
	result := classifier.Result{Classes: make([]int32, 5), Scores: make([]float32, 5*testClasses)}
	if err := open(t, "classes", pipe.Options{}).Classify(t.Context(), some(5), &result); err == nil || !strings.Contains(err.Error(), "logits") {
		t.Errorf("scores of a program with classes: error %v", err)
	}
	off := classifier.Batch{N: 1, Real: make([]float32, 12)}
	off.Real[3] = 0.1234
	if err := open(t, "int16", pipe.Options{}).Classify(t.Context(), off, &result); err == nil || !strings.Contains(err.Error(), "value 3 of the batch is 0.1234") {
		t.Errorf("values off the grid for int16: error %v", err)
	}
}

func TestStandardErrorIsPassedOn(t *testing.T) {
	var out bytes.Buffer
	m := open(t, "dies", pipe.Options{Restarts: 1, Stderr: &out})
	m.Classify(t.Context(), some(5), &classifier.Result{Classes: make([]int32, 5)})
	prefix := "[" + filepath.Base(os.Args[0]) + "] "
	if text := out.String(); strings.Count(text, prefix+"out of memory\n") != 2 || !strings.Contains(text, prefix+"ended (exit status 137)") {
		t.Errorf("passed on:\n%s", text)
	}
}

func TestIdentity(t *testing.T) {
	weights := func(command ...string) string {
		t.Helper()
		m, err := pipe.Open(command, pipe.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Identity.Engine != "pipe" || info.Identity.EngineVersion != "protocol 1" {
			t.Errorf("identity %+v", info.Identity)
		}
		return info.Identity.Weights
	}
	t.Setenv(variable, "logits")
	if got := weights(os.Args[0]); got != "sha256:child" {
		t.Errorf("weights %s; the program says sha256:child", got)
	}
	t.Setenv(variable, "anonymous")
	file := filepath.Join(t.TempDir(), "model.py")
	seen := map[string]string{}
	for _, content := range []string{"one", "two"} {
		testkit.Write(t, []byte(content), file)
		for _, words := range [][]string{{file}, {file, "a", "b"}, {file, "ab"}} {
			got := weights(append([]string{os.Args[0]}, words...)...)
			if again := weights(append([]string{os.Args[0]}, words...)...); again != got || !strings.HasPrefix(got, "sha256:") {
				t.Errorf("%q: %s, then %s", words, got, again)
			}
			if other := seen[got]; other != "" {
				t.Errorf("%q with %q has the identity of %s", words, content, other)
			}
			seen[got] = strings.Join(words, " ") + " with " + content
		}
	}
}

// A cancelled call kills the program; the model goes on with another.
func TestCancel(t *testing.T) {
	m := open(t, "hangs", pipe.Options{})
	if _, err := m.Info(); err != nil {
		t.Fatal(err)
	}
	pids := pipe.Children(m)
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if err := m.Classify(ctx, some(5), &classifier.Result{Classes: make([]int32, 5)}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if len(pids) != 1 || alive(pids[0]) {
		t.Errorf("process %v lives on, or is a zombie", pids)
	}
	if left := pipe.Children(m); len(left) != 0 {
		t.Errorf("processes %v", left)
	}
}

func TestCloseEndsPrograms(t *testing.T) {
	for _, mode := range []string{"logits", "stubborn"} {
		if testing.Short() && mode == "stubborn" {
			continue // Close waits for it for seconds
		}
		m := open(t, mode, pipe.Options{Processes: 2})
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				if err := m.Classify(t.Context(), some(50), &classifier.Result{Classes: make([]int32, 50)}); err != nil {
					t.Error(err)
				}
			})
		}
		wait.Wait()
		pids := pipe.Children(m)
		if len(pids) == 0 {
			t.Fatal("no process")
		}
		m.Close()
		for _, pid := range pids {
			if alive(pid) {
				t.Errorf("%s: process %d lives on", mode, pid)
			}
		}
	}
}

type images struct{ *dataset.Images }

func (s images) Load(context.Context) (*dataset.Images, error) { return s.Images, nil }

// killing kills the programs of a model every few batches.
type killing struct {
	*pipe.Model
	calls, kills *atomic.Int64
}

func (k killing) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if k.calls.Add(1)%13 == 0 {
		k.kills.Add(1)
		time.AfterFunc(200*time.Microsecond, func() { pipe.KillChildren(k.Model) })
	}
	return k.Model.Classify(ctx, batch, result)
}

// A certification in which programs are killed, between batches or in the middle of one, records what an undisturbed one records.
func TestLedgerOfKilledPrograms(t *testing.T) {
	data := &dataset.Images{Name: "greys", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Digest: "sha256:greys"}
	for i := range 12 {
		data.IDs, data.Labels, data.Pixels = append(data.IDs, i), append(data.Labels, i%testClasses), append(data.Pixels, uint8(20*i))
	}
	certify := func(name string, m classifier.Classifier, workers int) string {
		t.Helper()
		path := filepath.Join(t.TempDir(), name)
		if _, err := rs.Certify(t.Context(), m, images{data}, rs.Options{Sigma: 2, MaxSamples: 1000, Block: 50, Seed: 3, Workers: workers, Ledger: path}); err != nil {
			t.Fatal(err)
		}
		text := testkit.Read(t, path)
		return string(text)
	}
	want := certify("whole", open(t, "pixel,int16", pipe.Options{}), 1)
	k := killing{open(t, "pixel,int16", pipe.Options{Processes: 2, Restarts: 20}), new(atomic.Int64), new(atomic.Int64)}
	if got := certify("killed", k, 3); got != want {
		t.Errorf("killed %d times:\n%s\nwant\n%s", k.kills.Load(), got, want)
	}
	if k.kills.Load() < 3 {
		t.Errorf("killed %d times only", k.kills.Load())
	}
	if got := certify("middle", open(t, "pixel,int16,dieslater", pipe.Options{}), 2); got != want {
		t.Errorf("killed in every third batch:\n%s\nwant\n%s", got, want)
	}
	if !strings.Contains(want, " 2:") || !strings.Contains(want, " 0:") {
		t.Error("one class only: a weak test")
	}
}

// A program that costs nothing: the overhead of the pipe, in blocks of 100 CIFAR images.
func BenchmarkPipe(b *testing.B) {
	for _, mode := range []string{"int16,hwc", "int16,chw", "float32,hwc"} {
		b.Run(mode, func(b *testing.B) {
			m := open(b, "cifar,classes,free,"+mode, pipe.Options{})
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
		})
	}
}
