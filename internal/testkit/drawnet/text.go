package drawnet

import (
	"fmt"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
)

// String writes the network out, a node a line, with small constants.
func (n *Network) String() string {
	var s strings.Builder
	g := &n.Model.Graph
	fmt.Fprintf(&s, "opset %d, IR %d, %v, input %v, batch ", n.Model.Opsets[0].Version, n.Model.IRVersion, n.Type,
		n.Input)
	if n.OpenBatch {
		s.WriteString("open\n")
	} else {
		s.WriteString("1\n")
	}
	for i := range g.Initializers {
		fmt.Fprintf(&s, "  %s = %s\n", g.Initializers[i].Name, written(&g.Initializers[i]))
	}
	for _, node := range g.Nodes {
		fmt.Fprintf(&s, "  %s = %s(%s)", strings.Join(node.Outputs, ", "), node.Op, strings.Join(node.Inputs, ", "))
		for i := range node.Attributes {
			fmt.Fprintf(&s, " %s", attribute(&node.Attributes[i]))
		}
		s.WriteString("\n")
	}
	fmt.Fprintf(&s, "  output %s; box %v to %v\n", g.Outputs[0].Name, n.Lower, n.Upper)
	return s.String()
}

func written(t *onnxfile.Tensor) string {
	values, err := t.Float64s()
	if err != nil {
		return err.Error()
	}
	text := fmt.Sprintf("%v%v", t.Type, t.Dims)
	if len(values) > 8 {
		return fmt.Sprintf("%s %v …", text, values[:8])
	}
	return fmt.Sprintf("%s %v", text, values)
}

func attribute(a *onnxfile.Attribute) string {
	var v any
	switch a.Kind {
	case onnxfile.KindFloat:
		v = a.Float
	case onnxfile.KindInt:
		v = a.Int
	case onnxfile.KindString:
		v = a.Text
	case onnxfile.KindInts:
		v = a.Ints
	case onnxfile.KindFloats:
		v = a.Floats
	case onnxfile.KindTensor:
		v = written(a.Tensor)
	}
	return fmt.Sprintf("%s=%v", a.Name, v)
}
