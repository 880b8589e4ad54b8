package ood

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/resample"
)

// areaIntervals are intervals of the AUC with ties as one half and of the conservative AUC, at 95
// %, by drawing the images of both sides again. Scores are sorted once: a resample is counts of
// ranks, and costs one pass over them.
func areaIntervals(ctx context.Context, in, foreign []float64, o CompareOptions) ([2]Interval, error) {
	o.Resamples = cmp.Or(o.Resamples, 1000)
	ranks := ranksOf(in, foreign)
	statistic := func(d resample.Draw, out []float64) error {
		out[0], out[1] = ranks.area(d.First, d.Second)
		return nil
	}
	estimates, err := resample.Run(ctx, resample.Independent(len(in), len(foreign)), 2, statistic,
		resample.Options{Resamples: o.Resamples, Confidence: 0.95, Seed: o.Seed})
	if err != nil {
		return [2]Interval{}, err
	}
	var out [2]Interval
	for i, e := range estimates {
		out[i] = Interval{e.Interval, 0.95}
	}
	return out, nil
}

// ranks are the places of scores among the distinct ones of both sides, from 1.
type ranks struct {
	in, foreign []int32
	distinct    int
}

func ranksOf(in, foreign []float64) ranks {
	all := slices.Compact(numbers(append(slices.Clone(in), foreign...)))
	r := ranks{make([]int32, len(in)), make([]int32, len(foreign)), len(all)}
	place := func(v float64, other int) int32 {
		if math.IsNaN(v) {
			return int32(other)
		}
		i, _ := slices.BinarySearch(all, v)
		return int32(i + 1)
	}
	for i, v := range in {
		r.in[i] = place(v, 0)
	}
	for j, v := range foreign {
		r.foreign[j] = place(v, len(all)+1)
	}
	return r
}

// area is the AUC and the conservative AUC of some places of each side.
func (r ranks) area(in, foreign []int) (value, conservative float64) {
	counts := make([]int32, 2*(r.distinct+2))
	ownOf, foreignOf := counts[:r.distinct+2], counts[r.distinct+2:]
	for _, i := range in {
		ownOf[r.in[i]]++
	}
	for _, j := range foreign {
		foreignOf[r.foreign[j]]++
	}
	var wins, ties, below int64
	for k := 1; k <= r.distinct; k++ { // at 0 stand own scores that are no numbers, behind the last foreign ones
		wins += int64(ownOf[k]) * below
		ties += int64(ownOf[k]) * int64(foreignOf[k])
		below += int64(foreignOf[k])
	}
	pairs := float64(len(in)) * float64(len(foreign))
	return (float64(wins) + float64(ties)/2) / pairs, float64(wins) / pairs
}
