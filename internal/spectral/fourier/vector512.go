// Code generated from vector32.go; DO NOT EDIT.

//go:build goexperiment.simd && amd64

package fourier

import "simd/archsimd"

// The vector form of the kernels, for runs of whole vectors.

const lanes512 = 8

type vec512 = archsimd.Float64x8

func loadx512(s []float64, k int) vec512 { return archsimd.LoadFloat64x8((*[lanes512]float64)(s[k:])) }

func storex512(v vec512, s []float64, k int) { v.Store((*[lanes512]float64)(s[k:])) }

func broadcastx512(x float64) vec512 { return archsimd.BroadcastFloat64x8(x) }

func turnedx512(re, im, cos, sin vec512) (vec512, vec512) {
	return re.Mul(cos).Sub(im.Mul(sin)), re.Mul(sin).Add(im.Mul(cos))
}

func radix2x512(p *pass[float64], yr, yi, xr, xi []float64, n int) {
	for k := range p.count {
		x0r, x1r := runOf(xr, k, n), runOf(xr, k+p.count, n)
		x0i, x1i := runOf(xi, k, n), runOf(xi, k+p.count, n)
		y0r, y1r := runOf(yr, 2*k, n), runOf(yr, 2*k+1, n)
		y0i, y1i := runOf(yi, 2*k, n), runOf(yi, 2*k+1, n)
		for c := 0; c < n; c += lanes512 {
			ar, ai, br, bi := loadx512(x0r, c), loadx512(x0i, c), loadx512(x1r, c), loadx512(x1i, c)
			storex512(ar.Add(br), y0r, c)
			storex512(ai.Add(bi), y0i, c)
			dr, di := ar.Sub(br), ai.Sub(bi)
			if k > 0 {
				dr, di = turnedx512(dr, di, loadx512(p.twiddle, 2*(k-1)*lanes512), loadx512(p.twiddle, (2*k-1)*lanes512))
			}
			storex512(dr, y1r, c)
			storex512(di, y1i, c)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func radix4x512(p *pass[float64], yr, yi, xr, xi []float64, n int) {
	m := p.count
	for k := range m {
		x0r, x1r, x2r, x3r := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x0i, x1i, x2i, x3i := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		y0r, y1r, y2r, y3r := runOf(yr, 4*k, n), runOf(yr, 4*k+1, n), runOf(yr, 4*k+2, n), runOf(yr, 4*k+3, n)
		y0i, y1i, y2i, y3i := runOf(yi, 4*k, n), runOf(yi, 4*k+1, n), runOf(yi, 4*k+2, n), runOf(yi, 4*k+3, n)
		for c := 0; c < n; c += lanes512 {
			ar, ai := loadx512(x0r, c).Add(loadx512(x2r, c)), loadx512(x0i, c).Add(loadx512(x2i, c))
			br, bi := loadx512(x0r, c).Sub(loadx512(x2r, c)), loadx512(x0i, c).Sub(loadx512(x2i, c))
			cr, ci := loadx512(x1r, c).Add(loadx512(x3r, c)), loadx512(x1i, c).Add(loadx512(x3i, c))
			dr, di := loadx512(x1r, c).Sub(loadx512(x3r, c)), loadx512(x1i, c).Sub(loadx512(x3i, c))
			storex512(ar.Add(cr), y0r, c)
			storex512(ai.Add(ci), y0i, c)
			er, ei := br.Add(di), bi.Sub(dr)
			fr, fi := ar.Sub(cr), ai.Sub(ci)
			gr, gi := br.Sub(di), bi.Add(dr)
			if k > 0 {
				w := p.twiddle[6*(k-1)*lanes512:][:6*lanes512]
				er, ei = turnedx512(er, ei, loadx512(w, 0), loadx512(w, lanes512))
				fr, fi = turnedx512(fr, fi, loadx512(w, 2*lanes512), loadx512(w, 3*lanes512))
				gr, gi = turnedx512(gr, gi, loadx512(w, 4*lanes512), loadx512(w, 5*lanes512))
			}
			storex512(er, y1r, c)
			storex512(ei, y1i, c)
			storex512(fr, y2r, c)
			storex512(fi, y2i, c)
			storex512(gr, y3r, c)
			storex512(gi, y3i, c)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func radix8x512(p *pass[float64], yr, yi, xr, xi []float64, n int) {
	m := p.count
	half := broadcastx512(sqrtHalf)
	for k := range m {
		x0, x1, x2, x3 := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x4, x5, x6, x7 := runOf(xr, k+4*m, n), runOf(xr, k+5*m, n), runOf(xr, k+6*m, n), runOf(xr, k+7*m, n)
		z0, z1, z2, z3 := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		z4, z5, z6, z7 := runOf(xi, k+4*m, n), runOf(xi, k+5*m, n), runOf(xi, k+6*m, n), runOf(xi, k+7*m, n)
		y, z := yr[8*k*n:][:8*n], yi[8*k*n:][:8*n]
		var w []float64
		if k > 0 {
			w = p.twiddle[14*(k-1)*lanes512:][:14*lanes512]
		}
		for c := 0; c < n; c += lanes512 {
			// The even outputs.
			a0r, a0i := loadx512(x0, c).Add(loadx512(x4, c)), loadx512(z0, c).Add(loadx512(z4, c))
			a2r, a2i := loadx512(x2, c).Add(loadx512(x6, c)), loadx512(z2, c).Add(loadx512(z6, c))
			a1r, a1i := loadx512(x1, c).Add(loadx512(x5, c)), loadx512(z1, c).Add(loadx512(z5, c))
			a3r, a3i := loadx512(x3, c).Add(loadx512(x7, c)), loadx512(z3, c).Add(loadx512(z7, c))
			b0r, b0i, b2r, b2i := a0r.Add(a2r), a0i.Add(a2i), a0r.Sub(a2r), a0i.Sub(a2i)
			b1r, b1i, b3r, b3i := a1r.Add(a3r), a1i.Add(a3i), a1r.Sub(a3r), a1i.Sub(a3i)
			storex512(b0r.Add(b1r), y, c)
			storex512(b0i.Add(b1i), z, c)
			y4r, y4i := b0r.Sub(b1r), b0i.Sub(b1i)
			y2r, y2i := b2r.Add(b3i), b2i.Sub(b3r)
			y6r, y6i := b2r.Sub(b3i), b2i.Add(b3r)
			if k > 0 {
				y4r, y4i = turnedx512(y4r, y4i, loadx512(w, 6*lanes512), loadx512(w, 7*lanes512))
				y2r, y2i = turnedx512(y2r, y2i, loadx512(w, 2*lanes512), loadx512(w, 3*lanes512))
				y6r, y6i = turnedx512(y6r, y6i, loadx512(w, 10*lanes512), loadx512(w, 11*lanes512))
			}
			storex512(y2r, y, c+2*n)
			storex512(y2i, z, c+2*n)
			storex512(y4r, y, c+4*n)
			storex512(y4i, z, c+4*n)
			storex512(y6r, y, c+6*n)
			storex512(y6i, z, c+6*n)
			// The odd outputs.
			a4r, a4i := loadx512(x0, c).Sub(loadx512(x4, c)), loadx512(z0, c).Sub(loadx512(z4, c))
			a6r, a6i := loadx512(x2, c).Sub(loadx512(x6, c)), loadx512(z2, c).Sub(loadx512(z6, c))
			a5r, a5i := loadx512(x1, c).Sub(loadx512(x5, c)), loadx512(z1, c).Sub(loadx512(z5, c))
			a7r, a7i := loadx512(x3, c).Sub(loadx512(x7, c)), loadx512(z3, c).Sub(loadx512(z7, c))
			c0r, c0i, c2r, c2i := a4r.Add(a6i), a4i.Sub(a6r), a4r.Sub(a6i), a4i.Add(a6r)
			c1r, c1i, c3r, c3i := a5r.Add(a7i), a5i.Sub(a7r), a5r.Sub(a7i), a5i.Add(a7r)
			dr, di := half.Mul(c1r.Add(c1i)), half.Mul(c1i.Sub(c1r))
			er, ei := half.Mul(c3i.Sub(c3r)), half.Mul(c3r.Add(c3i))
			y1r, y1i := c0r.Add(dr), c0i.Add(di)
			y5r, y5i := c0r.Sub(dr), c0i.Sub(di)
			y3r, y3i := c2r.Add(er), c2i.Sub(ei)
			y7r, y7i := c2r.Sub(er), c2i.Add(ei)
			if k > 0 {
				y1r, y1i = turnedx512(y1r, y1i, loadx512(w, 0), loadx512(w, lanes512))
				y5r, y5i = turnedx512(y5r, y5i, loadx512(w, 8*lanes512), loadx512(w, 9*lanes512))
				y3r, y3i = turnedx512(y3r, y3i, loadx512(w, 4*lanes512), loadx512(w, 5*lanes512))
				y7r, y7i = turnedx512(y7r, y7i, loadx512(w, 12*lanes512), loadx512(w, 13*lanes512))
			}
			storex512(y1r, y, c+n)
			storex512(y1i, z, c+n)
			storex512(y3r, y, c+3*n)
			storex512(y3i, z, c+3*n)
			storex512(y5r, y, c+5*n)
			storex512(y5i, z, c+5*n)
			storex512(y7r, y, c+7*n)
			storex512(y7i, z, c+7*n)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func oddx512(p *pass[float64], yr, yi, xr, xi []float64, n int, scratch []float64) {
	r, m := p.radix, p.count
	pairs := (r - 1) / 2
	zero := broadcastx512(0)
	t := scratch[:4*pairs*lanes512] // real and imaginary part of t_i, of s_i
	for k := range m {
		for c := 0; c < n; c += lanes512 {
			at, step := k*n+c, m*n
			x0r, x0i := loadx512(xr, at), loadx512(xi, at)
			y0r, y0i := x0r, x0i
			for i := range pairs {
				from, to := at+(i+1)*step, at+(r-1-i)*step
				fr, fi, gr, gi := loadx512(xr, from), loadx512(xi, from), loadx512(xr, to), loadx512(xi, to)
				tr, ti := fr.Add(gr), fi.Add(gi)
				storex512(tr, t, 4*i*lanes512)
				storex512(ti, t, (4*i+1)*lanes512)
				storex512(fr.Sub(gr), t, (4*i+2)*lanes512)
				storex512(fi.Sub(gi), t, (4*i+3)*lanes512)
				y0r, y0i = y0r.Add(tr), y0i.Add(ti)
			}
			out := k*r*n + c
			storex512(y0r, yr, out)
			storex512(y0i, yi, out)
			for j := 1; j <= pairs; j++ {
				ar, ai, br, bi := x0r, x0i, zero, zero
				at := 0
				for i := range pairs {
					if at += j; at >= r {
						at -= r
					}
					cos, sin := loadx512(p.table, 2*at*lanes512), loadx512(p.table, (2*at+1)*lanes512)
					ti := t[4*i*lanes512:][:4*lanes512]
					ar, ai = ar.Add(loadx512(ti, 0).Mul(cos)), ai.Add(loadx512(ti, lanes512).Mul(cos))
					br, bi = br.Add(loadx512(ti, 2*lanes512).Mul(sin)), bi.Add(loadx512(ti, 3*lanes512).Mul(sin))
				}
				fr, fi, gr, gi := ar.Add(bi), ai.Sub(br), ar.Sub(bi), ai.Add(br)
				if k > 0 {
					w := p.twiddle[2*(r-1)*(k-1)*lanes512:]
					fr, fi = turnedx512(fr, fi, loadx512(w, 2*(j-1)*lanes512), loadx512(w, (2*j-1)*lanes512))
					gr, gi = turnedx512(gr, gi, loadx512(w, 2*(r-j-1)*lanes512), loadx512(w, (2*(r-j)-1)*lanes512))
				}
				storex512(fr, yr, out+j*n)
				storex512(fi, yi, out+j*n)
				storex512(gr, yr, out+(r-j)*n)
				storex512(gi, yi, out+(r-j)*n)
			}
		}
	}
	archsimd.ClearAVXUpperBits()
}

func sumsx512(sum, difference, x, y []float64) {
	for k := 0; k < len(sum); k += lanes512 {
		a, b := loadx512(x, k), loadx512(y, k)
		storex512(a.Add(b), sum, k)
		storex512(a.Sub(b), difference, k)
	}
	archsimd.ClearAVXUpperBits()
}

// transposex512 needs whole blocks, and room for them.
func transposex512(dst []float64, dstPitch int, src []float64, srcPitch, rows, columns int) {
	scaledx512(dst, dstPitch, src, srcPitch, rows, columns, 1)
}

// wholex512 is the largest multiple of a vector that is at most n.
func wholex512(n int) int { return n / lanes512 * lanes512 }

func loadPlanex512(dst []float64, pitch int, src []float64, rows, columns int) {
	i, j := wholex512(rows), wholex512(columns)
	scaledx512(dst, pitch, src, columns, i, j, .5)
	for k := range i {
		for l := j; l < columns; l++ {
			dst[l*pitch+k] = src[k*columns+l] / 2
		}
	}
	if i < rows {
		load(dst[i:], pitch, src[i*columns:], rows-i, columns)
	}
}

func storePlanex512(dst, src []float64, pitch, rows, columns int, scale float64) {
	i, j := wholex512(rows), wholex512(columns)
	scaledx512(dst, columns, src, pitch, j, i, scale)
	for k := range i {
		for l := j; l < columns; l++ {
			dst[k*columns+l] = src[l*pitch+k] * scale
		}
	}
	if i < rows {
		store(dst[i*columns:], src[i:], pitch, rows-i, columns, scale)
	}
}

// copyRowsx512 copies whole vectors of each row.
func copyRowsx512(dst []float64, dstPitch int, src []float64, srcPitch, rows, columns int) {
	for i := range rows {
		for j := 0; j < columns; j += lanes512 {
			storex512(loadx512(src, i*srcPitch+j), dst, i*dstPitch+j)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func amplitudex512(dst, re, im []float64) {
	k := 0
	for ; k+lanes512 <= len(re); k += lanes512 {
		x, y := loadx512(re, k), loadx512(im, k)
		storex512(x.Mul(x).Add(y.Mul(y)).Sqrt(), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	amplitude(dst[k:], re[k:], im[k:])
}
