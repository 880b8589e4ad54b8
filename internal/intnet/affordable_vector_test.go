//go:build amd64 || arm64 || (js && wasm)

package intnet

// packed are the programs of a network by all kernels, also those that this processor cannot run.
func packed(n *Network) (all []weighed) {
	for _, kernel := range []string{"words", "vnni"} {
		if kernel == "vnni" && len(vnniKernels) == 0 {
			continue
		}
		p := newVectorProgram(n, kernel, nearWeights)
		w := p.workspace()
		one := weighed{kernel: kernel, workspace: len(w.memory) + 4*len(w.raw)}
		for i := range p.layers {
			kept := 2*len(n.Layers[i].Weight) + 8*len(p.layers[i].offsets)
			for _, b := range p.layers[i].blocks {
				kept += len(b.weights) + 8*len(b.offsets)
			}
			one.layers = append(one.layers, kept)
		}
		all = append(all, one)
	}
	return all
}
