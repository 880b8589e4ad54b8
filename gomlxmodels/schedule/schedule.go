// Package schedule holds what changes during a training: the learning rate, and numbers that ramp. All are functions of
// the step alone, so a run that goes on after an interrupt finds them unchanged.
package schedule

import (
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/choice"
)

// Clock says where a training is.
type Clock struct {
	Step          int // from 0
	Steps         int // of the whole run
	StepsPerEpoch int
}

// Epoch is counted from 0.
func (c Clock) Epoch() int { return c.Step / c.StepsPerEpoch }

// Epochs of the run.
func (c Clock) Epochs() int { return c.Steps / c.StepsPerEpoch }

// Units of time.
const (
	byEpoch = "epoch"
	byStep  = "step"
)

// in gives how many units of time have passed, and how many there are.
func (c Clock) in(unit string) (now, all int) {
	if unit == byStep {
		return c.Step, c.Steps
	}
	return c.Epoch(), c.Epochs()
}

func checkUnit(unit string) error {
	if unit != "" && unit != byEpoch && unit != byStep {
		return fmt.Errorf("it counts by %q; expected %s or %s", unit, byEpoch, byStep)
	}
	return nil
}

// Schedule gives the learning rate of each step. Implementations are plain structs, whose fields are their options.
// Register adds one of your own.
type Schedule interface {
	// Name is the schedule on cards and command lines.
	Name() string
	// Rate is the learning rate of a step, for the rate of the recipe.
	Rate(base float64, c Clock) float64
}

// cosine goes to zero over the run: base·(1 + cos(π·step/steps))/2 (Loshchilov and Hutter 2017,
// equation 5).
type cosine struct{}

func (cosine) Name() string { return "cosine" }
func (cosine) Rate(base float64, c Clock) float64 {
	return base * ((1 + math.Cos(math.Pi*float64(c.Step)/float64(c.Steps))) / 2)
}

// Steps divides the rate after each milestone.
type Steps struct {
	// Milestones in the unit By; a recipe gives them by a key of its own, and its default is half
	// and three quarters of the run.
	Milestones []int   `json:"-"`
	Divide     float64 `json:"divide" usage:"what the rate is divided by after each milestone"`
	By         string  `json:"by" usage:"unit of the milestones, epoch or step"`
}

func (Steps) Name() string { return "step" }

func (s Steps) Check() error {
	if !(s.Divide > 0) || math.IsInf(s.Divide, 0) {
		return fmt.Errorf("divide is %v; expected a finite number above 0", s.Divide)
	}
	if !slices.IsSorted(s.Milestones) || len(s.Milestones) > 0 && s.Milestones[0] < 0 {
		return fmt.Errorf("milestones %v; expected epochs in ascending order", s.Milestones)
	}
	return checkUnit(s.By)
}

func (s Steps) Rate(base float64, c Clock) float64 {
	now, _ := c.in(s.By)
	for _, milestone := range s.Milestones {
		if now >= milestone {
			base /= s.Divide
		}
	}
	return base
}

// triangular rises linearly from 0 to base at the share Peak of the run, and falls linearly to 0 at
// its end.
type triangular struct {
	Peak float64 `json:"peak" usage:"share of the run at which the rate is highest, from 0 to 1"`
}

func (triangular) Name() string { return "triangular" }

func (t triangular) Check() error {
	if !(t.Peak >= 0 && t.Peak <= 1) {
		return fmt.Errorf("peak is %v; expected a share from 0 to 1", t.Peak)
	}
	return nil
}

// Rate takes the middle of a step, so that no rate is 0.
func (t triangular) Rate(base float64, c Clock) float64 {
	at := (float64(c.Step) + 0.5) / float64(c.Steps)
	if at < t.Peak {
		return base * at / t.Peak
	}
	return base * (1 - at) / (1 - t.Peak)
}

// constant keeps the rate.
type constant struct{}

func (constant) Name() string                       { return "constant" }
func (constant) Rate(base float64, _ Clock) float64 { return base }

var registry = choice.Registry[Schedule]{Kind: "schedule", Check: Check}

func init() {
	Register("to zero over the run along a cosine", cosine{})
	Register("divided after each milestone", Steps{Divide: 10, By: byEpoch})
	Register("up to the rate and down to zero", triangular{Peak: 0.3})
	Register("the same rate throughout", constant{})
}

// defaultName is the name of the schedule that New takes for an empty name.
const defaultName = "cosine"

// Check says what is wrong with a schedule, where it has a method Check.
func Check(s Schedule) error {
	if c, ok := s.(interface{ Check() error }); ok {
		if err := c.Check(); err != nil {
			return fmt.Errorf("schedule %s: %w", s.Name(), err)
		}
	}
	return nil
}

// Register adds a schedule of your own, whose fields are the defaults of its options. It panics if another has its
// name.
func Register(description string, s Schedule) { registry.Register(description, s) }

// Names lists the schedules.
func Names() []string { return registry.Names() }

// With is the schedule of a name with options as a card has them.
func With(name string, options map[string]any) (Schedule, error) {
	if name == "" {
		name = defaultName
	}
	return registry.With(name, options)
}
