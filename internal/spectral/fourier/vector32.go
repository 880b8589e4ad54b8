//go:build goexperiment.simd && amd64

package fourier

import "simd/archsimd"

//go:generate sh -c "(echo '// Code generated from vector32.go; DO NOT EDIT.'; echo; sed -e 's/lanes32 = 8/lanes64 = 4/; s/float32/float64/g; s/Float32x8/Float64x4/g; s/lanes32/lanes64/g; s/vec32/vec64/g; s/x32/x64/g; /go:generate/d' vector32.go) | gofmt > vector64.go"
//go:generate sh -c "(echo '// Code generated from vector32.go; DO NOT EDIT.'; echo; sed -e 's/lanes32 = 8/lanes512 = 8/; s/float32/float64/g; s/Float32x8/Float64x8/g; s/lanes32/lanes512/g; s/vec32/vec512/g; s/x32/x512/g; /go:generate/d' vector32.go) | gofmt > vector512.go"

// The vector form of the kernels, for runs of whole vectors.

const lanes32 = 8

type vec32 = archsimd.Float32x8

func loadx32(s []float32, k int) vec32 { return archsimd.LoadFloat32x8((*[lanes32]float32)(s[k:])) }

func storex32(v vec32, s []float32, k int) { v.Store((*[lanes32]float32)(s[k:])) }

func broadcastx32(x float32) vec32 { return archsimd.BroadcastFloat32x8(x) }

func turnedx32(re, im, cos, sin vec32) (vec32, vec32) {
	return re.Mul(cos).Sub(im.Mul(sin)), re.Mul(sin).Add(im.Mul(cos))
}

