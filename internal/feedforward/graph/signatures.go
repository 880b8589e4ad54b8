package graph

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
)

// Oldest and Newest are the versions of ONNX's operators that are read. Before 7, arithmetic has another rule for
// dimensions.
const (
	Oldest = 7
	Newest = 25
)

// signature is an operator from a version on: how many inputs it has, and its attributes, each with the letter of its
// kind. What is not here would be passed over.
type signature struct {
	since       int64
	least, most int
	attributes  string
}

const unlimited = 1 << 30 // inputs

// Signatures of ONNX 1.23, for the versions that are read. Of optional outputs, none is.
var Signatures = map[string][]signature{
	"Conv":          {{7, 2, 3, "auto_pad:s dilations:I group:i kernel_shape:I pads:I strides:I"}},
	"Gemm":          {{7, 3, 3, "alpha:f beta:f transA:i transB:i"}, {11, 2, 3, "alpha:f beta:f transA:i transB:i"}},
	"MatMul":        {{7, 2, 2, ""}},
	"Add":           {{7, 2, 2, ""}},
	"Sub":           {{7, 2, 2, ""}},
	"Mul":           {{7, 2, 2, ""}},
	"Div":           {{7, 2, 2, ""}},
	"Relu":          {{7, 1, 1, ""}},
	"Sigmoid":       {{7, 1, 1, ""}},
	"Tanh":          {{7, 1, 1, ""}},
	"Softplus":      {{7, 1, 1, ""}},
	"LogSoftmax":    {{7, 1, 1, "axis:i"}},
	"LeakyRelu":     {{7, 1, 1, "alpha:f"}},
	"HardSigmoid":   {{7, 1, 1, "alpha:f beta:f"}},
	"HardSwish":     {{14, 1, 1, ""}},
	"Clip":          {{7, 1, 1, "max:f min:f"}, {11, 1, 3, ""}},
	"GlobalMaxPool": {{7, 1, 1, ""}},
	"BatchNormalization": {{7, 5, 5, "epsilon:f momentum:f spatial:i"}, {9, 5, 5, "epsilon:f momentum:f"},
		{14, 5, 5, "epsilon:f momentum:f training_mode:i"}},
	"AveragePool": {{7, 1, 1, "auto_pad:s count_include_pad:i kernel_shape:I pads:I strides:I"},
		{10, 1, 1, "auto_pad:s ceil_mode:i count_include_pad:i kernel_shape:I pads:I strides:I"},
		{19, 1, 1, "auto_pad:s ceil_mode:i count_include_pad:i dilations:I kernel_shape:I pads:I strides:I"}},
	"MaxPool": {{7, 1, 1, "auto_pad:s kernel_shape:I pads:I strides:I"}, {8, 1, 1,
		"auto_pad:s kernel_shape:I pads:I storage_order:i strides:I"},
		{10, 1, 1, "auto_pad:s ceil_mode:i dilations:I kernel_shape:I pads:I storage_order:i strides:I"}},
	"GlobalAveragePool": {{7, 1, 1, ""}},
	"ReduceLogSumExp":   {{7, 1, 1, "axes:I keepdims:i"}, {18, 1, 2, "keepdims:i noop_with_empty_axes:i"}},
	"ReduceMean":        {{7, 1, 1, "axes:I keepdims:i"}, {18, 1, 2, "keepdims:i noop_with_empty_axes:i"}},
	"Pad":               {{7, 1, 1, "mode:s pads:I value:f"}, {11, 2, 3, "mode:s"}, {18, 2, 4, "mode:s"}},
	"Flatten":           {{7, 1, 1, "axis:i"}},
	"Reshape":           {{7, 2, 2, ""}, {14, 2, 2, "allowzero:i"}},
	"Squeeze":           {{7, 1, 1, "axes:I"}, {13, 1, 2, ""}},
	"Unsqueeze":         {{7, 1, 1, "axes:I"}, {13, 2, 2, ""}},
	"Transpose":         {{7, 1, 1, "perm:I"}},
	"Concat":            {{7, 1, unlimited, "axis:i"}},
	"Split":             {{7, 1, 1, "axis:i split:I"}, {13, 1, 2, "axis:i"}, {18, 1, 2, "axis:i num_outputs:i"}},
	"Identity":          {{7, 1, 1, ""}},
	"Dropout":           {{7, 1, 1, "ratio:f"}, {12, 1, 3, "seed:i"}},
	"Cast":              {{7, 1, 1, "to:i"}, {19, 1, 1, "saturate:i to:i"}, {24, 1, 1, "round_mode:s saturate:i to:i"}},
	"Constant": {{7, 0, 0, "value:t"}, {12, 0, 0,
		"value:t value_float:f value_floats:F value_int:i value_ints:I"}},
	"Shape":           {{7, 1, 1, ""}, {15, 1, 1, "end:i start:i"}},
	"Size":            {{7, 1, 1, ""}},
	"Gather":          {{7, 2, 2, "axis:i"}},
	"GatherND":        {{11, 2, 2, ""}, {12, 2, 2, "batch_dims:i"}},
	"Expand":          {{8, 2, 2, ""}},
	"ConstantOfShape": {{9, 1, 1, "value:t"}},
	"Slice":           {{7, 1, 1, "axes:I ends:I starts:I"}, {10, 3, 5, ""}},
	"Range":           {{11, 3, 3, ""}},
	"Where":           {{9, 3, 3, ""}},
	"Equal":           {{7, 2, 2, ""}},
	"Min":             {{7, 1, unlimited, ""}},
	"Max":             {{7, 1, unlimited, ""}},
	"Neg":             {{7, 1, 1, ""}},
	"Abs":             {{7, 1, 1, ""}},
	"Sqrt":            {{7, 1, 1, ""}},
}

