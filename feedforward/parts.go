package feedforward

import "github.com/certspec/certspec/internal/feedforward/parts"

// Parts are the layers with their weights, the input first, for packages of ours that rebuild them. Slices are those
// of the network and must not be changed.
func (n *Network) Parts() []parts.Layer {
	list := make([]parts.Layer, n.output+1)
	for i, nd := range n.nodes[:n.output+1] {
		p := parts.Layer{Name: nd.name, Op: nd.op, In: nd.in, Shape: nd.shape}
		switch l := nd.layer.(type) {
		case affine:
			switch l := l.linear.(type) {
			case *convolution:
				p.Conv = &parts.Conv{Window: l.window(), Groups: l.Groups, W: l.w, B: l.b}
			case *dense:
				p.Dense = &parts.Dense{W: l.w, B: l.b}
			case *scale:
				p.Scale = &parts.Scale{S: l.s, T: l.t, Times: l.times}
			case *average:
				p.Average = &parts.Average{Window: l.options.window(), Divisor: l.divisor}
			}
		case *activation:
			p.ReLU, p.Given = l.rectifier, given(nd)
		case *maximum:
			w := l.options.window()
			p.Max = &w
		case *arrange:
			p.Move, p.Given = &parts.Move{From: l.from, Constant: l.constant}, given(nd)
		case *sum:
			p.Sign = l.sign
		case product:
			p.Product = true
		case *concat:
			p.Concat, p.Given = &parts.Concat{Blocks: l.blocks, Sizes: l.sizes}, given(nd)
		}
		list[i] = p
	}
	return list
}

func given(nd node) (values [][]float64) {
	for _, l := range nd.parameters {
		values = append(values, l.values)
	}
	return values
}

func (o ConvOptions) window() parts.Window {
	return parts.Window{Kernel: o.Kernel, Stride: o.Stride, Dilation: o.Dilation, Pad: o.Pad}
}

// Values are the values of all layers at x, in the order of Parts. Errors: those of Forward.
func (n *Network) Values(x []float64) ([][]float64, error) {
	if err := n.checkInput(x); err != nil {
		return nil, err
	}
	return n.values(x), nil
}
