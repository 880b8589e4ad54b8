//go:build external && cgo && !noonnx && (linux || darwin)

package onnx

import (
	"maps"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit/drawnet"
)

// misreadings are readings that are wrong: each makes of a network the one for which it would be taken, and says
// whether it met something that it misreads.
var misreadings = map[string]func(net *drawnet.Network, m *onnxfile.Model) bool{
	"a constant keeps the axes that it had before": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		constant := constantsOf(m)
		return eachNode(m, func(n *onnxfile.Node) bool {
			switch n.Op {
			case "Reshape", "Unsqueeze", "Squeeze", "Flatten", "Transpose":
				return constant[n.Inputs[0]] && identity(n)
			}
			return false
		})
	},
	"a cast of a constant and back changes nothing": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		constant := constantsOf(m)
		by := producers(m)
		return eachNode(m, func(n *onnxfile.Node) bool {
			before := by[n.Inputs[0]]
			return n.Op == "Cast" && constant[n.Inputs[0]] && before != nil && before.Op == "Cast" &&
				identity(before) && identity(n)
		})
	},
	"an axis that a constant adds in front is dropped": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		met := map[string]bool{}
		for _, n := range m.Graph.Nodes {
			switch n.Op {
			case "Add", "Sub", "Mul", "Div":
				met[n.Inputs[0]], met[n.Inputs[1]] = true, true
			}
		}
		return eachTensor(m, func(name string, t *onnxfile.Tensor) bool {
			if !met[name] || len(t.Dims) < 3 || t.Dims[0] != 1 || t.Dims[1] != 1 {
				return false
			}
			for len(t.Dims) > 0 && t.Dims[0] == 1 {
				t.Dims = t.Dims[1:]
			}
			return true
		})
	},
	"Softmax is over all values": func(net *drawnet.Network, m *onnxfile.Model) bool {
		n := &m.Graph.Nodes[len(m.Graph.Nodes)-1]
		if n.Op != "Softmax" && n.Op != "LogSoftmax" {
			return false
		}
		flat := onnxfile.Node{Op: "Flatten", Inputs: n.Inputs, Outputs: []string{"flat"}}
		n.Inputs, n.Attributes = []string{"flat"}, nil
		m.Graph.Nodes = slices.Insert(m.Graph.Nodes, len(m.Graph.Nodes)-1, flat)
		m.Graph.Outputs[0].Dims = []onnxfile.Dim{m.Graph.Inputs[0].Dims[0], {Size: size(net.Output)}}
		return true
	},
	"AveragePool divides by the whole window": func(net *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool { return n.Op == "AveragePool" && asConv(net, m, n) })
	},
	"the padding counts": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			return n.Op == "AveragePool" && set(n, onnxfile.IntAttribute("count_include_pad", 1-n.Int("count_include_pad", 0)))
		})
	},
	"SAME pads as the text says": func(net *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool { return written(net, n) })
	},
	"SAME_LOWER is SAME_UPPER": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			return n.Text("auto_pad", "") == "SAME_LOWER" && set(n, onnxfile.TextAttribute("auto_pad", "SAME_UPPER"))
		})
	},
	"half precision is single precision": func(net *drawnet.Network, m *onnxfile.Model) bool {
		if net.Type != onnxfile.Float16 {
			return false
		}
		for _, values := range [][]onnxfile.Value{m.Graph.Inputs, m.Graph.Outputs} {
			for i := range values {
				values[i].Type = widened(values[i].Type)
			}
		}
		eachNode(m, func(n *onnxfile.Node) bool {
			return n.Op == "Cast" && set(n, onnxfile.IntAttribute("to", int64(widened(onnxfile.Type(n.Int("to", 0))))))
		})
		eachTensor(m, func(_ string, t *onnxfile.Tensor) bool {
			return t.Type == onnxfile.Float16 && changeValues(t, func(v []float64) {})
		})
		return true
	},
	// The same function, whose factors and parts stay small until all is added up.
	"what a sum is made of is not looked at": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return small(m, func(*onnxfile.Node) bool { return true })
	},
	"what is there before alpha is not looked at": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			alpha := float64(n.Float("alpha", 1))
			t := tensorOf(m, n.Inputs[min(1, len(n.Inputs)-1)])
			if n.Op != "Gemm" || alpha == 1 || t == nil || t.Type != onnxfile.Float32 {
				return false
			}
			return set(n, onnxfile.FloatAttribute("alpha", 1)) && changeValues(t, func(v []float64) {
				for i := range v {
					v[i] *= alpha
				}
			})
		})
	},
	"the sum of a mean is not looked at": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		by := producers(m)
		return instead(m, func(n *onnxfile.Node) []onnxfile.Node {
			pad := by[n.Inputs[0]]
			if n.Op != "GlobalAveragePool" || pad == nil || pad.Op != "Pad" || !lessenedPad(m, pad) {
				return nil
			}
			out := n.Outputs[0]
			mean := *n
			mean.Outputs = []string{out + "small"}
			return append([]onnxfile.Node{mean}, larger(out+"small", out)...)
		})
	},
	// Factors stay apart from the sum behind which they are.
	"no engine folds factors": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		met := map[string]bool{}
		for _, n := range m.Graph.Nodes {
			if len(n.Inputs) > 0 {
				met[n.Op+n.Inputs[0]] = true
			}
		}
		return small(m, func(n *onnxfile.Node) bool {
			out := n.Outputs[0]
			return met["BatchNormalization"+out] || met["Mul"+out] || met["Div"+out]
		})
	},
	"strides go along the other axis":   exchanged("strides", 0, 1),
	"dilations go along the other axis": exchanged("dilations", 0, 1),
	"pads are before and after by axis": exchanged("pads", 1, 2),
	"transB is the other one": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			return n.Op == "Gemm" && set(n, onnxfile.IntAttribute("transB", 1-n.Int("transB", 0)))
		})
	},
	"attributes are left out": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			switch n.Op {
			case "Gemm", "LeakyRelu", "BatchNormalization", "Pad":
				before := len(n.Attributes)
				n.Attributes = slices.DeleteFunc(n.Attributes, func(a onnxfile.Attribute) bool {
					return a.Name == "beta" || a.Name == "alpha" || a.Name == "epsilon" || a.Name == "value"
				})
				return len(n.Attributes) < before
			}
			return false
		})
	},
	"what is joined comes in the other order": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			if n.Op != "Concat" || len(n.Inputs) != 2 || n.Inputs[0] == n.Inputs[1] {
				return false
			}
			slices.Reverse(n.Inputs)
			return true
		})
	},
	"perm is the inverse one": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			perm := n.Ints("perm")
			inverse := make([]int64, len(perm))
			for i, p := range perm {
				inverse[p] = int64(i)
			}
			return n.Op == "Transpose" && !slices.Equal(perm, inverse) && set(n, onnxfile.IntsAttribute("perm", inverse...))
		})
	},
	"ceil_mode is not looked at": func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			return n.Int("ceil_mode", 0) != 0 && set(n, onnxfile.IntAttribute("ceil_mode", 0))
		})
	},
}

