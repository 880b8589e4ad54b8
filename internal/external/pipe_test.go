//go:build external

package external

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/pipe"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

const pipeFolder = "../../examples/pipe"

// patches are images of three classes: the left, middle or right third is brighter, or, in colour, red, green or blue. In the second
// half of the images that is hard to see.
func patches(shape pixel.Shape, n int) *dataset.Images {
	data := &dataset.Images{Name: "patches", Shape: shape, Classes: []string{"first", "second", "third"}, Digest: "sha256:patches"}
	random := rand.New(rand.NewPCG(3, 4))
	for i := range n {
		class := i % 3
		data.IDs, data.Labels = append(data.IDs, 5*i), append(data.Labels, class)
		contrast := 90
		if 2*i > n {
			contrast = 36 / shape.Channels / shape.Channels
		}
		for v := range shape.Len() {
			grey := 60 + random.IntN(60)
			part := 3 * (v % shape.Width) / shape.Width
			if shape.Channels == 3 {
				part = v % 3
			}
			if part == class {
				grey += contrast
			}
			data.Pixels = append(data.Pixels, uint8(grey))
		}
	}
	return data
}

// pipeRun certifies under a program, with a ledger.
func pipeRun(t *testing.T, data *dataset.Images, program string, command ...string) (run *rs.Run, ledger []byte) {
	t.Helper()
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	var stderr bytes.Buffer
	m, err := pipe.Open(append([]string{program}, command...), pipe.Options{Stderr: &stderr})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	path := filepath.Join(t.TempDir(), "pipe.ledger")
	run, err = rs.Certify(t.Context(), m, source{data}, pipeOptions(path))
	if err != nil {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	if ledger, err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return run, ledger
}

func pipeOptions(ledger string) rs.Options {
	return rs.Options{Sigma: 0.5, Rule: rs.Fixed, MaxSamples: 300, Seed: 9, Ledger: ledger}
}

// blocks draws anew, by their addresses, the samples that a run counted for its bounds, one file of int16 grid values per image.
func blocks(t *testing.T, data *dataset.Images) (files []string) {
	t.Helper()
	o := pipeOptions("")
	law, err := noise.NewGrid(o.Sigma)
	if err != nil {
		t.Fatal(err)
	}
	const block = stopping.DefaultBlock
	for i := range data.Len() {
		image := make([]int16, data.Shape.Len())
		for j, v := range data.Image(i) {
			image[j] = int16(v)
		}
		all := make([]int16, o.MaxSamples*len(image))
		for b := range o.MaxSamples / block {
			// The block before them chose the class.
			at := noise.Address{Seed: o.Seed, Image: uint64(data.IDs[i]), Block: uint64(stopping.DefaultSelection/block + b)}
			if failed, err := law.AddTo(all[b*block*len(image):(b+1)*block*len(image)], image, at, 0, nil); err != nil || len(failed) > 0 {
				t.Fatalf("image %d: %v, %v", i, failed, err)
			}
		}
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		bytes := make([]byte, 0, 2*len(all))
		for _, v := range all {
			bytes = append(bytes, byte(v), byte(uint16(v)>>8))
		}
		testkit.Write(t, bytes, file)
		files = append(files, file)
	}
	return files
}

// mortal runs an example so that its process is killed in the middle of its fifth batch, three times in all.
const mortal = `
import os, runpy, signal, sys
sys.path.insert(0, os.path.dirname(sys.argv[2]))
import certspec_pipe
serve, deaths, batches = certspec_pipe.serve, sys.argv[1], 0
def until_death(classify, **about):
    def dying(images):
        global batches
        batches += 1
        answer = classify(images)
        if batches == 5 and os.path.getsize(deaths) < 3:
            with open(deaths, "ab") as f:
                f.write(b"x")
            os.kill(os.getpid(), signal.SIGKILL)
        return answer
    serve(dying, **about)
certspec_pipe.serve = until_death
sys.argv = sys.argv[2:]
runpy.run_path(sys.argv[0], run_name="__main__")
`

// checkPipe certifies under an example. The counts equal those of the same model in another process, where
// inProcess counts the classes of the same samples without a pipe; and a run whose program is killed three
// times writes the same ledger.
func checkPipe(t *testing.T, program string, data *dataset.Images, inProcess, weights string, example string, arguments ...string) {
	t.Helper()
	command := append([]string{filepath.Join(pipeFolder, example), weights}, arguments...)
	run, ledger := pipeRun(t, data, program, command...)

	var counts [][]int
	pythonOf(t, program, inProcess, map[string]any{"weights": weights, "files": blocks(t, data)}, &counts)
	certified, contested := 0, 0
	for i, row := range run.Rows {
		if slices.Max(counts[i]) < pipeOptions("").MaxSamples {
			contested++
		}
		if row.Certified() {
			certified++
			if row.K != counts[i][row.Class] {
				t.Errorf("image %d: %d samples of class %d over the pipe; in process the classes count %v", i, row.K, row.Class, counts[i])
			}
		} else if row.K > slices.Max(counts[i]) {
			t.Errorf("image %d: %+v; in process the classes count %v", i, row, counts[i])
		}
	}
	if certified == 0 || contested < data.Len()/4 {
		t.Errorf("%d of %d images certified, %d with samples of several classes; a weak test", certified, data.Len(), contested)
	}

	deaths := testkit.Write(t, nil, t.TempDir(), "deaths")
	_, killed := pipeRun(t, data, program, append([]string{"-c", mortal, deaths}, command...)...)
	if died, err := os.ReadFile(deaths); err != nil || len(died) != 3 {
		t.Errorf("the program died %d times (%v); expected 3", len(died), err)
	}
	if !bytes.Equal(killed, ledger) {
		t.Errorf("after three kills the ledger is\n%s\nwithout them\n%s", killed, ledger)
	}
}

// oneThread keeps small products from waiting for threads.
func oneThread(t *testing.T) {
	t.Setenv("OMP_NUM_THREADS", "1")
	t.Setenv("OPENBLAS_NUM_THREADS", "1")
}

// writePatches gives Python its training images, as bytes.
func writePatches(t *testing.T, data *dataset.Images) (images string) {
	t.Helper()
	images = filepath.Join(t.TempDir(), "images")
	testkit.Write(t, data.Pixels, images)
	return images
}

// A logistic regression of scikit-learn, served by its example.
func TestExternalScikitLearnOverPipe(t *testing.T) {
	oneThread(t)
	shape := pixel.Shape{Height: 9, Width: 9, Channels: 1}
	training, data := patches(shape, 600), patches(shape, 15)
	weights, done := filepath.Join(t.TempDir(), "model.joblib"), false
	python(t, `
import joblib, numpy as np
from sklearn.linear_model import LogisticRegression
x = np.fromfile(arg["images"], np.uint8).reshape(600, 81) / np.float32(255)
x = x + np.random.default_rng(1).normal(0, 0.5, x.shape).astype(np.float32)
model = LogisticRegression(max_iter=300).fit(x, arg["labels"])
joblib.dump(model, arg["weights"])
answer = bool(model.score(x, arg["labels"]) > 0.5)
`, map[string]any{"images": writePatches(t, training), "labels": training.Labels, "weights": weights}, &done)
	if !done {
		t.Fatal("the model learnt nothing")
	}
	// The decision is taken from the coefficients, in float64.
	checkPipe(t, interpreter(t), data, `
import joblib, numpy as np
model = joblib.load(arg["weights"])
answer = []
for file in arg["files"]:
    x = np.fromfile(file, "<i2").reshape(-1, 81).astype(np.float32) / 255
    classes = (x.astype(float) @ model.coef_.T.astype(float) + model.intercept_).argmax(axis=1)
    answer.append(np.bincount(classes, minlength=3).tolist())
`, weights, "sklearn_model.py", "9", "9", "1")
}

// A small network of PyTorch, served by its example.
func TestExternalPyTorchOverPipe(t *testing.T) {
	program, err := pyenv.Ensure(context.Background(), pyenv.Bench, progress.Messages(t.Logf))
	if err != nil {
		t.Skipf("PyTorch, several gigabytes, cannot be installed here: %v", err)
	}
	oneThread(t)
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	training, data := patches(shape, 300), patches(shape, 9)
	weights, done := filepath.Join(t.TempDir(), "weights.pt"), false
	// The network and its normalisation are written here once more, from the layers that the example names.
	const network = `
import numpy as np, torch
import torch.nn.functional as F
mean = torch.tensor([0.4914, 0.4822, 0.4465]).view(3, 1, 1)
std = torch.tensor([0.2470, 0.2435, 0.2616]).view(3, 1, 1)
def logits(w, x):
    x = (x - mean) / std
    x = F.relu(F.conv2d(x, w["0.weight"], w["0.bias"], stride=2, padding=1))
    x = F.relu(F.conv2d(x, w["2.weight"], w["2.bias"], stride=2, padding=1))
    return x.mean(dim=(2, 3)) @ w["6.weight"].T + w["6.bias"]
`
	pythonOf(t, program, network+`
torch.manual_seed(1)
x = torch.tensor(np.fromfile(arg["images"], np.uint8).reshape(-1, 32, 32, 3)).permute(0, 3, 1, 2) / 255
y = torch.tensor(arg["labels"])
w = {"0.weight": torch.randn(32, 3, 3, 3) * 0.2, "0.bias": torch.zeros(32), "2.weight": torch.randn(64, 32, 3, 3) * 0.08, "2.bias": torch.zeros(64),
     "6.weight": torch.randn(10, 64) * 0.1, "6.bias": torch.zeros(10)}
for tensor in w.values():
    tensor.requires_grad_()
optimizer = torch.optim.Adam(w.values(), 0.01)
for step in range(60):
    at = torch.randint(len(x), (30,))
    loss = F.cross_entropy(logits(w, x[at] + 0.5 * torch.randn(30, 3, 32, 32)), y[at])
    optimizer.zero_grad(); loss.backward(); optimizer.step()
torch.save({name: tensor.detach() for name, tensor in w.items()}, arg["weights"])
answer = bool(loss < 1.2)
`, map[string]any{"images": writePatches(t, training), "labels": training.Labels, "weights": weights}, &done)
	if !done {
		t.Fatal("the network learnt nothing")
	}
	checkPipe(t, program, data, network+`
w = torch.load(arg["weights"], weights_only=True)
answer = []
for file in arg["files"]:
    x = torch.tensor(np.fromfile(file, "<i2").reshape(-1, 32, 32, 3)).permute(0, 3, 1, 2).float() / 255
    with torch.no_grad():
        classes = torch.cat([logits(w, part).argmax(dim=1) for part in x.split(100)])
    answer.append(torch.bincount(classes, minlength=10).tolist())
`, weights, "pytorch_model.py")
}
