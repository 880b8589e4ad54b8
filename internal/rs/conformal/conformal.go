// Package conformal makes robust conformal prediction sets of a model and measures them on images. Calibration images
// give a threshold at a raised level. The sets of other images then hold the label with probability at least 1 −
// miscoverage at any point within a radius. Level, threshold and range come from calib (RobustLevel, SetThreshold,
// CoverageRange); docs/prediction-sets.md derives them.
package conformal

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/calib/predictionset"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
)

// Options of Measure.
type Options struct {
	Sigma float64   // of the noise, 1 = full range
	Noise noise.Law // empty for the grid's
	// of one noise sample for each image; the claim holds for perturbations that do not depend on
	// it
	Seed        uint64
	Radii       []float64
	Miscoverage float64 // probability with which a set may miss the label
}

// Sets are the prediction sets of a model, at each radius.
type Sets struct {
	Model       string     `json:"model"`
	Data        string     `json:"data"`
	Sigma       float64    `json:"sigma"`
	Miscoverage float64    `json:"miscoverage"`
	Calibration int        `json:"calibration"` // images
	Test        int        `json:"test"`
	Classes     int        `json:"classes"`
	Fresh       bool       `json:"fresh_noise"` // for who draws the seed: nobody knew it
	Radii       []AtRadius `json:"radii"`
}

// Notes are what a reader must know beside the numbers.
func (s *Sets) Notes() []string {
	notes := []string{fmt.Sprintf("A set holds the label with probability at least %g at any point within the radius, "+
		"over calibration images, test image and the noise of both.", 1-s.Miscoverage)}
	for _, row := range s.Radii {
		if row.Threshold == nil {
			notes = append(notes, fmt.Sprintf("At %g every set has all %d classes: %d calibration images are needed, "+
				"there are %d.", row.Radius, s.Classes, row.Needed, s.Calibration))
		}
	}
	if !s.Fresh {
		notes = append(notes, "The seed was chosen: the claim holds for perturbations that do not depend on it only.")
	}
	return notes
}

// AtRadius are the sets at a radius.
type AtRadius struct {
	Radius    float64   `json:"radius"`
	Level     float64   `json:"level"`
	Needed    int       `json:"needed"`    // calibration images
	Threshold *float64  `json:"threshold"` // of 1 − the score of a class; null: every class is in every set
	Clean     Coverage  `json:"clean"`
	Attacked  *Coverage `json:"attacked,omitempty"`
}

// Coverage is how the sets of some images came out.
type Coverage struct {
	Size     float64 `json:"mean_size"` // classes in a set
	Coverage float64 `json:"coverage"`  // share of the sets that hold the label
	// clean: in which the coverage of so many exchangeable images falls with 95 %; attacked: its
	// interval of Clopper and Pearson
	Range  [2]float64 `json:"range"`
	Images int        `json:"images"`
}

// Measure calibrates on some images and measures the sets of others, and of attacked ones by radius, which may be nil.
// All must have labels.
//
// Errors: images without a label; options out of range, as *calib.InputError and *rule.OptionError; those of the model
// and of ctx.
func Measure(ctx context.Context, model classifier.Classifier, calibration, test *imageset.Index,
	attacked map[float64]*imageset.Images, o Options) (*Sets, error) {
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("conformal: model: %w", err)
	}
	strange := func(images *imageset.Index, number uint64) (*strangeness, error) {
		for i, label := range images.Labels {
			if label < 0 || label >= info.Classes {
				return nil, fmt.Errorf("conformal: image %d of %s has the label %d; expected one of %d classes",
					images.IDs[i], images.Name, label, info.Classes)
			}
		}
		scores, err := rs.ScoresOnce(ctx, model, images, o.Noise, o.Sigma, o.Seed+number)
		return &strangeness{scores, images.Labels, info.Classes}, err
	}
	cal, err := strange(calibration, 0)
	if err != nil {
		return nil, err
	}
	tested, err := strange(test, 1)
	if err != nil {
		return nil, err
	}
	sets := &Sets{Model: info.Name, Data: test.Name, Sigma: o.Sigma, Miscoverage: o.Miscoverage,
		Calibration: calibration.Len(), Test: test.Len(), Classes: info.Classes}
	for i, radius := range o.Radii {
		level, err := predictionset.RobustLevel(o.Miscoverage, radius, o.Sigma)
		if err != nil {
			return nil, err
		}
		at, err := predictionset.Threshold(cal.labels(), level)
		if err != nil {
			return nil, err
		}
		row := AtRadius{Radius: radius, Level: level, Needed: predictionset.LeastCalibration(level), Clean: tested.sets(at)}
		low, high, err := predictionset.CoverageRange(calibration.Len(), test.Len(), level, .95)
		if err != nil {
			return nil, err
		}
		row.Clean.Range = [2]float64{float64(low) / float64(test.Len()), float64(high) / float64(test.Len())}
		if !math.IsInf(at, 1) {
			row.Threshold = &at
		}
		if images := attacked[radius]; images != nil {
			moved, err := strange(images.Indexed(), 2+uint64(i))
			if err != nil {
				return nil, err
			}
			c := moved.sets(at)
			held := int(math.Round(c.Coverage * float64(c.Images)))
			below, err := bound.Lower(held, c.Images, .025)
			if err != nil {
				return nil, err
			}
			above, err := bound.Upper(held, c.Images, .025)
			if err != nil {
				return nil, err
			}
			c.Range = [2]float64{below.P, above.P}
			row.Attacked = &c
		}
		sets.Radii = append(sets.Radii, row)
	}
	return sets, nil
}

// strangeness is 1 − score of every class of some images.
type strangeness struct {
	scores  []float32
	label   []int
	classes int
}

func (s *strangeness) of(image, class int) float64 {
	return 1 - float64(s.scores[image*s.classes+class])
}

// labels are the sets of the labels.
func (s *strangeness) labels() (all []float64) {
	for i, label := range s.label {
		all = append(all, s.of(i, label))
	}
	return all
}

// sets gives each image the classes up to a threshold; one whose scores are unknown gets all.
func (s *strangeness) sets(threshold float64) Coverage {
	c := Coverage{Images: len(s.label)}
	for i, label := range s.label {
		for class := range s.classes {
			if v := s.of(i, class); v <= threshold || math.IsNaN(v) {
				c.Size++
				if class == label {
					c.Coverage++
				}
			}
		}
	}
	c.Size /= float64(len(s.label))
	c.Coverage /= float64(len(s.label))
	return c
}
