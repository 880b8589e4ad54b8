//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/pyenv"
)

// The smooth calibration error is that of its authors' program, for calibrated, over-confident and certain models, few samples and many.
func TestExternalSmoothECE(t *testing.T) {
	type set struct {
		Correct    []bool
		Confidence []float64
	}
	random := rand.New(rand.NewPCG(2, 23))
	var sets []set
	for _, n := range []int{1, 2, 7, 100, 3000, 40000} {
		for _, power := range []float64{1, 0.5, 3, 0} { // accuracy of confidence z: z to this power
			s := set{}
			for range n {
				z := 1 - random.Float64()*random.Float64()
				if random.IntN(10) == 0 {
					z = float64(random.IntN(2))
				}
				s.Confidence = append(s.Confidence, z)
				s.Correct = append(s.Correct, random.Float64() < math.Pow(z, power))
			}
			sets = append(sets, s)
		}
	}
	program := environment(t, pyenv.Relplot)
	var want [][2]float64
	pythonOf(t, program, `
import os
os.environ["MPLBACKEND"] = "agg"
import numpy as np, relplot
answer = [[float(v) for v in relplot.smECE(np.array(s["Confidence"]), np.array(s["Correct"], dtype=float), return_width=True)] for s in arg]`, sets, &want)
	for i, s := range sets {
		value, width, err := calib.SmoothECE(s.Correct, s.Confidence)
		if err != nil || math.Abs(value-want[i][0]) > 1e-9 || width != want[i][1] {
			t.Errorf("set %d of %d samples: %.12f at width %v, %v; relplot %.12f at %v", i, len(s.Correct), value, width, err, want[i][0], want[i][1])
		}
	}
}
