//go:build external

package external

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/rs"
)

// exported trains a small residual network in PyTorch on patches of three colours, in noise, and writes it by both of PyTorch's exporters: the newer one
// puts the weights into a second file, the older one is told to leave normalisations as nodes of their own. The answer is the share of each test image's noise samples that PyTorch gives its label.
const exported = `
import os, numpy as np, torch
from torch import nn
torch.manual_seed(5)
torch.set_num_threads(1)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 12, 3, padding=1, bias=False), nn.BatchNorm2d(12), nn.ReLU(), nn.MaxPool2d(2))
        self.second = nn.Sequential(nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12), nn.ReLU(), nn.Conv2d(12, 12, 3, padding=1), nn.BatchNorm2d(12))
        self.last = nn.Linear(12 * 4, 3)

    def forward(self, x):
        x = self.first(x)
        x = torch.relu(x + self.second(x))
        return self.last(nn.functional.max_pool2d(x, 3).flatten(1))

def images(n):
    labels = torch.arange(n) % 3
    x = 90 + 60 * torch.rand(n, 3, 12, 12)
    x[torch.arange(n), labels] += torch.linspace(4, 40, n)[:, None, None]
    return x.round(), labels

net, sigma = Net(), arg["sigma"]
x, y = images(240)
order = torch.randperm(len(x))
x, y = x[order], y[order]
steps = torch.optim.Adam(net.parameters(), 0.01)
for step in range(120):
    part = torch.randint(len(x), (48,))
    steps.zero_grad()
    nn.functional.cross_entropy(net(x[part] / 255 + sigma * torch.randn(48, 3, 12, 12)), y[part]).backward()
    steps.step()
net.eval()
test, labels = images(12)
for name, v, c in (("train", x, y), ("test", test, labels)):
    np.save(os.path.join(arg["dir"], name + ".npy"), v.permute(0, 2, 3, 1).numpy().astype(np.uint8))
    np.save(os.path.join(arg["dir"], name + "-labels.npy"), c.numpy())
import contextlib, sys
with contextlib.redirect_stdout(sys.stderr):
    torch.onnx.export(net, (torch.zeros(2, 3, 12, 12),), os.path.join(arg["dir"], "new.onnx"), input_names=["image"], dynamic_shapes=({0: torch.export.Dim("batch")},))
    torch.onnx.export(net, (torch.zeros(2, 3, 12, 12),), os.path.join(arg["dir"], "old.onnx"), input_names=["image"], dynamic_axes={"image": {0: "n"}}, dynamo=False,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False)
import onnx
with torch.no_grad():
    shares = [(net(v / 255 + sigma * torch.randn(arg["n"], 3, 12, 12)).argmax(1) == c).double().mean().item() for v, c in zip(test, labels)]
ops = {name: sorted({n.op_type for n in onnx.load(os.path.join(arg["dir"], name + ".onnx")).graph.node}) for name in ("old", "new")}
answer = {"Shares": shares, "Ops": ops}
`

// A file that PyTorch exported, in 8-bit integers, is certified as what it is, and answers nearly as PyTorch does in float32.
func TestExternalQuantizedTorch(t *testing.T) {
	const sigma, n = 0.25, 2000
	p := newPage(t)
	var want struct {
		Shares []float64
		Ops    map[string][]string
	}
	pythonOf(t, p.python, exported, map[string]any{"dir": p.dir, "sigma": sigma, "n": n}, &want)
	for _, op := range strings.Fields("Add BatchNormalization Conv Gemm MaxPool Relu") {
		if !strings.Contains(strings.Join(want.Ops["old"], " "), op) {
			t.Errorf("PyTorch wrote no %s: %v", op, want.Ops["old"])
		}
	}
	if _, err := os.Stat(filepath.Join(p.dir, "new.onnx.data")); err != nil {
		t.Errorf("PyTorch wrote its weights into the file itself: %v", err)
	}
	for _, name := range []string{"old", "new"} {
		out := p.sh(strings.ReplaceAll(`
			certspec quantize NAME.onnx --data npy:train.npy,train-labels.npy --sigma 0.25 --out NAME-q.onnx
			certspec certify --model NAME-q.onnx --data npy:test.npy,test-labels.npy --sigma 0.25 --n 2000 --rule fixed --seed 3 --out NAME-q.ledger
			certspec certify --model NAME.onnx --data npy:test.npy,test-labels.npy --sigma 0.25 --n 2000 --rule fixed --seed 3 --out NAME.ledger
			certspec ledger verify NAME-q.ledger
			certspec report NAME-q.ledger`, "NAME", name))
		if strings.Contains(out, "in float32:") || !strings.Contains(out, "**The certificate is of the quantised network**") {
			t.Errorf("%s", out)
		}
		run, err := rs.Open(filepath.Join(p.dir, name+"-q.ledger"))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := rs.Open(filepath.Join(p.dir, name+".ledger"))
		if err != nil {
			t.Fatal(err)
		}
		certified, differ := 0, false
		for i, row := range run.Rows {
			// 5 standard deviations of the difference of two shares of n, and what rounding may change.
			tolerance := 5*math.Sqrt(.5/n) + .02
			share := float64(row.K) / float64(row.N)
			if row.Correct() && math.Abs(share-want.Shares[i]) > tolerance || !row.Correct() && want.Shares[i] > .55+tolerance {
				t.Errorf("%s, image %d: class %d with %v of the noise samples in integers, %d with %v in PyTorch", name, i, row.Class, share, row.Label, want.Shares[i])
			}
			if row.Correct() {
				certified++
			}
			differ = differ || row.K != plain.Rows[i].K
		}
		if certified < 6 || !differ {
			t.Errorf("%s: %d of %d images certified; counts differ from those in float32: %v", name, certified, len(run.Rows), differ)
		}
	}
}
