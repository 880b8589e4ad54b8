package rs

import (
	"context"
	"fmt"
	"iter"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/noise"
)

// BaseAccuracy is the share of the labelled images that the model itself, not smoothed, classifies right. Where sigma
// is 0 it sees the images, else one noise sample of each on the grid (noise.Grid). Without any label it is an error.
func BaseAccuracy(ctx context.Context, model classifier.Classifier, images *imageset.Index, sigma float64,
	seed uint64) (float64, error) {
	info, err := model.Info()
	if err != nil {
		return 0, fmt.Errorf("rs: model: %w", err)
	}
	if err := fit(info, images); err != nil {
		return 0, fmt.Errorf("rs: %w", err)
	}
	if err := onGrid(images, noise.LawGrid); err != nil {
		return 0, err
	}
	var law *noise.Grid
	if sigma != 0 {
		if law, err = noise.NewGrid(sigma); err != nil {
			return 0, optionErrorf("Sigma: %v", err)
		}
	}
	size := info.Shape.Len()
	grid := make([]int16, stopping.DefaultBlock*size) // the last batch is filled up with what was there
	result := classifier.Result{Classes: make([]int32, stopping.DefaultBlock)}
	right, labelled := 0, 0
	next, stop := iter.Pull2(images.Ahead(ctx, 0, images.Len()))
	defer stop()
	for start := 0; start < images.Len(); start += stopping.DefaultBlock {
		end := min(start+stopping.DefaultBlock, images.Len())
		for i := start; i < end; i++ {
			one, err, _ := next()
			if err != nil {
				return 0, fmt.Errorf("rs: %w", err)
			}
			to, image := grid[(i-start)*size:(i-start+1)*size], one.Grid(0)
			copy(to, image)
			if law == nil {
				continue
			}
			if _, err := law.AddTo(to, image, noise.Address{Seed: seed, Image: uint64(images.IDs[i])}, 0,
				nil); err != nil {
				return 0, fmt.Errorf("rs: %w", err)
			}
		}
		if err := model.Classify(ctx, classifier.Batch{N: stopping.DefaultBlock, Grid: grid}, &result); err != nil {
			return 0, fmt.Errorf("rs: %w", err)
		}
		for i := start; i < end; i++ {
			if images.Labels[i] < 0 {
				continue
			}
			labelled++
			if int(result.Classes[i-start]) == images.Labels[i] {
				right++
			}
		}
	}
	if labelled == 0 {
		return 0, fmt.Errorf("rs: data %s has no labels", images.Name)
	}
	return float64(right) / float64(labelled), nil
}