// exchanged exchanges two numbers of a list.
func exchanged(attribute string, i, j int) func(*drawnet.Network, *onnxfile.Model) bool {
	return func(_ *drawnet.Network, m *onnxfile.Model) bool {
		return eachNode(m, func(n *onnxfile.Node) bool {
			list := n.Ints(attribute)
			if len(list) <= j || list[i] == list[j] {
				return false
			}
			list[i], list[j] = list[j], list[i]
			return true
		})
	}
}

// Readings that are broken on purpose are found: for each there is a network among those drawn whose bounds then do
// not hold.
func TestDrawnMisreadings(t *testing.T) {
	drawnRuntime(t)
	const networks = 20000
	left := maps.Clone(misreadings)
	met := map[string]int{}
	for seed := uint64(0); seed < networks && len(left) > 0; seed++ {
		choices := drawnet.FromSeed(seed)
		net := drawnet.Draw(choices)
		for name, change := range left {
			seen := drawnet.Draw(drawnet.FromBytes(choices.Made())).Model
			if !change(net, seen) {
				continue
			}
			met[name]++
			if v := examine(net, seen, drawnPoints/2); v.Wrong != nil {
				t.Logf("%s: found with network %d, the %dth that has it", name, seed, met[name])
				delete(left, name)
			}
		}
	}
	for name := range left {
		t.Errorf("%s: not found with %d networks that have it", name, met[name])
	}
}

// eachNode calls change for every node with inputs, and says whether one of the calls did something.
func eachNode(m *onnxfile.Model, change func(n *onnxfile.Node) bool) (any bool) {
	for i := range m.Graph.Nodes {
		if n := &m.Graph.Nodes[i]; len(n.Inputs) > 0 && change(n) {
			any = true
		}
	}
	return any
}

// eachTensor is eachNode for the constants that are in the file, by the names of their values.
func eachTensor(m *onnxfile.Model, change func(name string, t *onnxfile.Tensor) bool) (any bool) {
	for i := range m.Graph.Initializers {
		t := &m.Graph.Initializers[i]
		any = change(t.Name, t) || any
	}
	for i := range m.Graph.Nodes {
		n := &m.Graph.Nodes[i]
		for j := range n.Attributes {
			if t := n.Attributes[j].Tensor; t != nil {
				any = change(n.Outputs[0], t) || any
			}
		}
	}
	return any
}

