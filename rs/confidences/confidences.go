// Package confidences certifies the confidences of a smoothed classifier from the scores that a run kept beside its
// ledger.
package confidences

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
)

// Certified are the confidences of the smoothed classifier on the images that are certified at a radius, right or
// wrong, with bounds that hold within that radius.
type Certified struct {
	Radius  float64 // unit: full range of a value
	Of      int     // images of the ledger whose label is known; the others are left out
	Images  []int
	Correct []bool // whether the certified class is the label
	// Estimate of the confidence of each image, and bounds on it at every point within the radius.
	Confidence, Lower, Upper []float64
}

// Summary has the averages of certified confidences of a radius.
type Summary struct {
	N          int     `json:"n"`
	Accuracy   float64 `json:"certified_accuracy"` // of all labelled images
	Confidence float64 `json:"mean_confidence"`
	Lower      float64 `json:"mean_lower"`
	Upper      float64 `json:"mean_upper"`
	Width      float64 `json:"mean_width"`
	Widest     float64 `json:"widest"`
}

// Summary averages over the images that are certified; where there are none, it is zero.
func (c *Certified) Summary() Summary {
	s := Summary{N: len(c.Correct)}
	hits, n := 0, float64(s.N)
	for i, correct := range c.Correct {
		if correct {
			hits++
		}
		s.Confidence += c.Confidence[i] / n
		s.Lower += c.Lower[i] / n
		s.Upper += c.Upper[i] / n
		s.Widest = max(s.Widest, c.Upper[i]-c.Lower[i])
	}
	if s.N > 0 {
		s.Accuracy, s.Width = float64(hits)/float64(c.Of), s.Upper-s.Lower
	}
	return s
}

// Options say how confidences are certified. The zero value is the CDF certificate on the component of
// the certified class, with the spending of the paper.
type Options struct {
	Method   confidence.Method
	Mode     confidence.Mode
	Spending confidence.Spending
}

// Certify certifies confidences from the scores beside a closed ledger, at some radii (Emde et al. 2025, equations 12
// and 13). One certification serves all radii, certificates and ways to spend α. Where the radii get less of α than the
// run gave them, they are derived again from the counts, see rs.OpenAt.
//
// The scores of an image are those up to its last look. Their bound gets the share of α that the rule leaves for
// scores, so it holds although the rule chose that look. Scores are known by their cells only. So a bound of the CDF
// certificate is at most the width of a cell looser than with every score as a threshold. In practice it is about half
// of it: with 1,000 cells 0.0005, for 32 images of a linear model with n = 10,000 at three radii each. A score that is
// not known counts as 0 below and as 1 above.
//
// Errors: unknown options, and radii that are negative or not finite, as *rule.OptionError; a ledger without scores, or
// that is not closed; images without labels only; those of the files.
func Certify(ctx context.Context, path string, radii []float64, o Options) ([]Certified, error) {
	if err := o.withDefaults(); err != nil {
		return nil, err
	}
	for _, r := range radii {
		if !(r >= 0) || math.IsInf(r, 0) {
			return nil, stopping.OptionErrorf("the radius is %v, want a number of at least 0", r)
		}
	}
	s, err := readScores(ctx, path, false, o.Spending.Divide)
	if err != nil {
		return nil, err
	}
	out := make([]Certified, len(radii))
	intervals := make([][]calib.Bounds, len(s.images)) // by image and radius
	for i := range intervals {
		intervals[i] = make([]calib.Bounds, len(radii))
	}
	for _, group := range s.bySize() {
		if err := s.certify(ctx, intervals, group, radii, o); err != nil {
			return nil, fmt.Errorf("confidences: ledger %s: %w", path, err)
		}
	}
	for k, radius := range radii {
		c := &out[k]
		c.Radius, c.Of = radius, s.labelled
		for i := range s.images {
			image := &s.images[i]
			if image.radius < radius {
				continue
			}
			bounds := intervals[i][k]
			c.Images = append(c.Images, image.id)
			c.Correct = append(c.Correct, image.correct)
			c.Lower = append(c.Lower, bounds.Lower)
			c.Upper = append(c.Upper, bounds.Upper)
			c.Confidence = append(c.Confidence, min(max(image.mean(), bounds.Lower), bounds.Upper))
		}
	}
	return out, nil
}

func (o *Options) withDefaults() error {
	var errs [3]error
	o.Method, errs[0] = o.Method.Checked()
	o.Mode, errs[1] = o.Mode.Checked()
	o.Spending, errs[2] = o.Spending.Checked()
	if err := errors.Join(errs[:]...); err != nil {
		return stopping.OptionErrorf("%v", err)
	}
	return nil
}

// certify bounds the confidences of a group at the radii that its images reach.
func (s *scoredRun) certify(ctx context.Context, intervals [][]calib.Bounds, group []int, radii []float64,
	o Options) error {
	c, err := s.certifier(group, radii, o)
	if err != nil {
		return err
	}
	workers := min(len(group), runtime.GOMAXPROCS(0))
	errs := make([]error, workers)
	var all sync.WaitGroup
	for w := range workers {
		all.Go(func() {
			for i := w; i < len(group) && errs[w] == nil; i += workers {
				if errs[w] = ctx.Err(); errs[w] == nil {
					errs[w] = c.certify(intervals[group[i]], &s.images[group[i]])
				}
			}
		})
	}
	all.Wait()
	return errors.Join(errs...)
}

// groupCertifier bounds the confidences of images of one group.
type groupCertifier struct {
	*scoredRun
	options   Options
	halfWidth float64
	radii     []float64
	shifts    []float64           // R/σ, by radius
	tables    []*confidence.Shift // of the CDF certificate, by radius; nil: no image reaches it
}

func (s *scoredRun) certifier(group []int, radii []float64, o Options) (*groupCertifier, error) {
	first := &s.images[group[0]]
	c := &groupCertifier{scoredRun: s, options: o, radii: radii, tables: make([]*confidence.Shift, len(radii))}
	var err error
	if c.halfWidth, err = confidence.HalfWidth(first.n, first.level); err != nil {
		return nil, err
	}
	band, err := confidence.NewBand(first.n, c.halfWidth)
	if err != nil {
		return nil, err
	}
	most := 0.0
	for _, i := range group {
		most = max(most, s.images[i].radius)
	}
	for k, radius := range radii {
		c.shifts = append(c.shifts, radius/s.header.Sigma*(1+0x1p-50)) // rounded up: a larger shift is a wider interval
		if o.Method == confidence.MethodCDF && radius <= most {
			if c.tables[k], err = band.At(c.shifts[k]); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// certify bounds the confidence of an image at the radii that it reaches.
func (c *groupCertifier) certify(intervals []calib.Bounds, image *scoredImage) (err error) {
	low, high := image.meanBounds()
	var d *confidence.Distribution
	if c.options.Method == confidence.MethodCDF {
		d = image.distribution(c.thresholds)
	}
	for k, radius := range c.radii {
		if image.radius < radius {
			continue
		}
		if d == nil {
			intervals[k], err = confidence.Standard(low, high, c.halfWidth, c.shifts[k])
		} else {
			intervals[k], err = c.tables[k].CDF(d)
		}
		if err == nil && c.options.Mode == "max" {
			intervals[k], err = confidence.OfTop(intervals[k], c.header.Model.Classes)
		}
		if err != nil {
			return fmt.Errorf("image %d: %w", image.id, err)
		}
	}
	return nil
}
