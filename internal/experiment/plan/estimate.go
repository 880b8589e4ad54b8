package plan

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs"
)

// Estimate of the work that is left, and of its time.
type Estimate struct {
	Jobs int `json:"jobs"`
	// noisy images through the network and back, those of attacks included
	Training    float64       `json:"training_rows"`
	Samples     float64       `json:"copies"` // certified, as expected of a network of middling accuracy
	MostSamples float64       `json:"most_copies"`
	Layers      float64       `json:"layers"`   // images through networks in float64 and back, of bounds and attacks
	Searches    int           `json:"searches"` // runs of ADMM, which are not in the time
	Seconds     float64       `json:"seconds"`
	Rates       []machineRate `json:"rates"`
	Warnings    []string      `json:"warnings"` // of the images
}

func (e Estimate) String() string {
	layers := ""
	if e.Layers > 0 {
		layers = fmt.Sprintf("%s images through layers in float64, ", large(e.Layers))
	}
	return fmt.Sprintf("%d jobs left: %s images through training, %s noise samples to certify (at most %s), %s%d "+
		"searches by ADMM: about %s at the rates of this machine",
		e.Jobs, large(e.Training), large(e.Samples), large(e.MostSamples), layers, e.Searches, hours(e.Seconds))
}

func large(v float64) string {
	switch {
	case v >= 1e6:
		return fmt.Sprintf("%.3g million", v/1e6)
	case v >= 1e4:
		return fmt.Sprintf("%.3g thousand", v/1e3)
	}
	return fmt.Sprintf("%.0f", v)
}

func hours(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < 2*time.Minute:
		return d.Round(time.Second).String()
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return fmt.Sprintf("%.1f hours", d.Hours())
}

// typical are probabilities of the leading class as networks trained with noise show them: what
// samples are expected by.
var typical = []float64{.35, .45, .5, .55, .6, .7, .8, .9, .95, .98, .99, .995, .999, 1}

// samples of an image, as expected and at most.
func samples(o rs.Options) (mean, most float64, err error) {
	plan, err := o.Plan()
	if err != nil {
		return 0, 0, err
	}
	for _, p := range typical {
		n, _ := plan.Forecast(p)
		mean += float64(n)
	}
	return mean / float64(len(typical)), float64(plan.Selection() + plan.MaxSamples()), nil
}

// Estimate counts what is left, and times a network of each kind for some seconds where that is not
// known yet; rates are kept in the folder, where keep is set.
//
// Errors: data that are not there, a setting out of range.
func (e *Experiment) Estimate(ctx context.Context, keep bool) (Estimate, error) {
	m, err := newMeter(e, keep)
	if err != nil {
		return Estimate{}, err
	}
	defer m.Close()
	failed, err := e.Manifest.FailedModels(e.Options.Folder)
	if err != nil {
		return Estimate{}, err
	}
	left, err := e.Left()
	if err != nil {
		return Estimate{}, err
	}
	total := Estimate{Warnings: []string{}}
	for i, j := range e.Jobs {
		if !left[i] || j.Cause(failed) != nil {
			continue
		}
		total.Jobs++
		if err := m.add(ctx, &total, j); err != nil {
			return total, fmt.Errorf("%v: %w", j, err)
		}
	}
	total.Rates = m.used
	return total, nil
}

// add adds the cost of a job.
func (m *meter) add(ctx context.Context, total *Estimate, j Job) error {
	c := &costs{Place: m.Place.Measured(), meter: m, ctx: ctx, total: total}
	if j.Measure != nil {
		return j.Measure.Cost(c, j.Measured())
	}
	n, err := c.Size(j.Model.Train)
	if err != nil {
		return err
	}
	step, err := m.setup.Step(j.Model)
	if err != nil {
		return err
	}
	passes, err := m.Manifest.Passes(j.Model, step)
	if err != nil {
		return err
	}
	return c.Training(j.Model.Measured(), n*passes)
}

// costs adds up what jobs take, at the rates of this machine.
type costs struct {
	measure.Place
	meter *meter
	ctx   context.Context
	total *Estimate
}

// Size is the number of images of a set.
func (c *costs) Size(name string) (float64, error) {
	d, err := c.meter.Set(name)
	if err != nil {
		return 0, err
	}
	images, err := d.List(c.ctx)
	if err != nil {
		return 0, err
	}
	for _, warning := range images.Warnings {
		if !slices.Contains(c.total.Warnings, warning) {
			c.total.Warnings = append(c.total.Warnings, warning)
		}
	}
	return float64(images.Len()), nil
}

// Training adds rows that a network takes forward and back.
func (c *costs) Training(model *measure.Model, rows float64) error {
	rate, err := c.rate(model)
	if err != nil {
		return err
	}
	c.total.Training += rows
	c.total.Seconds += rows / rate.Training
	return nil
}

// Certify adds the noise samples of images under a rule.
func (c *costs) Certify(model *measure.Model, images float64, o rs.Options) error {
	mean, most, err := samples(o)
	if err != nil {
		return err
	}
	return c.Samples(model, images*mean, images*most)
}

// Samples adds images or noise samples that a model classifies, and at most so many.
func (c *costs) Samples(model *measure.Model, n, most float64) error {
	rate, err := c.rate(model)
	if err != nil {
		return err
	}
	c.total.Samples += n
	c.total.MostSamples += most
	c.total.Seconds += n / rate.Samples
	return nil
}

// Layers adds images that a network takes forward and back in float64.
func (c *costs) Layers(model *measure.Model, n float64) error {
	rate, err := c.rate(model)
	if err != nil {
		return err
	}
	if rate.Layers > 0 {
		c.total.Layers += n
		c.total.Seconds += n / rate.Layers
	}
	return nil
}

func (c *costs) rate(m *measure.Model) (machineRate, error) {
	return c.meter.rate(c.ctx, c.meter.Manifest.Model(m.Name))
}

// Searches adds runs of ADMM.
func (c *costs) Searches(n int) { c.total.Searches += n }
