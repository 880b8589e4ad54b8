package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// pruning is how a run prunes.
type pruning struct {
	method   prune.Method
	sparsity float64 // at the end
	from     float64 // of the network to start from
	places   []int   // of the prunable tensors among plan.tensors
	tensors  []nets.Tensor
	groups   []prune.Group
	rise     *prune.Rise // of gmp
	rewound  [][]float32 // what lth goes back to, where the network to start from says it; of plan.tensors
}

// pruned is the state that a run that prunes keeps besides its weights. Lists are of pruning.places, but for
// rewind, which is of plan.tensors.
type pruned struct {
	masks  [][]bool    // by magnitude
	scores [][]float32 // of a method that learns them
	frozen [][]float32 // whose scores they are
	rewind [][]float32 // nil: not known yet
}

// phase is a part of a run that has the schedules to itself.
type phase struct {
	prune.Phase
	first, steps int
}

// makePruning checks what the recipe says of pruning, and fills it in.
func (p *parts) makePruning(r *modelfile.Recipe, trained bool) (err error) {
	switch {
	case r.Prune == "" && (r.Sparsity != nil || len(r.PruneOptions) > 0):
		return fmt.Errorf("a sparsity or options of pruning, but no method of it; there are %v", prune.Names())
	case r.Prune == "":
		return nil
	case r.Sparsity == nil:
		return fmt.Errorf("pruning by %s, but no sparsity", r.Prune)
	}
	if err := prune.CheckSparsity(*r.Sparsity); err != nil {
		return err
	}
	if p.pruner, err = prune.With(r.Prune, r.PruneOptions); err != nil {
		return err
	}
	p.pruner = prune.Complete(p.pruner, r.Epochs, r.LearningRate, trained)
	if r.PruneOptions, err = prune.Options(p.pruner); err != nil {
		return err
	}
	if s := *r.Sparsity; prune.Scored(p.pruner) && prune.Grown(p.pruner, s, r.Epochs-1) != s {
		return fmt.Errorf("the sparsity grows over more epochs than the %d of the run; the option ramp says over "+
			"how many", r.Epochs)
	}
	return nil
}

// planPhases lays out the run: one phase, or those of the pruning.
func (p *plan) planPhases() error {
	r := p.run.Recipe
	list := []prune.Phase{{Epochs: r.Epochs, Rate: r.LearningRate}}
	if p.pruner != nil {
		if err := p.planPruning(); err != nil {
			return fmt.Errorf("train: %w", err)
		}
		var err error
		if list, err = prune.Phases(p.pruner, *r.Sparsity, r.Epochs, r.LearningRate, p.start != nil,
			p.pruning.from); err != nil {
			return fmt.Errorf("train: %w", err)
		}
	}
	for _, one := range list {
		steps := one.Epochs * p.stepsPerEpoch
		p.phases = append(p.phases, phase{one, p.steps, steps})
		p.steps += steps
	}
	switch m := p.pruner.(type) {
	case prune.GMP:
		rise, err := m.Rise(p.steps, p.stepsPerEpoch, p.pruning.from, *r.Sparsity)
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		p.pruning.rise = &rise
	case prune.LTH:
		if p.start == nil && m.Rewind >= p.phases[0].steps {
			return fmt.Errorf("train: pruning by lth goes back to step %d of the first training, which has %d",
				m.Rewind, p.phases[0].steps)
		}
	}
	return nil
}

func (p *plan) planPruning() error {
	m := p.pruner
	pr := &pruning{method: m, sparsity: *p.run.Recipe.Sparsity, places: prune.Prunable(m, p.tensors)}
	zeros, all := 0, 0
	for _, at := range pr.places {
		pr.tensors = append(pr.tensors, p.tensors[at])
		all += p.tensors[at].Size()
		if p.start != nil {
			for _, v := range p.start[at].Values {
				if v == 0 {
					zeros++
				}
			}
		}
	}
	if all == 0 {
		return fmt.Errorf("%s has no weights to prune", p.run.Architecture.Name)
	}
	pr.from, pr.groups = float64(zeros)/float64(all), prune.Groups(m, pr.tensors)
	for _, g := range pr.groups {
		if _, err := g.Kept(pr.sparsity); err != nil {
			return err
		}
	}
	p.pruning = pr
	if _, ok := m.(prune.LTH); ok && p.start != nil {
		return p.rewindOfStart()
	}
	return nil
}