// optional are the inputs that may be left out by an empty name, from that number on.
var optional = map[string]int{"Conv": 2, "Gemm": 2, "Clip": 1, "ReduceLogSumExp": 1, "ReduceMean": 1, "Pad": 2,
	"Squeeze": 1, "Dropout": 1, "Slice": 3, "Split": 1}

var kinds = map[byte]onnxfile.Kind{'i': onnxfile.KindInt, 'I': onnxfile.KindInts, 'f': onnxfile.KindFloat,
	'F': onnxfile.KindFloats,
	's': onnxfile.KindString, 't': onnxfile.KindTensor}

// Unknown says why a node is of no operator that is read.
func Unknown(n *onnxfile.Node) string {
	if n.Domain != "" && n.Domain != "ai.onnx" {
		return fmt.Sprintf("an operator of the domain %q", n.Domain)
	}
	if _, ok := Signatures[n.Op]; !ok {
		return "no layer of this kind, so bounds and gradients of the file cannot be had; certify takes it as it is, " +
			"through ONNX Runtime. There are layers for " + strings.Join(slices.Sorted(maps.Keys(Signatures)), ", ") +
			", and Softmax and LogSoftmax at the end"
	}
	return ""
}

// Conforms says why a node has not the form of an operator that is read, in a version of the operators.
func Conforms(n *onnxfile.Node, opset int64) string {
	if reason := Unknown(n); reason != "" {
		return reason
	}
	versions := Signatures[n.Op]
	later := slices.IndexFunc(versions, func(s signature) bool { return s.since > opset })
	if later == 0 {
		return fmt.Sprintf("is not in opset %d", opset)
	}
	if later < 0 {
		later = len(versions)
	}
	s := versions[later-1]
	if len(n.Inputs) < s.least || len(n.Inputs) > s.most {
		many := strconv.Itoa(s.least)
		if s.most > s.least {
			many += " or more"
		}
		return fmt.Sprintf("%d inputs, want %s in opset %d", len(n.Inputs), many, opset)
	}
	for i, name := range n.Inputs {
		if first, ok := optional[n.Op]; name == "" && (!ok || i < first) {
			return fmt.Sprintf("input %d is missing", i)
		}
	}
	if len(n.Outputs) == 0 || n.Outputs[0] == "" || slices.ContainsFunc(n.Outputs[1:],
		func(name string) bool { return name != "" && n.Op != "Dropout" && n.Op != "Split" }) {
		return fmt.Sprintf("outputs %q, want one", n.Outputs)
	}
	return s.Takes(n.Attributes)
}

// Takes says why attributes are none of an operator's.
func (s signature) Takes(attributes []onnxfile.Attribute) string {
	want := map[string]onnxfile.Kind{}
	for _, a := range strings.Fields(s.attributes) {
		name, kind, _ := strings.Cut(a, ":")
		want[name] = kinds[kind[0]]
	}
	for i := range attributes {
		a := &attributes[i]
		kind, ok := want[a.Name]
		switch {
		case !ok:
			return fmt.Sprintf("attribute %q, which this version of the operator does not have, or has twice", a.Name)
		case a.Kind != kind || a.Reference != "" || kind == onnxfile.KindTensor && a.Tensor == nil:
			return fmt.Sprintf("attribute %q is of another type than the operator's", a.Name)
		}
		delete(want, a.Name)
	}
	return ""
}
