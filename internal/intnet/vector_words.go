//go:build arm64 || (js && wasm)

package intnet

// The tiles of kernel/kernel.c, on numbers of 16 bits; what takes little time is plain Go.
var vnniKernels, gridKernels, slideKernels, gridSlideKernels []kernelOf

// enter copies an image into its border, and reports whether all pixels are in range.
func (p *vectorProgram) enter(w *workspace, image []int16, b int) bool {
	row := p.net.Width * p.net.Channels
	for y := range p.net.Height {
		copy(numbers[int16](p, w, 0, b, y, 0)[:row], image[y*row:])
	}
	return p.net.inRange(image, 0) == nil
}

// maxPool is the maxima of windows of one image.
func (p *vectorProgram) maxPool(w *workspace, i, b int) {
	l, out := &p.layers[i], &p.places[i+1]
	for y := range out.height {
		for x := range out.width {
			to := numbers[int16](p, w, i+1, b, y, x)[:out.stride]
			clear(to)
			for ky := range l.Kernel[0] {
				for kx := range l.Kernel[1] {
					from := numbers[int16](p, w, l.From[0], b, y*l.Stride[0]+ky-l.Pad[0], x*l.Stride[1]+kx-l.Pad[1])
					for c, v := range from[:len(to)] {
						to[c] = max(to[c], v)
					}
				}
			}
		}
	}
}

// sumPool is the sums over one image.
func (p *vectorProgram) sumPool(w *workspace, i, b int) {
	from, in := p.layers[i].From[0], &p.places[p.layers[i].From[0]]
	to := numbers[int32](p, w, i+1, b, 0, 0)[:in.stride]
	clear(to)
	for y := range in.height {
		for x := range in.width {
			for c, v := range numbers[int16](p, w, from, b, y, x)[:in.stride] {
				to[c] += int32(v)
			}
		}
	}
}
