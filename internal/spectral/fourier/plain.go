package fourier

import "math"

// kernels are the inner loops of a transform, in one of their forms. The two forms round the same
// operations in the same order. The conversions T(x·y) keep the compiler from fusing a product with a sum.
type kernels[T Float] struct {
	lanes     int // values of a vector, to whose multiples columns are filled up
	radix2    func(p *pass[T], yr, yi, xr, xi []T, run int)
	radix4    func(p *pass[T], yr, yi, xr, xi []T, run int)
	radix8    func(p *pass[T], yr, yi, xr, xi []T, run int)
	odd       func(p *pass[T], yr, yi, xr, xi []T, run int, scratch []T)
	sums      func(sum, difference, x, y []T)
	transpose func(dst []T, dstPitch int, src []T, srcPitch, rows, columns int)
	load      func(dst []T, pitch int, src []T, rows, columns int)
	store     func(dst, src []T, pitch, rows, columns int, scale T)
	amplitude func(dst, re, im []T)
	fold      func(dst, y, x grid[T], rows, columns int, sign T)                // nil in the plain form
	copyRows  func(dst []T, dstPitch int, src []T, srcPitch, rows, columns int) // nil in the plain form
}

// grid is a part of an array: a first value, and the distance from a row to the next, which may be negative.
type grid[T Float] struct {
	s            []T
	start, pitch int
}

func plainKernels[T Float]() kernels[T] {
	return kernels[T]{1, radix2[T], radix4[T], radix8[T], odd[T], sums[T], transpose[T], load[T], store[T],
		amplitude[T], nil, nil}
}

// runOf is the i-th run of n values.
func runOf[T Float](s []T, i, n int) []T { return s[i*n:][:n:n] }

func radix2[T Float](p *pass[T], yr, yi, xr, xi []T, n int) {
	for k := range p.count {
		x0r, x1r := runOf(xr, k, n), runOf(xr, k+p.count, n)
		x0i, x1i := runOf(xi, k, n), runOf(xi, k+p.count, n)
		y0r, y1r := runOf(yr, 2*k, n), runOf(yr, 2*k+1, n)
		y0i, y1i := runOf(yi, 2*k, n), runOf(yi, 2*k+1, n)
		cos, sin := T(1), T(0)
		if k > 0 {
			cos, sin = p.twiddle[2*(k-1)], p.twiddle[2*(k-1)+1]
		}
		for c := range y0r {
			ar, ai, br, bi := x0r[c], x0i[c], x1r[c], x1i[c]
			y0r[c], y0i[c] = ar+br, ai+bi
			y1r[c], y1i[c] = turned(ar-br, ai-bi, cos, sin)
		}
	}
}

// turned is (re + i·im)(cos + i·sin).
func turned[T Float](re, im, cos, sin T) (T, T) {
	return T(re*cos) - T(im*sin), T(re*sin) + T(im*cos)
}

func radix4[T Float](p *pass[T], yr, yi, xr, xi []T, n int) {
	m := p.count
	for k := range m {
		x0r, x1r, x2r, x3r := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x0i, x1i, x2i, x3i := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		y0r, y1r, y2r, y3r := runOf(yr, 4*k, n), runOf(yr, 4*k+1, n), runOf(yr, 4*k+2, n), runOf(yr, 4*k+3, n)
		y0i, y1i, y2i, y3i := runOf(yi, 4*k, n), runOf(yi, 4*k+1, n), runOf(yi, 4*k+2, n), runOf(yi, 4*k+3, n)
		if k == 0 {
			for c := range y0r {
				ar, ai := x0r[c]+x2r[c], x0i[c]+x2i[c]
				br, bi := x0r[c]-x2r[c], x0i[c]-x2i[c]
				cr, ci := x1r[c]+x3r[c], x1i[c]+x3i[c]
				dr, di := x1r[c]-x3r[c], x1i[c]-x3i[c]
				y0r[c], y0i[c] = ar+cr, ai+ci
				y1r[c], y1i[c] = br+di, bi-dr
				y2r[c], y2i[c] = ar-cr, ai-ci
				y3r[c], y3i[c] = br-di, bi+dr
			}
			continue
		}
		w := p.twiddle[6*(k-1):][:6]
		w1r, w1i, w2r, w2i, w3r, w3i := w[0], w[1], w[2], w[3], w[4], w[5]
		for c := range y0r {
			ar, ai := x0r[c]+x2r[c], x0i[c]+x2i[c]
			br, bi := x0r[c]-x2r[c], x0i[c]-x2i[c]
			cr, ci := x1r[c]+x3r[c], x1i[c]+x3i[c]
			dr, di := x1r[c]-x3r[c], x1i[c]-x3i[c]
			y0r[c], y0i[c] = ar+cr, ai+ci
			y1r[c], y1i[c] = turned(br+di, bi-dr, w1r, w1i)
			y2r[c], y2i[c] = turned(ar-cr, ai-ci, w2r, w2i)
			y3r[c], y3i[c] = turned(br-di, bi+dr, w3r, w3i)
		}
	}
}

