//go:build external

package external

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/internal/pyenv"
	"github.com/certspec/certspec/lines"
)

func near(a, b, within float64) bool { return math.Abs(a-b) <= within*(1+math.Abs(b)) }

// Least squares and influence against statsmodels, Deming's line against SciPy's orthogonal distance regression.
func TestExternalAccuracyLines(t *testing.T) {
	program := environment(t, pyenv.Soundness) // it has statsmodels
	rng := rand.New(rand.NewPCG(11, 1))
	type set struct {
		X, Y  []float64
		Ratio float64
	}
	var sets []set
	for range 30 {
		var s set
		for range 5 + rng.IntN(40) {
			x := 1 + rng.NormFloat64()
			s.X, s.Y = append(s.X, x), append(s.Y, 0.8*x-0.3+0.2*rng.NormFloat64())
		}
		s.Ratio = math.Exp(rng.NormFloat64())
		sets = append(sets, s)
	}
	var want []struct {
		Intercept, Slope, R2        float64
		Leverage, Cook, Resid, Lone []float64
		Deming                      [2]float64
	}
	pythonOf(t, program, `
import numpy as np, statsmodels.api as sm, warnings
warnings.simplefilter("ignore")
from scipy import odr
answer = []
for s in arg:
    x, y = (np.array(s[k]) for k in "XY")
    m = sm.OLS(y, sm.add_constant(x)).fit()
    i = m.get_influence()
    lone = [float(sm.OLS(np.delete(y, k), sm.add_constant(np.delete(x, k))).fit().params[1]) for k in range(len(x))]
    d = odr.ODR(odr.RealData(x, y, sx=1.0, sy=s["Ratio"]**0.5), odr.unilinear, beta0=list(m.params[::-1]), sstol=1e-15, partol=1e-15, maxit=1000).run()
    answer.append({"Intercept": float(m.params[0]), "Slope": float(m.params[1]), "R2": float(m.rsquared),
        "Leverage": i.hat_matrix_diag.tolist(), "Cook": i.cooks_distance[0].tolist(), "Resid": m.resid.tolist(), "Lone": lone, "Deming": [float(b) for b in d.beta]})`, sets, &want)
	for k, s := range sets {
		w := want[k]
		line, influence, err := lines.Influences(s.X, s.Y)
		if err != nil {
			t.Fatal(err)
		}
		if !near(line.Slope, w.Slope, 1e-10) || !near(line.Intercept, w.Intercept, 1e-10) || !near(line.R2, w.R2, 1e-10) {
			t.Errorf("set %d: %+v; statsmodels %+v", k, line, w)
		}
		for i, p := range influence {
			if !near(p.Leverage, w.Leverage[i], 1e-10) || !near(p.Cook, w.Cook[i], 1e-8) || !near(p.Residual, w.Resid[i], 1e-10) || !near(p.Without.Slope, w.Lone[i], 1e-9) {
				t.Errorf("set %d, point %d: %+v; statsmodels: leverage %v, Cook %v, residual %v, slope without it %v", k, i, p, w.Leverage[i], w.Cook[i], w.Resid[i], w.Lone[i])
			}
		}
		if d, err := lines.Deming(s.X, s.Y, s.Ratio); err != nil || !near(d.Slope, w.Deming[0], 1e-6) || !near(d.Intercept, w.Deming[1], 1e-6) {
			t.Errorf("set %d: Deming %+v, %v; SciPy %v", k, d, err, w.Deming)
		}
	}
}

