//go:build unix

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/model/remote"
	"github.com/certspec/certspec/internal/model/resident"
	"github.com/certspec/certspec/model"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

const small = "../../../notebooks/models/fmnist-cnn-s025"

// The test binary serves where it is started as the kernel's script starts certspec.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "--kernel" {
		pid := 0
		fmt.Sscan(os.Args[2], &pid)
		if os.Getenv("SERVE_TEST") == "dies" {
			fmt.Println("out of memory")
			os.Exit(3)
		}
		if err := Run(os.Args[3], pid, os.Getenv("SERVE_CHECKOUT"), time.Now()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// kernel is a kernel whose cells this test is; it returns its folder.
func kernel(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "serve") // the path of a socket is short
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	life := exec.Command("sleep", "1000")
	if err := life.Start(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GONB_TMP_DIR", dir)
	t.Setenv("CERTSPEC_SERVE", program)
	t.Setenv("CERTSPEC_KERNEL", fmt.Sprint(life.Process.Pid))
	t.Cleanup(func() {
		_ = life.Process.Kill()
		_ = life.Wait()
		wait(t, "the process ends with its kernel", func() bool { return len(serving(t, dir)) == 0 })
		os.RemoveAll(dir)
	})
	return dir
}

// serving are the processes of a kernel.
func serving(t testing.TB, dir string) (pids []int) {
	out, err := exec.Command("ps", "-eo", "pid,stat,args").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		f := strings.Fields(line)
		if strings.HasSuffix(strings.TrimSpace(line), filepath.Join(dir, "serve.sock")) && !strings.HasPrefix(f[1], "Z") {
			pid := 0
			fmt.Sscan(f[0], &pid)
			pids = append(pids, pid)
		}
	}
	return pids
}

