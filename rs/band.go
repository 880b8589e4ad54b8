package rs

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/bound"
)

// Bands are bands around the true figures of the labelled images, those of the smoothed classifier itself. All hold
// together, at every time that the run may be stopped at, with probability at least Confidence.
//
// The confidence sequence of an image fails at some time with probability at most α, by its own noise alone. So at most
// Failures of the images ever fail: the largest number that Bin(N, α) exceeds with probability at most 1 − Confidence.
// These may have any radius.
type Bands struct {
	Confidence float64 `json:"confidence"`
	Failures   int     `json:"failures"`
	Images     int     `json:"images"` // N, labelled
	Cut        float64 `json:"cut"`    // radii count up to here in Radius, 4σ
	// of the mean over the labelled images of the true radius, 0 where the class is wrong
	Radius Band `json:"radius"`
	// of the share of the labelled images with the right class and at least a radius
	Accuracy   []AccuracyBand `json:"accuracy"`
	Population float64        `json:"population"`
}

// Band is a range.
type Band struct {
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// AccuracyBand is that of a certified accuracy.
type AccuracyBand struct {
	At float64 `json:"radius"`
	Band
}

// Bands returns the bands of a run under the rule Anytime, if all its images have begun. Population widens every
// accuracy's band on both sides for a claim on the law of the images, of which these are independent draws. It adds
// √(ln(2/δ)/(2N)) (Hoeffding), for a probability of 2δ in place of δ = 1 − Confidence.
//
// Errors: another rule, no labels, δ outside (0, 1).
func (r *Run) Bands(delta float64, radii ...float64) (Bands, error) {
	plan, err := stopping.Of(r.Header)
	if err != nil {
		return Bands{}, fmt.Errorf("rs: %w", err)
	}
	if plan.Header().Name != Anytime {
		return Bands{}, optionErrorf("the rule %q has no bands: its bounds hold one image at a time, at its end",
			plan.Header().Name)
	}
	b := Bands{Confidence: 1 - delta, Cut: 4 * r.Header.Sigma}
	var lower, upper []float64
	for i := range r.Rows {
		if row := &r.Rows[i]; row.Label >= 0 {
			low, up := row.trueRadius(plan)
			lower, upper = append(lower, low), append(upper, up)
		}
	}
	if b.Images = len(lower); b.Images == 0 {
		return Bands{}, optionErrorf("the images have no labels, so there is no accuracy to bound")
	}
	for ; b.Failures < b.Images; b.Failures++ { // the bound on k+1 of N says P[Bin(N, α) > k] ≤ δ
		least, err := bound.Lower(b.Failures+1, b.Images, delta)
		if err != nil {
			return Bands{}, optionErrorf("delta: %v", err)
		}
		if least.P >= plan.Alpha() {
			break
		}
	}
	n := float64(b.Images)
	b.Population = math.Sqrt(math.Log(2/delta) / (2 * n))
	for _, at := range radii {
		least, most := -b.Failures, b.Failures
		for i := range lower {
			if lower[i] >= at {
				least++
			}
			if upper[i] >= at {
				most++
			}
		}
		b.Accuracy = append(b.Accuracy, AccuracyBand{at, Band{max(0, float64(least)/n), min(1, float64(most)/n)}})
	}
	b.Radius = Band{meanWithout(lower, b.Failures, b.Cut, false) / n, meanWithout(upper, b.Failures, b.Cut, true) / n}
	return b, nil
}

// meanWithout sums values cut at most, after those of k have become 0 or, where raise is set, the
// most: those that change the sum most.
func meanWithout(values []float64, k int, most float64, raise bool) (sum float64) {
	cut := slices.Clone(values)
	for i := range cut {
		cut[i] = max(0, min(most, cut[i]))
	}
	slices.SortFunc(cut, func(a, b float64) int {
		if raise {
			return cmp.Compare(a, b)
		}
		return cmp.Compare(b, a)
	})
	for i, v := range cut {
		switch {
		case i >= k:
			sum += v
		case raise:
			sum += most
		}
	}
	return sum
}

// trueRadius encloses the radius of the smoothed classifier for the image's label, where the
// confidence sequence of its class holds. A radius of 0 with the right class is told from a wrong
// class by a lower end of −1.
func (r *Row) trueRadius(plan *stopping.Plan) (lower, upper float64) {
	lower = -1
	if r.Correct() {
		lower = r.Radius
	}
	switch {
	case r.N == 0: // nothing is known of it
		return lower, math.Inf(1)
	case r.Certified() && r.Class != r.Label:
		return -1, -1
	}
	up, err := plan.Upper(r.K, r.N)
	if err != nil {
		return lower, math.Inf(1)
	}
	if !r.Certified() {
		// Whichever class was chosen: the label has at most the upper end, or what the lower end of
		// another class leaves.
		other := plan.RadiusOf(1 - r.Lower)
		return lower, max(up, other)
	}
	return lower, up
}

// decided reports whether an image is certified at a radius, or shown to fall short of it.
func (r *Row) decided(plan *stopping.Plan, at float64) bool {
	if r.Certified() && r.Radius >= at || r.N == 0 {
		return true
	}
	up, err := plan.Upper(r.K, r.N)
	return err == nil && up < at
}
