package feedforward

// Results returns the result of every node of the ONNX file at x, by its name in the file, in float64. The graph's
// input is among them, as it enters the graph. Nodes that the outputs do not need may be left out. A Network of a
// Builder has no such names. Errors: those of Forward.
func (n *Network) Results(x []float64) (map[string][]float64, error) {
	if err := n.checkInput(x); err != nil {
		return nil, err
	}
	values := n.values(x)
	results := make(map[string][]float64, len(n.results))
	for name, layer := range n.results {
		if layer < len(values) {
			results[name] = values[layer]
		}
	}
	return results, nil
}

// ResultNames are the names of the results that layers give, in no order.
func (n *Network) ResultNames() []string {
	var names []string
	for name, layer := range n.results {
		if layer < len(n.nodes) {
			names = append(names, name)
		}
	}
	return names
}
