package bound

import (
	"fmt"
	"math"
)

// Randomized is the Clopper-Pearson bound that uses up the level Alpha by a coin: the p that solves
//
//	P[Bin(n, p) > k] + U·P[Bin(n, p) = k] = α,
//
// where U, uniform on [0, 1], is drawn once for an image, independently of its counts, and never
// again (Stevens 1950; Voráček 2024). It lies at or above the Clopper-Pearson bound, which has U = 1.
//
// A U below leastU is replaced by it. That can only lower the bound, so its validity is kept, and p stays below
// 1 also where all trials hit, p = (α/U)^(1/n).
type Randomized struct {
	Alpha float64
	U     float64
}

// leastU is the smallest U that is used at level α: 0.01, or 2α where that is more, but at most 1.
func leastU(alpha float64) float64 { return min(1, max(0.01, 2*alpha)) }

func (Randomized) Name() string { return "randomized Clopper-Pearson" }

func (r Randomized) String() string {
	return fmt.Sprintf("%s at α = %g, U = %g", r.Name(), r.Alpha, max(r.U, leastU(r.Alpha)))
}

// Lower returns the bound after k hits in n independent trials. As Lower does, it keeps
// α(1−10⁻⁹) in exact arithmetic, both as P and as 1−Q.
//
// Errors: those of Lower, U outside [0, 1], as *InputError.
func (r Randomized) Lower(k, n int) (Probability, error) {
	plain, err := Lower(k, n, r.Alpha)
	if err != nil {
		return Probability{}, err
	}
	if !(r.U >= 0 && r.U <= 1) {
		return Probability{}, inputError("U", r.U, "a number in [0, 1]")
	}
	u := max(r.U, leastU(r.Alpha))
	if u == 1 || k == 0 { // P[Bin > 0] + U·P[Bin = 0] ≥ U > α for every p
		return plain, nil
	}
	start := split{plain.P, plain.Q}
	if plain.P <= plain.Q {
		start.q = 1 - plain.P
	} else {
		start.p = 1 - plain.Q
	}
	drawn := solve(r.Alpha, start, func(at split) tail { return mixedTail(k, n, u, at) })
	if drawn.P < plain.P || drawn.Q > plain.Q { // by rounding; a p that keeps the larger tail keeps this one
		return plain, nil
	}
	return drawn, nil
}

// mixedTail evaluates the logarithm of U·P[Bin(n, p) ≥ k] + (1−U)·P[Bin(n, p) ≥ k+1], 1 ≤ k ≤ n, 0 < U < 1.
func mixedTail(k, n int, u float64, at split) tail {
	t := upperTail(k, n, at)
	if k == n {
		log := math.Log(u)
		t.log += log
		t.err += 2 * unit * (math.Abs(log) + math.Abs(t.log))
		return t
	}
	next := upperTail(k+1, n, at)
	ratio := (1 - u) / u * math.Exp(next.log-t.log) // of the second part to the first
	log := math.Log(u) + math.Log1p(ratio)
	share := ratio / (1 + ratio)
	t.log += log
	t.err = max(t.err, next.err) + 16*unit*(1+math.Abs(next.log-t.log)+math.Abs(log)+math.Abs(t.log))
	t.slope += share * (next.slope - t.slope)
	t.lead += share
	return t
}
