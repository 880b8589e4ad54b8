//go:build amd64 || arm64 || (js && wasm)

package intnet

import (
	"runtime"
	"slices"
	"unsafe"
)

// prepare packs a layer for its kernels.
func (p *vectorProgram) prepare(i int) vectorLayer {
	l := &p.net.Layers[i]
	in, out := &p.places[l.From[0]], &p.places[i+1]
	v := vectorLayer{Layer: l}
	pixels := out.width
	if i >= p.tail {
		pixels = together
	}
	switch l.Op {
	case MaxPool:
		for ky := range l.Kernel[0] {
			for kx := range l.Kernel[1] {
				v.offsets = append(v.offsets, int64((ky-l.Pad[0])*in.row+(kx-l.Pad[1])*in.pixel()))
			}
		}
	case Conv:
		each, outs := in.channels/l.Groups, l.Out/l.Groups
		c := packing{in: in, kernel: l.Kernel, pad: l.Pad, outputs: l.Out, bias: l.Bias, scale: l.Scale, each: each,
			outs:   outs,
			slides: (in.kind == Byte || in.channels == 1) && i < p.tail && l.Kernel[1] == 3 && l.Stride[1] == 1,
			weight: func(o, ky, kx, c int) int { return int(l.Weight[((o*l.Kernel[0]+ky)*l.Kernel[1]+kx)*each+c]) }}
		v.blocks = p.pack(&c, pixels)
	case Dense:
		if in.kind == Sums {
			break
		}
		c := packing{in: in, kernel: [2]int{in.height, in.width}, outputs: l.Out, each: in.channels, outs: l.Out,
			weight: func(o, y, x, c int) int { return int(l.Weight[((o*in.height+y)*in.width+x)*in.channels+c]) }}
		if most := slices.Max(l.Weight); p.vnni && most > 127*256+127 {
			return v // as defined: it is no 256·hi + lo
		} else if p.vnni && (most > 127 || slices.Min(l.Weight) < -128) {
			v.split, c.outputs, c.outs = true, 2*out.stride, 2*out.stride
			whole := c.weight
			c.weight = func(o, y, x, c int) int {
				low := o >= out.stride
				if o %= out.stride; o >= l.Out {
					return 0
				}
				w := whole(o, y, x, c)
				if low {
					return int(int8(w))
				}
				return (w - int(int8(w))) >> 8
			}
		}
		v.blocks = p.pack(&c, pixels)
	}
	return v
}

type packing struct {
	in         *place
	kernel     [2]int
	pad        [4]int
	outputs    int
	each, outs int // inputs and outputs of a group
	weight     func(o, ky, kx, c int) int
	bias       []int32
	scale      []int16
	slides     bool // rows of three pixels, one beside the other
}

func (p *vectorProgram) pack(c *packing, pixels int) (blocks []block) {
	kernels, per, lanes, sliding := wordKernels, 2, p.vnni, []kernelOf(nil)
	switch {
	case p.vnni && c.in.kind == Grid:
		kernels, sliding = gridKernels, gridSlideKernels
	case p.vnni:
		kernels, per, sliding = vnniKernels, 4, slideKernels
	}
	for first := 0; first < c.outputs; {
		k := choose(kernels, pixels, (c.outputs-first+15)/16)
		b := block{first: first, kernel: k, packs: p.vnni && k.blocks < 4, bias: make([]int32, 16*k.blocks),
			scale: make([]int16, 64)}
		end := min(first+16*k.blocks, c.outputs)
		if len(c.bias) > 0 {
			copy(b.bias, c.bias[first:end])
		}
		for i := range b.scale {
			b.scale[i] = 1
			at := i
			if lanes { // number i%32/8 of lanes of 128 bits: four of the first vector of a pair, four of the second
				at = (i/32*2+i%8/4)%k.blocks*16 + i%32/8*4 + i%4
			}
			if first+at < end && len(c.scale) > 0 && at < 16*k.blocks {
				b.scale[i] = c.scale[first+at]
			}
		}
		// channels of the groups that the outputs are in
		from, to := first/c.outs*c.each/per*per, ((end-1)/c.outs+1)*c.each
		grouped := c.outs < c.outputs
		slide := slices.IndexFunc(sliding, func(s kernelOf) bool { return s.pixels == k.pixels && s.blocks == k.blocks })
		slides := c.slides && !grouped && slide >= 0
		store := func(ky int, at func(j int) (kx, channel int, ok bool)) {
			for step := range b.run {
				for o := first; o < first+16*k.blocks; o++ {
					for e := range per {
						w := 0
						if kx, channel, ok := at(step*per + e); ok && o < end && channel/c.each == o/c.outs {
							w = c.weight(o, ky, kx, channel%c.each)
						}
						if per == 4 {
							b.weights = append(b.weights, byte(w))
						} else {
							b.weights = append(b.weights, byte(w), byte(w>>8))
						}
					}
				}
			}
		}
		for ky := range c.kernel[0] {
			row := (ky-c.pad[0])*c.in.row - c.pad[1]*c.in.pixel()
			if !grouped {
				b.offsets, b.run = append(b.offsets, int64(row)), (c.kernel[1]*c.in.stride+per-1)/per
				store(ky, func(j int) (kx, channel int, ok bool) {
					kx, channel = j/c.in.stride, j%c.in.stride
					if slides && c.in.kind == Byte {
						kx, channel = j/per%3, j/per/3*per+j%per
					}
					return kx, channel, kx < c.kernel[1] && channel < c.in.channels
				})
				continue
			}
			b.run = (to - from + per - 1) / per
			for kx := range c.kernel[1] {
				b.offsets = append(b.offsets, int64(row+kx*c.in.pixel()+from*c.in.size))
				store(ky, func(j int) (int, int, bool) { return kx, from + j, from+j < to })
			}
		}
		if slides {
			b.kernel, b.run = sliding[slide], max(1, c.in.stride/per)
		}
		weights := aligned(len(b.weights))
		copy(weights, b.weights)
		b.weights = weights
		blocks = append(blocks, b)
		first += 16 * k.blocks
	}
	return blocks
}

