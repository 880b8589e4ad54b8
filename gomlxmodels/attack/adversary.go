// Package attack describes attacks on a network in training: on its smoothed confidences (Adversary), and on
// the noise samples (Noises); for one on a loss of single images see loss.Ascent. Images are in units of the full
// range.
package attack

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/gomlxmodels/schedule"
)

// Target is the class whose smoothed confidence an adversary drives.
type Target int

const (
	Label     Target = iota // the label
	Predicted               // the class of the highest smoothed confidence before the attack
)

// Norm is the norm that bounds a perturbation.
type Norm string

const (
	L2   Norm = "l2"
	LInf Norm = "linf"
)

// Adversary describes an attack on the smoothed confidences of a batch.
type Adversary struct {
	Norm    Norm    // that bounds a perturbation; empty for L2
	Epsilon float64 // budget of an image in that norm, 1 = full range of a value
	Steps   int     // T
	Rate    float64 // κ: a step is κ·2ε/T long
	WarmUp  int     // epochs over which the budget grows linearly in training, from Epsilon/WarmUp in the first
	Delay   int     // epochs without an attack before that
	Target  Target
	Driver  func() Driver // a new one for every batch
}

// Driver says which way the confidences of a batch go. It runs on the host, between two steps.
type Driver interface {
	// Drive sets state.Direction.
	Drive(state *State) error
}

// Assigner is a Driver that ends with an assignment of N samples to M bins, N×M, for loss.Calibration.
type Assigner interface{ Assignment() []float32 }

// State is a batch of N images between two steps of an attack.
type State struct {
	Step           int // from 0
	Sigma, Epsilon float64
	Length         float64   // of a full step, in the units of Epsilon
	Confidence     []float64 // ẑ_n, in [0, 1]
	Correct        []bool    // the driven class is the label
	// above 0 for a confidence that is to rise, below for one that is to fall; the size is the part
	// of a full step, at most 1
	Direction []float32
}

// Ramp is ε over the epochs of a training: nothing for Delay epochs, then Epsilon·(e+1)/WarmUp, at most Epsilon.
func (a *Adversary) Ramp() schedule.Ramp {
	return schedule.Ramp{To: a.Epsilon, Start: a.Delay, Over: a.WarmUp}
}

// Check says what is wrong with an adversary.
func (a *Adversary) Check() error {
	for _, v := range []struct {
		name  string
		value float64
		zero  bool
	}{{"epsilon", a.Epsilon, true}, {"rate", a.Rate, false}} {
		if !(v.value > 0 || v.zero && v.value == 0) || math.IsInf(v.value, 0) {
			return fmt.Errorf("attack: %s is %v; expected a finite number above 0", v.name, v.value)
		}
	}
	if a.Norm != "" && a.Norm != L2 && a.Norm != LInf {
		return fmt.Errorf("attack: norm %q; expected %s or %s", a.Norm, L2, LInf)
	}
	if a.Steps < 1 {
		return fmt.Errorf("attack: %d steps; expected at least 1", a.Steps)
	}
	if a.WarmUp < 0 || a.Delay < 0 {
		return fmt.Errorf("attack: warm-up of %d epochs after %d; expected 0 or more", a.WarmUp, a.Delay)
	}
	return nil
}

// Lower is the driver of SmoothAdv (Salman et al. 2019): all confidences fall, so that −log ẑ_n, with the label as the
// class, rises.
type Lower struct{}

func (Lower) Drive(s *State) error {
	for i := range s.Direction {
		s.Direction[i] = -1
	}
	return nil
}

// Push moves all confidences one way, up or down: what an adversary of calibration must beat.
type Push struct{ Up bool }

func (p Push) Drive(s *State) error {
	if !p.Up {
		return Lower{}.Drive(s)
	}
	for i := range s.Direction {
		s.Direction[i] = 1
	}
	return nil
}

// Brier is the driver of Brier-ACT (Emde et al. 2025, section 4): it raises (ẑ_n − c_n)², c_n = 1 for a correct
// prediction and 0 for a wrong one.
type Brier struct{}

func (Brier) Drive(s *State) error {
	for i, correct := range s.Correct {
		s.Direction[i] = 1
		if correct {
			s.Direction[i] = -1
		}
	}
	return nil
}
