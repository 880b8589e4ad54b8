package preflight

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/classifier/purity"
)

// fitted is a candidate of the search for a mean and a deviation.
type fitted struct {
	form
	value float64 // mean of the logarithm of the label's probability, or accuracy where the model gives no scores
	right int     // images
}

// fit searches a mean and a deviation of the channels on at most 30 labelled images, and gives the
// answers to all. It begins with some common to all channels, and ends there where none of them
// does better than guessing; else it refines the best two, and then each channel. That takes about
// 2,500 answers. The order of the channels is that of a form that did best; held are the other
// images.
func (p *pilot) fit(ctx context.Context, like form) (best *tried, held []int, err error) {
	var some []int
	for k, i := range p.spread(len(p.images.Labels)) {
		if p.images.Labels[i] < 0 {
			continue
		}
		if k%2 == 0 && len(some) < firstImages {
			some = append(some, i)
		} else {
			held = append(held, i)
		}
	}
	if len(some) < 10 || len(held) < 10 {
		return nil, nil, nil // too few to say anything
	}
	channels := p.info.Shape.Channels
	model, err := purity.New(p.model)
	if err != nil {
		return nil, nil, err
	}
	try := func(forms []form) ([]fitted, error) { return p.fitness(ctx, model, forms, some) }
	grid := []form{}
	for _, mean := range []float64{0, .15, .3, .45, .6, .75} {
		for _, deviation := range []float64{.06, .12, .22, .4, .7, 1.2} {
			grid = append(grid, form{scale: 1, reversed: like.reversed, mean: slices.Repeat([]float64{mean}, channels),
				deviation: slices.Repeat([]float64{deviation}, channels)})
		}
	}
	if len(like.mean) == channels && len(like.deviation) == channels && like.scale == 1 {
		grid = append(grid, like)
	}
	all, err := try(grid)
	if err != nil {
		return nil, nil, err
	}
	if most := slices.MaxFunc(all, func(a, b fitted) int { return a.right - b.right }); guessed(most.right, len(some),
		p.chance(some)) {
		return nil, nil, nil
	}
	slices.SortStableFunc(all, byValue)
	all = all[:2]
	for k := range all {
		for step := .08; step > .015; step /= 2 {
			if all[k], err = climb(all[k], step, [][]int{places(channels)}, try); err != nil {
				return nil, nil, err
			}
		}
	}
	slices.SortStableFunc(all, byValue)
	top := all[0]
	if channels > 1 {
		var each [][]int
		for c := range channels {
			each = append(each, []int{c})
		}
		for step := .06; step > .02; step /= 2 {
			if top, err = climb(top, step, each, try); err != nil {
				return nil, nil, err
			}
		}
	}
	top.name = "mean " + numbers(top.mean) + " and deviation " + numbers(top.deviation)
	if top.reversed {
		top.name += ", channels in the order blue, green, red"
	}
	answered, err := p.inForms(ctx, []form{top.form}, p.spread(len(p.images.Labels)))
	if err != nil {
		return nil, nil, err
	}
	return &answered[0], held, nil
}

func byValue(a, b fitted) int { return cmp.Compare(b.value, a.value) }

func places(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// climb moves the means of each group of channels by a step and their deviations by a factor, where that helps.
func climb(at fitted, step float64, groups [][]int, try func([]form) ([]fitted, error)) (fitted, error) {
	for _, group := range groups {
		var moved []form
		for _, move := range [][2]float64{{step, 1}, {-step, 1}, {0, 1 + 3*step}, {0, 1 / (1 + 3*step)}} {
			f := at.form
			f.mean, f.deviation = slices.Clone(f.mean), slices.Clone(f.deviation)
			for _, c := range group {
				f.mean[c], f.deviation[c] = f.mean[c]+move[0], f.deviation[c]*move[1]
			}
			moved = append(moved, f)
		}
		found, err := try(moved)
		if err != nil {
			return at, err
		}
		slices.SortStableFunc(found, byValue)
		if found[0].value > at.value {
			at = found[0]
		}
	}
	return at, nil
}

// fitness is how well the model does on some images in each form.
func (p *pilot) fitness(ctx context.Context, model *purity.Model, forms []form, images []int) ([]fitted, error) {
	all := make([]fitted, len(forms))
	for k, f := range forms {
		all[k].form = f
	}
	n := float64(len(images))
	err := p.askForms(ctx, model, forms, images, func(f, k int, a purity.Answers, at int) {
		label, right := p.images.Labels[images[k]], 0.
		if int(a.Classes[at]) == label {
			all[f].right++
			right = 1
		}
		if probabilities := a.Probabilities(at); probabilities != nil && label < len(probabilities) {
			all[f].value += math.Log(max(1e-6, probabilities[label])) / n
		} else {
			all[f].value += right / n
		}
	})
	return all, err
}

func numbers(values []float64) string {
	var parts []string
	for _, v := range values {
		parts = append(parts, fmt.Sprintf("%.2f", v))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}
