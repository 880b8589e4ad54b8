//go:build external

package external

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// families defines the networks of both families of RobustNets, narrower by arg["width"], prunes their weights at random, and saves them
// as its checkpoints are: every tensor with "weight" in its name as (places, values, flat shape, shape).
const families = `
import numpy as np, torch
from torch import nn
torch.manual_seed(8)
torch.set_num_threads(1)

def wide(n):
    return max(round(n * arg["width"]), 8)

def conv(i, o, size, bias=False, stride=1):
    return nn.Conv2d(i, o, size, stride, size // 2, bias=bias)

class Conv8(nn.Module):
    def __init__(self):
        super().__init__()
        parts, width = [], 3
        for n in (64, 128, 256, 512):
            parts += [conv(width, wide(n), 3), nn.ReLU(), conv(wide(n), wide(n), 3), nn.ReLU(), nn.MaxPool2d(2)]
            width = wide(n)
        self.convs = nn.Sequential(*parts)
        last = conv(wide(256), 10, 1)
        if arg["twin"]:
            self.output = last
        self.linear = nn.Sequential(conv(4 * width, wide(256), 1), nn.ReLU(), conv(wide(256), wide(256), 1), nn.ReLU(), last)

    def forward(self, x):
        return self.linear(self.convs(x).reshape(len(x), -1, 1, 1)).flatten(1)

class Step(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv, self.bn = conv(i, o, 3, True), nn.BatchNorm2d(o)

    def forward(self, x):
        return torch.relu(self.bn(self.conv(x)))

class VGG(nn.Module):
    def __init__(self):
        super().__init__()
        parts, width = [], 3
        for group in ((64,) * 2, (128,) * 2, (256,) * 3, (512,) * 3, (512,) * 3):
            for n in group:
                if arg["biased"]:
                    parts += [Step(width, wide(n))]
                else:
                    parts += [conv(width, wide(n), 3), nn.BatchNorm2d(wide(n), affine=arg["affine"]), nn.ReLU()]
                width = wide(n)
            parts += [nn.MaxPool2d(2)]
        body = nn.Sequential(*parts[:-1])
        if arg["biased"]:
            self.layers, self.fc = body, nn.Linear(width, 10)
        else:
            self.convs, self.linear = body, nn.Sequential(conv(width, 10, 1))

    def forward(self, x):
        if arg["biased"]:
            return self.fc(nn.functional.avg_pool2d(self.layers(x), 2).flatten(1))
        return self.linear(nn.functional.avg_pool2d(self.convs(x), 2)).flatten(1)

class Block(nn.Module):
    def __init__(self, i, o, stride):
        super().__init__()
        norm = lambda: nn.BatchNorm2d(o, affine=arg["affine"])
        self.conv1, self.bn1, self.conv2, self.bn2 = conv(i, o, 3, stride=stride), norm(), conv(o, o, 3), norm()
        way = nn.Sequential()
        if stride > 1 or i != o:
            way = nn.Sequential(conv(i, o, 1, stride=stride), norm())
        setattr(self, "downsample" if arg["biased"] else "shortcut", way)

    def forward(self, x):
        way = self.downsample if arg["biased"] else self.shortcut
        return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + way(x))

class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        width = wide(64)
        self.conv1, self.bn1 = conv(3, width, 3), nn.BatchNorm2d(width, affine=arg["affine"])
        for stage, n in enumerate((64, 128, 256, 512)):
            setattr(self, "layer%d" % (stage + 1), nn.Sequential(Block(width, wide(n), 2 if stage else 1), Block(wide(n), wide(n), 1)))
            width = wide(n)
        self.fc = nn.Linear(width, 10) if arg["biased"] else conv(width, 10, 1)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean((2, 3), keepdim=True)
        return self.fc(x.flatten(1) if arg["biased"] else x).flatten(1)

net = {"conv8": Conv8, "vgg": VGG, "resnet": ResNet}[arg["net"]]()
net.train()
net(torch.rand(8, 3, 32, 32)) # running averages
net.eval()
with torch.no_grad():
    for p in net.parameters():
        if p.dim() > 1:
            p *= torch.rand(p.shape) < 0.1
            p *= 3
dense = net.state_dict()
np.savez(arg["path"], **{name: v.numpy() for name, v in dense.items()})
images = torch.tensor(arg["images"]).reshape(-1, 32, 32, 3).permute(0, 3, 1, 2)
with torch.no_grad():
    answer = {"logits": net(images).double().tolist(), "tensors": {name: v.double().reshape(-1).tolist() for name, v in dense.items()}}
`

