package intnet

import (
	"unsafe"

	"golang.org/x/sys/cpu"
)

// vectorKernels of this processor: vnni is AVX-512 with 8-bit dot products, avx2 products of 16 bits.
var vectorKernels = func() (names []string) {
	if cpu.X86.HasAVX512F && cpu.X86.HasAVX512BW && cpu.X86.HasAVX512VL && cpu.X86.HasAVX512DQ &&
		cpu.X86.HasAVX512VNNI {
		names = append(names, "vnni")
	}
	if cpu.X86.HasAVX2 {
		names = append(names, "avx2")
	}
	return names
}()

//go:noescape
func vnni16x1(a *tiles)

//go:noescape
func vnni14x1(a *tiles)

//go:noescape
func vnni8x1(a *tiles)

//go:noescape
func vnni7x1(a *tiles)

//go:noescape
func vnni4x1(a *tiles)

//go:noescape
func vnni1x1(a *tiles)

//go:noescape
func vnni8x2(a *tiles)

//go:noescape
func vnni7x2(a *tiles)

//go:noescape
func vnni4x2(a *tiles)

//go:noescape
func vnni1x2(a *tiles)

//go:noescape
func vnni1x4(a *tiles)

//go:noescape
func slide16x1(a *tiles)

//go:noescape
func gridSlide16x1(a *tiles)

//go:noescape
func gridSlide14x1(a *tiles)

//go:noescape
func grid16x1(a *tiles)

//go:noescape
func grid14x1(a *tiles)

//go:noescape
func grid8x1(a *tiles)

//go:noescape
func grid7x1(a *tiles)

//go:noescape
func grid4x1(a *tiles)

//go:noescape
func grid1x1(a *tiles)

//go:noescape
func grid8x2(a *tiles)

//go:noescape
func grid7x2(a *tiles)

//go:noescape
func grid4x2(a *tiles)

//go:noescape
func grid1x2(a *tiles)

//go:noescape
func grid1x4(a *tiles)

//go:noescape
func avx24x2(a *tiles)

//go:noescape
func avx21x2(a *tiles)

//go:noescape
func maxBytes(a *tiles)

//go:noescape
func maxWords(a *tiles)

//go:noescape
func sumBytes(a *tiles)

//go:noescape
func sumWords(a *tiles)

//go:noescape
func enter(to, from *int16, rows, values, toRow int) (low, high int16)

//go:noescape
func peakVNNI(times int)

//go:noescape
func peakAVX2(times int)

var (
	vnniKernels = []kernelOf{{16, 1, vnni16x1}, {14, 1, vnni14x1}, {8, 1, vnni8x1}, {7, 1, vnni7x1}, {4, 1, vnni4x1},
		{1, 1, vnni1x1}, {8, 2, vnni8x2}, {7, 2, vnni7x2}, {4, 2, vnni4x2}, {1, 2, vnni1x2}, {1, 4, vnni1x4}}
	gridKernels = []kernelOf{{16, 1, grid16x1}, {14, 1, grid14x1}, {8, 1, grid8x1}, {7, 1, grid7x1}, {4, 1, grid4x1},
		{1, 1, grid1x1}, {8, 2, grid8x2}, {7, 2, grid7x2}, {4, 2, grid4x2}, {1, 2, grid1x2}, {1, 4, grid1x4}}
	wordKernels = []kernelOf{{4, 1, avx24x2}, {1, 1, avx21x2}}
	// slideKernels work in rows of three pixels, of bytes and of one channel of the image
	slideKernels     = []kernelOf{{16, 1, slide16x1}}
	gridSlideKernels = []kernelOf{{16, 1, gridSlide16x1}, {14, 1, gridSlide14x1}}
)

// enter copies an image into its border, and reports whether all pixels are in range.
func (p *vectorProgram) enter(w *workspace, image []int16, b int) bool {
	n, row := p.net, p.net.Width*p.net.Channels
	if row >= 16 {
		low, high := enter(&numbers[int16](p, w, 0, b, 0, 0)[0], &image[0], n.Height, row, p.places[0].row)
		return low >= n.Low && high <= n.High
	}
	for y := range n.Height {
		copy(numbers[int16](p, w, 0, b, y, 0)[:row], image[y*row:])
	}
	return n.inRange(image, 0) == nil
}

// maxPool is the maxima of windows of one image.
func (p *vectorProgram) maxPool(w *workspace, i, b int) {
	l, in, out, t := &p.layers[i], &p.places[p.layers[i].From[0]], &p.places[i+1], &w.tiles
	from, to := p.of(w, l.From[0], b), p.of(w, i+1, b)
	t.rows, t.nrows = uintptr(unsafe.Pointer(&l.offsets[0])), int64(len(l.offsets))
	t.run = int64(out.pixel() / 16)
	for y := range out.height {
		for x := range out.width {
			t.in = from + uintptr(y*l.Stride[0]*in.row+x*l.Stride[1]*in.pixel())
			t.out = to + uintptr(y*out.row+x*out.pixel())
			if p.vnni {
				maxBytes(t)
			} else {
				maxWords(t)
			}
		}
	}
}

// sumPool is the sums over one image.
func (p *vectorProgram) sumPool(w *workspace, i, b int) {
	in, t := &p.places[p.layers[i].From[0]], &w.tiles
	t.in, t.out, t.pixel, t.inY = p.of(w, p.layers[i].From[0], b), p.of(w, i+1, b), int64(in.pixel()), int64(in.row)
	t.nx, t.ny, t.run = int64(in.width), int64(in.height), int64(in.stride/8)
	if p.vnni {
		sumBytes(t)
	} else {
		sumWords(t)
	}
}

// Peak does 12 independent products of vectors in registers, so many times, as the kernel has them,
// and returns the number of multiply-adds: the limit of the processor. It is 0 for the plain
// kernel.
func Peak(kernel string, times int) (products float64) {
	switch kernel {
	case "vnni":
		peakVNNI(times)
		return 12 * 64 * float64(times)
	case "avx2":
		peakAVX2(times)
		return 12 * 16 * float64(times)
	}
	return 0
}
