//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/ood"
)

// A convolutional network that PyTorch exports to ONNX, with a residual, average pooling and a normalisation folded in: its logits,
// interval bounds and CROWN bounds on differences of logits equal a plain form of both in PyTorch, in float64.
func TestExternalNetworkBounds(t *testing.T) {
	program := environment(t, pyenv.Bench)
	path := filepath.Join(t.TempDir(), "net.onnx")
	const images = 4
	var want struct {
		X      [][]float64
		Logits [][]float64
		IBP    [][]float64 // U, row by row, in float64
		CROWN  [][]float64
	}
	const epsilon = 0.02
	pythonOf(t, program, `
import torch, io, contextlib
from torch import nn
import torch.nn.functional as F
torch.manual_seed(7)
torch.set_num_threads(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 8, 3, stride=2, padding=1), nn.Linear(8 * 4 * 4, 20)
        self.d = nn.Linear(20, 5)
    def forward(self, x):
        h = torch.relu(self.a((x - 0.4) / 0.3))
        h = torch.relu(self.b(h))
        return self.d(torch.relu(self.c(h.flatten(1))))
net = Net().eval()
x = torch.randint(0, 256, (arg["images"], 1, 8, 8)) / 255
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    torch.onnx.export(net, (x,), arg["path"], dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
net, x = net.double(), (x * 255).round().double() / 255
eps = arg["epsilon"]
lo, hi = (x - eps).clamp(min=0), (x + eps).clamp(max=1)
K = 5

# Intervals, (centre, radius) form.
bounds = []
c, r = (lo + hi) / 2, (hi - lo) / 2
c, r = (c - 0.4) / 0.3, r / 0.3
for layer in (net.a, net.b):
    conv = lambda z, w, b=None: F.conv2d(z, w, b, stride=layer.stride, padding=layer.padding)
    c, r = conv(c, layer.weight, layer.bias), conv(r, layer.weight.abs())
    bounds.append((c - r, c + r))
    l, u = torch.relu(c - r), torch.relu(c + r)
    c, r = (l + u) / 2, (u - l) / 2
c, r = c.flatten(1), r.flatten(1)
c, r = F.linear(c, net.c.weight, net.c.bias), F.linear(r, net.c.weight.abs())
bounds.append((c - r, c + r))
l, u = torch.relu(c - r), torch.relu(c + r)
c, r = (l + u) / 2, (u - l) / 2
pairs = [(k, j) for k in range(K) for j in range(K)]
D = torch.stack([net.d.weight[k] - net.d.weight[j] for k, j in pairs])
d = torch.stack([net.d.bias[k] - net.d.bias[j] for k, j in pairs])
ibp = F.linear(c, D, d) + F.linear(r, D.abs())

# CROWN: rows of coefficients walk back; adjoints of the layers by autograd.
def crown(i):
    A, const = D.clone(), d.clone()
    def relu(A, const, l, u):
        l, u = l[i].flatten(), u[i].flatten()
        s = torch.where(u > l, u / (u - l), torch.zeros_like(u))
        s = torch.where(l >= 0, torch.ones_like(u), torch.where(u <= 0, torch.zeros_like(u), s))
        low = torch.where(l >= 0, torch.ones_like(u), torch.where(u <= 0, torch.zeros_like(u), (u >= -l).double()))
        offset = torch.where((l < 0) & (u > 0), -s * l, torch.zeros_like(u))
        P, N = A.clamp(min=0), A.clamp(max=0)
        return P * s + N * low, const + P @ offset
    def affine(A, const, f, shape):
        zero = torch.zeros((1,) + shape, dtype=torch.double)
        bias = f(zero).flatten()
        z = torch.zeros((1,) + shape, dtype=torch.double, requires_grad=True)
        rows = [torch.autograd.grad((f(z).flatten() * a).sum(), z)[0].flatten() for a in A]
        return torch.stack(rows), const + A @ bias
    A, const = relu(A, const, *bounds[2])
    A, const = affine(A, const, lambda z: net.c(z.flatten(1)), (8, 4, 4))
    A, const = relu(A, const, *bounds[1])
    A, const = affine(A, const, net.b, (6, 8, 8))
    A, const = relu(A, const, *bounds[0])
    A, const = affine(A, const, lambda z: net.a((z - 0.4) / 0.3), (1, 8, 8))
    return const + A.clamp(min=0) @ hi[i].flatten() + A.clamp(max=0) @ lo[i].flatten()
tight = torch.stack([torch.minimum(crown(i), ibp[i]) for i in range(len(x))])
answer = {"X": x.flatten(1).tolist(), "Logits": net(x).tolist(), "IBP": ibp.tolist(), "CROWN": tight.tolist()}
`, map[string]any{"path": path, "images": images, "epsilon": epsilon}, &want)
	m, err := engine.Open(path, engine.ONNX(onnx.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	n, err := m.FeedForward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range want.X {
		f, err := n.Forward(x)
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range want.Logits[i] {
			if math.Abs(f[k]-v) > 1e-6 { // the exporter rounds (x − 0.4)/0.3 and weights to float32
				t.Errorf("logit %d of image %d is %v, PyTorch %v", k, i, f[k], v)
			}
		}
		plain, err := feedforward.Ball(x, epsilon, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		wide, err := feedforward.Ball(x, epsilon, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		for method, theirs := range map[feedforward.Method][]float64{feedforward.IBP: want.IBP[i], feedforward.CROWN: want.CROWN[i]} {
			u, err := n.Differences(t.Context(), plain, method, feedforward.Plain)
			if err != nil {
				t.Fatal(err)
			}
			rigorous, err := n.Differences(t.Context(), wide, method, feedforward.Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			for p, v := range theirs {
				if p%6 == 0 { // k = l
					continue
				}
				if math.Abs(u[p]-v) > 1e-5 {
					t.Errorf("%s, image %d, pair %d: %v, PyTorch %v", method, i, p, u[p], v)
				}
				if rigorous[p] < v-1e-7 || rigorous[p] > v+1e-2 {
					t.Errorf("%s, image %d, pair %d: rigorous %v, plain %v", method, i, p, rigorous[p], v)
				}
			}
		}
	}
}

// The area under the curve with ties as one half is scikit-learn's.
func TestExternalAUC(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	type pair struct{ In, Foreign []float64 }
	var all []pair
	for n := 2; n < 400; n = 2*n + 1 {
		p := pair{}
		for i := range 3 * n {
			v := math.Round(rng.NormFloat64()*20) / 20 // ties
			if i < n {
				p.In = append(p.In, v+0.5)
			} else {
				p.Foreign = append(p.Foreign, v)
			}
		}
		all = append(all, p)
	}
	var want []float64
	python(t, `
from sklearn.metrics import roc_auc_score
answer = [float(roc_auc_score([1] * len(p["In"]) + [0] * len(p["Foreign"]), p["In"] + p["Foreign"])) for p in arg]`, all, &want)
	for i, p := range all {
		got, err := ood.Area(p.In, p.Foreign)
		if err != nil || math.Abs(got.Value-want[i]) > 1e-12 {
			t.Errorf("%d and %d scores: %v (%v), scikit-learn %v", len(p.In), len(p.Foreign), got.Value, err, want[i])
		}
	}
}
