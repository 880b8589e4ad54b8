package mip

import (
	"fmt"
	"math"
	"slices"
)

// settings are what the searches have in common.
type settings struct {
	start      *Start
	steps      *int
	usualSteps int
	numbers    []setting
}

// setting is a number that is finite and above 0, and at least the value of least.
type setting struct {
	name         string
	value        *float64
	usual, least float64
}

// fill gives settings that are unset their usual values, the start being Clean, and refuses values out of range.
func (s settings) fill(starts ...Start) error {
	if *s.start == "" {
		*s.start = Clean
	}
	if !slices.Contains(starts, *s.start) {
		return fmt.Errorf("mip: start %q, expected one of %q", *s.start, starts)
	}
	for _, n := range s.numbers {
		if *n.value == 0 {
			*n.value = n.usual
		}
		if v := *n.value; !(v > 0 && v >= n.least) || math.IsInf(v, 0) {
			return fmt.Errorf("mip: %s is %v, expected a finite number above 0, at least %v", n.name, v, n.least)
		}
	}
	if *s.steps == 0 {
		*s.steps = s.usualSteps
	}
	if *s.steps < 0 {
		return fmt.Errorf("mip: Steps is %d, expected more than 0", *s.steps)
	}
	return nil
}
