package preflight

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/classifier"
)

// repeated is how answers differ between calls with the same noisy images.
type repeated struct {
	images      int
	scored      bool       // the model gives scores
	same        difference // the same batch again
	arrangement difference // the images in reverse, or with other neighbours
}

type difference struct {
	classes int     // images given another class
	score   float64 // largest difference of a score
}

// tolerance separates rounding, which turns near-ties alone, from neighbours that count.
const tolerance = 1e-3

// repeat classifies one batch of noisy copies of different images four times: twice as it is, in
// reverse order, and with the second half replaced by copies of one image.
func (p *pilot) repeat(ctx context.Context) (repeated, error) {
	s, err := p.sampler()
	if err != nil {
		return repeated{}, err
	}
	n, size, block := p.images.Len(), p.info.Shape.Len(), p.opt.Block
	batch := s.batch(block, size)
	for i := range block {
		if err := s.draw(batch, i, 1, p.images.Image(i%n), p.images.IDs[i%n], i/n); err != nil {
			return repeated{}, err
		}
	}
	reversed := reverse(batch, size)
	half := (block + 1) / 2
	other := classifier.Batch{N: block, Grid: slices.Clone(batch.Grid), Real: slices.Clone(batch.Real)}
	if err := s.draw(other, half, block-half, p.images.Image(0), p.images.IDs[0], 0); err != nil {
		return repeated{}, err
	}

	scored := true
	ask := func(b classifier.Batch) (classifier.Result, error) {
		result := classifier.Result{Classes: make([]int32, block)}
		if scored {
			result.Scores = make([]float32, block*p.info.Classes)
		}
		return result, p.model.Classify(ctx, b, &result)
	}
	first, err := ask(batch)
	if err != nil && ctx.Err() == nil {
		scored = false // a model may have classes alone
		first, err = ask(batch)
	}
	if err != nil {
		return repeated{}, err
	}
	again, err := ask(batch)
	if err != nil {
		return repeated{}, err
	}
	backwards, err := ask(reversed)
	if err != nil {
		return repeated{}, err
	}
	beside, err := ask(other)
	if err != nil {
		return repeated{}, err
	}
	r := repeated{images: block, scored: scored}
	for i := range block {
		r.same.add(first, again, i, i, p.info.Classes)
		r.arrangement.add(first, backwards, i, block-1-i, p.info.Classes)
		if i < half {
			r.arrangement.add(first, beside, i, i, p.info.Classes)
		}
	}
	return r, nil
}

// reverse gives the images of a batch in reverse order.
func reverse(batch classifier.Batch, size int) classifier.Batch {
	out := classifier.Batch{N: batch.N}
	for i := batch.N - 1; i >= 0; i-- {
		if batch.Grid != nil {
			out.Grid = append(out.Grid, batch.Grid[i*size:(i+1)*size]...)
		} else {
			out.Real = append(out.Real, batch.Real[i*size:(i+1)*size]...)
		}
	}
	return out
}

// add compares image i of one result with image j of another.
func (d *difference) add(a, b classifier.Result, i, j, classes int) {
	if a.Classes[i] != b.Classes[j] {
		d.classes++
	}
	if a.Scores == nil {
		return
	}
	for c := range classes {
		d.score = max(d.score, math.Abs(float64(a.Scores[i*classes+c])-float64(b.Scores[j*classes+c])))
	}
}

func (r repeated) check() Check {
	c := Check{Name: "same input, same answer", Verdict: OK}
	comparisons := r.images + (r.images+1)/2
	dependent := r.arrangement.score > tolerance
	if !r.scored {
		dependent = 50*r.arrangement.classes > comparisons
	}
	switch {
	case r.same.classes > 0 || r.same.score > tolerance:
		c.Verdict = Failure
		c.Found = fmt.Sprintf("The same batch, asked twice, got %d other classes among %d images, and scores up to %.2g apart.", r.same.classes, r.images, r.same.score)
		c.Advice = "Switch the model to evaluation, without dropout or other randomness: a certificate is about a function."
	case dependent:
		c.Verdict = Failure
		c.Found = fmt.Sprintf("Images at another place in the batch, or beside others, got %d other classes in %d comparisons, and scores up to %.2g apart.",
			r.arrangement.classes, comparisons, r.arrangement.score)
		c.Advice = "Switch batch normalisation and the like to evaluation, with stored averages: an answer must depend on its image alone."
	case r.same.score > 0 || r.arrangement.classes > 0:
		c.Verdict = Warning
		c.Found = fmt.Sprintf("Answers differ by rounding: scores up to %.2g apart, and %d other classes.", max(r.same.score, r.arrangement.score), r.arrangement.classes)
		c.Advice = "Nothing need be done; a replay of the ledger may differ in near-ties."
	default:
		c.Found = "Repeated calls, another order and other neighbours in the batch give the same answers."
	}
	return c
}
