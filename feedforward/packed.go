package feedforward

// packed are the weights of a convolution in tiles of four rows, a list for each group: those of forward and absolute rows are channels,
// those of backward rows are places in the kernel.
type packed struct {
	forward, absolute, backward [][][tileRows]float64
}

// pack packs the weights at the first call.
func (c *convolution) pack() *packed {
	c.packing.Do(func() {
		p := &packed{}
		patch, out := c.patch(), c.outC/c.Groups
		for g := range c.Groups {
			w, abs := c.w[g*out*patch:(g+1)*out*patch], c.wAbs[g*out*patch:(g+1)*out*patch]
			p.forward, p.absolute = append(p.forward, packRows(out, patch, w, false)), append(p.absolute, packRows(out, patch, abs, false))
			p.backward = append(p.backward, packRows(patch, out, w, true))
		}
		c.packed = p
	})
	return c.packed
}
