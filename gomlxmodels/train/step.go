package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/prune"
)

// network is what a step trains; a nets.Architecture is one.
type network interface {
	Tensors() []nets.Tensor
	Forward(images *Node, lookup nets.Lookup) *Node
	ForwardTraining(images *Node, lookup nets.Lookup) (*Node, nets.Averages)
}

// bounded is a network with a bounded forward pass.
type bounded interface {
	Differences(centre, radius *Node, lookup nets.Lookup) *Node
	Intervals(layer string, centre, radius *Node, lookup nets.Lookup) (lower, upper *Node)
}

// trainer holds the weights and the optimizer's slots on the device, and the compiled step.
type trainer struct {
	plan    *plan
	exec    *Exec
	viewer  *Exec             // makes the views that the graph makes; else nil
	measure *Exec             // of Options.Diagnose; else nil
	attack  *attack.Smoothed  // nil without an adversary
	climbs  []*attack.Climb   // of plan.more; nil where a set is not attacked
	terms   []string          // names of the loss's terms, from the graph
	weights []*tensors.Tensor // of plan.tensors
	slots   []*tensors.Tensor // of the optimizer: for each slot those of the trained ones of plan.tensors
	fixed   []*tensors.Tensor // of pruning.places: masks, or the frozen weights whose scores are learned; no step changes them
	scores  []*tensors.Tensor // of pruning.places
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
		t.attack, err = attack.NewSmoothed(&attack.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors})
		if err != nil {
			return nil, fmt.Errorf("train: %w", err)
		}
	}
	for _, set := range p.needs.Sets {
		var climb *attack.Climb
		if set.Attack != nil {
			if climb, err = attack.NewClimb(&attack.Network{Backend: b, Forward: p.net.Forward, Tensors: p.tensors}, set.Attack); err != nil {
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

// losses are a batch's loss in the graph, with what the step beyond it takes.
type losses struct {
	terms    []loss.Term
	correct  func() *Node // the number of right answers
	trained  []*Node      // tensors that gradients are taken of
	old      []*Node      // of plan.tensors
	rate     *Node
	scalars  []*Node
	keep     []*Node
	averages nets.Averages
	rest     []*Node // inputs from the slots on
}

// update builds a step. Inputs are what inputs gives, tensors, slots, and what a pruning keeps; outputs are loss, number of right
// answers, the loss's terms where there are several, where scores are learned the numbers of weights that stay in each tensor, then new tensors but
// for frozen ones, new slots and new scores.
func (t *trainer) update(inputs []*Node) []*Node {
	p, l := t.plan, t.losses(inputs)
	loss := l.terms[0].Value
	for _, term := range l.terms[1:] {
		loss = Add(loss, term.Value)
	}
	updated := []*Node{loss, l.correct()}
	if len(l.terms) > 1 {
		for _, term := range l.terms {
			updated = append(updated, term.Value)
		}
	}
	gradients := Gradient(loss, l.trained...)
	slots := len(p.optimizer.Slots()) * len(l.trained)
	d := &descent{plan: p, old: l.old, slots: l.rest[:slots], scalars: l.scalars, rate: l.rate, averages: l.averages, kept: l.rest[slots:], keep: l.keep}
	return append(updated, d.step(gradients)...)
}

// losses builds the terms of the loss from the inputs of a step.
func (t *trainer) losses(inputs []*Node) *losses {
	p, list := t.plan, t.plan.tensors
	take := func(n int) []*Node {
		taken := inputs[:n]
		inputs = inputs[n:]
		return taken
	}
	first := take(3)
	images, labels, rate := first[0], first[1], first[2]
	b := &method.Batch{
		Labels: labels, Sigma: p.run.Recipe.Noise(),
		Images: labels.Shape().Dimensions[0], Views: p.needs.Views, Noises: p.needs.Noises,
	}
	if p.needs.Adversary != nil {
		attacked := take(4)
		images = attack.Noisy(Add(images, attacked[0]), attacked[1])
		b.Class, b.Assignment = attacked[2], attacked[3]
	}
	more := take(2 * len(p.more))
	scalars := take(len(p.optimizer.Scalars(1)))
	b.Numbers = map[string]*Node{}
	for i, number := range take(len(p.numbers)) {
		b.Numbers[p.numbers[i]] = number
	}
	var keep []*Node
	if p.scored() {
		keep = take(len(p.pruning.groups))
	}
	old := take(len(list))
	lookup := func(name string) *Node { return old[indexOf(list, name)] }
	var averages nets.Averages
	b.Logits, averages = p.forward(b, images, more, lookup)
	b.Rows = images
	net := func() bounded {
		net, ok := p.net.(bounded)
		if !ok {
			panic(fmt.Errorf("method %s: it needs bounds, but the network has none", p.method.Name()))
		}
		return net
	}
	b.Differences = func(images, epsilon *Node, clip bool) *Node {
		centre, radius := nets.Ball(images, epsilon, clip)
		return net().Differences(centre, radius, lookup)
	}
	b.Intervals = func(layer string, images, epsilon *Node, clip bool) (lower, upper *Node) {
		centre, radius := images, (*Node)(nil)
		if epsilon != nil {
			centre, radius = nets.Ball(images, epsilon, clip)
		}
		return net().Intervals(layer, centre, radius, lookup)
	}
	answers := b.Logits
	if b.Views*b.Noises > 1 {
		answers = Slice(answers, AxisRange(0, b.Images))
	}
	terms := p.method.Loss(b)
	if len(terms) == 0 {
		panic(fmt.Errorf("method %s: its loss has no terms", p.method.Name()))
	}
	t.terms = nil
	for i, term := range terms {
		if term.Value == nil || !term.Value.IsScalar() {
			panic(fmt.Errorf("method %s: the term %q of its loss is no scalar", p.method.Name(), term.Name))
		}
		t.terms = append(t.terms, term.Name)
		if factor, ramps := b.Numbers[term.Name]; ramps {
			terms[i].Value = Mul(term.Value, factor)
		}
	}
	for _, name := range p.numbers {
		if _, own := p.needs.Ramps[name]; !own && !slices.Contains(t.terms, name) {
			panic(fmt.Errorf("a ramp of %q, which is neither a number nor a term of the loss of the method %s; its terms are %s", name, p.method.Name(), strings.Join(t.terms, ", ")))
		}
	}
	correct := func() *Node {
		return ReduceAllSum(ConvertDType(Equal(ArgMax(answers, -1, dtypes.Int32), labels), dtypes.Int32))
	}
	var trained []*Node
	for i := range list {
		if p.trains(i) {
			trained = append(trained, old[i])
		}
	}
	return &losses{terms: terms, correct: correct, trained: trained, old: old, rate: rate, scalars: scalars, keep: keep, averages: averages, rest: inputs}
}

// forward runs the network on the rows of a batch, and on the images of further sets, in one pass.
func (p *plan) forward(b *method.Batch, images *Node, more []*Node, lookup nets.Lookup) (*Node, nets.Averages) {
	if len(more) == 0 {
		return p.net.ForwardTraining(images, lookup)
	}
	rows := []*Node{images}
	for k := range p.more {
		rows = append(rows, more[2*k])
	}
	logits, averages := p.net.ForwardTraining(Concatenate(rows, 0), lookup)
	at := images.Shape().Dimensions[0]
	own := Slice(logits, AxisRange(0, at))
	b.More = map[string]*method.More{}
	for k, set := range p.more {
		n := more[2*k].Shape().Dimensions[0]
		b.More[set.name] = &method.More{Images: more[2*k], Logits: Slice(logits, AxisRange(at, at+n)), Labels: more[2*k+1]}
		at += n
	}
	return own, averages
}

func indexOf(list []nets.Tensor, name string) int {
	for i, t := range list {
		if t.Name == name {
			return i
		}
	}
	panic(fmt.Sprintf("train: no tensor %q", name))
}

// outcome is what a step tells of its batch.
type outcome struct {
	loss    float64
	correct int       // images right in their first view under its first noise
	terms   []float64 // of trainer.terms; nil where there is one
}

// step takes one step, counted from 0.
func (t *trainer) step(b batch, step int) (outcome, error) {
	if b.err != nil {
		return outcome{}, b.err
	}
	args, inputs, err := t.arguments(b, step)
	defer func() { free(inputs) }()
	if err != nil {
		return outcome{}, err
	}
	outputs, err := t.exec.Call(args...)
	if err != nil {
		return outcome{}, err // the weights are still needed, for a last checkpoint
	}
	o := outcome{loss: float64(tensors.ToScalar[float32](outputs[0])), correct: int(tensors.ToScalar[int32](outputs[1]))}
	n := 2
	if len(t.terms) > 1 {
		for _, term := range outputs[2 : 2+len(t.terms)] {
			o.terms = append(o.terms, float64(tensors.ToScalar[float32](term)))
		}
		n += len(t.terms)
	}
	var kept []int32
	if t.plan.scored() {
		if kept, err = tensors.CopyFlatData[int32](outputs[n]); err != nil {
			return o, fmt.Errorf("train: %w", err)
		}
		n++
	}
	old := append(outputs[:n:n], t.slots...)
	old = append(old, t.scores...)
	next := outputs[n:]
	for i := range t.weights {
		if t.plan.trains(i) || t.plan.tensors[i].Running {
			old, t.weights[i], next = append(old, t.weights[i]), next[0], next[1:]
		}
	}
	t.slots, t.scores = next[:len(t.slots):len(t.slots)], next[len(t.slots):]
	if err := free(old); err != nil {
		return o, err
	}
	return o, t.plan.empty(kept, step)
}

// arguments are what a step computes with: the inputs of the batch, which are to be freed, also on an error, and after them what stays on the device.
func (t *trainer) arguments(b batch, step int) (args []any, inputs []*tensors.Tensor, err error) {
	if inputs, err = t.inputs(b, step); err != nil {
		return nil, inputs, err
	}
	for k := range b.more {
		images, err := t.moreImages(k, b.more[k].images, step)
		inputs = append(inputs, images, tensors.FromFlatDataAndDimensions(b.more[k].labels, len(b.more[k].labels)))
		if err != nil {
			return nil, inputs, err
		}
	}
	for _, v := range t.plan.optimizer.Scalars(step + 1) {
		inputs = append(inputs, tensors.FromScalar(float32(v)))
	}
	for _, name := range t.plan.numbers {
		inputs = append(inputs, tensors.FromScalar(float32(t.plan.ramps[name].At(t.plan.clock(step)))))
	}
	if t.plan.scored() {
		for _, n := range t.plan.keptScores(step + 1) {
			inputs = append(inputs, tensors.FromScalar(int32(n)))
		}
	}
	for _, list := range [][]*tensors.Tensor{inputs, t.weights, t.slots, t.fixed, t.scores} {
		for _, input := range list {
			args = append(args, input)
		}
	}
	return args, inputs, nil
}

// empty is an error where a layer has lost all its weights.
func (p *plan) empty(kept []int32, step int) error {
	if i := slices.Index(kept, 0); i >= 0 {
		epoch := min(step+1, p.steps-1) / p.stepsPerEpoch
		return &prune.EmptyLayer{Layer: p.pruning.tensors[i].Name, Weights: p.pruning.tensors[i].Size(), Sparsity: prune.Grown(p.pruner, p.pruning.sparsity, epoch)}
	}
	return nil
}

// inputs moves a batch to the device, and has it attacked where the method says so: images, labels and rate, and for an adversary
// the perturbations, the noise, the classes it drove and its assignment.
func (t *trainer) inputs(b batch, step int) ([]*tensors.Tensor, error) {
	images := t.move(b.images)
	var noise *tensors.Tensor
	if b.noise != nil {
		noise = t.move(b.noise)
	}
	a := t.plan.needs.Adversary
	if b.unmade != nil {
		var err error
		if images, err = t.makeViews(b.unmade, images, noise); err != nil {
			return []*tensors.Tensor{noise}, err
		}
	}
	list := []*tensors.Tensor{images, tensors.FromFlatDataAndDimensions(b.labels, len(b.labels)), tensors.FromScalar(float32(t.plan.rate(step)))}
	if a == nil {
		if noise == nil {
			return list, nil
		}
		return list, free([]*tensors.Tensor{noise})
	}
	found := &attack.Found{Class: b.labels}
	epsilon := t.plan.budget(step)
	if assigns := t.plan.assigns(); epsilon > 0 || assigns {
		var err error
		if found, err = t.attack.Run(a, epsilon, t.plan.sigma(step), images, noise, b.labels, t.weights); err != nil {
			return append(list, noise), err
		}
	} else {
		found.Gamma = tensors.FromShape(images.Shape())
	}
	assignment := found.Assignment
	if assignment == nil {
		assignment = make([]float32, len(b.labels))
	}
	n := len(b.labels)
	return append(list, found.Gamma, noise, tensors.FromFlatDataAndDimensions(found.Class, n),
		tensors.FromFlatDataAndDimensions(assignment, n, len(assignment)/n)), nil
}

// moreImages moves those of a further set to the device, and has them attacked where the method says so.
func (t *trainer) moreImages(k int, values []float32, step int) (*tensors.Tensor, error) {
	images := t.move(values)
	if t.climbs[k] == nil {
		return images, nil
	}
	epsilon := t.plan.ramps[t.plan.needs.Sets[k].Epsilon].At(t.plan.clock(step))
	if epsilon == 0 {
		return images, nil
	}
	return t.climbs[k].Run(epsilon, images, t.weights)
}

// move brings images to the device.
func (t *trainer) move(values []float32) *tensors.Tensor {
	shape := t.plan.images.Shape
	return tensors.FromFlatDataAndDimensions(values, len(values)/shape.Len(), shape.Height, shape.Width, shape.Channels)
}

// notFinite says which terms of a loss are not finite.
func (t *trainer) notFinite(o outcome) string {
	var found []string
	for i, v := range o.terms {
		if v-v != 0 {
			found = append(found, fmt.Sprintf("%s %v", t.terms[i], v))
		}
	}
	if len(o.terms) == 0 {
		return t.terms[0]
	}
	if len(found) == 0 {
		return "the sum of finite terms"
	}
	return strings.Join(found, ", ")
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
