package train

import (
	"fmt"
	"strings"

	"github.com/gomlx/compute/dtypes"
	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/optimizer"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
)

// descent is the optimizer's step, under the masks or with the scores of a pruning.
type descent struct {
	plan     *plan
	old      []*Node // of plan.tensors
	slots    []*Node // for each slot of the optimizer, those of the trained tensors
	scalars  []*Node
	rate     *Node
	averages netgraph.Averages
	kept     []*Node // masks; or frozen weights, and then scores
	keep     []*Node // where scores are learned, how many weights stay in each group after the step
}

// step gives the new tensors but for frozen ones, and new slots one after the other; where scores
// are learned, before them the numbers of weights that stay, and after them the scores.
func (d *descent) step(gradients []*Node) []*Node {
	p := d.plan
	trained, number := len(gradients), len(p.optimizer.Slots())
	slots := make([]*Node, number*trained)
	weights := make([]*Node, len(p.tensors))
	var scores []*Node
	k, place := 0, 0
	for i, info := range p.tensors {
		if info.Running && p.changes(i) {
			weights[i] = d.averages[info.Name]
			continue
		}
		if !p.trains(i) {
			continue
		}
		of := optimizer.Tensor{Weight: d.old[i], Gradient: gradients[k], Rate: d.rate, Scalars: d.scalars}
		for slot := range number {
			of.Slots = append(of.Slots, d.slots[slot*trained+k])
		}
		for begins, factor := range p.needs.Rates {
			if strings.HasPrefix(info.Name, begins) {
				of.Rate, of.NoDecay = MulScalar(of.Rate, factor), true
			}
		}
		prunable := p.pruning != nil && place < len(p.pruning.places) && p.pruning.places[place] == i
		if prunable && p.scored() {
			frozen := d.kept[place]
			of.Weight = d.kept[len(p.pruning.places)+place]
			of.Gradient = scoreGradient(of.Gradient, frozen, of.Weight)
		}
		weight, next := p.optimizer.Update(of)
		if len(next) != number {
			panic(fmt.Errorf("optimizer %s: it gives %d slots; it has %d", p.optimizer.Name(), len(next), number))
		}
		if prunable && !p.scored() {
			weight = masked(d.kept[place], weight)
			for slot := range next {
				next[slot] = masked(d.kept[place], next[slot])
			}
		}
		if prunable && p.scored() {
			scores = append(scores, weight)
		}
		weights[i] = weight
		for slot, value := range next {
			slots[slot*trained+k] = value
		}
		if prunable {
			place++
		}
		k++
	}
	if c, ok := p.method.(method.Constrainer); ok {
		for name, now := range c.Constrain(func(name string) *Node { return weights[indexOf(p.tensors, name)] }) {
			weights[indexOf(p.tensors, name)] = now
		}
	}
	var out []*Node
	if p.scored() {
		out = append(out, d.effective(weights, scores))
	}
	for _, w := range weights {
		if w != nil {
			out = append(out, w)
		}
	}
	return append(append(out, slots...), scores...)
}

// effective puts the weights that the network has under new scores in the place of these, and counts those that stay.
func (d *descent) effective(weights, scores []*Node) (kept *Node) {
	p := d.plan
	var counts []*Node
	for g, group := range p.pruning.groups {
		n := len(group.Names)
		for j, mask := range keepInGraph(scores[group.First:group.First+n], d.keep[g]) {
			place := group.First + j
			weights[p.pruning.places[place]] = effectiveWeights(p.pruner, mask, d.kept[place])
			counts = append(counts, ReduceAllSum(ConvertDType(mask, dtypes.Int32)))
		}
	}
	return Stack(counts, 0)
}
