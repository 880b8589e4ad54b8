package train

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gomlx/compute/dtypes"

	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"

	. "github.com/gomlx/gomlx/core/graph"
)

// losses are a batch's loss in the graph, with what the step beyond it takes.
type losses struct {
	terms    []loss.Term
	correct  func() *Node // the number of right answers
	trained  []*Node      // tensors that gradients are taken of
	old      []*Node      // of plan.tensors
	rate     *Node
	scalars  []*Node
	keep     []*Node
	averages netgraph.Averages
	rest     []*Node // inputs from the slots on
}

// update builds a step. Inputs are what inputs gives, tensors, slots, and what a pruning keeps;
// outputs are loss, number of right answers, the loss's terms where there are several, where scores
// are learned the numbers of weights that stay in each tensor, then new tensors but for frozen
// ones, new slots and new scores.
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
	d := &descent{plan: p, old: l.old, slots: l.rest[:slots], scalars: l.scalars, rate: l.rate, averages: l.averages,
		kept: l.rest[slots:], keep: l.keep}
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
	if p.needs.Attacks() {
		attacked := take(4)
		b.Clean, b.Gamma, b.Noise = images, attacked[0], attacked[1]
		if !p.needs.Again {
			images = Add(images, attacked[0])
		}
		images = perturb.Noisy(images, b.Noise)
		b.Class, b.Assignment = attacked[2], attacked[3]
	}
	if p.needs.Denoiser > 0 {
		b.Clean, b.Noise = images, take(1)[0]
		images = Add(images, b.Noise)
	}
	if p.needs.Soft {
		b.Soft = take(1)[0]
	}
	if p.needs.Draws > 0 {
		b.Draws = take(1)[0]
	}
	more, clean := take(2*len(p.more)), map[string]*Node{}
	for _, set := range p.needs.Sets {
		if set.Clean {
			clean[set.Name] = take(1)[0]
		}
	}
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
	var averages netgraph.Averages
	b.Logits, averages = p.forward(b, images, more, lookup)
	for name, m := range b.More {
		m.Clean = clean[name]
	}
	b.Rows = images
	b.Forward = func(rows *Node) *Node {
		logits, next := p.net.ForwardTraining(rows, func(name string) *Node {
			if v, ok := averages[name]; ok {
				return v
			}
			return lookup(name)
		})
		averages = next
		return logits
	}
	p.bounds(b, lookup)
	answers := b.Logits
	if p.needs.Blind {
		b.Logits = nil
	}
	if b.Views*b.Noises > 1 {
		answers = Slice(answers, AxisRange(0, b.Images))
	}
	terms := t.lossTerms(b)
	correct := func() *Node {
		if p.needs.Blind {
			return Const(rate.Graph(), int32(0))
		}
		return ReduceAllSum(ConvertDType(Equal(ArgMax(answers, -1, dtypes.Int32), labels), dtypes.Int32))
	}
	var trained []*Node
	for i := range list {
		if p.trains(i) {
			trained = append(trained, old[i])
		}
	}
	return &losses{terms: terms, correct: correct, trained: trained, old: old, rate: rate, scalars: scalars, keep: keep,
		averages: averages, rest: inputs}
}

// bounds gives a loss the bounds of the network around images, where it has any.
func (p *plan) bounds(b *method.Batch, lookup netgraph.Lookup) {
	net := func() bounded {
		net, ok := p.net.(bounded)
		if !ok {
			panic(fmt.Errorf("method %s: it needs bounds, but the network has none", p.method.Name()))
		}
		return net
	}
	b.Differences = func(images, epsilon *Node, clip bool) *Node {
		centre, radius := netgraph.Ball(images, epsilon, clip)
		return net().Differences(centre, radius, lookup)
	}
	b.Intervals = func(layer string, images, epsilon *Node, clip bool) (lower, upper *Node) {
		centre, radius := images, (*Node)(nil)
		if epsilon != nil {
			centre, radius = netgraph.Ball(images, epsilon, clip)
		}
		return net().Intervals(layer, centre, radius, lookup)
	}
}

// lossTerms are the terms of the method, each times its ramp where it has one. It panics, as GoMLX
// does, where they are no scalars or a ramp is of none of them.
func (t *trainer) lossTerms(b *method.Batch) []loss.Term {
	p := t.plan
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
			panic(fmt.Errorf("a ramp of %q, which is neither a number nor a term of the loss of the method %s; its "+
				"terms are %s", name, p.method.Name(), strings.Join(t.terms, ", ")))
		}
	}
	return terms
}

// forward runs the network on the rows of a batch, and on the images of further sets, in one pass.
func (p *plan) forward(b *method.Batch, images *Node, more []*Node, lookup netgraph.Lookup) (*Node, netgraph.Averages) {
	if p.needs.Denoiser > 0 {
		var logits *Node
		b.Denoised, logits = netgraph.Network{Architecture: p.run.Architecture}.ForwardDenoised(images, lookup)
		return logits, nil
	}
	if len(more) == 0 {
		return p.net.ForwardTraining(images, lookup)
	}
	rows := []*Node{images}
	normalised := slices.ContainsFunc(p.tensors, func(t nets.Tensor) bool { return t.Running })
	later := func(k int) bool { return p.needs.Sets[k].Later && !normalised }
	for k := range p.more {
		if !later(k) {
			rows = append(rows, more[2*k])
		}
	}
	logits, averages := p.net.ForwardTraining(Concatenate(rows, 0), lookup)
	at := images.Shape().Dimensions[0]
	own := Slice(logits, AxisRange(0, at))
	b.More = map[string]*method.More{}
	for k, set := range p.more {
		m := &method.More{Images: more[2*k], Labels: more[2*k+1]}
		b.More[set.name] = m
		if !later(k) {
			n := m.Images.Shape().Dimensions[0]
			m.Logits = Slice(logits, AxisRange(at, at+n))
			at += n
		}
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