// rewindOfStart finds the early weights of the training that the network to start from comes of:
// beside it, or drawn again by its seed.
func (p *plan) rewindOfStart() (err error) {
	from, m := p.options.From, p.pruner.(prune.LTH)
	list, err := readRewind(from, m.Rewind)
	if err != nil {
		return err
	}
	card := p.startCard
	if list == nil {
		if m.Rewind > 0 || card.Recipe.Start != "" || card.Recipe.Prune != "" || card.Source != nil {
			return fmt.Errorf("the weights that %s had at step %d of its training are not known; train it by "+
				"certspec train --prune lth, with --sparsity 0 for all weights, which keeps them", from, m.Rewind)
		}
		for _, t := range p.tensors {
			p.pruning.rewound = append(p.pruning.rewound, t.As(card.Recipe.Initial).Initialize(card.Recipe.Seed))
		}
		return nil
	}
	for _, t := range p.tensors {
		i := slices.IndexFunc(list, func(o modelfile.Tensor) bool {
			return o.Name == t.Name && slices.Equal(o.Shape, t.Shape)
		})
		if i < 0 {
			return fmt.Errorf("the early weights beside %s lack %s of shape %v", from, t.Name, t.Shape)
		}
		p.pruning.rewound = append(p.pruning.rewound, list[i].Values)
	}
	return nil
}

// phaseAt is the phase of a step, and its place. A plan without any has one.
func (p *plan) phaseAt(step int) (int, phase) {
	for i := len(p.phases) - 1; i >= 0; i-- {
		if step >= p.phases[i].first {
			return i, p.phases[i]
		}
	}
	return 0, phase{prune.Phase{Rate: p.run.Recipe.LearningRate}, 0, p.steps}
}

// trains says of a tensor that the optimizer changes it.
func (p *plan) trains(i int) bool {
	if p.needs.Denoiser > 0 {
		return strings.HasPrefix(p.tensors[i].Name, "denoiser/")
	}
	return !p.tensors[i].Running && (!p.scored() || slices.Contains(p.pruning.places, i))
}

// changes reports whether a step gives a tensor new values.
func (p *plan) changes(i int) bool {
	return p.trains(i) || p.tensors[i].Running && p.needs.Denoiser == 0
}

// scored reports whether the run learns scores of frozen weights.
func (p *plan) scored() bool { return p.pruner != nil && prune.Scored(p.pruner) }

// newPruned completes a state at the beginning of a run.
func (p *plan) newPruned(s *state) error {
	pr := p.pruning
	if pr == nil {
		return nil
	}
	if !p.scored() {
		for _, at := range pr.places {
			mask := make([]bool, len(s.weights[at]))
			for j, v := range s.weights[at] {
				mask[j] = p.start == nil || v != 0
			}
			s.masks = append(s.masks, mask)
		}
		s.rewind, s.Rewound = pr.rewound, pr.rewound != nil
		return nil
	}
	if p.start == nil {
		for i, t := range p.tensors {
			s.weights[i] = prune.Frozen(pr.method, t, p.run.Recipe.Seed)
		}
	}
	for i, at := range pr.places {
		s.frozen = append(s.frozen, s.weights[at])
		s.scores = append(s.scores, prune.Scores(pr.tensors[i], p.run.Recipe.Seed))
	}
	for g, keep := range p.keptScores(0) {
		group := pr.groups[g]
		n := len(group.Names)
		for j, mask := range prune.Keep(s.scores[group.First:group.First+n], nil, keep) {
			at := pr.places[group.First+j]
			s.weights[at] = prune.EffectiveOf(pr.method, mask, s.frozen[group.First+j])
			if err := prune.Filled(pr.tensors[group.First+j:][:1], []int{countTrue(mask)}, pr.sparsity); err != nil {
				return fmt.Errorf("train: %w", err)
			}
		}
	}
	return nil
}

