//go:build external

package external

import (
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// residual defines CIFAR residual networks in PyTorch, with the names that the parts have in public
// repositories, saves them as these do, and answers with their logits. It is the network of He et al. 2016,
// section 4.2, where arg["width"] is 16 and there are three stages.
const residual = `
import numpy as np, torch
from torch import nn
torch.manual_seed(4)
torch.set_num_threads(1)

class Pad(nn.Module):
    def forward(self, x):
        half = x.shape[1] // 2
        return nn.functional.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, half))

class Block(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        way = nn.Identity()
        if stride > 1:
            way = Pad() if arg["padded"] else nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs))
        setattr(self, arg["shortcut"], way)

    def forward(self, x):
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + getattr(self, arg["shortcut"])(x))

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        width = arg["width"]
        self.conv1 = nn.Conv2d(3, width, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        for stage in range(arg["stages"]):
            first = Block(width if stage == 0 else width * 2 ** (stage - 1), width * 2 ** stage, 1 if stage == 0 else 2)
            rest = [Block(width * 2 ** stage, width * 2 ** stage, 1) for _ in range(arg["blocks"] - 1)]
            setattr(self, "layer%d" % (stage + 1), nn.Sequential(first, *rest))
        setattr(self, arg["head"], nn.Linear(width * 2 ** (arg["stages"] - 1), 10))

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        for stage in range(arg["stages"]):
            x = getattr(self, "layer%d" % (stage + 1))(x)
        return getattr(self, arg["head"])(x.mean((2, 3)))

class Normalize(nn.Module): # no buffers, as in locuslab/smoothing
    def __init__(self):
        super().__init__()
        self.means, self.sds = torch.tensor(arg["mean"]), torch.tensor(arg["std"])

    def forward(self, x):
        return (x - self.means[:, None, None]) / self.sds[:, None, None]

class Wrapped(nn.Module): # as nn.DataParallel names what it holds
    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x):
        return self.module(x)

net = Net()
if arg["parallel"]:
    net = Wrapped(net)
full = nn.Sequential(Normalize(), net)
for m in full.modules():
    if isinstance(m, nn.BatchNorm2d):
        nn.init.uniform_(m.weight, 0.5, 1.5)
        nn.init.normal_(m.bias, 0, 0.3)
saved = full if arg["inside"] else net
optimizer = torch.optim.SGD(full.parameters(), 0.001, momentum=0.9)
full.train()
for _ in range(3): # running averages, counters and momenta as after training
    optimizer.zero_grad()
    nn.functional.cross_entropy(full(torch.rand(4, 3, 32, 32)), torch.arange(4)).backward()
    optimizer.step()
full.eval()
state = saved.state_dict()
if arg["path"].endswith(".npz"):
    np.savez(arg["path"], **{name: v.numpy() for name, v in state.items()})
else:
    torch.save({"epoch": 3, "arch": "net", arg["key"]: state, "optimizer": optimizer.state_dict(), "best": torch.tensor(0.5)}, arg["path"],
               _use_new_zipfile_serialization=not arg["old"])
images = torch.tensor(arg["images"]).reshape(-1, 32, 32, 3).permute(0, 3, 1, 2)
with torch.no_grad():
    answer = full(images).double().tolist()
`

var (
	cifar    = map[string]any{"mean": []float64{0.4914, 0.4822, 0.4465}, "std": []float64{0.2023, 0.1994, 0.2010}}
	imageNet = map[string]any{"mean": []float64{0.485, 0.456, 0.406}, "std": []float64{0.229, 0.224, 0.225}}
)

// Checkpoints as public repositories save them are imported by the command line and give PyTorch's logits. Scores tell logits
// but for a constant per image, so both are compared without their mean.
func TestExternalCheckpoints(t *testing.T) {
	certspec := builtProgram(t)
	program := environment(t, pyenv.Bench)
	b := engines.Backend(t, "go")
	const n, classes = 4, 10
	batch := classifier.Batch{N: n, Real: make([]float32, n*32*32*3)}
	for i := range batch.Real {
		batch.Real[i] = float32(i*7919%1000) / 999
	}
	for name, c := range map[string]struct {
		file  string
		input map[string]any
		net   map[string]any
		flags []string
		want  string // error
	}{
		"locuslab/smoothing": {
			"checkpoint.pth.tar", cifar,
			map[string]any{"shortcut": "downsample", "head": "fc", "key": "state_dict", "old": true, "inside": true},
			[]string{"--net", "resnet20", "--input", "standardize"}, "",
		},
		"locuslab/smoothing, on several devices": {
			"checkpoint.pth.tar", cifar,
			map[string]any{"shortcut": "downsample", "head": "fc", "key": "state_dict", "inside": true, "parallel": true},
			[]string{"--net", "resnet20", "--input", "standardize"}, "",
		},
		"akamaster/pytorch_resnet_cifar10": {
			"model.th", imageNet,
			map[string]any{"shortcut": "shortcut", "head": "linear", "key": "state_dict", "parallel": true, "padded": true},
			[]string{"--net", "resnet20", "--input", "imagenet", "--shortcuts", "padded"}, "",
		},
		"akamaster/pytorch_resnet_cifar10, option B, as npz": {
			"model.npz", imageNet,
			map[string]any{"shortcut": "shortcut", "head": "linear", "parallel": true, "blocks": 5},
			[]string{"--net", "resnet32", "--input", "imagenet"}, "",
		},
		"padding not said": {
			"model.th", imageNet,
			map[string]any{"shortcut": "shortcut", "head": "linear", "key": "state_dict", "parallel": true, "padded": true},
			[]string{"--net", "resnet20", "--input", "imagenet"}, "import them as padded",
		},
		"kuangliu/pytorch-cifar": {
			"ckpt.pth", cifar,
			map[string]any{"shortcut": "shortcut", "head": "linear", "key": "net", "width": 64, "stages": 4, "blocks": 2},
			[]string{"--net", "resnet18", "--input", "standardize"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			arg := map[string]any{"path": filepath.Join(dir, c.file), "images": batch.Real, "width": 16, "stages": 3, "blocks": 3,
				"padded": false, "parallel": false, "inside": false, "old": false, "key": ""}
			for _, more := range []map[string]any{c.input, c.net} {
				for key, value := range more {
					arg[key] = value
				}
			}
			var want [][]float64
			pythonOf(t, program, residual, arg, &want)
			to := filepath.Join(dir, "imported")
			weights := arg["path"].(string)
			if filepath.Ext(weights) != ".npz" {
				weights = converted(t, program, certspec, weights)
			}
			out, err := exec.Command(certspec, append([]string{"import", "--weights", weights, "--out", to}, c.flags...)...).CombinedOutput()
			if c.want != "" {
				if err == nil || !strings.Contains(string(out), c.want) {
					t.Errorf("%v, %s; expected an error with %q", err, out, c.want)
				}
				return
			}
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			m, err := modelfile.Read(to)
			if err != nil {
				t.Fatal(err)
			}
			net, err := infer.Load(b, name, m)
			if err != nil {
				t.Fatal(err)
			}
			defer net.Close()
			result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*classes)}
			if err := net.Classify(t.Context(), batch, &result); err != nil {
				t.Fatal(err)
			}
			largest, apart := 0., 0.
			for i, logits := range want {
				meanWant, meanGot := 0., 0.
				for k, v := range logits {
					meanWant += v / classes
					meanGot += math.Log(float64(result.Scores[i*classes+k])) / classes
				}
				for k, v := range logits {
					largest = max(largest, math.Abs(v))
					apart = max(apart, math.Abs(math.Log(float64(result.Scores[i*classes+k]))-meanGot-(v-meanWant)))
				}
			}
			if !(apart <= 1e-4*largest) || largest < 0.1 {
				t.Errorf("logits differ by %g of at most %g", apart, largest)
			}
			t.Logf("largest logit %.3g, greatest difference %.1e", largest, apart)
		})
	}
}

// converted runs the line of Python that the program prints for a checkpoint, and gives the safetensors file.
func converted(t *testing.T, python, certspec, weights string) string {
	t.Helper()
	said, err := exec.Command(certspec, "import", "--weights", weights, "--net", "resnet20", "--out", filepath.Join(t.TempDir(), "out")).CombinedOutput()
	if err == nil {
		t.Fatalf("%s was imported as it is", weights)
	}
	line := regexp.MustCompile(`(?m)^ +python (-c '.*save_file.* (\S+))$`).FindSubmatch(said)
	if line == nil {
		t.Fatalf("no line of Python in\n%s", said)
	}
	if out, err := exec.Command("sh", "-c", python+" "+string(line[1])).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line[1], err, out)
	}
	return string(line[2])
}
