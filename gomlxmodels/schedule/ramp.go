package schedule

import (
	"fmt"
	"math"
)

// Ramp is a number that changes linearly during a training and then stays. With t units of time since Start, t = 0 in
// the first of them, it is
//
//	From                                  for t < 0
//	From + (To − From)·(t + 1)/Over       for t + 1 < Over
//	To                                    after that.
//
// So a ramp over W epochs is at To/W in the first, and one with Over 0 jumps to To. Start may be negative: it then
// began before the run.
type Ramp struct {
	From  float64 `json:"from,omitempty" yaml:"from,omitempty"`
	To    float64 `json:"to" yaml:"to"`
	Start int     `json:"start,omitempty" yaml:"start,omitempty"`
	Over  int     `json:"over,omitempty" yaml:"over,omitempty"`
	By    string  `json:"by,omitempty" yaml:"by,omitempty"` // "epoch" (default) or "step"
}

// At is the number at a time.
func (r Ramp) At(c Clock) float64 {
	now, _ := c.in(r.By)
	t := now - r.Start
	switch {
	case t < 0:
		return r.From
	case t+1 < r.Over:
		return r.From + (r.To-r.From)*float64(t+1)/float64(r.Over)
	}
	return r.To
}

// Check says what is wrong with a ramp.
func (r Ramp) Check() error {
	for _, v := range []float64{r.From, r.To} {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("from %v to %v; expected finite numbers", r.From, r.To)
		}
	}
	if r.Over < 0 {
		return fmt.Errorf("over %d; expected 0 or more", r.Over)
	}
	return checkUnit(r.By)
}
