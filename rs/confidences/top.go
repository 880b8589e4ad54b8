package confidences

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// Top is how sure a smoothed classifier is of the images of a ledger, whatever their class:
//
//	s(x) = E[max(0, (K·max_k p_k(x+δ) − 1)/(K − 1))],  δ ~ N(0, σ²I),
//
// 0 where all K classes are equally likely under all noise, and 1 where one is certain.
type Top struct {
	Header   ledger.Header
	Images   []int
	Estimate []float64        // of s at each image
	Bounds   [][]calib.Bounds // by image and radius: s lies in it at every point within the radius
}

// CertifyTop bounds s within ℓ2 balls, at some radii, from the largest scores beside closed ledgers of one classifier
// (rs.Options.TopScores). All images of all the ledgers share α: all bounds, at all radii and of both methods, hold at
// once with probability at least 1−α. Both certificates rest on one event for each image: the distribution of its n
// scores lies in a band of half-width ε. Then their mean is within ε, too.
//
// Every image of a ledger has bounds, with or without a label, certified or not; [0, 1] if it has no scores.
//
// Errors: radii that are negative or not finite, and an unknown method, as *rule.OptionError; ledgers of another
// classifier, σ or α than the first; a ledger without such scores, or that is not closed; those of the files.
func CertifyTop(ctx context.Context, paths []string, radii []float64, method confidence.Method) ([]Top, error) {
	o := Options{Method: method}
	if err := o.withDefaults(); err != nil {
		return nil, err
	}
	for _, r := range radii {
		if !(r >= 0) || math.IsInf(r, 0) {
			return nil, stopping.OptionErrorf("the radius is %v, want a number of at least 0", r)
		}
	}
	images := 0
	var first ledger.Header
	for i, path := range paths {
		l, err := ledgerio.Read(path)
		if err != nil {
			return nil, err
		}
		if images += l.Header.Data.Images; i == 0 {
			first = l.Header
		} else if err := sameFunction(path, l.Header, paths[0], first); err != nil {
			return nil, err
		}
	}
	share := func(alpha float64, _ int) (radius, scores float64, err error) {
		return alpha, math.Nextafter(alpha/float64(images), 0), nil
	}
	var out []Top
	for _, path := range paths {
		s, err := readScores(ctx, path, true, share)
		if err != nil {
			return nil, err
		}
		t := Top{Header: *s.header, Bounds: make([][]calib.Bounds, len(s.images))}
		for i := range s.images {
			image := &s.images[i]
			t.Images, t.Estimate = append(t.Images, image.id), append(t.Estimate, 0.5)
			if image.n > 0 {
				t.Estimate[i] = image.mean()
			}
			for range radii {
				t.Bounds[i] = append(t.Bounds[i], calib.Bounds{Lower: 0, Upper: 1})
			}
		}
		for _, group := range s.bySize() {
			if s.images[group[0]].n == 0 {
				continue
			}
			if err := s.certify(ctx, t.Bounds, group, radii, o); err != nil {
				return nil, fmt.Errorf("confidences: ledger %s: %w", path, err)
			}
		}
		out = append(out, t)
	}
	return out, nil
}

// sameFunction refuses a ledger whose s is another function than the first one's, or whose α
// differs. How the classifier runs, the rule, the seed and the images may differ.
func sameFunction(path string, h ledger.Header, firstPath string, first ledger.Header) error {
	run := h
	run.Sigma, run.Noise, run.Alpha = first.Sigma, first.Noise, first.Alpha
	run.Model.Shape, run.Model.Classes, run.Model.Identity.Weights = first.Model.Shape, first.Model.Classes,
		first.Model.Identity.Weights
	if name, a, b, differ := journal.FirstDifference(h, run); differ {
		return fmt.Errorf("confidences: the %s of ledger %s is %s, that of %s is %s: bounds are compared of one "+
			"classifier, σ and α", name, path, a, firstPath, b)
	}
	return nil
}
