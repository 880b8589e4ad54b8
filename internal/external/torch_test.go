//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// A residual network, exported in PyTorch's names and layouts, evaluated by NumPy as PyTorch defines its
// layers; and the weights that NumPy writes, imported again.
func TestExternalTorchWeights(t *testing.T) {
	a := nets.Architecture{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 4}
	random := rand.New(rand.NewPCG(1, 2))
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a}}
	for _, tensor := range a.Tensors() {
		values := tensor.Initialize(3)
		for i := range values {
			if strings.HasSuffix(tensor.Name, "/variance") {
				values[i] = 0.5 + random.Float32()
			} else {
				values[i] += float32(0.05 * random.NormFloat64())
			}
		}
		m.Weights = append(m.Weights, modelfile.Tensor{Name: tensor.Name, Shape: tensor.Shape, Values: values})
	}
	const images = 5
	batch := classifier.Batch{N: images, Real: make([]float32, images*a.Shape.Len())}
	for i := range batch.Real {
		batch.Real[i] = random.Float32()
	}
	for _, ending := range []string{torch.NPZ, torch.Safetensors} {
		ours, theirs := filepath.Join(t.TempDir(), "ours"+ending), filepath.Join(t.TempDir(), "theirs"+ending)
		if err := torch.Write(ours, torch.ExportWeights(m), nil); err != nil {
			t.Fatal(err)
		}
		var want [][]float64
		python(t, `
import numpy as np
if arg["ours"].endswith(".npz"):
    w = dict(np.load(arg["ours"]))
    save = lambda tensors: np.savez(arg["theirs"], **tensors)
else:
    from safetensors.numpy import load_file, save_file
    w = load_file(arg["ours"])
    save = lambda tensors: save_file(tensors, arg["theirs"])
wrapped = {"module." + name: v for name, v in w.items()}
wrapped["module.bn1.num_batches_tracked"] = np.array(7, dtype=np.int64)
save(wrapped)

def conv(x, kernel, stride):
    out, _, size, _ = kernel.shape
    pad = size // 2
    x = np.pad(x, ((0, 0), (0, 0), (pad, pad), (pad, pad)))
    windows = np.lib.stride_tricks.sliding_window_view(x, (size, size), axis=(2, 3))
    return np.einsum("ncijyx,ocyx->noij", windows[:, :, ::stride, ::stride], kernel)

def norm(x, name):
    weight, bias, mean, var = (w[name + "." + kind][:, None, None] for kind in ("weight", "bias", "running_mean", "running_var"))
    return (x - mean) / np.sqrt(var + 1e-5) * weight + bias

w = {name: v.astype(np.float64) for name, v in w.items()}
relu = lambda x: np.maximum(x, 0)
x = np.array(arg["images"]).reshape(arg["n"], 8, 8, 3).transpose(0, 3, 1, 2)
x = relu(norm(conv(x, w["conv1.weight"], 1), "bn1"))
for layer, stride in (("layer1.0", 1), ("layer2.0", 2), ("layer3.0", 2)):
    y = relu(norm(conv(x, w[layer + ".conv1.weight"], stride), layer + ".bn1"))
    y = norm(conv(y, w[layer + ".conv2.weight"], 1), layer + ".bn2")
    if stride > 1:
        x = norm(conv(x, w[layer + ".downsample.0.weight"], stride), layer + ".downsample.1")
    x = relu(x + y)
logits = x.mean(axis=(2, 3)) @ w["fc.weight"].T + w["fc.bias"]
e = np.exp(logits - logits.max(axis=1, keepdims=True))
answer = (e / e.sum(axis=1, keepdims=True)).tolist()`,
			map[string]any{"ours": ours, "theirs": theirs, "n": images, "images": batch.Real}, &want)

		file, err := torch.Read(theirs, "")
		if err != nil {
			t.Fatal(err)
		}
		imported := &modelfile.Model{Card: m.Card}
		if imported.Weights, err = torch.ImportWeights(file.Tensors, a, torch.ConvolvedShortcuts); err != nil {
			t.Fatal(err)
		}
		b := engines.Backend(t, "go")
		net, err := infer.Load(b, "imported", imported)
		if err != nil {
			t.Fatal(err)
		}
		result := classifier.Result{Classes: make([]int32, images), Scores: make([]float32, images*a.Classes)}
		if err := net.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		for i, row := range want {
			for c, score := range row {
				if got := float64(result.Scores[i*a.Classes+c]); math.Abs(got-score) > 1e-5 {
					t.Errorf("%s: image %d, class %d: score %v, NumPy has %v", ending, i, c, got, score)
				}
			}
		}
		if err := net.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
