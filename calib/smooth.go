package calib

import "math"

const (
	smoothPoints = 200   // least number of places at which the smoothed error is read
	smoothGrid   = 1001  // least number of places of the grid on which it is smoothed
	smoothFloor  = 1e-4  // added to the density, as relplot does
	smoothLeast  = 0.001 // widths below are as good as 0
	smoothSteps  = 10    // of the bisection
	smoothReach  = 9     // widths of the kernel beyond which it is below 10⁻¹⁷ of its peak
)

// SmoothECE returns the smooth calibration error (smECE) of Błasiok and Nakkiran 2023 (definitions 6 and 9, algorithm
// 1), in [0, 1]. With K_σ the Gaussian kernel of width σ, reflected at 0 and 1,
//
//	smECE_σ = 1/N · ∫₀¹ |Σ_i K_σ(t, z_i)·(z_i − c_i)| dt.
//
// The error is smECE_σ at the σ where the two are equal; width is that σ. It has no bins, and moves little when
// confidences do.
//
// Grid and search follow the authors' program relplot 1.0; results agree to 6 digits or more.
// Confidences are spread over a grid of max(1001, about 10/σ) places. The integral is a sum over max(200, 10/σ). The
// kernel ends at distance ½; above σ = 0.15, where this is felt, it is normalised by what is left. σ is found by
// bisection to 1/1024.
//
// Errors: those of CheckConfidences.
func SmoothECE(correct []bool, confidence []float64) (value, width float64, err error) {
	if err := CheckConfidences(correct, confidence); err != nil {
		return 0, 0, err
	}
	// The error at width 1 is at most 1, so that the search has its upper end.
	above, below := 1.0, 0.0
	for range smoothSteps {
		middle := (above + below) / 2
		if middle < smoothLeast || middle < smoothECEAt(correct, confidence, middle) {
			below = middle
		} else {
			above = middle
		}
	}
	return smoothECEAt(correct, confidence, above), above, nil
}

// smoothECEAt is smECE_σ.
func smoothECEAt(correct []bool, confidence []float64, sigma float64) float64 {
	size := max(2*(smoothGrid-1), int(math.RoundToEven(20/sigma)))/2 + 1
	gap, mass := onGrid(correct, confidence, size)
	gap, mass = smoothed(gap, mass, sigma)
	points := max(smoothPoints, int(math.RoundToEven(10/sigma)))
	total, weight := 0.0, 0.0
	for i := range points {
		at := float64(i) / float64(points-1) * float64(size-1)
		cell := min(int(at), size-2)
		share := at - float64(cell)
		total += math.Abs(gap[cell]*(1-share) + gap[cell+1]*share)
		weight += mass[cell]*(1-share) + mass[cell+1]*share + smoothFloor
	}
	return total / weight
}

// onGrid spreads the gaps z − c, and a one for each sample, over the two places of a grid beside z.
func onGrid(correct []bool, confidence []float64, size int) (gap, mass []float64) {
	gap, mass = make([]float64, size), make([]float64, size)
	for i, z := range confidence {
		at := z * float64(size-1)
		cell := min(int(at), size-2)
		share, g := at-float64(cell), z-float64(bit(correct[i]))
		gap[cell] += (1 - share) * g
		gap[cell+1] += share * g
		mass[cell] += 1 - share
		mass[cell+1] += share
	}
	return gap, mass
}

// smoothed convolves with the Gaussian kernel, reflecting at both ends. The kernel reaches half the
// grid to each side, at its own places i/(size−1) − 1/2; for an even size they lie half a place
// off, as in relplot.
func smoothed(gap, mass []float64, sigma float64) (outGap, outMass []float64) {
	size := len(gap)
	outGap, outMass = make([]float64, size), make([]float64, size)
	for q := range size {
		x := (float64(q)/float64(size-1) - 0.5) / sigma
		if math.Abs(x) > smoothReach {
			continue
		}
		k := math.Exp(-x*x/2) / (math.Sqrt(2*math.Pi) * sigma)
		for m := range size {
			from := m + size/2 - q
			if from < 0 {
				from = -from
			} else if from >= size {
				from = 2*(size-1) - from
			}
			outGap[m] += k * gap[from]
			outMass[m] += k * mass[from]
		}
	}
	return outGap, outMass
}