// Weights in the names of RobustNets, of both families, are read exactly, and give PyTorch's logits.
func TestExternalRobustNets(t *testing.T) {
	program := environment(t, pyenv.Bench)
	b := engines.Backend(t, "go")
	const n, classes, width = 2, 10, 1. / 16
	images := make([]float32, n*32*32*3)
	for i := range images {
		images[i] = float32(i*7919%1000) / 999
	}
	for _, c := range []struct {
		ours, net            string
		biased, affine, twin bool
	}{
		{"conv8", "conv8", false, false, true}, {"conv8", "conv8", false, false, false},
		{"vgg16", "vgg", true, true, false}, {"vgg16-unbiased", "vgg", false, true, false}, {"vgg16-unbiased", "vgg", false, false, false},
		{"resnet18", "resnet", true, true, false}, {"resnet18-unbiased", "resnet", false, false, false},
	} {
		path := filepath.Join(t.TempDir(), "net.npz")
		var want struct {
			Logits  [][]float64
			Tensors map[string][]float64
		}
		pythonOf(t, program, families, map[string]any{"path": path, "images": images, "width": width,
			"net": c.net, "biased": c.biased, "affine": c.affine, "twin": c.twin}, &want)
		file, err := torch.Read(path, "")
		if err != nil {
			t.Fatal(err)
		}
		if len(file.Tensors) != len(want.Tensors) {
			t.Errorf("%s: %d tensors; expected %d", c.ours, len(file.Tensors), len(want.Tensors))
		}
		for _, got := range file.Tensors {
			if len(got.Values) != len(want.Tensors[got.Name]) {
				t.Fatalf("%s: %s has %d values; expected %d", c.ours, got.Name, len(got.Values), len(want.Tensors[got.Name]))
			}
			for i, v := range got.Values {
				if float64(v) != want.Tensors[got.Name][i] {
					t.Fatalf("%s: %s[%d] is %v; expected %v", c.ours, got.Name, i, v, want.Tensors[got.Name][i])
				}
			}
		}
		a := nets.Architecture{Name: c.ours, Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: classes, Width: width}
		m := &modelfile.Model{Card: modelfile.Card{Architecture: a}}
		if m.Weights, err = torch.ImportWeights(file.Tensors, a, ""); err != nil {
			t.Fatal(err)
		}
		net, err := infer.Load(b, c.ours, m)
		if err != nil {
			t.Fatal(err)
		}
		defer net.Close()
		result := classifier.Result{Classes: make([]int32, n), Scores: make([]float32, n*classes)}
		if err := net.Classify(t.Context(), classifier.Batch{N: n, Real: images}, &result); err != nil {
			t.Fatal(err)
		}
		largest, apart := 0., 0.
		for i, logits := range want.Logits {
			for k, v := range logits {
				got := math.Log(float64(result.Scores[i*classes+k]) / float64(result.Scores[i*classes]))
				largest = max(largest, math.Abs(v-logits[0]))
				apart = max(apart, math.Abs(got-(v-logits[0])))
			}
		}
		if !(apart <= 1e-4*max(largest, 1e-3)) || largest == 0 {
			t.Errorf("%s: logits differ by %g of at most %g", c.ours, apart, largest)
		}
		t.Logf("%s: largest difference of logits %.3g, from PyTorch's %.1e", c.ours, largest, apart)
	}
}
