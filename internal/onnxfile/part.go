package onnxfile

import "slices"

// Prefix puts a prefix before all names of results and nodes of the graph, and of bodies inside of
// nodes, so that it can stand beside another.
func (g *Graph) Prefix(prefix string) {
	name := func(s *string) {
		if *s != "" {
			*s = prefix + *s
		}
	}
	values := func(list []Value) {
		for i := range list {
			name(&list[i].Name)
		}
	}
	values(g.Inputs)
	values(g.Outputs)
	values(g.Values)
	for i := range g.Initializers {
		name(&g.Initializers[i].Name)
	}
	for i := range g.Sparse {
		name(&g.Sparse[i].Values.Name)
	}
	for i := range g.Nodes {
		n := &g.Nodes[i]
		n.Inputs, n.Outputs = slices.Clone(n.Inputs), slices.Clone(n.Outputs)
		name(&n.Name)
		for k := range n.Inputs {
			name(&n.Inputs[k])
		}
		for k := range n.Outputs {
			name(&n.Outputs[k])
		}
		for b := range n.bodies() {
			b.Prefix(prefix)
		}
	}
}

// bodies are the graphs inside of a node.
func (n *Node) bodies() func(yield func(*Graph) bool) {
	return func(yield func(*Graph) bool) {
		for i := range n.Attributes {
			if a := &n.Attributes[i]; !maybe(a.Graph, yield) || !each(a.Graphs, yield) {
				return
			}
		}
	}
}

// Keep leaves of the graph what a result needs, which becomes its only output.
func (g *Graph) Keep(output Value) {
	needed := map[string]bool{output.Name: true}
	var reads func(nodes []Node)
	reads = func(nodes []Node) {
		for i := range nodes {
			for _, in := range nodes[i].Inputs {
				needed[in] = true
			}
			for b := range nodes[i].bodies() {
				for _, out := range b.Outputs {
					needed[out.Name] = true
				}
				reads(b.Nodes)
			}
		}
	}
	var kept []Node
	for i := len(g.Nodes) - 1; i >= 0; i-- { // nodes stand in the order of evaluation
		if slices.ContainsFunc(g.Nodes[i].Outputs, func(out string) bool { return needed[out] && out != "" }) {
			kept = append(kept, g.Nodes[i])
			reads(g.Nodes[i : i+1])
		}
	}
	slices.Reverse(kept)
	g.Nodes, g.Outputs, g.Values = kept, []Value{output}, nil
	constants := map[string]bool{}
	for _, t := range g.Initializers {
		constants[t.Name] = true
	}
	g.Inputs = slices.DeleteFunc(slices.Clone(g.Inputs), func(v Value) bool {
		return constants[v.Name] && !needed[v.Name]
	})
	g.Initializers = slices.DeleteFunc(slices.Clone(g.Initializers), func(t Tensor) bool { return !needed[t.Name] })
	g.Sparse = slices.DeleteFunc(slices.Clone(g.Sparse), func(s SparseTensor) bool { return !needed[s.Values.Name] })
}
