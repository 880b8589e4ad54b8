package rs

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/rs/noise"
)

// ScoresOnce asks a model once about each image, with one noise sample of it, and returns its scores, images × classes.
// Scores are NaN for a noise sample whose output is not finite, or whose noise could not be drawn.
//
// Errors: a model that cannot take the images; sigma out of range, images off the grid, as
// *rule.OptionError; those of the model and of ctx.
func ScoresOnce(ctx context.Context, model classifier.Classifier, images *imageset.Index, law noise.Law, sigma float64,
	seed uint64) ([]float32, error) {
	const size = 100 // in one call
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("rs: model: %w", err)
	}
	if err := fit(info, images); err != nil {
		return nil, fmt.Errorf("rs: %w", err)
	}
	if law, err = noise.ParseLaw(string(law)); err != nil {
		return nil, optionErrorf("Noise: %v", err)
	}
	if err := onGrid(images, law); err != nil {
		return nil, err
	}
	one, err := newBlocks(model, info, law, sigma, 1, seed)
	if err != nil {
		return nil, err
	}
	call := *one
	call.samples, call.scored = size, true
	single, buf := one.newBuffer(), call.newBuffer()
	scores := make([]float32, 0, images.Len()*info.Classes)
	for from := 0; from < images.Len(); from += size {
		var failed []int
		for k := range size {
			at := min(from+k, images.Len()-1) // the last call repeats the last image
			image, residue, err := images.Grid(ctx, at)
			if err != nil {
				return nil, fmt.Errorf("rs: %w", err)
			}
			if err := one.draw(single, image, residue, images.IDs[at], 0); err != nil {
				return nil, fmt.Errorf("rs: image %d: %w", images.IDs[at], err)
			}
			if len(single.failed) > 0 {
				failed = append(failed, k)
			}
			copy(buf.grid[k*len(single.grid):], single.grid)
			copy(buf.real[k*len(single.real):], single.real)
		}
		buf.failed = failed
		if _, _, err := call.classify(ctx, buf); err != nil { // makes the scores of misses NaN
			return nil, fmt.Errorf("rs: images %d to %d: %w", from, min(from+size, images.Len())-1, err)
		}
		scores = append(scores, buf.scores[:min(size, images.Len()-from)*info.Classes]...)
	}
	return scores, nil
}
