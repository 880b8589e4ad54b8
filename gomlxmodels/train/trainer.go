package train

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

type network interface {
	Tensors() []nets.Tensor
	Forward(images *Node, lookup netgraph.Lookup) *Node
	ForwardTraining(images *Node, lookup netgraph.Lookup) (*Node, netgraph.Averages)
}

// bounded is a network with a bounded forward pass.
type bounded interface {
	Differences(centre, radius *Node, lookup netgraph.Lookup) *Node
	Intervals(layer string, centre, radius *Node, lookup netgraph.Lookup) (lower, upper *Node)
}

// trainer holds the weights and the optimizer's slots on the device, and the compiled step.
type trainer struct {
	plan    *plan
	exec    *Exec
	viewer  *Exec             // makes the views that the graph makes; else nil
	measure *Exec             // of Options.Diagnose; else nil
	attack  *perturb.Smoothed // nil without an adversary
	shake   *perturb.Shake    // nil without an attack on noises
	climbs  []*perturb.Climb  // of plan.more; nil where a set is not attacked
	terms   []string          // names of the loss's terms, from the graph
	weights []*tensors.Tensor // of plan.tensors
	slots   []*tensors.Tensor // of the optimizer: for each slot those of the trained ones of plan.tensors
	// of pruning.places: masks, or the frozen weights whose scores are learned; no step changes
	// them
	fixed  []*tensors.Tensor
	scores []*tensors.Tensor // of pruning.places
}

func newTrainer(b *backend.Backend, p *plan, s *state) (*trainer, error) {
	t := &trainer{plan: p}
	if err := t.load(s); err != nil {
		return nil, err
	}
	exec, err := NewExec(b.Backend, t.update)
	if err != nil {
		return nil, fmt.Errorf("train: %w", err)
	}
	t.exec = exec
	if p.options.Diagnose != nil {
		if t.measure, err = NewExec(b.Backend, t.gradients); err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	if p.viewsByGraph() {
		if t.viewer, err = newViewer(b, p); err != nil {
			return nil, err
		}
	}
	if p.needs.Adversary != nil {
		t.attack, err = perturb.NewSmoothed(&perturb.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors},
			p.needs.Adversary.Norm)
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	if p.needs.Shaken != nil {
		t.shake, err = perturb.NewShake(&perturb.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors},
			p.needs.Shaken)
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	for _, set := range p.needs.Sets {
		var climb *perturb.Climb
		if set.Attack != nil {
			if climb, err = perturb.NewClimb(&perturb.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors},
				set.Attack); err != nil {
				return nil, fmt.Errorf("train: %w", err)
			}
		}
		t.climbs = append(t.climbs, climb)
	}
	return t, nil
}

// load brings a state to the device, in place of what is there.
func (t *trainer) load(s *state) error {
	p := t.plan
	if err := free(slices.Concat(t.weights, t.slots, t.fixed, t.scores)); err != nil {
		return err
	}
	t.weights, t.slots, t.fixed, t.scores = nil, nil, nil, nil
	for i, info := range p.tensors {
		t.weights = append(t.weights, tensors.FromFlatDataAndDimensions(s.weights[i], info.Shape...))
	}
	for _, slot := range s.slots {
		for i, info := range p.tensors {
			if p.trains(i) {
				t.slots = append(t.slots, tensors.FromFlatDataAndDimensions(slot[i], info.Shape...))
			}
		}
	}
	if p.pruning == nil {
		return nil
	}
	for i, info := range p.pruning.tensors {
		if p.scored() {
			t.fixed = append(t.fixed, tensors.FromFlatDataAndDimensions(s.frozen[i], info.Shape...))
			t.scores = append(t.scores, tensors.FromFlatDataAndDimensions(s.scores[i], info.Shape...))
		} else {
			t.fixed = append(t.fixed, tensors.FromFlatDataAndDimensions(s.masks[i], info.Shape...))
		}
	}
	return nil
}

// read brings weights and slots back into the state.
func (t *trainer) read(s *state) (err error) {
	for i := range t.plan.tensors {
		if s.weights[i], err = tensors.CopyFlatData[float32](t.weights[i]); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	k := 0
	for _, slot := range s.slots {
		for i := range t.plan.tensors {
			if !t.plan.trains(i) {
				continue
			}
			if slot[i], err = tensors.CopyFlatData[float32](t.slots[k]); err != nil {
				return fmt.Errorf("train: %w", err)
			}
			k++
		}
	}
	for i, scores := range t.scores {
		if s.scores[i], err = tensors.CopyFlatData[float32](scores); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}

func (t *trainer) close() {
	free(slices.Concat(t.weights, t.slots, t.fixed, t.scores))
	t.exec.Finalize()
	if t.measure != nil {
		t.measure.Finalize()
	}
	if t.viewer != nil {
		t.viewer.Finalize()
	}
	if t.attack != nil {
		t.attack.Close()
	}
	if t.shake != nil {
		t.shake.Close()
	}
	for _, c := range t.climbs {
		if c != nil {
			c.Close()
		}
	}
}

// free gives device memory back: the garbage collector does not see it.
func free(list []*tensors.Tensor) error {
	for _, t := range list {
		if err := t.FinalizeAll(); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	return nil
}