func radix2x32(p *pass[float32], yr, yi, xr, xi []float32, n int) {
	for k := range p.count {
		x0r, x1r := runOf(xr, k, n), runOf(xr, k+p.count, n)
		x0i, x1i := runOf(xi, k, n), runOf(xi, k+p.count, n)
		y0r, y1r := runOf(yr, 2*k, n), runOf(yr, 2*k+1, n)
		y0i, y1i := runOf(yi, 2*k, n), runOf(yi, 2*k+1, n)
		for c := 0; c < n; c += lanes32 {
			ar, ai, br, bi := loadx32(x0r, c), loadx32(x0i, c), loadx32(x1r, c), loadx32(x1i, c)
			storex32(ar.Add(br), y0r, c)
			storex32(ai.Add(bi), y0i, c)
			dr, di := ar.Sub(br), ai.Sub(bi)
			if k > 0 {
				dr, di = turnedx32(dr, di, loadx32(p.twiddle, 2*(k-1)*lanes32), loadx32(p.twiddle, (2*k-1)*lanes32))
			}
			storex32(dr, y1r, c)
			storex32(di, y1i, c)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func radix4x32(p *pass[float32], yr, yi, xr, xi []float32, n int) {
	m := p.count
	for k := range m {
		x0r, x1r, x2r, x3r := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x0i, x1i, x2i, x3i := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		y0r, y1r, y2r, y3r := runOf(yr, 4*k, n), runOf(yr, 4*k+1, n), runOf(yr, 4*k+2, n), runOf(yr, 4*k+3, n)
		y0i, y1i, y2i, y3i := runOf(yi, 4*k, n), runOf(yi, 4*k+1, n), runOf(yi, 4*k+2, n), runOf(yi, 4*k+3, n)
		for c := 0; c < n; c += lanes32 {
			ar, ai := loadx32(x0r, c).Add(loadx32(x2r, c)), loadx32(x0i, c).Add(loadx32(x2i, c))
			br, bi := loadx32(x0r, c).Sub(loadx32(x2r, c)), loadx32(x0i, c).Sub(loadx32(x2i, c))
			cr, ci := loadx32(x1r, c).Add(loadx32(x3r, c)), loadx32(x1i, c).Add(loadx32(x3i, c))
			dr, di := loadx32(x1r, c).Sub(loadx32(x3r, c)), loadx32(x1i, c).Sub(loadx32(x3i, c))
			storex32(ar.Add(cr), y0r, c)
			storex32(ai.Add(ci), y0i, c)
			er, ei := br.Add(di), bi.Sub(dr)
			fr, fi := ar.Sub(cr), ai.Sub(ci)
			gr, gi := br.Sub(di), bi.Add(dr)
			if k > 0 {
				w := p.twiddle[6*(k-1)*lanes32:][:6*lanes32]
				er, ei = turnedx32(er, ei, loadx32(w, 0), loadx32(w, lanes32))
				fr, fi = turnedx32(fr, fi, loadx32(w, 2*lanes32), loadx32(w, 3*lanes32))
				gr, gi = turnedx32(gr, gi, loadx32(w, 4*lanes32), loadx32(w, 5*lanes32))
			}
			storex32(er, y1r, c)
			storex32(ei, y1i, c)
			storex32(fr, y2r, c)
			storex32(fi, y2i, c)
			storex32(gr, y3r, c)
			storex32(gi, y3i, c)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func radix8x32(p *pass[float32], yr, yi, xr, xi []float32, n int) {
	m := p.count
	half := broadcastx32(sqrtHalf)
	for k := range m {
		x0, x1, x2, x3 := runOf(xr, k, n), runOf(xr, k+m, n), runOf(xr, k+2*m, n), runOf(xr, k+3*m, n)
		x4, x5, x6, x7 := runOf(xr, k+4*m, n), runOf(xr, k+5*m, n), runOf(xr, k+6*m, n), runOf(xr, k+7*m, n)
		z0, z1, z2, z3 := runOf(xi, k, n), runOf(xi, k+m, n), runOf(xi, k+2*m, n), runOf(xi, k+3*m, n)
		z4, z5, z6, z7 := runOf(xi, k+4*m, n), runOf(xi, k+5*m, n), runOf(xi, k+6*m, n), runOf(xi, k+7*m, n)
		y, z := yr[8*k*n:][:8*n], yi[8*k*n:][:8*n]
		var w []float32
		if k > 0 {
			w = p.twiddle[14*(k-1)*lanes32:][:14*lanes32]
		}
		for c := 0; c < n; c += lanes32 {
			// The even outputs.
			a0r, a0i := loadx32(x0, c).Add(loadx32(x4, c)), loadx32(z0, c).Add(loadx32(z4, c))
			a2r, a2i := loadx32(x2, c).Add(loadx32(x6, c)), loadx32(z2, c).Add(loadx32(z6, c))
			a1r, a1i := loadx32(x1, c).Add(loadx32(x5, c)), loadx32(z1, c).Add(loadx32(z5, c))
			a3r, a3i := loadx32(x3, c).Add(loadx32(x7, c)), loadx32(z3, c).Add(loadx32(z7, c))
			b0r, b0i, b2r, b2i := a0r.Add(a2r), a0i.Add(a2i), a0r.Sub(a2r), a0i.Sub(a2i)
			b1r, b1i, b3r, b3i := a1r.Add(a3r), a1i.Add(a3i), a1r.Sub(a3r), a1i.Sub(a3i)
			storex32(b0r.Add(b1r), y, c)
			storex32(b0i.Add(b1i), z, c)
			y4r, y4i := b0r.Sub(b1r), b0i.Sub(b1i)
			y2r, y2i := b2r.Add(b3i), b2i.Sub(b3r)
			y6r, y6i := b2r.Sub(b3i), b2i.Add(b3r)
			if k > 0 {
				y4r, y4i = turnedx32(y4r, y4i, loadx32(w, 6*lanes32), loadx32(w, 7*lanes32))
				y2r, y2i = turnedx32(y2r, y2i, loadx32(w, 2*lanes32), loadx32(w, 3*lanes32))
				y6r, y6i = turnedx32(y6r, y6i, loadx32(w, 10*lanes32), loadx32(w, 11*lanes32))
			}
			storex32(y2r, y, c+2*n)
			storex32(y2i, z, c+2*n)
			storex32(y4r, y, c+4*n)
			storex32(y4i, z, c+4*n)
			storex32(y6r, y, c+6*n)
			storex32(y6i, z, c+6*n)
			// The odd outputs.
			a4r, a4i := loadx32(x0, c).Sub(loadx32(x4, c)), loadx32(z0, c).Sub(loadx32(z4, c))
			a6r, a6i := loadx32(x2, c).Sub(loadx32(x6, c)), loadx32(z2, c).Sub(loadx32(z6, c))
			a5r, a5i := loadx32(x1, c).Sub(loadx32(x5, c)), loadx32(z1, c).Sub(loadx32(z5, c))
			a7r, a7i := loadx32(x3, c).Sub(loadx32(x7, c)), loadx32(z3, c).Sub(loadx32(z7, c))
			c0r, c0i, c2r, c2i := a4r.Add(a6i), a4i.Sub(a6r), a4r.Sub(a6i), a4i.Add(a6r)
			c1r, c1i, c3r, c3i := a5r.Add(a7i), a5i.Sub(a7r), a5r.Sub(a7i), a5i.Add(a7r)
			dr, di := half.Mul(c1r.Add(c1i)), half.Mul(c1i.Sub(c1r))
			er, ei := half.Mul(c3i.Sub(c3r)), half.Mul(c3r.Add(c3i))
			y1r, y1i := c0r.Add(dr), c0i.Add(di)
			y5r, y5i := c0r.Sub(dr), c0i.Sub(di)
			y3r, y3i := c2r.Add(er), c2i.Sub(ei)
			y7r, y7i := c2r.Sub(er), c2i.Add(ei)
			if k > 0 {
				y1r, y1i = turnedx32(y1r, y1i, loadx32(w, 0), loadx32(w, lanes32))
				y5r, y5i = turnedx32(y5r, y5i, loadx32(w, 8*lanes32), loadx32(w, 9*lanes32))
				y3r, y3i = turnedx32(y3r, y3i, loadx32(w, 4*lanes32), loadx32(w, 5*lanes32))
				y7r, y7i = turnedx32(y7r, y7i, loadx32(w, 12*lanes32), loadx32(w, 13*lanes32))
			}
			storex32(y1r, y, c+n)
			storex32(y1i, z, c+n)
			storex32(y3r, y, c+3*n)
			storex32(y3i, z, c+3*n)
			storex32(y5r, y, c+5*n)
			storex32(y5i, z, c+5*n)
			storex32(y7r, y, c+7*n)
			storex32(y7i, z, c+7*n)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func oddx32(p *pass[float32], yr, yi, xr, xi []float32, n int, scratch []float32) {
	r, m := p.radix, p.count
	pairs := (r - 1) / 2
	zero := broadcastx32(0)
	t := scratch[:4*pairs*lanes32] // real and imaginary part of t_i, of s_i
	for k := range m {
		for c := 0; c < n; c += lanes32 {
			at, step := k*n+c, m*n
			x0r, x0i := loadx32(xr, at), loadx32(xi, at)
			y0r, y0i := x0r, x0i
			for i := range pairs {
				from, to := at+(i+1)*step, at+(r-1-i)*step
				fr, fi, gr, gi := loadx32(xr, from), loadx32(xi, from), loadx32(xr, to), loadx32(xi, to)
				tr, ti := fr.Add(gr), fi.Add(gi)
				storex32(tr, t, 4*i*lanes32)
				storex32(ti, t, (4*i+1)*lanes32)
				storex32(fr.Sub(gr), t, (4*i+2)*lanes32)
				storex32(fi.Sub(gi), t, (4*i+3)*lanes32)
				y0r, y0i = y0r.Add(tr), y0i.Add(ti)
			}
			out := k*r*n + c
			storex32(y0r, yr, out)
			storex32(y0i, yi, out)
			for j := 1; j <= pairs; j++ {
				ar, ai, br, bi := x0r, x0i, zero, zero
				at := 0
				for i := range pairs {
					if at += j; at >= r {
						at -= r
					}
					cos, sin := loadx32(p.table, 2*at*lanes32), loadx32(p.table, (2*at+1)*lanes32)
					ti := t[4*i*lanes32:][:4*lanes32]
					ar, ai = ar.Add(loadx32(ti, 0).Mul(cos)), ai.Add(loadx32(ti, lanes32).Mul(cos))
					br, bi = br.Add(loadx32(ti, 2*lanes32).Mul(sin)), bi.Add(loadx32(ti, 3*lanes32).Mul(sin))
				}
				fr, fi, gr, gi := ar.Add(bi), ai.Sub(br), ar.Sub(bi), ai.Add(br)
				if k > 0 {
					w := p.twiddle[2*(r-1)*(k-1)*lanes32:]
					fr, fi = turnedx32(fr, fi, loadx32(w, 2*(j-1)*lanes32), loadx32(w, (2*j-1)*lanes32))
					gr, gi = turnedx32(gr, gi, loadx32(w, 2*(r-j-1)*lanes32), loadx32(w, (2*(r-j)-1)*lanes32))
				}
				storex32(fr, yr, out+j*n)
				storex32(fi, yi, out+j*n)
				storex32(gr, yr, out+(r-j)*n)
				storex32(gi, yi, out+(r-j)*n)
			}
		}
	}
	archsimd.ClearAVXUpperBits()
}

func sumsx32(sum, difference, x, y []float32) {
	for k := 0; k < len(sum); k += lanes32 {
		a, b := loadx32(x, k), loadx32(y, k)
		storex32(a.Add(b), sum, k)
		storex32(a.Sub(b), difference, k)
	}
	archsimd.ClearAVXUpperBits()
}

// transposex32 needs whole blocks, and room for them.
func transposex32(dst []float32, dstPitch int, src []float32, srcPitch, rows, columns int) {
	scaledx32(dst, dstPitch, src, srcPitch, rows, columns, 1)
}

// wholex32 is the largest multiple of a vector that is at most n.
func wholex32(n int) int { return n / lanes32 * lanes32 }

func loadPlanex32(dst []float32, pitch int, src []float32, rows, columns int) {
	i, j := wholex32(rows), wholex32(columns)
	scaledx32(dst, pitch, src, columns, i, j, .5)
	for k := range i {
		for l := j; l < columns; l++ {
			dst[l*pitch+k] = src[k*columns+l] / 2
		}
	}
	if i < rows {
		load(dst[i:], pitch, src[i*columns:], rows-i, columns)
	}
}

func storePlanex32(dst, src []float32, pitch, rows, columns int, scale float32) {
	i, j := wholex32(rows), wholex32(columns)
	scaledx32(dst, columns, src, pitch, j, i, scale)
	for k := range i {
		for l := j; l < columns; l++ {
			dst[k*columns+l] = src[l*pitch+k] * scale
		}
	}
	if i < rows {
		store(dst[i*columns:], src[i:], pitch, rows-i, columns, scale)
	}
}

// copyRowsx32 copies whole vectors of each row.
func copyRowsx32(dst []float32, dstPitch int, src []float32, srcPitch, rows, columns int) {
	for i := range rows {
		for j := 0; j < columns; j += lanes32 {
			storex32(loadx32(src, i*srcPitch+j), dst, i*dstPitch+j)
		}
	}
	archsimd.ClearAVXUpperBits()
}

func amplitudex32(dst, re, im []float32) {
	k := 0
	for ; k+lanes32 <= len(re); k += lanes32 {
		x, y := loadx32(re, k), loadx32(im, k)
		storex32(x.Mul(x).Add(y.Mul(y)).Sqrt(), dst, k)
	}
	archsimd.ClearAVXUpperBits()
	amplitude(dst[k:], re[k:], im[k:])
}
