//go:build external

package external

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/mip"
)

// HiGHS solves the mixed-integer program of which ExactCCE claims the optimum.
func TestExternalExactCCE(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 9))
	folder := t.TempDir()
	var files []string
	var exact []float64
	for k := range 60 {
		n, m := 1+r.IntN(14), 1+r.IntN(6)
		edges, err := calib.UniformEdges(m)
		if err != nil {
			t.Fatal(err)
		}
		var correct []bool
		var lower, upper []float64
		for range n {
			l, u := r.Float64(), r.Float64()
			switch r.IntN(4) {
			case 0:
				l = edges[r.IntN(m+1)]
			case 1:
				u = l
			}
			correct = append(correct, r.IntN(2) == 0)
			lower, upper = append(lower, min(l, u)), append(upper, max(l, u))
		}
		worst, err := calib.ExactCCE(correct, lower, upper, edges)
		if err != nil {
			t.Fatal(err)
		}
		bins, err := calib.NewBins(edges, calib.LeftClosed)
		if err != nil {
			t.Fatal(err)
		}
		program, err := mip.New(correct, lower, upper, bins)
		if err != nil {
			t.Fatal(err)
		}
		file, err := os.Create(filepath.Join(folder, fmt.Sprintf("%d.lp", k)))
		if err != nil {
			t.Fatal(err)
		}
		if err := program.WriteLP(file); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		files, exact = append(files, file.Name()), append(exact, worst.CCE*float64(n))
	}
	var optima []struct {
		Optimal bool
		Value   float64
	}
	python(t, `
import highspy
answer = []
for path in arg:
    h = highspy.Highs()
    for option, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 0.0),
                          ("mip_feasibility_tolerance", 1e-9), ("primal_feasibility_tolerance", 1e-9)):
        assert h.setOptionValue(option, value) == highspy.HighsStatus.kOk
    assert h.readModel(path) == highspy.HighsStatus.kOk
    h.run()
    answer.append({"Optimal": h.getModelStatus() == highspy.HighsModelStatus.kOptimal, "Value": h.getInfo().objective_function_value})`,
		files, &optima)
	for k, o := range optima {
		if !o.Optimal || math.Abs(o.Value-exact[k]) > 1e-6 {
			t.Errorf("%s: HiGHS finds %+v, ExactCCE %v", filepath.Base(files[k]), o, exact[k])
		}
	}
}