func (p *vectorProgram) run(images []int16, logits []int32) error {
	n, size, classes := p.net, p.net.values[0].size(), p.net.Classes()
	w := p.pool.Get().(*workspace)
	defer p.pool.Put(w)
	for from := 0; from*size < len(images); from += together {
		count := min(together, len(images)/size-from)
		for b := range count {
			image := images[(from+b)*size : (from+b+1)*size]
			if !p.enter(w, image, b) {
				return n.inRange(image, from+b)
			}
			for i := range p.heavy {
				p.layer(w, i, b)
			}
		}
		for i := p.heavy; i < p.tail; i++ {
			for b := range count {
				p.layer(w, i, b)
			}
		}
		for i := p.tail; i < len(p.layers)-1; i++ {
			if p.layers[i].Op == Conv {
				p.convolve(w, i, 0)
				continue
			}
			for b := range count {
				p.layer(w, i, b)
			}
		}
		p.last(w, count, logits[from*classes:])
	}
	runtime.KeepAlive(w)
	return nil
}

// of is the first pixel of a value, of one of several images.
func (p *vectorProgram) of(w *workspace, value, image int) uintptr {
	q := &p.places[value]
	return uintptr(unsafe.Pointer(&w.memory[0])) + uintptr(q.at+image*q.between+q.inside())
}

func numbers[T uint8 | int16 | int32](p *vectorProgram, w *workspace, value, image, y, x int) []T {
	q := &p.places[value]
	at := q.at + image*q.between + q.inside() + y*q.row + x*q.pixel()
	return unsafe.Slice((*T)(unsafe.Pointer(&w.memory[at])), (q.at+image*q.between+q.bytes-at)/q.size)
}

// layer computes a layer of one image.
func (p *vectorProgram) layer(w *workspace, i, b int) {
	l, out := &p.layers[i], &p.places[i+1]
	switch l.Op {
	case Conv:
		p.convolve(w, i, b)
	case MaxPool:
		p.maxPool(w, i, b)
	case SumPool:
		p.sumPool(w, i, b)
	case Concat:
		for y := range out.height {
			for x := range out.width {
				c := 0
				for _, from := range l.From {
					n := p.places[from].channels
					if p.vnni {
						copy(numbers[uint8](p, w, i+1, b, y, x)[c:c+n], numbers[uint8](p, w, from, b, y, x))
					} else {
						copy(numbers[int16](p, w, i+1, b, y, x)[c:c+n], numbers[int16](p, w, from, b, y, x))
					}
					c += n
				}
			}
		}
	case Add:
		for y := range out.height {
			if p.vnni {
				addRow[uint8](p, w, i, b, y)
			} else {
				addRow[int16](p, w, i, b, y)
			}
		}
	}
}

// addRow is a row of a sum of two values of bytes.
func addRow[T uint8 | int16](p *vectorProgram, w *workspace, i, b, y int) {
	l := p.layers[i].Layer
	for x := range p.places[i+1].width {
		r, s := numbers[T](p, w, l.From[0], b, y, x), numbers[T](p, w, l.From[1], b, y, x)
		to := numbers[T](p, w, i+1, b, y, x)
		for c := range p.places[i+1].channels {
			to[c] = T(l.sum(scaled(int32(r[c])<<7, l.Factor[0]), scaled(int32(s[c])<<7, l.Factor[1])))
		}
	}
}