// sqrtHalf is cos(π/4).
const sqrtHalf = 0.70710678118654752440084436210484903928483593768847

func radix8[T Float](p *pass[T], yr, yi, xr, xi []T, n int) {
	m := p.count
	ones := [14]T{1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0}
	for k := range m {
		w := ones[:]
		if k > 0 {
			w = p.twiddle[14*(k-1):][:14]
		}
		x0, x1, x2, x3 := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x4, x5, x6, x7 := runOf(xr, k+4*m, n), runOf(xr, k+5*m, n), runOf(xr, k+6*m, n), runOf(xr, k+7*m, n)
		z0, z1, z2, z3 := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		z4, z5, z6, z7 := runOf(xi, k+4*m, n), runOf(xi, k+5*m, n), runOf(xi, k+6*m, n), runOf(xi, k+7*m, n)
		y, z := yr[8*k*n:][:8*n], yi[8*k*n:][:8*n]
		for c := range x0 {
			a0r, a0i, a4r, a4i := x0[c]+x4[c], z0[c]+z4[c], x0[c]-x4[c], z0[c]-z4[c]
			a2r, a2i, a6r, a6i := x2[c]+x6[c], z2[c]+z6[c], x2[c]-x6[c], z2[c]-z6[c]
			b0r, b0i, b2r, b2i := a0r+a2r, a0i+a2i, a0r-a2r, a0i-a2i
			c0r, c0i, c2r, c2i := a4r+a6i, a4i-a6r, a4r-a6i, a4i+a6r
			a1r, a1i, a5r, a5i := x1[c]+x5[c], z1[c]+z5[c], x1[c]-x5[c], z1[c]-z5[c]
			a3r, a3i, a7r, a7i := x3[c]+x7[c], z3[c]+z7[c], x3[c]-x7[c], z3[c]-z7[c]
			b1r, b1i, b3r, b3i := a1r+a3r, a1i+a3i, a1r-a3r, a1i-a3i
			c1r, c1i, c3r, c3i := a5r+a7i, a5i-a7r, a5r-a7i, a5i+a7r
			y[c], z[c] = b0r+b1r, b0i+b1i
			y[c+4*n], z[c+4*n] = turned(b0r-b1r, b0i-b1i, w[6], w[7])
			y[c+2*n], z[c+2*n] = turned(b2r+b3i, b2i-b3r, w[2], w[3])
			y[c+6*n], z[c+6*n] = turned(b2r-b3i, b2i+b3r, w[10], w[11])
			dr, di := T(sqrtHalf*(c1r+c1i)), T(sqrtHalf*(c1i-c1r)) // c1 (1−i)/√2
			y[c+n], z[c+n] = turned(c0r+dr, c0i+di, w[0], w[1])
			y[c+5*n], z[c+5*n] = turned(c0r-dr, c0i-di, w[8], w[9])
			er, ei := T(sqrtHalf*(c3i-c3r)), T(sqrtHalf*(c3r+c3i)) // c3 (−1−i)/√2, its imaginary part negated
			y[c+3*n], z[c+3*n] = turned(c2r+er, c2i-ei, w[4], w[5])
			y[c+7*n], z[c+7*n] = turned(c2r-er, c2i+ei, w[12], w[13])
		}
	}
}

