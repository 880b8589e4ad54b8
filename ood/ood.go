// Package ood measures how well a network's confidence tells foreign images (out of distribution) from its own.
//
//	area, err := ood.Area(own, foreign) // of two lists of confidences
//	fmt.Println(area.Value)             // 1: every own one is above every foreign one
//
// In the order of use:
//
//   - [Measure] bounds the confidence of a [Network] in a ball around each image of a set, [Attack] searches the ball
//     for the largest, and both record a [Measurement]; [Read] reads it, and [Verify] computes it again.
//   - [Compare] sets own images beside foreign ones. [Area] is the area under the ROC curve of two lists of
//     confidences; of bounds over a whole ball the area is a guarantee (Bitterwolf, Meinke and Hein 2020).
//   - [PickThreshold] gives the threshold for a rate of true positives, [FPR] the rate of false ones there.
//
// Scores are log-confidences in float64, which separate confidences that float32 ties.
package ood

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/resample"
)

// ErrEmpty says that one of two lists of scores is empty.
var ErrEmpty = errors.New("ood: no scores")

// AUC compares in-distribution scores a with foreign ones b, over all pairs.
type AUC struct {
	Value        float64 `json:"auc"`          // (#{a > b} + ½ #{a = b}) / nm
	Conservative float64 `json:"conservative"` // #{a > b} / nm
	InNaN        int     `json:"in_nan"`       // in-scores that are no numbers: they never win, never tie
	ForeignNaN   int     `json:"foreign_nan"`  // foreign scores that are no numbers: they win
	N            int     `json:"n"`            // in-scores, those that are no numbers included
	M            int     `json:"m"`            // foreign scores, likewise
}

// Area returns the area under the curve of the rule "in-distribution above a threshold" (equations 16 and 17 of
// Bitterwolf et al. 2020), in time O(n+m). Infinite scores sort as they are. Errors: ErrEmpty.
func Area(in, foreign []float64) (AUC, error) {
	out := AUC{N: len(in), M: len(foreign)}
	if out.N == 0 || out.M == 0 {
		return AUC{}, fmt.Errorf("%w: %d in, %d foreign", ErrEmpty, out.N, out.M)
	}
	own, other := numbers(in), numbers(foreign)
	out.InNaN, out.ForeignNaN = out.N-len(own), out.M-len(other)
	var wins, ties int64
	under, upTo := 0, 0 // foreign scores below an own one, and those not above it
	for _, a := range own {
		for under < len(other) && other[under] < a {
			under++
		}
		for upTo = max(upTo, under); upTo < len(other) && other[upTo] <= a; {
			upTo++
		}
		wins, ties = wins+int64(under), ties+int64(upTo-under)
	}
	pairs := float64(out.N) * float64(out.M)
	out.Value = (float64(wins) + float64(ties)/2) / pairs
	out.Conservative = float64(wins) / pairs
	return out, nil
}

// numbers are the scores that are numbers, sorted: by their bits, eleven at a time, which is
// several times as fast as by comparing them.
func numbers(scores []float64) []float64 {
	const digit, values = 11, 1 << 11
	kept := slices.DeleteFunc(slices.Clone(scores), math.IsNaN)
	keys, next := make([]uint64, len(kept)), make([]uint64, len(kept))
	for i, v := range kept {
		bits := math.Float64bits(v + 0) // -0 and 0 are one value
		keys[i] = bits ^ (uint64(int64(bits)>>63) | 1<<63)
	}
	for shift := 0; shift < 64; shift += digit {
		var starts [values]int
		for _, k := range keys {
			starts[k>>shift%values]++
		}
		sum := 0
		for d, n := range starts {
			starts[d] = sum
			sum += n
		}
		for _, k := range keys {
			d := k >> shift % values
			next[starts[d]] = k
			starts[d]++
		}
		keys, next = next, keys
	}
	for i, k := range keys {
		kept[i] = math.Float64frombits(k ^ (^uint64(int64(k)>>63) | 1<<63))
	}
	return kept
}

// below counts the sorted scores under a, and those equal to it.
func below(sorted []float64, a float64) (under, equal int) {
	under = sort.SearchFloat64s(sorted, a)
	above := sort.Search(len(sorted)-under, func(i int) bool { return sorted[under+i] > a })
	return under, above
}

// Interval is a two-sided confidence interval with its level; its JSON has lower, upper and level.
type Interval struct {
	resample.Interval
	Level float64 // e.g. 0.95
}

// MarshalJSON writes lower, upper and level.
func (i Interval) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Lower float64 `json:"lower"`
		Upper float64 `json:"upper"`
		Level float64 `json:"level"`
	}{i.Low, i.High, i.Level})
}

// DeLong returns the AUC, with ties as one half, and its standard error by DeLong, DeLong and Clarke-Pearson 1988. The
// error comes from two shares: of foreign scores that each in-score beats, and of in-scores that each foreign score
// loses to. Scores that are no numbers count as Area counts them.
//
// Errors: fewer than two scores on a side.
func DeLong(in, foreign []float64) (auc, standardError float64, err error) {
	u, v, err := placements(in, foreign)
	if err != nil {
		return 0, 0, err
	}
	auc, varU := meanVariance(u)
	_, varV := meanVariance(v)
	return auc, math.Sqrt(varU/float64(len(u)) + varV/float64(len(v))), nil
}

