package jpeg

// pixels of all scans together.
func (d *decoder) pixels() []uint8 {
	if d.progressive {
		for i := range d.components {
			d.components[i].transform()
		}
	}
	channels := len(d.components)
	out := make([]uint8, d.height*d.width*channels)
	if channels == 1 {
		c := &d.components[0]
		for y := range d.height {
			copy(out[y*d.width:][:d.width], c.plane[y*c.stride():])
		}
		return out
	}
	var rows [3]func(y int) []uint8
	for i := range d.components {
		rows[i] = d.components[i].enlarger(d)
	}
	for y := range d.height {
		a, b, c := rows[0](y), rows[1](y), rows[2](y)
		row := out[y*d.width*3:][:d.width*3]
		if !d.rgb {
			RGB(row, a, b, c)
			continue
		}
		for x := range a {
			row[3*x], row[3*x+1], row[3*x+2] = a[x], b[x], c[x]
		}
	}
	return out
}

// transform makes samples of the coefficients of a progressive picture.
func (c *component) transform() {
	var values [64]int32
	var quant [64]int32
	for k, at := range zigzag {
		quant[at] = c.quant[k]
	}
	for block := range c.blocks * c.rows {
		rest := int16(0)
		for i, v := range (*[64]int16)(c.coeffs[64*block:]) {
			values[i] = int32(v) * quant[i]
			if i > 0 {
				rest |= v
			}
		}
		c.put(block, &values, rest == 0)
	}
	c.coeffs = nil
}

// enlarger gives the rows of a component at the size of the picture. Libjpeg interpolates where a side is doubled (of
// widths, from three samples on), and repeats samples otherwise.
func (c *component) enlarger(d *decoder) func(y int) []uint8 {
	stride := c.stride()
	sample := func(y int) []uint8 { return c.plane[min(max(y, 0), c.height-1)*stride:][:c.width] }
	across, down := d.maxH/c.h, d.maxV/c.v
	// The row of samples next to y, and that on its other side.
	far := func(y int) []uint8 { return sample(y/2 - 1 + y%2*2) }
	row := make([]uint8, d.width)
	smooth := across == 2 && c.width > 2
	switch {
	case across == 1 && down == 1:
		return sample
	case smooth && down == 1:
		return func(y int) []uint8 {
			Wider(row, sample(y))
			return row
		}
	case across == 1 && down == 2:
		return func(y int) []uint8 {
			Taller(row, sample(y/2), far(y), y%2 == 1)
			return row
		}
	case smooth && down == 2:
		return func(y int) []uint8 {
			Larger(row, sample(y/2), far(y))
			return row
		}
	}
	return func(y int) []uint8 {
		samples := sample(y / down)
		for x := range row {
			row[x] = samples[x/across]
		}
		return row
	}
}