func wait(t testing.TB, for_ string, true_ func() bool) {
	t.Helper()
	for range 1000 {
		if true_() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("ten seconds, and not: %s", for_)
}

func openRemote(t testing.TB, path string, in ...model.Input) *remote.Model {
	t.Helper()
	m, err := remote.Open(t.Context(), path, in, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// A network in the process says and answers what it says and answers in a program, to the bit, and its ledger has the same bytes.
func TestAsInAProgram(t *testing.T) {
	dir := kernel(t)
	data := memory{&imageset.Images{Name: "drawn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1},
		Classes: make([]string, 10), Digest: "sha256:drawn"}}
	for i := range 4 {
		data.IDs, data.Labels = append(data.IDs, i), append(data.Labels, i)
		for k := range 784 {
			data.Pixels = append(data.Pixels, uint8(k*(i+3)))
		}
	}
	exported := filepath.Join(dir, "net.onnx")
	e, err := engine.Open(small)
	if err != nil {
		t.Fatal(err)
	}
	file, _, _, err := e.Encoded(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(exported, file, 0o666); err != nil {
		t.Fatal(err)
	}
	for path, in := range map[string][]model.Input{small: nil, exported: {{Scale: 255, Mean: []float64{3}, Std: []float64{0.7}}}} {
		t.Run(filepath.Base(path), func(t *testing.T) {
			want, got := model.Open(path, in...), openRemote(t, path, in...)
			info, err := want.Info()
			if err != nil {
				t.Fatal(err)
			}
			engines, err := want.Engine()
			if err != nil {
				t.Fatal(err)
			}
			same := func(what string, want, got any, err, err2 error) {
				t.Helper()
				if err != nil || err2 != nil || !reflect.DeepEqual(want, got) {
					t.Errorf("%s: %+v, want %+v; %v, %v", what, got, want, err2, err)
				}
			}
			info2, err2 := got.Info()
			same("info", info, info2, err, err2)
			former, err := want.FormerIdentities()
			former2, err2 := got.FormerIdentities()
			same("former", former, former2, err, err2)
			how, err := want.Preprocessing()
			how2, err2 := got.Preprocessing()
			same("preprocessing", how, how2, err, err2)
			names, err := want.ClassNames()
			names2, err2 := got.ClassNames()
			same("class names", names, names2, err, err2)
			trained, err := want.Trained()
			same("trained", trained, got.Trained(), err, nil)
			same("card", engines.Card(), got.Card(), nil, nil)

			images := make([]float32, 3*info.Shape.Len())
			grid := make([]int16, len(images))
			for i := range images {
				images[i], grid[i] = float32(i%97)/96, int16(i*7%300-20)
			}
			for name, batch := range map[string]classifier.Batch{"real": {N: 3, Real: images}, "grid": {N: 3, Grid: grid}} {
				var results [2]classifier.Result
				for i, m := range []classifier.Classifier{want, got} {
					results[i] = classifier.Result{Classes: make([]int32, 3), Scores: make([]float32, 30), Logits: make([]float32, 30)}
					if err := m.Classify(t.Context(), batch, &results[i]); err != nil {
						t.Fatal(err)
					}
				}
				same(name, results[0], results[1], nil, nil)
			}
			if err := got.Classify(t.Context(), classifier.Batch{N: 2, Real: images}, &classifier.Result{Classes: make([]int32, 3)}); err == nil {
				t.Error("no error for a batch of another size")
			}

			layers, err := want.FeedForward(t.Context())
			layers2, err2 := got.FeedForward(t.Context())
			if err != nil || err2 != nil {
				t.Fatal(err, err2)
			}
			same("compared", layers.Compared(), layers2.Compared(), nil, nil)
			x := make([]float64, info.Shape.Len())
			lower, upper := slices.Clone(x), slices.Clone(x)
			for i := range x {
				x[i] = float64(i%53) / 52
				lower[i], upper[i] = max(0, x[i]-0.01), min(1, x[i]+0.01)
			}
			bounds, err := layers.Intervals(feedforward.Box{Lower: lower, Upper: upper}, feedforward.Rigorous)
			bounds2, err2 := layers2.Intervals(feedforward.Box{Lower: lower, Upper: upper}, feedforward.Rigorous)
			same("bounds", bounds, bounds2, err, err2)

			g, end, err := want.Gradients(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer end()
			g2, how, end2, err := got.Gradients(t.Context())
			if err != nil || how == "" {
				t.Fatal(how, err)
			}
			defer end2()
			v := []float32{1, 0, 0, -1, 0, 0, 0, 2, 0, 0}
			gradient, gradient2 := make([]float32, len(x)), make([]float32, len(x))
			err = g.VectorJacobian(t.Context(), images[:len(x)], v, gradient)
			err2 = g2.VectorJacobian(t.Context(), images[:len(x)], v, gradient2)
			same("gradient", gradient, gradient2, err, err2)

			var ledgers [2][]byte
			for i, m := range []classifier.Classifier{want, got} {
				file := filepath.Join(t.TempDir(), "run.ledger")
				if _, err := rs.Certify(t.Context(), m, data, rs.Options{Sigma: 0.25, MaxSamples: 1000, Ledger: file}); err != nil {
					t.Fatal(err)
				}
				text, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				ledgers[i] = text
			}
			if !bytes.Equal(ledgers[0], ledgers[1]) {
				t.Errorf("ledgers differ:\n%.600s\n%.600s", ledgers[0], ledgers[1])
			}
		})
	}
	if n := len(serving(t, dir)); n != 1 {
		t.Errorf("%d processes of one kernel", n)
	}
}

// memory is a Source of images that are there already.
type memory struct{ *imageset.Images }

func (m memory) Load(context.Context) (*imageset.Images, error) { return m.Images, nil }

// Training in the process gives the card and the weights of training in a program; images that their name does not give are refused.
func TestTrain(t *testing.T) {
	kernel(t)
	var sets [2]*dataset.Dataset
	for i, name := range []string{"synthetic/train[count=128]", "synthetic/test[count=16]"} {
		var err error
		if sets[i], err = dataset.Open(name); err != nil {
			t.Fatal(err)
		}
	}
	recipe := model.Recipe{Sigma: 0.25, Method: "consistency", Options: map[string]any{"lambda": 5}, Epochs: 1, Batch: 64, Rate: 0.05, Seed: 3, Test: sets[1]}
	dir := t.TempDir()
	here, there := filepath.Join(dir, "here"), filepath.Join(dir, "there")
	want, err := model.Train(here, sets[0], recipe).Card()
	if err != nil {
		t.Fatal(err)
	}
	var seen int
	if err := remote.Train(t.Context(), there, sets[0], sets[1], recipe, recipe.Options, func(progress.State) { seen++ }); err != nil {
		t.Fatal(err)
	}
	got := openRemote(t, there).Card()
	got.Seconds, got.Waiting = want.Seconds, want.Waiting
	if !reflect.DeepEqual(got, want) {
		t.Errorf("card %+v\nwant %+v", got, want)
	}
	if seen == 0 {
		t.Error("no progress was seen")
	}
	other, err := sets[0].Named("synthetic/test")
	if err != nil {
		t.Fatal(err)
	}
	err = remote.Train(t.Context(), filepath.Join(dir, "other"), other, sets[1], recipe, recipe.Options, nil)
	if err == nil || !strings.Contains(err.Error(), "a name tells") {
		t.Errorf("%v; want that the name tells other images", err)
	}
}

// Errors keep their words and their kind.
func TestErrors(t *testing.T) {
	kernel(t)
	_, want := engine.Open("nowhere/net")
	_, err := remote.Open(t.Context(), "nowhere/net", nil, nil)
	if err == nil || err.Error() != want.Error() || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v; want %v", err, want)
	}
}

// A process that is killed is said to be gone and started again, and the question is answered. One that cannot start says why.
func TestKilled(t *testing.T) {
	dir := kernel(t)
	var said []string
	m, err := remote.Open(t.Context(), small, nil, progress.Messages(func(f string, a ...any) { said = append(said, fmt.Sprintf(f, a...)) }))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	batch, result := classifier.Batch{N: 1, Grid: make([]int16, 784)}, classifier.Result{Classes: make([]int32, 1)}
	if err := m.Classify(t.Context(), batch, &result); err != nil {
		t.Fatal(err)
	}
	first := serving(t, dir)
	if err := syscall.Kill(first[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := m.Classify(t.Context(), batch, &result); err != nil {
		t.Error(err)
	}
	if len(said) != 1 || !strings.Contains(said[0], "started again") {
		t.Errorf("said %q", said)
	}
	if now := serving(t, dir); len(now) != 1 || now[0] == first[0] {
		t.Errorf("processes %v, then %v", first, now)
	}
	t.Setenv("SERVE_TEST", "dies") // another environment: the process is started anew
	if _, err := remote.Open(t.Context(), small, nil, nil); err == nil || !strings.Contains(err.Error(), "out of memory") {
		t.Errorf("%v; want it to hold the last words", err)
	}
}

// Weights stay for the next cell; a replaced file, another environment, another folder and changed sources are never answered with what
// was loaded before.
func TestNothingIsStale(t *testing.T) {
	dir := kernel(t)
	path := filepath.Join(dir, "net")
	put := func(from string) {
		t.Helper()
		for _, ending := range []string{".json", ".safetensors"} {
			text, err := os.ReadFile("../../../notebooks/models/" + from + ending)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path+ending, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	weights := func() string {
		t.Helper()
		m := openRemote(t, path)
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		return info.Identity.Weights
	}
	put("fmnist-cnn-s025")
	first := weights()
	put("fmnist-cnn-s050") // within a second, the files of the same size
	if second := weights(); second == first {
		t.Error("the file before was answered")
	}
	checkout := filepath.Join(dir, "checkout")
	if err := os.MkdirAll(checkout, 0o777); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		change func()
	}{
		{"environment", func() { t.Setenv("CERTSPEC_BACKEND", "go") }},
		{"folder", func() { t.Chdir("..") }},
		{"checkout", func() { t.Setenv("SERVE_CHECKOUT", checkout) }},
		{"source", func() {
			time.Sleep(1100 * time.Millisecond) // changes are told to the second
			if err := os.WriteFile(filepath.Join(checkout, "a.go"), nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		what, before := c.what, serving(t, dir)
		c.change()
		m, err := remote.Open(t.Context(), path, nil, nil)
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		m.Close()
		wait(t, what+": one process, another", func() bool {
			now := serving(t, dir)
			return len(now) == 1 && (len(before) == 0 || now[0] != before[0])
		})
	}
}

// An interrupt ends the wait at once, and the process goes on.
func TestInterrupt(t *testing.T) {
	dir := kernel(t)
	m := openRemote(t, "../../../notebooks/models/cifar10-resnet20-s025")
	batch := classifier.Batch{N: 4000, Grid: make([]int16, 4000*3072)}
	result := classifier.Result{Classes: make([]int32, 4000)}
	if _, err := m.Info(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	since := time.Now()
	if err := m.Classify(ctx, batch, &result); !errors.Is(err, context.Canceled) {
		t.Errorf("%v; want that it was cancelled", err)
	}
	t.Logf("cancelled after %v", time.Since(since))
	few := classifier.Batch{N: 1, Grid: batch.Grid[:3072]}
	if err := m.Classify(t.Context(), few, &result); err != nil {
		t.Error(err)
	}
	if n := len(serving(t, dir)); n != 1 {
		t.Errorf("%d processes", n)
	}
}

// Two kernels have two processes; one ends with its own.
func TestTwoKernels(t *testing.T) {
	one := kernel(t)
	openRemote(t, small)
	t.Run("other", func(t *testing.T) {
		other := kernel(t)
		openRemote(t, small)
		if a, b := serving(t, one), serving(t, other); len(a) != 1 || len(b) != 1 || a[0] == b[0] {
			t.Errorf("processes %v and %v", a, b)
		}
	})
	if n := len(serving(t, one)); n != 1 {
		t.Errorf("%d processes of the kernel that goes on", n)
	}
}

// What cells of paper notebooks ask is answered as the program answers it.
func TestQuestionsOfPapers(t *testing.T) {
	kernel(t)
	const network, set = "../../../notebooks/models/cifar10-resnet20-s025", "synthetic/test[count=2]"
	d, err := dataset.Open(set)
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	attacks := ace.Attacks(8. / 255)[1:2]
	attacks[0].Steps = 1
	want, err := perturb.ConfidencesAt(t.Context(), network, "", images, attacks, nil)
	if err != nil || len(want) != 2 || slices.Equal(want[0].Confidence, want[1].Confidence) {
		t.Fatal(want, err)
	}
	q := resident.Question{Kind: resident.Confidences, Path: network, Sets: [2]resident.Set{{Name: set, Digest: images.Digest}}}
	if q.Input, err = json.Marshal(attacks); err != nil {
		t.Fatal(err)
	}
	var got []ace.Predictions
	if err := resident.Ask(t.Context(), q, nil, &got); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v; %v", got, want, err)
	}
	q.Sets[0].Digest = "sha256:other"
	if err := resident.Ask(t.Context(), q, nil, &got); err == nil || !strings.Contains(err.Error(), "others than those of the cell") {
		t.Errorf("of other images: %v", err)
	}

	m := &recipe.Model{Name: "a@1", Recipe: modelfile.Recipe{Method: "smoothadv", Options: map[string]any{"steps": 5., "epsilon": 0.25}}}
	at := recipe.Tier{Methods: map[string]map[string]int{"smoothadv": {"steps": 3}}}
	step, err := recipe.StepOf(at, m)
	if err != nil || step.Rows != 8*(1+3) || *step.Epsilon != 0.25 {
		t.Fatalf("%+v, %v", step, err)
	}
	if q.Input, err = json.Marshal(map[string]any{"Tier": at, "Model": m}); err != nil {
		t.Fatal(err)
	}
	q.Kind = resident.Step
	var asked recipe.Step
	if err := resident.Ask(t.Context(), q, nil, &asked); err != nil || !reflect.DeepEqual(asked, step) {
		t.Errorf("%+v, want %+v; %v", asked, step, err)
	}
}

// BenchmarkCertify has a program and a cell certify by turns; cell/program is the median of the ratios of their times.
func BenchmarkCertify(b *testing.B) {
	kernel(b)
	data := memory{&imageset.Images{Name: "drawn", Shape: pixel.Shape{Height: 28, Width: 28, Channels: 1},
		Classes: make([]string, 10), Digest: "sha256:drawn", IDs: []int{0}, Labels: []int{0}, Pixels: make([]uint8, 784)}}
	program := model.Open(small)
	defer program.Close()
	models := []classifier.Classifier{program, openRemote(b, small)}
	certify := func(i, n int) float64 {
		start := time.Now()
		o := rs.Options{Sigma: 0.25, MaxSamples: n, Rule: rs.Fixed, Ledger: filepath.Join(b.TempDir(), "run.ledger")}
		if _, err := rs.Certify(b.Context(), models[i], data, o); err != nil {
			b.Fatal(err)
		}
		return time.Since(start).Seconds()
	}
	certify(0, 1000)
	certify(1, 1000)
	var ratios []float64
	for k := 0; b.Loop(); k++ {
		first := certify(k%2, 100_000)
		if second := certify(1-k%2, 100_000); k%2 == 0 {
			ratios = append(ratios, second/first)
		} else {
			ratios = append(ratios, first/second)
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "cell/program")
}
