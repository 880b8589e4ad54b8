//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/predictionset"
	"github.com/certspec/certspec/internal/pyenv"
)

// distorted are confidences between 0 and 1 without ties, right with probability sigmoid(.5 ln z − .9 ln(1−z) + .2), which beta maps hold and others do not.
func distorted(n int, seed uint64) (correct []bool, z []float64) {
	random := rand.New(rand.NewPCG(seed, 4))
	for range n {
		v := .01 + .98*random.Float64()
		p := 1 / (1 + math.Exp(-.5*math.Log(v)+.9*math.Log1p(-v)-.2))
		correct, z = append(correct, random.Float64() < p), append(z, v)
	}
	return correct, z
}

func calibrationPython(t *testing.T) string {
	t.Helper()
	return environment(t, pyenv.Calibration)
}

// ECE and maximum error equal netcal's and torchmetrics', and the maps netcal's: ours has no larger
// log-likelihood loss than its, and where both converge the confidences agree.
func TestExternalNetcal(t *testing.T) {
	type sample struct {
		Correct    []bool
		Confidence []float64
	}
	var samples []sample
	for seed := range 3 {
		c, z := distorted(2000, uint64(seed))
		samples = append(samples, sample{c, z})
	}
	var want []struct {
		ECE, MCE                           float64
		Platt, Temperature, Beta, Isotonic []float64
	}
	pythonOf(t, calibrationPython(t), `
import sys
from unittest import mock
import numpy as np, scipy.stats, scipy.optimize, sklearn.isotonic, matplotlib
matplotlib.use("agg")
import matplotlib.pyplot
for name in ["torch", "torch.nn", "torch.nn.functional", "torch.utils", "torch.utils.data"]: # of maps of several variables
    sys.modules[name] = mock.MagicMock()
for name, kind in dict(float=float, int=int, bool=bool).items(): # names that NumPy dropped
    if name not in np.__dict__:
        setattr(np, name, kind)
from netcal.metrics import ECE, MCE
from netcal.scaling import LogisticCalibration, TemperatureScaling, BetaCalibration
from netcal.binning import IsotonicRegression
answer = []
for s in arg:
    z, y = np.array(s["Confidence"]), np.array(s["Correct"]).astype(int)
    a = dict(ECE=float(ECE(10).measure(z, y)), MCE=float(MCE(10).measure(z, y)))
    for name, m in dict(Platt=LogisticCalibration(), Temperature=TemperatureScaling(), Beta=BetaCalibration(), Isotonic=IsotonicRegression()).items():
        m.fit(z, y)
        a[name] = np.asarray(m.transform(z)).reshape(len(z), -1)[:, -1].tolist()
    answer.append(a)`, samples, &want)
	bins, err := calib.Uniform(10, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range samples {
		ece, err := calib.ECE(s.Correct, s.Confidence, bins)
		if err != nil || math.Abs(ece-want[i].ECE) > 1e-9 {
			t.Errorf("ECE %v, %v; netcal %v", ece, err, want[i].ECE)
		}
		all, err := calib.Measure(s.Correct, s.Confidence, bins)
		if err != nil || math.Abs(all.MCE-want[i].MCE) > 1e-9 {
			t.Errorf("MCE %v, %v; netcal %v", all.MCE, err, want[i].MCE)
		}
		for m, theirs := range map[calib.Method][]float64{calib.Platt: want[i].Platt, calib.Temperature: want[i].Temperature, calib.Beta: want[i].Beta, calib.Isotonic: want[i].Isotonic} {
			r, err := calib.FitRecalibration(m, calib.NLL, s.Correct, s.Confidence, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			far := 0.
			var ours []float64
			for k, z := range s.Confidence {
				ours = append(ours, r.At(z))
				far = max(far, math.Abs(ours[k]-theirs[k]))
			}
			if own, its := loss(s.Correct, ours), loss(s.Correct, theirs); own > its+1e-9 || far > 5e-3 {
				t.Errorf("%s: log loss %v and %v of netcal, confidences up to %v apart", m, own, its, far)
			}
		}
	}
}

// loss is the mean log loss; confidences of an isotonic map may be 0 and 1 where they are right.
func loss(correct []bool, z []float64) (sum float64) {
	for i, c := range correct {
		p := z[i]
		if !c {
			p = 1 - p
		}
		sum -= math.Log(max(p, 1e-300)) / float64(len(z))
	}
	return sum
}

// ECE and maximum error equal torchmetrics'.
func TestExternalTorchmetricsCalibration(t *testing.T) {
	correct, z := distorted(3000, 7)
	program := environment(t, pyenv.Bench)
	var want struct{ L1, Max float64 }
	pythonOf(t, program, `
import torch
from torchmetrics.functional.classification import binary_calibration_error as of
z, y = torch.tensor(arg["Confidence"], dtype=torch.float64), torch.tensor(arg["Correct"]).int()
answer = dict(L1=float(of(z, y, n_bins=15, norm="l1")), Max=float(of(z, y, n_bins=15, norm="max")))`, map[string]any{"Correct": correct, "Confidence": z}, &want)
	bins, err := calib.Uniform(15, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	ece, err := calib.ECE(correct, z, bins)
	if err != nil || math.Abs(ece-want.L1) > 1e-5 { // its edges are of 32 bits
		t.Errorf("ECE %v, %v; torchmetrics %v", ece, err, want.L1)
	}
	all, err := calib.Measure(correct, z, bins)
	if err != nil || math.Abs(all.MCE-want.Max) > 1e-4 {
		t.Errorf("MCE %v, %v; torchmetrics %v", all.MCE, err, want.Max)
	}
}

// The sets equal MAPIE's at its levels of confidence, which are our levels β at radius 0 and beyond.
func TestExternalMAPIESets(t *testing.T) {
	const classes, n, m = 5, 200, 300
	random := rand.New(rand.NewPCG(6, 6))
	var rows [][]float64
	var labels []int
	for range n + m {
		row, total := make([]float64, classes), 0.
		for k := range row {
			row[k] = math.Exp(2 * random.NormFloat64())
			total += row[k]
		}
		u, label := random.Float64(), 0
		for k := range row {
			row[k] /= total
		}
		for u -= row[0]; u > 0 && label < classes-1; u -= row[label] {
			label++
		}
		rows, labels = append(rows, row), append(labels, label)
	}
	var levels []float64
	for _, radius := range []float64{0, .125, .25} {
		level, err := predictionset.RobustLevel(.1, radius, .25)
		if err != nil {
			t.Fatal(err)
		}
		levels = append(levels, level)
	}
	var want [][][]bool // by level, image and class
	pythonOf(t, calibrationPython(t), `
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from mapie.classification import SplitConformalClassifier
rows, labels, n = np.array(arg["Rows"]), np.array(arg["Labels"]), arg["N"]
class Known(ClassifierMixin, BaseEstimator):
    def __init__(self):
        self.classes_ = np.arange(rows.shape[1])
    def fit(self, X, y):
        return self
    def __sklearn_is_fitted__(self):
        return True
    def predict_proba(self, X):
        return rows[np.asarray(X)[:, 0].astype(int)]
    def predict(self, X):
        return self.predict_proba(X).argmax(axis=1)
X = np.arange(len(rows)).reshape(-1, 1)
answer = []
for level in arg["Levels"]:
    c = SplitConformalClassifier(Known(), confidence_level=level, conformity_score="lac", prefit=True)
    c.conformalize(X[:n], labels[:n])
    answer.append(c.predict_set(X[n:])[1][:, :, 0].tolist())`, map[string]any{"Rows": rows, "Labels": labels, "N": n, "Levels": levels}, &want)
	var scores []float64
	for i := range n {
		scores = append(scores, 1-rows[i][labels[i]])
	}
	for k, level := range levels {
		at, err := predictionset.Threshold(scores, level)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m {
			var set []bool
			for _, p := range rows[n+i] {
				set = append(set, 1-p <= at)
			}
			if !slices.Equal(set, want[k][i]) {
				t.Fatalf("level %v, image %d, %v: %v, MAPIE %v", level, i, rows[n+i], set, want[k][i])
			}
		}
	}
}
