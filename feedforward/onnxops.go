package feedforward

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/onnxfile"
)

// operators are the readers of nodes with at least one input that is a layer.
var operators map[string]func(r *reader, n *onnxfile.Node) (layer int, reason string)

func init() { // a table that its own functions name
	operators = map[string]func(r *reader, n *onnxfile.Node) (int, string){
		"Conv": (*reader).conv, "Gemm": (*reader).gemm, "MatMul": (*reader).matMul,
		"Add": (*reader).arithmetic, "Sub": (*reader).arithmetic, "Mul": (*reader).arithmetic,
		"Div":                (*reader).arithmetic,
		"BatchNormalization": (*reader).batchNorm,
		"Relu":               one((*Builder).ReLU), "Sigmoid": one((*Builder).Sigmoid), "Tanh": one((*Builder).Tanh),
		"Softplus":   one((*Builder).Softplus),
		"LogSoftmax": (*reader).logSoftmax,
		"LeakyRelu":  (*reader).leaky, "Clip": (*reader).clip,
		"HardSigmoid": (*reader).hardSigmoid, "HardSwish": one((*Builder).HardSwish),
		"AveragePool": (*reader).pool, "MaxPool": (*reader).pool, "GlobalAveragePool": (*reader).pool,
		"GlobalMaxPool":   (*reader).pool,
		"ReduceLogSumExp": (*reader).reduceLogSumExp, "ReduceMean": (*reader).reduceMean, "Pad": (*reader).pad,
		"Flatten": (*reader).reshape, "Reshape": (*reader).reshape, "Squeeze": (*reader).reshape,
		"Unsqueeze": (*reader).reshape,
		"Transpose": (*reader).transpose, "Concat": (*reader).concat, "Split": (*reader).split,
		"Slice": (*reader).take, "Gather": (*reader).take, "GatherND": (*reader).take, "Where": (*reader).where,
		"Identity": same, "Dropout": same, "Cast": (*reader).cast,
	}
}

func one(f func(b *Builder, in int) int) func(r *reader, n *onnxfile.Node) (int, string) {
	return func(r *reader, n *onnxfile.Node) (int, string) {
		in, _, reason := r.result(n)
		if reason != "" {
			return 0, reason
		}
		return f(r.b, in), ""
	}
}

// same is a layer that changes nothing in inference.
func same(r *reader, n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	return in, r.inference(n)
}

// cast is a layer in another type, rounded where that is the narrower one.
func (r *reader) cast(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	to := onnxfile.Type(n.Int("to", 0))
	if reason := computes(to); reason != "" {
		return 0, reason
	}
	r.types[n.Outputs[0]] = to
	if r.kind == onnxfile.Float64 && to == onnxfile.Float32 {
		return r.b.Sum([]float64{1}, in), "" // which allows for one rounding
	}
	return in, ""
}

// computes says why results of a type are not read.
func computes(kind onnxfile.Type) string {
	switch kind {
	case onnxfile.Float32, onnxfile.Float64:
		return ""
	}
	return fmt.Sprintf("it computes in %v; bounds and gradients are of networks in float32 or float64 (certify "+
		"takes it as it is)", kind)
}

func (r *reader) leaky(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	return r.b.LeakyReLU(in, float64(n.Float("alpha", 0.01))), ""
}

func (r *reader) clip(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	ends := [2]float64{math.Inf(-1), math.Inf(1)}
	for i, name := range []string{"min", "max"} {
		if n.Attribute(name) != nil {
			ends[i] = float64(n.Float(name, 0))
		}
		switch c, reason := r.parameter(n, i+1); {
		case reason != "":
			return 0, reason
		case c != nil && (c.Size() != 1 || len(c.Dims) > 0):
			return 0, fmt.Sprintf("an end of dimensions %v, want a single number", c.Dims)
		case c != nil:
			ends[i] = c.Real[0]
		}
	}
	return r.b.Clip(in, ends[0], ends[1]), ""
}

func (r *reader) hardSigmoid(n *onnxfile.Node) (int, string) {
	in, _, reason := r.result(n)
	if reason != "" {
		return 0, reason
	}
	return r.b.HardSigmoid(in, float64(n.Float("alpha", 0.2)), float64(n.Float("beta", 0.5))), ""
}
