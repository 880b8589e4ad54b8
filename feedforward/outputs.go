package feedforward

import (
	"slices"

	"github.com/certspec/certspec/internal/feedforward/array"
)

// only returns the bounder of some outputs, in ascending order, where a dense layer gives them, and
// else that of all; and which outputs it has. A row that is zero at the others has the same bound by
// both, bit for bit: products with zeros change no sum.
func (b *bounder) only(outputs []int) (*bounder, []int) {
	n, at := b.n, b.n.output
	l, _ := n.nodes[at].layer.(affine)
	d, ok := l.linear.(*dense)
	if !ok || len(outputs) == d.out {
		return b, array.UpTo(0, n.Outputs())
	}
	part := &Network{nodes: slices.Clone(n.nodes), output: at}
	part.once.Do(func() {
		part.added, part.lossless = n.addedTerms()
		part.dense = n.dense
	})
	part.nodes[at].shape = Shape{len(outputs)}
	part.nodes[at].layer = affine{d.part(outputs, array.UpTo(0, d.in))}
	of := *b
	of.n, of.region = part, b.region.only(at, outputs)
	if b.tight != nil {
		of.tight = b.tight.only(at, outputs)
	}
	return &of, outputs
}
