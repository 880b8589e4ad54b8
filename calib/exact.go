package calib

import (
	"errors"
	"fmt"
	"math"
)

// errSelfCheck says that the optimum of the dynamic program and the value of the confidences recovered from
// it differ. It means a fault of this package.
var errSelfCheck = errors.New("calib: the recovered confidences miss the optimum")

// Worst is the solution of ExactCCE.
type Worst struct {
	// CCE is the largest calibration error, in [0, 1], rounded up: by 3(N + 3M + 4)·2⁻⁵³ or less.
	CCE float64
	// Value is the calibration error of the assignment, as computed.
	Value float64
	// Signs of the bins: +1 where the confidences of the bin exceed its accuracy, else −1.
	Signs []int8
	// Bin and Confidence of every sample. A confidence may be an open edge of its bin: the largest value is then a
	// supremum. Bins.Inside gives the confidence next to the edge, which attains it to rounding.
	Bin        []int
	Confidence []float64
}

// ExactCCE returns the largest expected calibration error over all confidences inside the intervals,
//
//	CCE = max { ECE(z) : l_i ≤ z_i ≤ u_i for all i },
//
// as a supremum, for fixed edges 0 = e₀ < … < e_M = 1 of bins that are closed on the left. It is the optimum of the
// mixed-integer program of Emde et al. (2025), equation 6, and is found exactly, in time O(N log M + M²). With the
// signs of the bins' gaps fixed, the samples decouple. Their earnings depend on the runs of equal signs only, and a
// dynamic program maximises over these.
//
// CCE bounds the calibration error that an adversary can reach, if every interval holds and no prediction changes.
//
// Errors: those of CheckIntervals and NewBins; a result that misses its own check.
func ExactCCE(correct []bool, lower, upper, edges []float64) (Worst, error) {
	bins, err := NewBins(edges, LeftClosed)
	if err != nil {
		return Worst{}, err
	}
	return new(Workspace).ExactCCE(correct, lower, upper, bins)
}

// Workspace holds the memory of ExactCCE. Its zero value is ready; used again for no more samples and bins
// than before, it allocates nothing.
type Workspace struct {
	reach         []reach
	wrong, right  []group // M×M tables, see groups
	gain          []gain
	plus, minus   []run // M+1 each: the best over the first bins, where the last run is a plus or minus run
	above, below  []int // per bin: the highest plus bin up to it, the lowest minus bin from it
	residual      []float64
	worst         Worst
	bins, samples int
}

// reach is the lowest and the highest bin that a sample's interval meets.
type reach struct{ low, high uint16 }

// group sums samples: their number, and their lower ends (of wrong samples) or upper ends (of correct ones).
type group struct{ n, sum float64 }

// gain holds two sums of a bin: of upper ends u over wrong samples that reach up to it, and of 1−l over
// correct samples that reach down to it.
type gain struct{ plus, minus float64 }

// run is the value of a solution over the first bins, and the first bin of its last run.
type run struct {
	value float64
	from  int
}

// resize gives s the length n, and clears it.
func resize[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	s = s[:n]
	clear(s)
	return s
}

// ExactCCE is the function of that name, for bins of either convention. The slices of its result belong to
// the workspace, and the next call writes into them.
func (w *Workspace) ExactCCE(correct []bool, lower, upper []float64, bins *Bins) (Worst, error) {
	if err := CheckIntervals(correct, lower, upper); err != nil {
		return Worst{}, err
	}
	w.groupSamples(correct, lower, upper, bins)
	optimum := w.maximise(bins.edges)
	w.recover(correct, lower, upper, bins.edges)
	n := float64(w.samples)
	if difference := math.Abs(w.worst.Value*n - optimum); !(difference <= 1e-9*n) {
		return Worst{}, fmt.Errorf("%w: %v, expected %v", errSelfCheck, w.worst.Value, optimum/n)
	}
	// A sample enters at most three sums of magnitude N, each through at most N + 3M additions.
	slack := 3 * (n + 3*float64(w.bins) + 4) * unit
	w.worst.CCE = min(1, max(optimum/n, w.worst.Value)+slack)
	return w.worst, nil
}

