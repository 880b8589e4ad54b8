//go:build external

package external

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/pyenv"
)

// lirpaVariable names a checkout of auto_LiRPA, whose packaged release wants an older PyTorch.
const lirpaVariable = "AUTO_LIRPA"

// Bounds on differences of logits of a residual convolutional network that PyTorch exports equal auto_LiRPA's,
// by intervals and by CROWN from interval bounds between the layers, in float64.
func TestExternalAutoLiRPA(t *testing.T) {
	checkout := os.Getenv(lirpaVariable)
	if checkout == "" {
		t.Skipf("%s names no checkout of auto_LiRPA", lirpaVariable)
	}
	program := environment(t, pyenv.Bench)
	path := filepath.Join(t.TempDir(), "net.onnx")
	const epsilon, classes = 0.02, 5
	var want struct{ X, IBP, CROWN [][]float64 } // U row by row
	pythonOf(t, program, `
import contextlib, io, sys, types
for name in ("appdirs", "graphviz", "tqdm"): # for caches, drawings and progress, which bounds need not
    sys.modules.setdefault(name, types.ModuleType(name))
sys.modules["appdirs"].user_data_dir = lambda *a, **k: arg["folder"]
sys.modules["graphviz"].Digraph = sys.modules["tqdm"].tqdm = None
sys.path.insert(0, arg["checkout"])
import torch
from torch import nn
torch.manual_seed(11)
torch.set_num_threads(1)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(1, 6, 3, padding=1), nn.Conv2d(6, 6, 3, padding=1)
        self.c, self.d = nn.Linear(6 * 8 * 8, 20), nn.Linear(20, arg["classes"])
    def forward(self, x):
        h = torch.relu(self.a(x))
        h = torch.relu(h + self.b(h))
        return self.d(torch.relu(self.c(h.flatten(1))))
net, K, eps = Net().eval(), arg["classes"], arg["epsilon"]
x = torch.randint(0, 256, (4, 1, 8, 8)) / 255
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    torch.onnx.export(net, (x,), arg["path"], dynamo=False, input_names=["x"], output_names=["y"], dynamic_axes={"x": {0: "n"}})
    from auto_LiRPA import BoundedModule, BoundedTensor, PerturbationLpNorm
    net, x = net.double(), (x * 255).round().double() / 255
    ball = BoundedTensor(x, PerturbationLpNorm(norm=float("inf"), x_L=(x - eps).clamp(min=0), x_U=(x + eps).clamp(max=1)))
    one = torch.eye(K).double()
    C = torch.stack([one[k] - one[j] for k in range(K) for j in range(K)])[None].repeat(len(x), 1, 1)
    bounded = BoundedModule(net, torch.zeros_like(x), device="cpu")
    with torch.no_grad():
        ibp, crown = [bounded.compute_bounds(x=(ball,), C=C, method=m, bound_lower=False)[1] for m in ("IBP", "CROWN-IBP")]
answer = {"X": x.flatten(1).tolist(), "IBP": ibp.tolist(), "CROWN": torch.minimum(ibp, crown).tolist()}
`, map[string]any{"checkout": checkout, "folder": t.TempDir(), "path": path, "epsilon": epsilon, "classes": classes}, &want)
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
		ball, err := feedforward.Ball(x, epsilon, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		for method, theirs := range map[feedforward.Method][]float64{feedforward.IBP: want.IBP[i], feedforward.CROWN: want.CROWN[i]} {
			u, err := n.Differences(t.Context(), ball, method, feedforward.Plain)
			if err != nil {
				t.Fatal(err)
			}
			tolerance := 1e-12
			if method == feedforward.CROWN { // whose rows are in float32
				tolerance = 1e-5
			}
			for p, v := range theirs {
				if p%(classes+1) != 0 && math.Abs(u[p]-v) > tolerance {
					t.Errorf("%s, image %d, pair %d: %v, auto_LiRPA %v", method, i, p, u[p], v)
				}
			}
		}
	}
}