// odd is the pass of an odd radix r. With t_i = x_i + x_{r−i} and s_i = x_i − x_{r−i},
// A_j = x_0 + Σ t_i cos(2πij/r) and B_j = Σ s_i sin(2πij/r) over i = 1 … (r−1)/2, it is y_j = A_j − iB_j and
// y_{r−j} = A_j + iB_j.
func odd[T Float](p *pass[T], yr, yi, xr, xi []T, n int, scratch []T) {
	r, m := p.radix, p.count
	pairs := (r - 1) / 2
	tr, ti, sr, si := scratch[:pairs], scratch[pairs:][:pairs], scratch[2*pairs:][:pairs], scratch[3*pairs:][:pairs]
	for k := range m {
		for c := range n {
			at, step := k*n+c, m*n
			x0r, x0i := xr[at], xi[at]
			y0r, y0i := x0r, x0i
			for i := range pairs {
				from, to := at+(i+1)*step, at+(r-1-i)*step
				tr[i], ti[i] = xr[from]+xr[to], xi[from]+xi[to]
				sr[i], si[i] = xr[from]-xr[to], xi[from]-xi[to]
				y0r, y0i = y0r+tr[i], y0i+ti[i]
			}
			out := k*r*n + c
			yr[out], yi[out] = y0r, y0i
			for j := 1; j <= pairs; j++ {
				ar, ai, br, bi := x0r, x0i, T(0), T(0)
				at := 0
				for i := range pairs {
					if at += j; at >= r {
						at -= r
					}
					cos, sin := p.table[2*at], p.table[2*at+1]
					ar, ai = ar+T(tr[i]*cos), ai+T(ti[i]*cos)
					br, bi = br+T(sr[i]*sin), bi+T(si[i]*sin)
				}
				fr, fi, gr, gi := ar+bi, ai-br, ar-bi, ai+br
				if k > 0 {
					w := p.twiddle[2*(r-1)*(k-1):]
					fr, fi = turned(fr, fi, w[2*(j-1)], w[2*(j-1)+1])
					gr, gi = turned(gr, gi, w[2*(r-j-1)], w[2*(r-j-1)+1])
				}
				yr[out+j*n], yi[out+j*n] = fr, fi
				yr[out+(r-j)*n], yi[out+(r-j)*n] = gr, gi
			}
		}
	}
}

func sums[T Float](sum, difference, x, y []T) {
	difference, x, y = difference[:len(sum)], x[:len(sum)], y[:len(sum)]
	for k := range sum {
		sum[k], difference[k] = x[k]+y[k], x[k]-y[k]
	}
}

func transpose[T Float](dst []T, dstPitch int, src []T, srcPitch, rows, columns int) {
	for i := range rows {
		at := i
		for _, v := range src[i*srcPitch:][:columns] {
			dst[at] = v
			at += dstPitch
		}
	}
}

// load writes the transpose of half of src, which has no gaps between its rows.
func load[T Float](dst []T, pitch int, src []T, rows, columns int) {
	for i := range rows {
		at := i
		for _, v := range src[i*columns:][:columns] {
			dst[at] = v / 2
			at += pitch
		}
	}
}

// store writes the transpose of src times scale, without gaps between the rows of dst.
func store[T Float](dst, src []T, pitch, rows, columns int, scale T) {
	for i := range rows {
		at := i
		for j := range dst[i*columns:][:columns] {
			dst[i*columns+j] = src[at] * scale
			at += pitch
		}
	}
}

func amplitude[T Float](dst, re, im []T) {
	dst, im = dst[:len(re)], im[:len(re)]
	for k, x := range re {
		y := im[k]
		dst[k] = T(math.Sqrt(float64(T(x*x) + T(y*y))))
	}
}