// Two-sided 95 % intervals of accuracies against SciPy's exact ones, and the probit against its quantiles.
func TestExternalAccuracyIntervals(t *testing.T) {
	counts := [][2]int{{0, 10}, {10, 10}, {5, 10}, {1, 10}, {1600, 2000}, {9000, 10000}, {40963, 50000}, {0, 7500}, {2, 7500}, {749_999, 750_000}}
	var want [][3]float64
	python(t, `
from scipy.stats import binomtest, norm
answer = []
for k, n in arg:
    i = binomtest(k, n).proportion_ci(0.95, method="exact")
    answer.append([float(i.low), float(i.high), float(norm.ppf((k+0.5)/(n+1)))])`, counts, &want)
	for i, c := range counts {
		a, err := lines.Count(c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		got, err := a.Coordinate()
		if err != nil {
			t.Fatal(err)
		}
		if !near(got.Interval.Low, want[i][0], 1e-8) || !near(got.Interval.High, want[i][1], 1e-8) {
			t.Errorf("%v: %v; SciPy %v", c, got.Interval, want[i])
		}
		if z := lines.Probit((float64(c[0]) + 0.5) / (float64(c[1]) + 1)); !near(z, want[i][2], 1e-12) {
			t.Errorf("%v: probit %.15g; SciPy %.15g", c, z, want[i][2])
		}
	}
}

// Accuracy without labels against the two estimates by NumPy: the agreement line by polyfit, ALine-D by least squares over all pairs as a matrix.
func TestExternalAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 1))
	const models, n, m = 7, 1500, 900
	labels := make([]int, n)
	for i := range labels {
		labels[i] = rng.IntN(10)
	}
	draw := func(images int, truth func(int) int, drop float64) (out []lines.Predictions) {
		for k := range models {
			p := lines.Predictions{Model: fmt.Sprint("model ", k)}
			for i := range images {
				class := truth(i)
				if rng.Float64() > 0.9-0.05*float64(k)-drop {
					class = rng.IntN(10)
				}
				p.Classes = append(p.Classes, class)
			}
			out = append(out, p)
		}
		return out
	}
	id := draw(n, func(i int) int { return labels[i] }, 0)
	shifted := draw(m, func(i int) int { return i % 10 }, 0.2)
	var arg struct {
		ID, Shifted [][]int
		Labels      []int
	}
	arg.Labels = labels
	for k := range models {
		arg.ID, arg.Shifted = append(arg.ID, id[k].Classes), append(arg.Shifted, shifted[k].Classes)
	}
	var want struct {
		Slope, Intercept, R2 float64
		S, D                 []float64
	}
	python(t, `
import numpy as np
from scipy.stats import norm
p, q, y = np.array(arg["ID"]), np.array(arg["Shifted"]), np.array(arg["Labels"])
k = len(p)
pairs = [(i, j) for i in range(k) for j in range(i+1, k)]
g = norm.ppf([(p[i] == p[j]).mean() for i, j in pairs]); h = norm.ppf([(q[i] == q[j]).mean() for i, j in pairs])
a, b = np.polyfit(g, h, 1)
acc = norm.ppf((p == y).mean(axis=1))
A = np.zeros((len(pairs), k))
for r, (i, j) in enumerate(pairs): A[r, i] = A[r, j] = 0.5
rhs = h + a*(A @ acc - g)
z = np.linalg.lstsq(A, rhs, rcond=None)[0]
answer = {"Slope": float(a), "Intercept": float(b), "R2": float(np.corrcoef(g, h)[0, 1]**2), "S": norm.cdf(a*acc+b).tolist(), "D": norm.cdf(z).tolist()}`, arg, &want)
	a, err := lines.Agree(t.Context(), id, shifted, labels, nil, lines.AgreeOptions{NoIntervals: true})
	if err != nil {
		t.Fatal(err)
	}
	if !near(a.Line.Slope, want.Slope, 1e-9) || !near(a.Line.Intercept, want.Intercept, 1e-9) || !near(a.Line.R2, want.R2, 1e-9) {
		t.Errorf("line %+v; NumPy %+v", a.Line, want)
	}
	for i, m := range a.Models {
		if !near(m.S, want.S[i], 1e-9) || !near(m.D, want.D[i], 1e-9) {
			t.Errorf("%s: %v and %v; NumPy %v and %v", m.Name, m.S, m.D, want.S[i], want.D[i])
		}
	}
}
