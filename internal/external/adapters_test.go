//go:build external

package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/pyenv"
)

// The adapters in examples/python, beside ART itself and a stand-in for the classes of VERONA.
func TestExternalAdapters(t *testing.T) {
	torch := environment(t, pyenv.Bench)
	art := environment(t, pyenv.Soundness)
	packages, err := exec.Command(art, "-c", "import sysconfig; print(sysconfig.get_path('purelib'), end='')").Output()
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	path := []string{filepath.Join(root, "python"), filepath.Join(root, "examples", "python"), string(packages)}
	t.Setenv("PYTHONPATH", strings.Join(path, string(os.PathListSeparator)))
	t.Setenv("CERTSPEC_PROGRAM", builtProgram(t))
	var got struct {
		Abstain       []int
		Ours, Theirs  []float64
		Classes, Same []int
		Epsilon       []float64
		Verifier      string
		Chosen        []int
	}
	pythonOf(t, torch, `
import sys, types, dataclasses
import numpy as np, torch
from art.estimators.certification.randomized_smoothing import PyTorchRandomizedSmoothing
from art.estimators.classification import PyTorchClassifier
from art_smoothing import CertspecSmoothing

torch.manual_seed(1)
net = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten())  # the brightest channel
how = dict(model=net, loss=torch.nn.CrossEntropyLoss(), input_shape=(3, 8, 8), nb_classes=3, device_type="cpu")
x = np.full((4, 3, 8, 8), 100 / 255, np.float32)
for image, channel, more in zip(x, (0, 1, 2, 2), (40, 20, 10, 0)):
    image[channel] += more / 255
ours = CertspecSmoothing(PyTorchClassifier(**how), scale=0.25, sample_size=200)
theirs = PyTorchRandomizedSmoothing(sample_size=200, scale=0.25, alpha=0.001, **how)
classes, radii = ours.certify(x, n=2000)
same, radius = theirs.certify(x, n=2000)
answer = dict(Ours=radii.tolist(), Theirs=np.asarray(radius, float).tolist(), Classes=classes.tolist(),
              Same=np.asarray(same).tolist(), Abstain=ours.predict(x).sum(axis=1).astype(int).tolist())

@dataclasses.dataclass
class EpsilonValueResult:
    verification_context: object
    epsilon: float
    smallest_sat_value: float
    time: float = None
    verifier: str = None

for name in ("ada_verona", "ada_verona.database"):
    sys.modules[name] = types.ModuleType(name)
module = types.ModuleType("ada_verona.database.epsilon_value_result")
module.EpsilonValueResult = EpsilonValueResult
sys.modules[module.__name__] = module
from verona_estimator import CertspecEstimator, correct_by_class
network = types.SimpleNamespace(load_pytorch_model=lambda: net)
found = []
for label, image in ((0, x[0]), (1, x[0])):
    point = types.SimpleNamespace(data=torch.from_numpy(image), label=label)
    context = types.SimpleNamespace(network=network, data_point=point)
    found.append(CertspecEstimator(0.25, n=2000, rule="fixed").compute_epsilon_value(context))
answer.update(Epsilon=[one.epsilon for one in found], Verifier=found[0].verifier)
labels = np.array([0, 0, 0, 1, 1, 1, 2, 2])
answer["Chosen"] = correct_by_class([0, 0, 1, 1, 1, 0, 2, 2], labels, 2).tolist()
try:
    correct_by_class([0, 1, 1, 1, 1, 0, 2, 2], labels, 2)
    answer["Chosen"] = None
except ValueError as error:
    assert "1 right" in str(error), error
`, nil, &got)
	for i, radius := range got.Ours[:3] {
		// Both bound a share of 2,000 votes; ours rounds noise to the grid, and its noise is another.
		if got.Classes[i] != i || got.Same[i] != i || radius < .1 || max(radius, got.Theirs[i]) > 1.3*min(radius, got.Theirs[i]) {
			t.Errorf("image %d: class %d and %g; ART: %d and %g", i, got.Classes[i], radius, got.Same[i], got.Theirs[i])
		}
	}
	if got.Classes[3] != -1 || got.Ours[3] != 0 || got.Abstain[0] != 1 || got.Abstain[3] != 0 {
		t.Errorf("a tie: class %d, radius %g, %v", got.Classes[3], got.Ours[3], got.Abstain)
	}
	if got.Epsilon[0] != got.Ours[0] && got.Epsilon[0] < .1 || got.Epsilon[1] != 0 || !strings.Contains(got.Verifier, "l2") {
		t.Errorf("VERONA gets %v of %q", got.Epsilon, got.Verifier)
	}
	if len(got.Chosen) != 6 || got.Chosen[0] != 0 || got.Chosen[1] != 1 || got.Chosen[5] != 7 {
		t.Errorf("chosen %v", got.Chosen)
	}
}