// tensorOf is the constant of a name that is in the file, or behind a Reshape; nil where it is computed otherwise.
func tensorOf(m *onnxfile.Model, name string) (found *onnxfile.Tensor) {
	for _, n := range m.Graph.Nodes {
		if n.Op == "Reshape" && n.Outputs[0] == name {
			name = n.Inputs[0]
		}
	}
	eachTensor(m, func(of string, t *onnxfile.Tensor) bool {
		if of == name {
			found = t
		}
		return false
	})
	return found
}

// producers are the nodes by the names of what they compute.
func producers(m *onnxfile.Model) map[string]*onnxfile.Node {
	by := map[string]*onnxfile.Node{}
	for i := range m.Graph.Nodes {
		by[m.Graph.Nodes[i].Outputs[0]] = &m.Graph.Nodes[i]
	}
	return by
}

// constantsOf are the names of what does not depend on the input.
func constantsOf(m *onnxfile.Model) map[string]bool {
	constant := map[string]bool{"": true}
	for _, t := range m.Graph.Initializers {
		constant[t.Name] = true
	}
	for _, n := range m.Graph.Nodes {
		constant[n.Outputs[0]] = !slices.ContainsFunc(n.Inputs, func(name string) bool { return !constant[name] })
	}
	return constant
}

// identity makes a node of one input an Identity.
func identity(n *onnxfile.Node) bool {
	n.Op, n.Inputs, n.Attributes = "Identity", n.Inputs[:1], nil
	return true
}

// set replaces an attribute or adds it.
func set(n *onnxfile.Node, a onnxfile.Attribute) bool {
	n.Attributes = append(slices.DeleteFunc(n.Attributes, func(b onnxfile.Attribute) bool { return b.Name == a.Name }), a)
	return true
}

// changeValues changes the values of a tensor, which is one of float32 afterwards.
func changeValues(t *onnxfile.Tensor, change func(v []float64)) bool {
	v, err := t.Float64s()
	if err != nil {
		return false
	}
	change(v)
	single := make([]float32, len(v))
	for i := range v {
		single[i] = float32(v[i])
	}
	onnxfile.SetValues(t, single)
	return true
}

func widened(kind onnxfile.Type) onnxfile.Type {
	if kind == onnxfile.Float16 {
		return onnxfile.Float32
	}
	return kind
}

func size(dims []int) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= int64(d)
	}
	return n
}

// listed is a list of whole numbers of a node, or what it is where it is left out.
func listed(n *onnxfile.Node, name string, missing ...int64) []int64 {
	if v := n.Ints(name); v != nil {
		return v
	}
	return missing
}

// written replaces SAME by the pads of ONNX's text, also where ONNX Runtime does otherwise.
func written(net *drawnet.Network, n *onnxfile.Node) bool {
	mode, dims := n.Text("auto_pad", ""), net.Images[n.Inputs[0]]
	kernel := n.Ints("kernel_shape")
	if mode != "SAME_UPPER" && mode != "SAME_LOWER" || dims == nil || kernel == nil {
		return false
	}
	strides, dilations := listed(n, "strides", 1, 1), listed(n, "dilations", 1, 1)
	pads := make([]int64, 4)
	for i := range 2 {
		in := int64(dims[i+2])
		out := (in + strides[i] - 1) / strides[i]
		all := max(0, (out-1)*strides[i]+dilations[i]*(kernel[i]-1)+1-in)
		if pads[i], pads[i+2] = all/2, all-all/2; mode == "SAME_LOWER" {
			pads[i], pads[i+2] = pads[i+2], pads[i]
		}
	}
	n.Attributes = slices.DeleteFunc(n.Attributes, func(a onnxfile.Attribute) bool { return a.Name == "auto_pad" })
	return set(n, onnxfile.IntsAttribute("pads", pads...))
}

// asConv makes an AveragePool that counts its padding a convolution with equal weights, so that what lies behind the
// padding counts, too.
func asConv(net *drawnet.Network, m *onnxfile.Model, n *onnxfile.Node) bool {
	dims := net.Images[n.Inputs[0]]
	if dims == nil || n.Int("count_include_pad", 0) == 0 || n.Int("ceil_mode", 0) == 0 ||
		n.Text("auto_pad", "NOTSET") != "NOTSET" || net.Type != onnxfile.Float32 {
		return false
	}
	kernel, strides, dilations := n.Ints("kernel_shape"), listed(n, "strides", 1, 1), listed(n, "dilations", 1, 1)
	pads := slices.Clone(listed(n, "pads", 0, 0, 0, 0))
	for i := range 2 {
		in := int64(dims[i+2])
		span := in + pads[i] + pads[i+2] - dilations[i]*(kernel[i]-1) - 1
		out := span/strides[i] + 1
		if span%strides[i] != 0 && out*strides[i] < in+pads[i] {
			out++
		}
		pads[i+2] += max(0, (out-1)*strides[i]-span)
	}
	weighted(m, n, int64(dims[1]), kernel)
	n.Attributes = append(n.Attributes, onnxfile.IntsAttribute("strides", strides...),
		onnxfile.IntsAttribute("dilations", dilations...), onnxfile.IntsAttribute("pads", pads...))
	return true
}

