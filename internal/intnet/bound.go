package intnet

import (
	"fmt"
	"math"
	"slices"
)

// Bounds are interval bounds of a network. They are an integer network, too: a channel becomes two, the least and the
// greatest value, and weights go to one or the other by their sign. All rules of requantisation are monotone, so a
// layer alone is bounded exactly, and nothing is rounded outwards.
type Bounds struct {
	*Program
	bias    []int32
	classes int
	parts   int // rows that a difference of logits is the sum of
}

// Bounds makes them, for a kernel (see Program). Errors: a network that is too large once it is doubled.
//
// Two rows make a difference of logits, as 17 bits do not fit a weight; at the ends of the types, where a half rounded
// up is one too many, three do.
func (n *Network) Bounds(kernel string) (*Bounds, error) {
	last := &n.Layers[len(n.Layers)-1]
	parts, widest := 2, int(slices.Max(last.Weight))-int(slices.Min(last.Weight))
	if widest > 2*math.MaxInt16 {
		parts = 3
	}
	twice, err := n.double(parts)
	if err != nil && parts == 2 {
		if thirds, e := n.double(3); e == nil {
			twice, parts, err = thirds, 3, nil
		}
	}
	if err != nil {
		return nil, fmt.Errorf("bounds of an %w", err)
	}
	p, err := twice.Program(kernel)
	return &Bounds{p, last.Bias, last.Out, parts}, err
}

// double makes the network of bounds, if it is affordable.
func (n *Network) double(parts int) (*Network, error) {
	if err := n.doubled(parts); err != nil {
		return nil, fmt.Errorf("integer network: %w", err)
	}
	twice := &Network{Height: n.Height, Width: n.Width, Channels: 2 * n.Channels, Low: n.Low, High: n.High,
		Unit: n.Unit}
	for _, v := range n.Border {
		twice.Border = append(twice.Border, v, v)
	}
	for i := range n.Layers {
		l := n.Layers[i]
		if l.Op == Conv || l.Op == Dense {
			if err := l.double(len(l.Weight)/l.Out, parts); err != nil {
				return nil, fmt.Errorf("integer network: layer %d: %w", i+1, err)
			}
		}
		twice.Layers = append(twice.Layers, l)
	}
	return twice, Check(twice)
}

// doubled refuses a network whose bounds are too large, before they are made.
func (n *Network) doubled(parts int) error {
	last := &n.Layers[len(n.Layers)-1]
	if parts*last.Out*last.Out > mostChannels {
		return fmt.Errorf("%d classes have %d pairs; expected at most %d", last.Out, last.Out*last.Out,
			mostChannels/parts)
	}
	weights := 2 * parts * last.Out * len(last.Weight)
	for i := range n.Layers[:len(n.Layers)-1] {
		weights += 4 * len(n.Layers[i].Weight)
	}
	if 2*weights > mostMemory {
		return fmt.Errorf("its %d weights take %s of memory; expected at most %s", weights, mebibytes(2*weights),
			mebibytes(mostMemory))
	}
	return nil
}

// double takes pairs of the least and the greatest input, of so many an output, and gives such pairs. The last layer
// gives upper bounds of the differences of logits, each the sum of some parts. Errors: parts that do not fit int16.
func (l *Layer) double(each, parts int) (err error) {
	from := *l
	l.Out, l.Bias, l.Scale, l.Weight = 2*l.Out, nil, nil, nil
	row := func(least bool, weight func(i int) int) {
		for i := range each {
			w := weight(i)
			if w != int(int16(w)) {
				err = fmt.Errorf("bounds need a weight of %d; expected one that fits 16 bits", w)
			}
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
		return err
	}
	l.Out = parts * from.Out * from.Out
	l.Bias = make([]int32, l.Out)
	for k := range from.Out {
		for m := range from.Out {
			difference := func(i int) int { return int(from.Weight[k*each+i]) - int(from.Weight[m*each+i]) }
			for p := range parts { // ⌊(d + p)/parts⌋ over all p add up to d
				row(false, func(i int) int {
					return (difference(i)+p+parts<<16)/parts - 1<<16 // the quotient of a number above 0 rounds down
				})
			}
		}
	}
	return err
}

// Differences are upper bounds of logit k − logit l at k·classes + l, over all images of whole numbers from low to
// high. Errors: those of Program.Run.
func (b *Bounds) Differences(low, high []int16) ([]int64, error) {
	image := make([]int16, 0, 2*len(low))
	for i := range low {
		image = append(image, low[i], high[i])
	}
	sums, out := make([]int32, b.Classes()), make([]int64, b.classes*b.classes)
	if err := b.Run(image, sums); err != nil {
		return nil, err
	}
	for i := range out {
		k, l := i/b.classes, i%b.classes
		out[i] = int64(b.bias[k]) - int64(b.bias[l])
		for _, part := range sums[b.parts*i : b.parts*(i+1)] {
			out[i] += int64(part)
		}
	}
	return out, nil
}
