package drawnet

// Operators are the operators that are drawn, each with all attributes that ONNX gives it in opsets 7
// to 25. Of an attribute that is a word or a switch the values are listed; all of them are drawn.
var Operators = map[string]map[string][]string{
	"Conv": {"auto_pad": automatic, "dilations": nil, "group": nil, "kernel_shape": nil, "pads": nil, "strides": nil},
	"Gemm": {"alpha": nil, "beta": nil, "transA": switched, "transB": switched},
	"Add":  {}, "Sub": {}, "Mul": {}, "Div": {}, "MatMul": {},
	"BatchNormalization": {"epsilon": nil, "momentum": nil, "spatial": switched, "training_mode": switched},
	"Relu":               {}, "Sigmoid": {}, "Tanh": {}, "Softplus": {}, "LeakyRelu": {"alpha": nil},
	"HardSigmoid": {"alpha": nil, "beta": nil}, "HardSwish": {},
	"Split":    {"axis": nil, "split": nil, "num_outputs": nil},
	"GatherND": {"batch_dims": {"0"}},
	"Softmax":  {"axis": nil}, "LogSoftmax": {"axis": nil},
	"Clip": {"max": nil, "min": nil},
	"AveragePool": {"auto_pad": automatic, "ceil_mode": switched, "count_include_pad": switched, "dilations": nil,
		"kernel_shape": nil, "pads": nil, "strides": nil},
	"MaxPool": {"auto_pad": automatic, "ceil_mode": switched, "dilations": nil, "kernel_shape": nil, "pads": nil,
		"storage_order": switched, "strides": nil},
	"GlobalAveragePool": {}, "GlobalMaxPool": {},
	"ReduceLogSumExp": reduction, "ReduceMean": reduction, "ReduceSum": reduction,
	"Pad":     {"mode": {"constant", "reflect", "edge", "wrap"}, "pads": nil, "value": nil},
	"Flatten": {"axis": nil}, "Reshape": {"allowzero": switched}, "Squeeze": {"axes": nil}, "Unsqueeze": {"axes": nil},
	"Transpose": {"perm": nil}, "Concat": {"axis": nil}, "Identity": {}, "Dropout": {"ratio": nil, "seed": nil},
	"Cast": {"to": nil, "saturate": left, "round_mode": left},
	"Constant": {"value": nil, "value_float": nil, "value_floats": nil, "value_int": nil, "value_ints": nil,
		"value_string": left, "value_strings": left, "sparse_value": left},
	"Shape": {"start": nil, "end": nil}, "Gather": {"axis": nil}, "Expand": {}, "ConstantOfShape": {"value": nil},
	"Size": {}, "Range": {}, "Where": {}, "Equal": {}, "Min": {}, "Max": {}, "Neg": {}, "Abs": {}, "Sqrt": {},
	"Slice": {"axes": nil, "ends": nil, "starts": nil},
}

var (
	switched  = []string{"0", "1"}
	automatic = []string{"NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"}
	reduction = map[string][]string{"axes": nil, "keepdims": switched, "noop_with_empty_axes": switched}
	// left are attributes that are not drawn: ONNX Runtime takes them for floats of 8 bits alone, or they hold
	// strings or sparse tensors, which no operator here takes.
	left = []string{}
)

// Used lists what a network is made of: an operator as Conv, its attributes as Conv.group and, where the
// table of operators lists values, as Conv.auto_pad=VALID.
func (n *Network) Used() []string {
	var out []string
	for i := range n.Model.Graph.Nodes {
		node := &n.Model.Graph.Nodes[i]
		out = append(out, node.Op)
		for j := range node.Attributes {
			a := &node.Attributes[j]
			if out = append(out, node.Op+"."+a.Name); len(Operators[node.Op][a.Name]) > 0 {
				out = append(out, node.Op+"."+attribute(a))
			}
		}
	}
	return out
}

// Wanted lists what Used has to give over many networks.
func Wanted() []string {
	var out []string
	for op, attributes := range Operators {
		out = append(out, op)
		for name, values := range attributes {
			if values != nil && len(values) == 0 {
				continue
			}
			out = append(out, op+"."+name)
			for _, v := range values {
				out = append(out, op+"."+name+"="+v)
			}
		}
	}
	return out
}
