package rs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// PredictOptions says how to predict. Only Sigma has no default.
type PredictOptions struct {
	Sigma   float64   // standard deviation of the noise, unit: full range of a value; > 0
	Alpha   float64   // bound on the probability that the class is not the smoothed classifier's; default 0.001
	Samples int       // noise samples, a multiple of Block; default 1,000
	Block   int       // samples in one call of the model; default 100
	Noise   noise.Law // as in Options
	Seed    uint64    // of the noise; 0: derived from model, image and settings
	Image   int       // id of the image, part of the address of the noise; default 0
}

// Prediction is the answer that is shown for the smoothed classifier.
type Prediction struct {
	Class  int     `json:"class"` // or Abstain
	PValue float64 `json:"p_value"`
	Counts []int   `json:"counts"` // samples by class
	Misses int     `json:"misses"` // samples with an output that was not finite, or whose noise could not be drawn
	Seed   uint64  `json:"seed,string"`
}

func (p Prediction) String() string {
	if p.Class == Abstain {
		return fmt.Sprintf("abstains (p = %.2g)", p.PValue)
	}
	n := p.Misses
	for _, count := range p.Counts {
		n += count
	}
	return fmt.Sprintf("class %d, %s of %s noise samples (p = %.2g)", p.Class, printable.Count(p.Counts[p.Class]),
		printable.Count(n), p.PValue)
}

// Predict finds the class of the smoothed classifier at one image (HWC, of the model's shape), or abstains.
//
// Let n₁ ≥ n₂ be the two largest class counts. It returns the class of n₁ if the two-sided exact binomial test of
// probability ½ on n₁ of n₁+n₂ has a p-value of at most Alpha. The class is then the smoothed classifier's with
// probability at least 1−Alpha (PREDICT of Cohen, Rosenfeld and Kolter 2019). It claims no radius. Misses count as
// votes for a class of their own that is never returned.
func Predict(ctx context.Context, model classifier.Classifier, image []uint8, opt PredictOptions) (Prediction, error) {
	none := Prediction{Class: Abstain}
	law, err := noise.ParseLaw(string(opt.Noise))
	if err != nil {
		return none, optionErrorf("Noise: %v", err)
	}
	opt.Alpha = cmp.Or(opt.Alpha, stopping.DefaultAlpha)
	opt.Block = cmp.Or(opt.Block, stopping.DefaultBlock)
	if opt.Samples == 0 {
		opt.Samples = stopping.RoundUp(1000, opt.Block)
	}
	if err := stopping.CheckSigma(opt.Sigma); err != nil {
		return none, err
	}
	if err := stopping.CheckAlpha(opt.Alpha); err != nil {
		return none, err
	}
	if err := stopping.CheckSamples("Samples", opt.Samples, opt.Block); err != nil {
		return none, err
	}
	if opt.Image < 0 {
		return none, optionErrorf("Image is %d, want an id of at least 0", opt.Image)
	}
	info, err := model.Info()
	if err != nil {
		return none, fmt.Errorf("rs: model: %w", err)
	}
	if len(image) != info.Shape.Len() {
		return none, fmt.Errorf("rs: the image has %d values, model %s takes %v, which are %d", len(image), info.Name,
			info.Shape, info.Shape.Len())
	}
	if opt.Seed == 0 {
		opt.Seed = predictSeed(info, image, law, opt)
	}
	b, err := newBlocks(model, info, law, opt.Sigma, opt.Block, opt.Seed)
	if err != nil {
		return none, err
	}
	p := Prediction{Class: Abstain, Counts: make([]int, info.Classes), Seed: opt.Seed}
	grid, buffer := toGrid(image), b.newBuffer()
	for block := range opt.Samples / opt.Block {
		if err := b.draw(buffer, grid, nil, opt.Image, block); err != nil {
			return none, fmt.Errorf("rs: %w", err)
		}
		counts, misses, err := b.classify(ctx, buffer)
		if err != nil {
			return none, fmt.Errorf("rs: block %d: %w", block, err)
		}
		for _, c := range counts {
			p.Counts[c.Class] += c.N
		}
		p.Misses += misses
	}
	return p, p.decide(opt.Alpha)
}

func (p *Prediction) decide(alpha float64) error {
	first, second, class := 0, p.Misses, Abstain
	for c, n := range p.Counts {
		switch {
		case n > first:
			if class != Abstain {
				second = max(second, first)
			}
			first, class = n, c
		default:
			second = max(second, n)
		}
	}
	p.PValue = 1
	if first <= second {
		return nil
	}
	var err error
	if p.PValue, err = bound.TopTwoPValue(first, second); err != nil {
		return fmt.Errorf("rs: %w", err)
	}
	if p.PValue <= alpha {
		p.Class = class
	}
	return nil
}

// predictSeed is the first 8 bytes of the SHA-256 of the model's weights, the image and all settings.
func predictSeed(info classifier.Info, image []uint8, law noise.Law, opt PredictOptions) uint64 {
	h := sha256.New()
	fmt.Fprintf(h, "predict\n%s\n%v\n%s\n%x %x\n%d %d %d\n", info.Identity.Weights, info.Shape, law,
		math.Float64bits(opt.Sigma), math.Float64bits(opt.Alpha), opt.Samples, opt.Block, opt.Image)
	h.Write(image)
	return binary.BigEndian.Uint64(h.Sum(nil))
}
