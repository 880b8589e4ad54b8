package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/rs"
)

// Claims that are derived from ledgers, two-sided and top-k, are false for classifiers whose nearest adversary is known no
// more often than α.
func TestDerivedClaims(t *testing.T) {
	const alpha, trials = 0.1, 300
	ask := func(k solved, label int, q query.Question) *query.Answer {
		t.Helper()
		images := &imageset.Images{Name: k.Name, Shape: k.shape(), Digest: k.Name, Pixels: slices.Repeat(k.Image, trials),
			Labels: slices.Repeat([]int{label}, trials)}
		for i := range trials {
			images.IDs = append(images.IDs, i)
		}
		opt := rs.Options{Sigma: solvedSigma, Alpha: alpha, Rule: rs.Staged, MaxSamples: 400, Seed: 3}
		opt.Ledger = filepath.Join(t.TempDir(), "x.ledger")
		if _, err := rs.Certify(t.Context(), k, loaded{images}, opt); err != nil {
			t.Fatal(err)
		}
		a, err := query.Ask(t.Context(), opt.Ledger, q)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	judge := func(name string, wrong, claims int) {
		t.Helper()
		if p := 1 - (distuv.Binomial{N: trials, P: alpha}).CDF(float64(wrong-1)); wrong > 0 && p < 1e-4 {
			t.Errorf("%s: %d of %d claims are false", name, wrong, trials)
		}
		t.Logf("%s: %d claims of %d, %d false", name, claims, trials, wrong)
	}
	for _, k := range thirty {
		if k.Impure || k.Trap {
			continue
		}
		wrong, claims, at := 0, 0, k.onGrid()
		for _, c := range ask(k, -1, query.Question{TopK: 1, Share: 0.5}).Claims {
			if c.Class != rs.Abstain {
				claims++
				wrong += index(at.refutes(c.Class, c.Radius))
			}
		}
		judge("two-sided, "+k.Name, wrong, claims)
	}
	i := slices.IndexFunc(thirty, func(k solved) bool { return k.Kind == "steps" && k.Classes == 4 })
	k := thirty[i]
	inTop := func(x float64, class int) bool { // of two
		edges := append(append([]float64{math.Inf(-1)}, k.With...), math.Inf(1))
		p := func(c int) float64 { return phi(edges[c+1]-x) - phi(edges[c]-x) }
		larger := 0
		for c := range k.Classes {
			larger += index(p(c) > p(class))
		}
		return larger < 2
	}
	for label := range k.Classes {
		x := float64(k.Image[0])
		nearest := math.Inf(1)
		for y := levelLow; y <= levelHigh; y++ {
			if !inTop(float64(y), label) {
				nearest = min(nearest, math.Abs(float64(y)-x)/255)
			}
		}
		for _, share := range []float64{0, 0.5} {
			wrong, claims := 0, 0
			for _, c := range ask(k, label, query.Question{TopK: 2, Share: share}).Claims {
				if c.Class != rs.Abstain {
					claims++
					wrong += index(c.Radius > nearest)
				}
			}
			judge("top 2, "+k.Name, wrong, claims)
		}
	}
}

// behindDenoiser is a half-space behind a denoiser that depends on its batch, or adds noise.
type behindDenoiser struct {
	solved
	batch bool
}

func (b behindDenoiser) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	mean := 0
	for _, v := range batch.Grid {
		mean += int(v)
	}
	grid := slices.Clone(batch.Grid)
	for i := range grid {
		if b.batch {
			grid[i] -= int16((mean/len(grid) - 128) / 2)
		} else {
			grid[i] += int16(10 * rand.NormFloat64())
		}
	}
	batch.Grid = grid
	return b.solved.Classify(ctx, batch, result)
}

// Such joined models are refused before anything is certified.
func TestImpureDenoisers(t *testing.T) {
	for _, batch := range []bool{true, false} {
		b := behindDenoiser{thirty[slices.IndexFunc(thirty, func(k solved) bool { return k.Kind == "half" })], batch}
		images := &imageset.Images{Name: "x", Shape: b.shape(), Digest: "x", Labels: make([]int, 300),
			Pixels: slices.Repeat(b.Image, 300)}
		for i := range images.Labels {
			images.IDs, images.Labels[i] = append(images.IDs, i), -1
		}
		opt := rs.Options{Sigma: solvedSigma, Alpha: 0.01, Rule: rs.Fixed, MaxSamples: 1000}
		_, err := preflight.Look(t.Context(), b, images, preflight.UseOf(opt))
		var impure *purity.Error
		if !errors.As(err, &impure) {
			t.Errorf("by its batch %v: %v", batch, err)
		}
	}
}
