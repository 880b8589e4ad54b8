package prune

import (
	"fmt"
	"math"
)

// Phase is a part of a run that has the schedule of the learning rate to itself.
type Phase struct {
	Epochs   int
	Rate     float64 // learning rate at its beginning
	Sparsity float64 // of the mask that it begins with
}

// Phases are the phases of a run by a method to a sparsity, of so many epochs at a rate each: from
// scratch, or from a trained network of which a share of the prunable weights is zero. Methods in
// rounds begin with a training without mask, unless they start from a trained network, and go on
// with those of their levels that lie between its sparsity and the one asked for, and with that
// one.
func Phases(m Method, sparsity float64, epochs int, rate float64, trained bool, start float64) ([]Phase, error) {
	if sparsity < start-1e-3 {
		return nil, fmt.Errorf("pruning: the network to start from has a sparsity of %.4g, and the run one of %v; "+
			"what is pruned does not come back", start, sparsity)
	}
	var text string
	var phases []Phase
	if !trained {
		phases = append(phases, Phase{epochs, rate, 0})
	}
	switch o := m.(type) {
	case FT:
		return append(phases, Phase{o.Epochs, o.Rate, sparsity}), nil
	case LTH:
		text = o.Levels
	case LRR:
		text = o.Levels
	default:
		return []Phase{{epochs, rate, start}}, nil
	}
	rounds, err := levels(text)
	if err != nil {
		return nil, err
	}
	for _, level := range rounds {
		if level > start+1e-3 && level < sparsity {
			phases = append(phases, Phase{epochs, rate, level})
		}
	}
	if sparsity > 0 || trained {
		phases = append(phases, Phase{epochs, rate, sparsity})
	}
	return phases, nil
}

// Complete fills in what a method leaves to the run, of so many epochs at a learning rate. These
// are as in the training on of FT where it starts from a trained network.
func Complete(m Method, epochs int, rate float64, trained bool) Method {
	switch o := m.(type) {
	case FT:
		if o.Epochs == 0 {
			if o.Epochs = max(1, epochs/4); trained {
				o.Epochs = epochs
			}
		}
		if o.Rate == 0 {
			if o.Rate = rate / 10; trained {
				o.Rate = rate
			}
		}
		return o
	case EdgePopup:
		o.Ramp = ramp(o.Ramp, epochs)
		return o
	case BiProp:
		o.Ramp = ramp(o.Ramp, epochs)
		return o
	}
	return m
}

func ramp(asked, epochs int) int {
	if asked > 0 {
		return asked
	}
	return min(10, epochs/2)
}

// Grown is the sparsity in an epoch, counted from 0, of a method that learns scores. In a common
// ranking it grows from a half, so that no layer is emptied at the beginning:
//
//	s(e) = sparsity + (½ − sparsity)·(1 − e/ramp)³   for e < ramp and a sparsity of at least a half
func Grown(m Method, sparsity float64, epoch int) float64 {
	var over int
	switch o := m.(type) {
	case EdgePopup:
		over = o.Ramp
	case BiProp:
		over = o.Ramp
	}
	if m.scope().Layerwise || sparsity < 0.5 || epoch >= over {
		return sparsity
	}
	return sparsity + (0.5-sparsity)*math.Pow(1-float64(epoch)/float64(over), 3)
}

// Rise is when GMP prunes, in steps counted from 0, and how much.
type Rise struct {
	First, Every, Times int
	From, To            float64 // sparsities
}

// Rise is that of a run of so many steps, from a sparsity to another.
func (o GMP) Rise(steps, stepsPerEpoch int, from, to float64) (Rise, error) {
	first, last := int(math.Round(o.Begin*float64(steps))), int(math.Round(o.End*float64(steps)))
	every := o.Every
	if every == 0 {
		every = max(1, min(stepsPerEpoch, (last-first)/8))
	}
	r := Rise{first, every, (last - first) / every, from, to}
	if r.Times < 1 || first+every >= steps {
		return r, fmt.Errorf("pruning: gmp: no step of the run, of %d steps, is left for a pruning every %d steps "+
			"between its shares %v and %v", steps, every, o.Begin, o.End)
	}
	return r, nil
}

// At says whether a step begins with a pruning, and the sparsity after it (Zhu and Gupta 2017,
// equation 1): with t₀ the first step, n the times and Δt the steps between,
//
//	s = to + (from − to)·(1 − (t − t₀)/(n·Δt))³
func (r Rise) At(step int) (sparsity float64, due bool) {
	t := step - r.First
	if t < 0 || t%r.Every != 0 || t/r.Every > r.Times {
		return 0, false
	}
	return r.To + (r.From-r.To)*math.Pow(1-float64(t)/float64(r.Every*r.Times), 3), true
}