// Difference returns the AUC of scores a minus that of scores b, with its standard error by DeLong, paired by image.
// Both lists are of the same images in the same order, e.g. of two networks, or clean and guaranteed.
//
// Errors: lists of other lengths, fewer than two scores on a side.
func Difference(inA, foreignA, inB, foreignB []float64) (difference, standardError float64, err error) {
	if len(inA) != len(inB) || len(foreignA) != len(foreignB) {
		return 0, 0, fmt.Errorf("ood: %d and %d in-scores, %d and %d foreign ones: a difference is of the same images",
			len(inA), len(inB), len(foreignA), len(foreignB))
	}
	uA, vA, err := placements(inA, foreignA)
	if err != nil {
		return 0, 0, err
	}
	uB, vB, err := placements(inB, foreignB)
	if err != nil {
		return 0, 0, err
	}
	for i := range uA {
		uA[i] -= uB[i]
	}
	for j := range vA {
		vA[j] -= vB[j]
	}
	difference, varU := meanVariance(uA)
	_, varV := meanVariance(vA)
	return difference, math.Sqrt(varU/float64(len(uA)) + varV/float64(len(vA))), nil
}

// Covariance returns the AUCs, with ties as one half, of several lists of scores of the same images in the same order.
// It also returns their covariance matrix over the images (DeLong, DeLong and Clarke-Pearson 1988).
//
// Errors: lists of other lengths, fewer than two scores on a side.
func Covariance(in, foreign [][]float64) (areas []float64, covariance [][]float64, err error) {
	var own, other [][]float64
	for k := range min(len(in), len(foreign)) {
		if len(in[k]) != len(in[0]) || len(foreign[k]) != len(foreign[0]) {
			return nil, nil, fmt.Errorf("ood: %d in-scores and %d foreign ones beside %d and %d: a covariance is of "+
				"the same images", len(in[k]), len(foreign[k]), len(in[0]), len(foreign[0]))
		}
		u, v, err := placements(in[k], foreign[k])
		if err != nil {
			return nil, nil, err
		}
		area, _ := meanVariance(u)
		areas, own, other = append(areas, area), append(own, u), append(other, v)
	}
	covariance = make([][]float64, len(areas))
	for i := range areas {
		covariance[i] = make([]float64, len(areas))
		for j := range areas {
			covariance[i][j] = stat.Covariance(own[i], own[j], nil)/float64(len(own[i])) + stat.Covariance(other[i],
				other[j], nil)/float64(len(other[i]))
		}
	}
	return areas, covariance, nil
}

// placements are, for each in-score, the share of foreign scores that it beats, and for each foreign score the share of
// in-scores that it loses to, ties as one half.
func placements(in, foreign []float64) (u, v []float64, err error) {
	if len(in) < 2 || len(foreign) < 2 {
		return nil, nil, fmt.Errorf("ood: a standard error needs two scores on each side, there are %d and %d", len(in),
			len(foreign))
	}
	sortedIn, sortedForeign := numbers(in), numbers(foreign)
	u, v = make([]float64, len(in)), make([]float64, len(foreign))
	for i, a := range in {
		if !math.IsNaN(a) {
			w, t := below(sortedForeign, a)
			u[i] = (float64(w) + float64(t)/2) / float64(len(foreign))
		}
	}
	for j, b := range foreign {
		if !math.IsNaN(b) {
			w, t := below(sortedIn, b)
			v[j] = (float64(len(sortedIn)-w-t) + float64(t)/2) / float64(len(in))
		}
	}
	return u, v, nil
}

func meanVariance(x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v
	}
	mean /= float64(len(x))
	for _, v := range x {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / float64(len(x)-1)
}

// FPR returns the share of foreign scores at or above the largest threshold that at least the share tpr of in-scores
// reaches. In-scores that are no numbers do not reach it, foreign ones do. On upper bounds of foreign confidences it is
// guaranteed: no image in their balls is counted less.
//
// Errors: ErrEmpty, tpr outside (0, 1], fewer numbers than the share asks for.
func FPR(in, foreign []float64, tpr float64) (rate, threshold float64, err error) {
	if len(in) == 0 || len(foreign) == 0 {
		return 0, 0, ErrEmpty
	}
	if !(tpr > 0 && tpr <= 1) {
		return 0, 0, fmt.Errorf("ood: a true positive rate of %v, want a number above 0, at most 1", tpr)
	}
	sorted := numbers(in)
	need := asked(tpr, len(in))
	if need > len(sorted) {
		return 0, 0, fmt.Errorf("ood: %d of %d in-scores are numbers, %d are needed", len(sorted), len(in), need)
	}
	threshold = sorted[len(sorted)-need]
	count := 0
	for _, b := range foreign {
		if math.IsNaN(b) || b >= threshold {
			count++
		}
	}
	return float64(count) / float64(len(foreign)), threshold, nil
}

// asked is how many of n images a share asks for.
func asked(tpr float64, n int) int { return int(math.Ceil(tpr * float64(n))) }
