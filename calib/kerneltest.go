package calib

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
)

// kernelWidth is the width of the Laplacian kernel in Kumar, Sarawagi and Jain 2018.
const kernelWidth = 0.4

// KernelTest is a test of whether confidences are calibrated.
type KernelTest struct {
	SKCE        float64 `json:"skce"`    // squared kernel calibration error, unbiased: may be negative
	P           float64 `json:"p_value"` // at most α with probability at most α where confidences are calibrated
	Simulations int     `json:"simulations"`
}

// TestKernel tests whether confidences are calibrated: whether samples of confidence z are correct with probability z.
// The statistic is the unbiased quadratic estimator of the squared kernel calibration error (Widmann, Lindsten and
// Zachariah 2019, table 1), with residuals r_i = c_i − z_i,
//
//	SKCE = 2/(N(N−1)) · Σ_{i<j} r_i·r_j·exp(−|z_i − z_j|/0.4).
//
// The kernel comes from Kumar, Sarawagi and Jain 2018. The statistic is 0 on average for calibrated confidences, and
// positive otherwise.
//
// The p-value is exact at every N. With the confidences as they are, correctness is drawn anew simulations times,
// correct with probability z_i. Then p = (1 + number of draws with at least this SKCE) / (1 + simulations). Rejecting
// at p ≤ α is a false alarm with probability at most α. Samples are taken to be independent given their confidences.
// The result is a function of the seed.
//
// Errors: fewer than 2 samples, fewer than 1 simulation, as *InputError; those of CheckConfidences; that of ctx.
func TestKernel(ctx context.Context, correct []bool, confidence []float64, simulations int, seed uint64) (KernelTest,
	error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return KernelTest{}, err
	}
	if len(correct) < 2 {
		return KernelTest{}, inputError("len(correct)", len(correct), "at least 2 samples")
	}
	if simulations < 1 {
		return KernelTest{}, inputError("simulations", simulations, "at least 1")
	}
	order := make([]int, len(correct))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(confidence[i], confidence[j]) })
	z, r, decay := make([]float64, len(order)), make([]float64, len(order)), make([]float64, len(order))
	for k, i := range order {
		z[k], r[k] = confidence[i], float64(bit(correct[i]))-confidence[i]
		if k > 0 {
			decay[k] = math.Exp((z[k-1] - z[k]) / kernelWidth)
		}
	}
	t := KernelTest{SKCE: skce(r, decay), Simulations: simulations}
	random := rand.New(rand.NewPCG(seed, 0))
	least := t.SKCE - 1e-12 // draws that are equal but for rounding count
	reached := 1
	for range simulations {
		if err := ctx.Err(); err != nil {
			return KernelTest{}, err
		}
		for k, p := range z {
			r[k] = float64(bit(random.Float64() < p)) - p
		}
		reached += int(bit(skce(r, decay) >= least))
	}
	t.P = float64(reached) / float64(1+simulations)
	return t, nil
}

// skce sums over pairs in order of the confidence, where the kernel is a product of the decays between neighbours.
func skce(r, decay []float64) float64 {
	total, before := 0.0, 0.0
	for k, v := range r {
		before *= decay[k]
		total += v * before
		before += v
	}
	n := float64(len(r))
	return 2 * total / (n * (n - 1))
}
