package feedforward

import (
	"fmt"
	"sort"

	"github.com/certspec/certspec/internal/onnxfile"
)

// operators are the readers of nodes with at least one input that is a layer.
var operators map[string]func(r *reader, n *onnxfile.Node) (layer int, reason string)

func init() { // a table that its own functions name
	operators = map[string]func(r *reader, n *onnxfile.Node) (int, string){
		"Conv": (*reader).conv, "Gemm": (*reader).gemm, "MatMul": (*reader).matMul,
		"Add": (*reader).arithmetic, "Sub": (*reader).arithmetic, "Mul": (*reader).arithmetic, "Div": (*reader).arithmetic,
		"BatchNormalization": (*reader).batchNorm,
		"Relu":               one((*Builder).ReLU), "Sigmoid": one((*Builder).Sigmoid), "Tanh": one((*Builder).Tanh), "Softplus": one((*Builder).Softplus),
		"LogSoftmax": (*reader).logSoftmax,
		"LeakyRelu":  (*reader).leaky, "Clip": (*reader).clip,
		"AveragePool": (*reader).pool, "MaxPool": (*reader).pool, "GlobalAveragePool": (*reader).pool, "GlobalMaxPool": (*reader).pool,
		"ReduceLogSumExp": (*reader).reduceLogSumExp, "ReduceMean": (*reader).reduceMean, "Pad": (*reader).pad,
		"Flatten": (*reader).reshape, "Reshape": (*reader).reshape, "Squeeze": (*reader).reshape, "Unsqueeze": (*reader).reshape,
		"Transpose": (*reader).transpose, "Concat": (*reader).concat,
		"Identity": same, "Dropout": same, "Cast": same,
	}
}

func operatorNames() []string {
	names := []string{"Constant", "Shape", "Gather", "Softmax and LogSoftmax at the end"}
	for name := range operators {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

func one(f func(b *Builder, in int) int) func(r *reader, n *onnxfile.Node) (int, string) {
	return func(r *reader, n *onnxfile.Node) (int, string) {
		in, ok := r.layer(n, 0)
		if !ok {
			return 0, "its input is constant"
		}
		return f(r.b, in), ""
	}
}

// same is a layer that changes nothing in inference.
func same(r *reader, n *onnxfile.Node) (int, string) {
	in, ok := r.layer(n, 0)
	if !ok {
		return 0, "its input is constant"
	}
	if n.Op == "Dropout" && len(n.Inputs) > 2 && n.Inputs[2] != "" {
		if _, v, reason := r.constant(n, 2); reason != "" || len(v) != 1 || v[0] != 0 {
			return 0, "in training mode"
		}
	}
	if n.Op == "Cast" {
		switch to := onnxfile.Type(n.Int("to", 0)); to {
		case onnxfile.Float32, onnxfile.Float64:
		default:
			return 0, fmt.Sprintf("to type %v, which rounds", to)
		}
	}
	return in, ""
}
