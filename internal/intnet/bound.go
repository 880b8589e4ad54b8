package intnet

import "fmt"

// Bounds are interval bounds of a network. They are an integer network, too: a channel becomes two, the least and the
// greatest value, and weights go to one or the other by their sign. All rules of requantisation are monotone, so a
// layer alone is bounded exactly, and nothing is rounded outwards.
type Bounds struct {
	*Program
	bias    []int32
	classes int
}

// Bounds makes them, for a kernel (see Program). Errors: a network that is too large once it is doubled.
func (n *Network) Bounds(kernel string) (*Bounds, error) {
	twice := &Network{Height: n.Height, Width: n.Width, Channels: 2 * n.Channels, Low: n.Low, High: n.High,
		Unit: n.Unit}
	for _, v := range n.Border {
		twice.Border = append(twice.Border, v, v)
	}
	for i := range n.Layers {
		l := n.Layers[i]
		if l.Op == Conv || l.Op == Dense {
			l.double(len(l.Weight) / l.Out)
		}
		twice.Layers = append(twice.Layers, l)
	}
	if err := Check(twice); err != nil {
		return nil, fmt.Errorf("bounds of an %w", err)
	}
	last := &n.Layers[len(n.Layers)-1]
	p, err := twice.Program(kernel)
	return &Bounds{p, last.Bias, last.Out}, err
}

// double takes pairs of the least and the greatest input, of so many an output, and gives such pairs. The last layer
// gives upper bounds of the differences of logits, in two halves that fit their types.
func (l *Layer) double(each int) {
	from := *l
	l.Out, l.Bias, l.Scale, l.Weight = 2*l.Out, nil, nil, nil
	row := func(least bool, weight func(i int) int) {
		for i := range each {
			w := weight(i)
			if (w > 0) == least {
				l.Weight = append(l.Weight, int16(w), 0)
			} else {
				l.Weight = append(l.Weight, 0, int16(w))
			}
		}
	}
	if l.Op == Conv {
		for o, bias := range from.Bias {
			l.Bias, l.Scale = append(l.Bias, bias, bias), append(l.Scale, from.Scale[o], from.Scale[o])
			weight := func(i int) int { return int(from.Weight[o*each+i]) }
			row(true, weight)
			row(false, weight)
		}
		return
	}
	l.Out = 2 * from.Out * from.Out
	l.Bias = make([]int32, l.Out)
	for k := range from.Out {
		for m := range from.Out {
			difference := func(i int) int { return int(from.Weight[k*each+i]) - int(from.Weight[m*each+i]) }
			row(false, func(i int) int { return difference(i) >> 1 })
			row(false, func(i int) int { return difference(i) - difference(i)>>1 })
		}
	}
}

// Differences are upper bounds of logit k − logit l at k·classes + l, over all images of whole numbers from low to
// high. Errors: those of Program.Run.
func (b *Bounds) Differences(low, high []int16) ([]int64, error) {
	image := make([]int16, 0, 2*len(low))
	for i := range low {
		image = append(image, low[i], high[i])
	}
	halves, out := make([]int32, b.Classes()), make([]int64, b.classes*b.classes)
	if err := b.Run(image, halves); err != nil {
		return nil, err
	}
	for i := range out {
		k, l := i/b.classes, i%b.classes
		out[i] = int64(halves[2*i]) + int64(halves[2*i+1]) + int64(b.bias[k]) - int64(b.bias[l])
	}
	return out, nil
}