// convolve runs the blocks of a convolution: of one image, or of the last layers for all.
func (p *vectorProgram) convolve(w *workspace, i, b int) {
	l, in, out := &p.layers[i], &p.places[p.layers[i].From[0]], &p.places[i+1]
	t := &w.tiles
	pixels, stepX, outX, rows := out.width, l.Stride[1]*in.pixel(), out.pixel(), out.height
	if i >= p.tail {
		pixels, stepX, outX, rows = together, in.between, out.between, 1
	}
	t.pixel, t.outPixel, t.inY, t.outY = int64(stepX), int64(outX), int64(l.Stride[0]*in.row), int64(out.row)
	from, to, with := p.of(w, l.From[0], b), p.of(w, i+1, b), uintptr(0)
	mode, size, resSize := int64(toBytes), out.size, 0
	t.resPixel, t.resY, t.shift = 0, 0, int64(l.Shift)
	switch {
	case l.Wide:
		mode = toWide
	case l.Addend > 0:
		res := &p.places[l.Addend]
		with, resSize = p.of(w, l.Addend, b), res.size
		t.resPixel, t.resY, t.down = int64(res.pixel()), int64(res.row), 1<<(15-l.Bits)
		mode = plusWideBytes
		if i >= p.tail {
			t.resPixel = int64(res.between)
		}
		if res.kind == Byte {
			mode, t.factor = plusBytes, int64(l.Factor[0])
		}
	}
	for k := range l.blocks {
		bl := &l.blocks[k]
		p.tile(t, bl, mode, from, to+uintptr(bl.first*size), with+uintptr(bl.first*resSize), pixels, rows)
	}
}

// tile runs a block over rows of pixels; where tiles do not fill a row, the last of them overlaps the one before.
func (p *vectorProgram) tile(t *tiles, b *block, mode int64, in, out, res uintptr, pixels, rows int) {
	t.rows, t.nrows, t.run = uintptr(unsafe.Pointer(&b.offsets[0])), int64(len(b.offsets)), int64(b.run)
	t.weights, t.bias = uintptr(unsafe.Pointer(&b.weights[0])), uintptr(unsafe.Pointer(&b.bias[0]))
	t.scale = uintptr(unsafe.Pointer(&b.scale[0]))
	n := int64(b.kernel.pixels)
	t.mode = mode
	if side := int64(16 * b.kernel.blocks); b.packs && t.outPixel == side && (mode == toBytes || mode == plusBytes &&
		t.resPixel == side) {
		t.mode = mode/plusBytes + packedBytes
	}
	t.inX, t.outX, t.resX = n*t.pixel, n*t.outPixel, n*t.resPixel
	t.in, t.out, t.res, t.nx, t.ny = in, out, res, int64(pixels)/n, int64(rows)
	b.kernel.run(t)
	if torn := int64(pixels) % n; torn > 0 {
		at := int64(pixels) - n
		t.in, t.out, t.res = in+uintptr(at*t.pixel), out+uintptr(at*t.outPixel), res+uintptr(at*t.resPixel)
		t.nx, t.ny = 1, int64(rows)
		b.kernel.run(t)
	}
}

// last computes the logits.
func (p *vectorProgram) last(w *workspace, count int, logits []int32) {
	i := len(p.layers) - 1
	l, in, out := &p.layers[i], &p.places[p.layers[i].From[0]], &p.places[i+1]
	classes := l.Out
	if len(l.blocks) == 0 {
		for b := range count {
			for o := range classes {
				sum, row := l.Bias[o], l.Weight[o*in.value.size():(o+1)*in.value.size()]
				for y := range in.height {
					for x := range in.width {
						switch {
						case in.kind == Sums:
							sum += product(numbers[int32](p, w, l.From[0], b, y, x), row[:in.channels])
						case in.size == 1:
							sum += product(numbers[uint8](p, w, l.From[0], b, y, x), row[:in.channels])
						default:
							sum += product(numbers[int16](p, w, l.From[0], b, y, x), row[:in.channels])
						}
						row = row[in.channels:]
					}
				}
				logits[b*classes+o] = sum
			}
		}
		return
	}
	t := &w.tiles
	wide := out.stride
	if l.split {
		wide *= 2
	}
	t.pixel, t.outPixel, t.resPixel = int64(in.between), int64(4*wide), 0
	t.inY, t.outY, t.resY = 0, 0, 0
	for k := range l.blocks {
		b := &l.blocks[k]
		p.tile(t, b, toRaw, p.of(w, l.From[0], 0), uintptr(unsafe.Pointer(&w.raw[b.first])), 0, together, 1)
	}
	for b := range count {
		for o := range classes {
			sum := w.raw[b*wide+o]
			if l.split {
				sum = sum<<8 + w.raw[b*wide+out.stride+o]
			}
			logits[b*classes+o] = sum + l.Bias[o]
		}
	}
}

// product is Σ w·x; what it passes on the way may wrap, its end does not.
func product[T uint8 | int16 | int32](x []T, w []int16) (sum int32) {
	x = x[:len(w)]
	for i, v := range w {
		sum += int32(x[i]) * int32(v)
	}
	return sum
}