// weighted makes a node a convolution of each channel with equal weights.
func weighted(m *onnxfile.Model, n *onnxfile.Node, channels int64, kernel []int64) {
	w := make([]float32, channels*kernel[0]*kernel[1])
	for i := range w {
		w[i] = 1 / float32(kernel[0]*kernel[1])
	}
	name := n.Outputs[0] + "weights"
	m.Graph.Initializers = append(m.Graph.Initializers, onnxfile.Float32Tensor(name, w, channels, 1, kernel[0], kernel[1]))
	n.Op, n.Inputs = "Conv", []string{n.Inputs[0], name}
	n.Attributes = []onnxfile.Attribute{onnxfile.IntAttribute("group", channels)}
}

// apart is a layer that changes nothing, behind which no engine folds.
func apart(from, to string) onnxfile.Node {
	return onnxfile.Node{Op: "LeakyRelu", Inputs: []string{from}, Outputs: []string{to},
		Attributes: []onnxfile.Attribute{onnxfile.FloatAttribute("alpha", 1)}}
}

// less is the factor by which sums are made smaller, and larger undoes it.
const less = 0x1p-60

func larger(from, to string) []onnxfile.Node {
	return []onnxfile.Node{apart(from, to+"apart"),
		{Op: "Constant", Outputs: []string{to + "factor"}, Attributes: []onnxfile.Attribute{
			onnxfile.TensorAttribute("value", onnxfile.Float32Tensor("", []float32{1 / less}))}},
		{Op: "Mul", Inputs: []string{to + "apart", to + "factor"}, Outputs: []string{to + "large"}},
		apart(to+"large", to)}
}

// instead puts nodes in the place of others.
func instead(m *onnxfile.Model, of func(n *onnxfile.Node) []onnxfile.Node) (any bool) {
	for i := 0; i < len(m.Graph.Nodes); i++ {
		if len(m.Graph.Nodes[i].Inputs) == 0 {
			continue
		}
		if nodes := of(&m.Graph.Nodes[i]); nodes != nil {
			m.Graph.Nodes = slices.Replace(m.Graph.Nodes, i, i+1, nodes...)
			i, any = i+len(nodes)-1, true
		}
	}
	return any
}

// lessened multiplies a constant that is in the file, of the type float32.
func lessened(m *onnxfile.Model, name string) bool {
	t := tensorOf(m, name)
	return t != nil && t.Type == onnxfile.Float32 && changeValues(t, func(v []float64) {
		for i := range v {
			v[i] *= less
		}
	})
}

// small takes a factor out of the weights and biases of nodes and multiplies what they give by its inverse.
func small(m *onnxfile.Model, takes func(n *onnxfile.Node) bool) bool {
	return instead(m, func(n *onnxfile.Node) []onnxfile.Node {
		switch n.Op {
		case "Gemm", "MatMul", "Conv":
		default:
			return nil
		}
		bias := ""
		if len(n.Inputs) > 2 {
			bias = n.Inputs[2]
		}
		large := false
		if t := tensorOf(m, n.Inputs[1]); t != nil {
			v, _ := t.Float64s()
			large = slices.ContainsFunc(v, func(w float64) bool { return w > 0x1p80 })
		}
		if !large || !takes(n) || bias != "" && tensorOf(m, bias) == nil || !lessened(m, n.Inputs[1]) ||
			bias != "" && !lessened(m, bias) {
			return nil
		}
		out := n.Outputs[0]
		sum := *n
		sum.Outputs = []string{out + "small"}
		return append([]onnxfile.Node{sum}, larger(out+"small", out)...)
	})
}

// lessenedPad is lessened for the constant of a Pad by very large numbers, beside which others do not count.
func lessenedPad(m *onnxfile.Model, pad *onnxfile.Node) bool {
	if len(pad.Inputs) > 2 {
		t := tensorOf(m, pad.Inputs[2])
		if t == nil {
			return false
		}
		v, err := t.Float64s()
		return err == nil && len(v) == 1 && v[0] > 0x1p100 && lessened(m, pad.Inputs[2])
	}
	value := pad.Attribute("value")
	if value == nil || !(value.Float > 0x1p100) {
		return false
	}
	value.Float *= less
	return true
}
