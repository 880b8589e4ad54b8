package resample

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Norms gives intervals for sums of absolute values,
//
//	θ = Σ_g w_g Σ_k |c_gk|,
//
// of statistics c that resampling does not bias, such as the signed gaps between confidence and
// accuracy in bins. The absolute value is biased upwards where a component is near 0, and more so
// in a resample, so that percentiles miss the truth and may miss θ itself. With ε the deviation of
// a component in a resample, components within √(ln n) standard errors of 0 taken as 0 (c°; Andrews
// and Soares 2010),
//
//	U = Σ_k |c°_k+ε_k| − |c°_k|,  L = Σ_k sign(c_k)·ε_k ≤ U
//
// bound from above and below how far a norm of the sample exceeds the population's, the latter since |x| ≥
// x·sign(c). The interval is [θ − q(1−α/2), θ − q(α/2)] with U for groups of positive weight and L for the others
// at the lower end, and the other way round at the upper. It errs on the wide side; it always holds θ in practice;
// where no weight is negative, it is cut at 0. Of fewer than ten images nothing is known: the interval is all that
// θ can be.
//
// In a Crossed design the components of several models stand side by side. Each row of weights takes those of all
// models alike, and a draw of one model fills the groups of all. θ is then a mean over models; their spread is added as
// in Run.
//
// The statistic sets all components, group after group: sizes says how many each has. Each row of
// weights makes one θ. Options.Method is not used.
//
// Errors: those of Run; weights that do not fit the groups, as *OptionError.
func Norms(ctx context.Context, design Design, sizes []int, weights [][]float64, of Statistic, o Options) ([]Estimate,
	error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	if err := design.check(); err != nil {
		return nil, err
	}
	total := 0
	for _, n := range sizes {
		if n < 1 {
			return nil, optionErrorf("a group of %d components, want at least 1", n)
		}
		total += n
	}
	if total == 0 || len(weights) == 0 {
		return nil, optionErrorf("%d components and %d rows of weights, want at least 1", total, len(weights))
	}
	for _, row := range weights {
		if len(row) != len(sizes) {
			return nil, optionErrorf("%d weights for %d groups, want one each", len(row), len(sizes))
		}
	}
	own := make([]float64, total)
	if err := evaluate(of, design.all().expand(), own, "the sample itself"); err != nil {
		return nil, err
	}
	alone, err := eachAlone(ctx, design, of, total)
	if err != nil {
		return nil, err
	}
	drawn, err := draw(ctx, design, of, total, 0, o)
	if err != nil {
		return nil, err
	}
	values := drawn.values
	kept := make([]float64, total) // c°
	limit := math.Sqrt(math.Log(float64(max(3, design.units[0]))))
	for k, c := range own {
		if _, deviation := moments(values[k]); math.Abs(c) > limit*deviation {
			kept[k] = c
		}
	}
	estimates := make([]Estimate, len(weights))
	for e, row := range weights {
		estimates[e] = norm(own, kept, values, alone, sizes, row, o)
	}
	return estimates, nil
}

// eachAlone gives the components of each model by itself; nil where there are fewer than two.
func eachAlone(ctx context.Context, d Design, of Statistic, components int) (all [][]float64, err error) {
	if !d.models || d.units[1] < 2 {
		return nil, nil
	}
	for unit := range d.units[1] {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		one, v := d.all(), make([]float64, components)
		one.units[1] = []int{unit}
		if err := evaluate(of, one.expand(), v, fmt.Sprintf("model %d alone", unit)); err != nil {
			return nil, err
		}
		all = append(all, v)
	}
	return all, nil
}

// sum is Σ_g w_g Σ_k |c_gk|.
func sum(components []float64, sizes []int, weights []float64) (theta float64) {
	first := 0
	for g, size := range sizes {
		for _, c := range components[first : first+size] {
			theta += weights[g] * math.Abs(c)
		}
		first += size
	}
	return theta
}

func norm(own, kept []float64, values, alone [][]float64, sizes []int, weights []float64, o Options) Estimate {
	resamples := len(values[0])
	over, under, plain := make([]float64, resamples), make([]float64, resamples), make([]float64, resamples)
	e := Estimate{Value: sum(own, sizes, weights)}
	positive, first := true, 0
	for g, size := range sizes {
		w := weights[g]
		positive = positive && w >= 0
		up, down := over, under // of the excess of a norm of the sample over the population's
		if w < 0 {
			up, down = under, over
		}
		for k := first; k < first+size; k++ {
			for r, v := range values[k] {
				deviation := v - own[k]
				up[r] += w * (math.Abs(kept[k]+deviation) - math.Abs(kept[k]))
				down[r] += w * math.Copysign(1, own[k]) * deviation
				plain[r] += w * math.Abs(v)
			}
		}
		first += size
	}
	mean, deviation := moments(plain)
	e.Bias = mean - e.Value
	var models []part
	if n := float64(len(alone)); n > 0 {
		p := part{freedom: n - 1}
		for _, c := range alone {
			v := sum(c, sizes, weights) - e.Value
			p.variance += v * v / (n * (n - 1))
		}
		models = append(models, p)
	}
	e.Error = math.Sqrt(deviation*deviation + total(models))
	slices.Sort(over)
	slices.Sort(under)
	at := func(confidence float64) Interval {
		i := Interval{math.Inf(-1), math.Inf(1)}
		if resamples > 1 {
			i = widened(Interval{e.Value - percentiles(over, confidence).High, e.Value - percentiles(under,
				confidence).Low}, e.Value, 1, models, confidence)
		}
		if positive {
			i.Low = max(0, i.Low)
		}
		return i
	}
	e.Interval = at(o.Confidence)
	e.P = smallestLevel(at)
	return e
}
