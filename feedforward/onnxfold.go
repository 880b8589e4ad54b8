package feedforward

import (
	"fmt"

	"github.com/certspec/certspec/internal/feedforward/array"
	"github.com/certspec/certspec/internal/feedforward/graph"
	"github.com/certspec/certspec/internal/onnxfile"
)

// foldNode evaluates a node whose result is a constant: constants themselves, and the shapes of results, the batch
// counting as 1. done is false where the node is a layer.
func (r *reader) foldNode(n *onnxfile.Node) (done bool, reason string) {
	if n.Op == "Shape" || n.Op == "Size" {
		return true, r.foldShape(n)
	}
	in := make([]*graph.Constant, len(n.Inputs))
	for i, name := range n.Inputs {
		if _, isLayer := r.layers[name]; isLayer {
			return false, ""
		}
		if name == "" {
			continue
		}
		if in[i], reason = r.value(name); reason != "" {
			return true, reason
		}
	}
	if reason = r.inference(n); reason != "" {
		return true, reason
	}
	c, reason := graph.Fold(n, in, r.room)
	if reason == "" {
		r.constants[n.Outputs[0]] = c
	}
	return true, reason
}

// foldShape is the shape or the size of a result for a batch of one, or of a constant.
func (r *reader) foldShape(n *onnxfile.Node) string {
	dims, reason := r.dimsOf(n.Inputs[0])
	if reason != "" {
		return reason
	}
	out := &graph.Constant{Kind: onnxfile.Int64, Dims: []int{len(dims)}}
	for _, d := range dims {
		out.Whole = append(out.Whole, int64(d))
	}
	if _, isLayer := r.layers[n.Inputs[0]]; isLayer && r.open {
		out.Sized = make([]bool, len(dims))
		out.Sized[0] = true
	}
	if n.Op == "Size" {
		out.Dims, out.Whole, out.Sized = []int{}, []int64{int64(array.Size(dims))}, out.Sized[:min(1, len(out.Sized))]
	} else {
		ends := [2]int{int(n.Int("start", 0)), int(n.Int("end", int64(len(dims))))}
		for i, at := range ends {
			if at < 0 {
				at += len(dims)
			}
			ends[i] = min(max(at, 0), len(dims))
		}
		out = out.Taken([]int{max(0, ends[1]-ends[0])}, func(index []int) int { return ends[0] + index[0] })
	}
	r.constants[n.Outputs[0]] = out
	return ""
}

// room says why a constant of dimensions is too large, before anything is made for it.
func (r *reader) room(dims []int) string {
	n := 1
	for _, d := range dims {
		if d < 0 || d > 0 && n > array.MostValues/d {
			return fmt.Sprintf("a constant of dimensions %v, want at most %d values", dims, array.MostValues)
		}
		n *= d
	}
	r.b.size.held += 8 * n
	return r.b.size.tooLarge("a constant of dimensions", dims)
}
