//go:build external

package external

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/mip"
)

// The benchmark's ADMM in NumPy, written down from the paper, takes the same way. A few steps only: the method
// amplifies rounding errors.
func TestExternalADMM(t *testing.T) {
	const samples, bins, steps = 100, 15, 25
	r := rand.New(rand.NewPCG(1, 4))
	var in struct {
		Folder              string
		Correct             []bool
		Lower, Upper, Clean []float64
		Bins, Steps         int
	}
	var err error
	if in.Folder, err = filepath.Abs("../../bench/python"); err != nil {
		t.Fatal(err)
	}
	in.Bins, in.Steps = bins, steps
	for range samples {
		z := .3 + .7*r.Float64()
		in.Clean = append(in.Clean, z)
		in.Correct = append(in.Correct, r.Float64() < z)
		in.Lower = append(in.Lower, z*(.8+.2*r.Float64()))
		in.Upper = append(in.Upper, z+(1-z)*r.Float64()/2)
	}
	var best float64
	python(t, `
import sys
import numpy as np
sys.path.insert(0, arg["Folder"])
sys.dont_write_bytecode = True
import admm_numpy
a = admm_numpy.Admm(np.array(arg["Correct"], float), *(np.array(arg[k]) for k in ("Lower", "Upper", "Clean")), arg["Bins"])
for _ in range(arg["Steps"]):
    a.step()
answer = float(a.best)`, in, &best)
	edges, err := calib.Uniform(bins, calib.LeftClosed)
	if err != nil {
		t.Fatal(err)
	}
	p, err := mip.New(in.Correct, in.Lower, in.Upper, edges)
	if err != nil {
		t.Fatal(err)
	}
	run, err := p.ADMM(t.Context(), in.Clean, mip.ADMM{Steps: steps})
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(run.Best-best) > 1e-9 {
		t.Errorf("best %v, NumPy %v", run.Best, best)
	}
}