// groupSamples finds the reach of every sample, and sums the samples of equal reach.
func (w *Workspace) groupSamples(correct []bool, lower, upper []float64, bins *Bins) {
	size := bins.Len()
	w.bins, w.samples = size, len(correct)
	w.reach = resize(w.reach, len(correct))
	w.wrong = resize(w.wrong, size*size)
	w.right = resize(w.right, size*size)
	w.gain = resize(w.gain, size)
	for i, c := range correct {
		l, u := lower[i], upper[i]
		low, high := bins.index(l), bins.index(u)
		w.reach[i] = reach{uint16(low), uint16(high)}
		if c {
			g := &w.right[high*size+low]
			g.n++
			g.sum += u
			w.gain[low].minus += 1 - l
		} else {
			g := &w.wrong[low*size+high]
			g.n++
			g.sum += l
			w.gain[high].plus += u
		}
	}
	// wrong[a][b] becomes the sum over reaches from a or above up to b, right[b][a] that over reaches from a
	// up to b or below.
	for k := (size - 1) * size; k > 0; k-- {
		w.wrong[k-1].n += w.wrong[k-1+size].n
		w.wrong[k-1].sum += w.wrong[k-1+size].sum
	}
	for k := size; k < size*size; k++ {
		w.right[k].n += w.right[k-size].n
		w.right[k].sum += w.right[k-size].sum
	}
}

// maximise runs the dynamic program over maximal runs of bins of equal sign, and returns the optimum, as a sum
// over samples. Neighbouring runs have opposite signs: what a sample earns in a run relies on it.
func (w *Workspace) maximise(edges []float64) float64 {
	size := w.bins
	w.plus, w.minus = resize(w.plus, size+1), resize(w.minus, size+1)
	for t := 1; t <= size; t++ {
		w.minus[t].value = math.Inf(-1)
		w.plus[t].value = math.Inf(-1)
	}
	allWrong, allRight := w.wrong[:size], w.right[(size-1)*size:]
	for t := range size {
		// Minus runs from t on. A correct sample that reaches down to q earns 1−l; a wrong one that reaches up
		// to q escapes to the plus bin below t, or loses its lower end.
		value, edge := w.plus[t].value, edges[t]
		inside := w.wrong[t*size:]
		for q := t; q < size; q++ {
			value += w.gain[q].minus + float64((allWrong[q].n-inside[q].n)*edge) - inside[q].sum
			if value > w.minus[q+1].value {
				w.minus[q+1] = run{value, t}
			}
		}
		// Plus runs up to t. A wrong sample that reaches up to p earns u; a correct one that reaches down to p
		// escapes to the minus bin above t, or loses 1−u.
		value, edge = 0, 1-edges[t+1]
		inside = w.right[t*size:]
		for p := t; p >= 0; p-- {
			value += w.gain[p].plus + float64((allRight[p].n-inside[p].n)*edge) + inside[p].sum - inside[p].n
			if total := w.minus[p].value + value; total > w.plus[t+1].value {
				w.plus[t+1] = run{total, p}
			}
		}
	}
	signs := w.signs()
	if w.plus[size].value >= w.minus[size].value {
		w.backtrack(signs, 1)
		return w.plus[size].value
	}
	w.backtrack(signs, -1)
	return w.minus[size].value
}

func (w *Workspace) signs() []int8 {
	w.worst.Signs = resize(w.worst.Signs, w.bins)
	return w.worst.Signs
}

// backtrack fills in the signs from the last run, of the given sign, to the first.
func (w *Workspace) backtrack(signs []int8, sign int8) {
	for end := w.bins; end > 0; sign = -sign {
		from := w.minus[end].from
		if sign > 0 {
			from = w.plus[end].from
		}
		for m := from; m < end; m++ {
			signs[m] = sign
		}
		end = from
	}
}

// recover gives every sample its best bin and confidence under the signs, and computes their value.
func (w *Workspace) recover(correct []bool, lower, upper, edges []float64) {
	size := w.bins
	w.above, w.below = resize(w.above, size), resize(w.below, size)
	for m, last := 0, -1; m < size; m++ {
		if w.worst.Signs[m] > 0 {
			last = m
		}
		w.above[m] = last
	}
	for m, last := size-1, size; m >= 0; m-- {
		if w.worst.Signs[m] < 0 {
			last = m
		}
		w.below[m] = last
	}
	w.residual = resize(w.residual, size)
	w.worst.Bin = resize(w.worst.Bin, len(correct))
	w.worst.Confidence = resize(w.worst.Confidence, len(correct))
	for i, c := range correct {
		low, high := int(w.reach[i].low), int(w.reach[i].high)
		var m int
		var z float64
		if c {
			switch m = w.below[low]; {
			case m == low:
				z = lower[i]
			case m <= high:
				z = edges[m]
			default:
				m, z = high, upper[i]
			}
			w.residual[m] += z - 1
		} else {
			switch m = w.above[high]; {
			case m == high:
				z = upper[i]
			case m >= low:
				z = edges[m+1]
			default:
				m, z = low, lower[i]
			}
			w.residual[m] += z
		}
		w.worst.Bin[i], w.worst.Confidence[i] = m, z
	}
	total := 0.0
	for _, r := range w.residual {
		total += math.Abs(r)
	}
	w.worst.Value = total / float64(len(correct))
}
