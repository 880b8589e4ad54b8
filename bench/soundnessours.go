package main

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
)

// ours counts the certificates of a rule: some through noise and network, many with counts drawn by their law.
func (r *soundness) ours(ctx context.Context, kept *tally, k solved, t truth, name rs.Rule) (cell soundnessCell, err error) {
	cell = soundnessCell{PValue: 1, Apart: 1}
	opt, plan, err := r.options(name)
	if err != nil {
		return cell, err
	}
	at := k.Name + " | " + string(name) + " | "
	cell.Through, err = kept.upTo(ctx, at+"through", r.Through/throughChunk, func(random *rand.Rand) (counts, error) {
		opt.Seed = max(1, random.Uint64())
		claims, err := certifySolved(ctx, k, opt, throughChunk)
		var impure *purity.Error
		if errors.As(err, &impure) {
			return counts{Refused: impure.Found.String()}, nil
		}
		return count(claims, t), err
	})
	if err != nil || cell.Through.Refused != "" {
		return cell, err
	}
	draw := newDrawer(plan, t, r.N)
	cell.Drawn, err = kept.upTo(ctx, at+"drawn", r.Trials/drawnChunk, func(random *rand.Rand) (counts, error) {
		return draw.chunk(random, drawnChunk)
	})
	cell.PValue = r.pValue(cell)
	if name != rs.Anytime {
		cell.Apart = apart(cell.Through, cell.Drawn)
	}
	return cell, err
}

func (r *soundness) options(name rs.Rule) (rs.Options, *stopping.Plan, error) {
	opt := rs.Options{Sigma: r.Sigma, Alpha: r.Alpha, Rule: name, MaxSamples: r.N}
	switch name {
	case rs.Betting:
		for i := range 15 {
			opt.Radii = append(opt.Radii, float64(i)*r.Sigma/4)
		}
		for len(opt.Radii) > 1 { // those that n can reach
			if _, err := opt.Plan(); err == nil {
				break
			}
			opt.Radii = opt.Radii[:len(opt.Radii)-1]
		}
	case rs.Anytime:
		opt.MaxSamples, opt.Until = 0, rs.Until{Samples: throughChunk * (stopping.DefaultSelection + r.N)}
	}
	plan, err := stopping.New(opt.Settings())
	return opt, plan, err
}

// certifySolved certifies as many images that are equal, but for their noise, as the command line does: after a look at the model.
func certifySolved(ctx context.Context, k solved, opt rs.Options, trials int) ([]claim, error) {
	k.state = new(atomic.Int64)
	images := &imageset.Images{Name: k.Name, Shape: k.shape(), Digest: k.Name, Labels: slices.Repeat([]int{-1}, trials), Pixels: slices.Repeat(k.Image, trials)}
	for i := range trials {
		images.IDs = append(images.IDs, i)
	}
	first, err := preflight.Look(ctx, k, images, preflight.UseOf(opt))
	if err != nil {
		return nil, err
	}
	run, err := rs.Certify(first.Witness.With(ctx), k, loaded{images}, opt)
	if err != nil {
		return nil, err
	}
	var claims []claim
	for _, row := range run.Rows {
		claims = append(claims, claim{row.Class, row.Radius})
	}
	return claims, nil
}

// loaded is images as a source.
type loaded struct{ images *imageset.Images }

func (l loaded) Load(context.Context) (*imageset.Images, error) { return l.images, nil }

func count(claims []claim, t truth) counts {
	c := counts{Trials: len(claims)}
	for _, at := range claims {
		if at.Class == rs.Abstain {
			continue
		}
		c.Claims++
		c.False += index(t.refutes(at.Class, at.Radius))
	}
	return c
}
