package fourier

// Two real sequences x and y are transformed as one complex sequence z = x + iy:
//
//	X[k] = (Z[k] + conj Z[−k])/2,  Y[k] = (Z[k] − conj Z[−k])/(2i)
//
// In the first step, along the rows, x is a row of the upper half of the image and y one of the lower
// half. In the second step, along the columns, that serves the two columns v = 0 and v = W/2, which the first
// step leaves real.

// load writes the plane's transpose, halved, to the columns of the first step.
func (p *Plan[T]) load(w *Workspace[T], src []T) {
	h, width, pitch, left := p.half.Height, p.half.Width, p.leftPad, p.left
	p.kernels.load(w.re, pitch, src[:left*width], left, width)
	p.kernels.load(w.im, pitch, src[left*width:], h-left, width)
	if left == pitch && h == 2*left {
		return
	}
	for b := range width {
		clear(w.re[b*pitch+left : (b+1)*pitch])
		clear(w.im[b*pitch+h-left : (b+1)*pitch])
	}
}

// store is the inverse of load, with the factor 1/(HW).
func (p *Plan[T]) store(dst, re, im []T) {
	h, width, pitch, left := p.half.Height, p.half.Width, p.leftPad, p.left
	scale := 1 / T(h*width)
	p.kernels.store(dst[:left*width], re, pitch, left, width, scale)
	p.kernels.store(dst[left*width:], im, pitch, h-left, width, scale)
}

// row is the v-th of rows of n values.
func row[T Float](s []T, n, v int) []T { return s[v*n:][:n:n] }

// untangle separates the rows of the two halves of the image, and writes them to the rows of the second step.
func (p *Plan[T]) untangle(w *Workspace[T], re, im []T) {
	n, m, width, lower := p.leftPad, p.packedPad, p.half.Width, p.left*p.packedPad
	even := width%2 == 0
	if p.kernels.fold == nil || m > width {
		p.untangleRows(w, re, im)
		return
	}
	// The rows v and W − v are folded: for v = 0, both are the same.
	copy(row(re, n, width), row(re, n, 0))
	copy(row(im, n, width), row(im, n, 0))
	up := func(s []T) grid[T] { return grid[T]{s, 0, n} }
	down := func(s []T) grid[T] { return grid[T]{s, width * n, -n} }
	// re and im may be the arrays of the workspace that the result goes to.
	dstRe, dstIm := w.re, w.im
	if &re[0] == &w.re[0] {
		dstRe, dstIm = w.re2, w.im2
	}
	fold := p.kernels.fold
	fold(grid[T]{dstRe, 0, m}, up(re), down(re), m, n, 1)
	fold(grid[T]{dstIm, 0, m}, up(im), down(im), m, n, -1)
	fold(grid[T]{dstRe, lower, m}, up(im), down(im), m, n, 1)
	fold(grid[T]{dstIm, lower, m}, down(re), up(re), m, n, -1)
	// The first column is that of v = 0 and v = W/2.
	for a := range p.half.Height {
		source, at := re, a
		if a >= p.left {
			source, at = im, a-p.left
		}
		if dstIm[a*m] = 0; even {
			dstIm[a*m] = 2 * source[width/2*n+at]
		}
	}
	w.re, w.im, w.re2, w.im2 = dstRe, dstIm, re, im
}

func twice[T Float](dst, src []T) {
	src = src[:len(dst)]
	for k := range dst {
		dst[k] = src[k] + src[k]
	}
}

// unpack copies the columns of the second step to a spectrum, and separates the packed one.
func (p *Plan[T]) unpack(dst Spectrum[T], re, im []T) {
	columns, n, height := p.half.Columns(), p.packedPad, p.half.Height
	if p.kernels.copyRows != nil && n == p.packed {
		// The first column is set below, with the last.
		p.kernels.copyRows(dst.Re, columns, re, n, height, n)
		p.kernels.copyRows(dst.Im, columns, im, n, height, n)
	} else {
		for u := range height {
			copy(dst.Re[u*columns+1:][:p.packed-1], re[u*n+1:])
			copy(dst.Im[u*columns+1:][:p.packed-1], im[u*n+1:])
		}
	}
	last := columns - 1
	even := p.half.Width%2 == 0
	for u := range height {
		k, at, other := u*columns, u*n, (height-u)*n
		if u == 0 {
			other = 0
		}
		dst.Re[k] = (re[at] + re[other]) / 2
		dst.Im[k] = (im[at] - im[other]) / 2
		if even {
			dst.Re[k+last] = (im[at] + im[other]) / 2
			dst.Im[k+last] = (re[other] - re[at]) / 2
		}
	}
}