// keptScores are the numbers of weights that stay in the groups in a step of a method that learns scores.
func (p *plan) keptScores(step int) (list []int) {
	epoch := min(step, p.steps-1) / p.stepsPerEpoch
	for _, g := range p.pruning.groups {
		keep, err := g.Kept(prune.Grown(p.pruner, p.pruning.sparsity, epoch))
		if err != nil {
			panic("train: " + err.Error()) // planPruning tried the highest
		}
		list = append(list, keep)
	}
	return list
}

// pruneBefore does what a method by magnitude does before the next step: it keeps early weights,
// begins a round, or prunes a few more.
func (p *plan) pruneBefore(t *trainer, s *state) error {
	pr := p.pruning
	if pr == nil || p.scored() {
		return nil
	}
	at, now := p.phaseAt(s.Step)
	lth, isLTH := p.pruner.(prune.LTH)
	keeps := isLTH && !s.Rewound && s.Step == lth.Rewind
	begins := s.Round <= at
	sparsity, due := 0., false
	if pr.rise != nil {
		sparsity, due = pr.rise.At(s.Step)
	}
	if !keeps && !begins && !due {
		return nil
	}
	if err := t.read(s); err != nil {
		return err
	}
	if keeps {
		s.rewind, s.Rewound = nil, true
		for _, w := range s.weights {
			s.rewind = append(s.rewind, slices.Clone(w))
		}
	}
	if begins {
		s.Round = at + 1
		if now.Sparsity > 0 && pr.rise == nil {
			if err := p.begin(s, now.Sparsity, isLTH); err != nil {
				return err
			}
		}
	}
	if due {
		if err := p.mask(s, sparsity); err != nil {
			return err
		}
	}
	p.applyMasks(s)
	return t.load(s)
}

// begin ranks the weights, masks, and starts the optimizer anew, in a method of rounds that rewinds
// from the early weights.
func (p *plan) begin(s *state, sparsity float64, rewinds bool) error {
	if err := p.mask(s, sparsity); err != nil {
		return err
	}
	if rewinds {
		for i, w := range s.rewind {
			s.weights[i] = slices.Clone(w)
		}
	}
	s.slots = p.newSlots()
	return nil
}

// mask ranks what is left, and keeps so much that a sparsity is reached.
func (p *plan) mask(s *state, sparsity float64) error {
	pr := p.pruning
	for _, g := range pr.groups {
		keep, err := g.Kept(sparsity)
		if err != nil {
			return fmt.Errorf("train: %w", err)
		}
		var values [][]float32
		left, masks := 0, s.masks[g.First:][:len(g.Names)]
		for j, mask := range masks {
			values = append(values, s.weights[pr.places[g.First+j]])
			left += countTrue(mask)
		}
		copy(masks, prune.Keep(values, masks, min(keep, left)))
	}
	var kept []int
	for _, mask := range s.masks {
		kept = append(kept, countTrue(mask))
	}
	if err := prune.Filled(pr.tensors, kept, sparsity); err != nil {
		return fmt.Errorf("train: step %d: %w; %s", s.Step+1, err, p.kept())
	}
	return nil
}

// applyMasks makes what is masked zero, and what the optimizer keeps of it.
func (p *plan) applyMasks(s *state) {
	for k, at := range p.pruning.places {
		for j, keep := range s.masks[k] {
			if keep {
				continue
			}
			s.weights[at][j] = 0
			for _, slot := range s.slots {
				slot[at][j] = 0
			}
		}
	}
}

func countTrue(mask []bool) (n int) {
	for _, v := range mask {
		if v {
			n++
		}
	}
	return n
}

func (p *plan) pruningCard(s *state) *modelfile.Pruning {
	pr := p.pruning
	if pr == nil {
		return nil
	}
	c := &modelfile.Pruning{Start: pr.from}
	for i, at := range pr.places {
		layer := modelfile.PrunedLayer{Name: pr.tensors[i].Name, Weights: len(s.weights[at])}
		for _, v := range s.weights[at] {
			if v != 0 {
				layer.Kept++
			}
		}
		c.Weights += layer.Weights
		c.Kept += layer.Kept
		c.Layers = append(c.Layers, layer)
	}
	c.Sparsity = 1 - float64(c.Kept)/float64(c.Weights)
	if !p.scored() && pr.rise == nil {
		for _, one := range p.phases {
			c.Rounds = append(c.Rounds, one.Sparsity)
		}
	}
	return c
}