// pack is the inverse of unpack.
func (p *Plan[T]) pack(w *Workspace[T], src Spectrum[T]) {
	columns, n, height := p.half.Columns(), p.packedPad, p.half.Height
	if p.kernels.copyRows != nil && n == p.packed {
		p.kernels.copyRows(w.re, n, src.Re, columns, height, n)
		p.kernels.copyRows(w.im, n, src.Im, columns, height, n)
	} else {
		for u := range height {
			copy(w.re[u*n+1:][:p.packed-1], src.Re[u*columns+1:])
			copy(w.im[u*n+1:][:p.packed-1], src.Im[u*columns+1:])
			clear(w.re[u*n+p.packed : (u+1)*n])
			clear(w.im[u*n+p.packed : (u+1)*n])
		}
	}
	last := columns - 1
	even := p.half.Width%2 == 0
	for u := range height {
		k, mirror := u*columns, (height-u)*columns
		if u == 0 {
			mirror = 0
		}
		re, im := (src.Re[k]+src.Re[mirror])/2, (src.Im[k]-src.Im[mirror])/2
		if even {
			k, mirror = k+last, mirror+last
			re -= (src.Im[k] - src.Im[mirror]) / 2
			im += (src.Re[k] + src.Re[mirror]) / 2
		}
		w.re[u*n], w.im[u*n] = re, im
	}
}

// untangleRows is untangle one step at a time: real and imaginary parts of the upper half go to
// rows[0] and rows[1], those of the lower half to rows[2] and rows[3], which are transposed then.
func (p *Plan[T]) untangleRows(w *Workspace[T], re, im []T) {
	n, m, width, r, k := p.leftPad, p.packedPad, p.half.Width, &w.rows, &p.kernels
	twice(row(r[0], n, 0), row(re, n, 0))
	twice(row(r[2], n, 0), row(im, n, 0))
	if width%2 == 0 {
		twice(row(r[1], n, 0), row(re, n, width/2))
		twice(row(r[3], n, 0), row(im, n, width/2))
	} else {
		clear(row(r[1], n, 0))
		clear(row(r[3], n, 0))
	}
	for v := 1; v < p.packed; v++ {
		k.sums(row(r[0], n, v), row(r[3], n, v), row(re, n, width-v), row(re, n, v))
		k.sums(row(r[2], n, v), row(r[1], n, v), row(im, n, v), row(im, n, width-v))
	}
	k.transpose(w.re, m, r[0], n, m, n)
	k.transpose(w.im, m, r[1], n, m, n)
	k.transpose(w.re[p.left*m:], m, r[2], n, m, n)
	k.transpose(w.im[p.left*m:], m, r[3], n, m, n)
}

// tangle is the inverse of untangle, but for a factor of two.
func (p *Plan[T]) tangle(w *Workspace[T], re, im []T) {
	n, m, width, lower := p.leftPad, p.packedPad, p.half.Width, p.left*p.packedPad
	if p.kernels.fold == nil || m > p.packed {
		p.tangleRows(w, re, im)
		return
	}
	dstRe, dstIm := w.re, w.im
	if &re[0] == &w.re[0] {
		dstRe, dstIm = w.re2, w.im2
	}
	up := func(s []T) grid[T] { return grid[T]{s, 0, n} }
	down := func(s []T) grid[T] { return grid[T]{s, width * n, -n} }
	fold := p.kernels.fold
	fold(up(dstRe), grid[T]{re, 0, m}, grid[T]{im, lower, m}, n, m, -1)
	fold(down(dstRe), grid[T]{re, 0, m}, grid[T]{im, lower, m}, n, m, 1)
	fold(up(dstIm), grid[T]{re, lower, m}, grid[T]{im, 0, m}, n, m, 1)
	fold(down(dstIm), grid[T]{re, lower, m}, grid[T]{im, 0, m}, n, m, -1)
	for a := range n {
		dstRe[a], dstIm[a] = re[a*m], re[lower+a*m]
		if width%2 == 0 {
			dstRe[width/2*n+a], dstIm[width/2*n+a] = im[a*m], im[lower+a*m]
		}
	}
	w.re, w.im, w.re2, w.im2 = dstRe, dstIm, re, im
}

// tangleRows is tangle one step at a time.
func (p *Plan[T]) tangleRows(w *Workspace[T], re, im []T) {
	n, m, width, r, k := p.leftPad, p.packedPad, p.half.Width, &w.rows, &p.kernels
	k.transpose(r[0], n, re, m, n, m)
	k.transpose(r[1], n, im, m, n, m)
	k.transpose(r[2], n, re[p.left*m:], m, n, m)
	k.transpose(r[3], n, im[p.left*m:], m, n, m)
	copy(row(w.re, n, 0), row(r[0], n, 0))
	copy(row(w.im, n, 0), row(r[2], n, 0))
	if width%2 == 0 {
		copy(row(w.re, n, width/2), row(r[1], n, 0))
		copy(row(w.im, n, width/2), row(r[3], n, 0))
	}
	for v := 1; v < p.packed; v++ {
		k.sums(row(w.re, n, width-v), row(w.re, n, v), row(r[0], n, v), row(r[3], n, v))
		k.sums(row(w.im, n, v), row(w.im, n, width-v), row(r[2], n, v), row(r[1], n, v))
	}
}
