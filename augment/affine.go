package augment

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/pixel"
)

// affine is a map from pixels of the output to points of the input, (x, y) → (a·x + b·y + c, d·x +
// e·y + f), where the middle of a pixel stands at whole numbers.
type affine struct{ a, b, c, d, e, f float64 }

// affineOf is the inverse of x → M(x − middle) + middle + (Right, Down), with M the rotation times
// the shear (1, −tan ψ; 0, 1).
func affineOf(c *FourierMixChain, shape pixel.Shape) affine {
	sin, cos := portable.Sincos(c.Rotation * (math.Pi / 180))
	t := c.Shear
	// M⁻¹ = (1, tan ψ; 0, 1) (cos, sin; −sin, cos)
	m := affine{a: cos - float64(t*sin), b: sin + float64(t*cos), d: -sin, e: cos}
	middleX, middleY := float64(shape.Width-1)/2, float64(shape.Height-1)/2
	x, y := middleX+c.Right, middleY+c.Down
	m.c = middleX - (float64(m.a*x) + float64(m.b*y))
	m.f = middleY - (float64(m.d*x) + float64(m.e*y))
	return m
}

// Inverse returns the map of the chain from pixels of the view to points of the image. The pixel in column x of row y
// shows the point in column m[0]·x + m[1]·y + m[2] of row m[3]·x + m[4]·y + m[5].
func (c *FourierMixChain) Inverse(shape pixel.Shape) (m [6]float64) {
	t := affineOf(c, shape)
	return [6]float64{t.a, t.b, t.c, t.d, t.e, t.f}
}

// still reports whether the map moves nothing.
func (c *FourierMixChain) still() bool {
	return c.Rotation == 0 && c.Right == 0 && c.Down == 0 && c.Shear == 0
}

// addAffine adds w(1−t)·T(src) to dst.
func (f FourierMix) addAffine(dst, src [][]float64, shape pixel.Shape, c *FourierMixChain) {
	share := float64(c.Weight * (1 - c.Spectral))
	switch {
	case c.still():
		addScaled(dst, src, share)
	case f.Sampling == bilinearSampling:
		addBilinear(dst, src, shape, affineOf(c, shape), share)
	default:
		addNearest(dst, src, shape, affineOf(c, shape), share)
	}
}

// addNearest adds share times the pixel that each point falls into, or nothing outside. Coordinates
// are counted in steps of 2⁻³² pixels.
func addNearest(dst, src [][]float64, shape pixel.Shape, m affine, share float64) {
	const bits = 32
	fixed := func(v float64) int64 { return int64(math.RoundToEven(v * (1 << bits))) }
	a, d := fixed(m.a), fixed(m.d)
	w, h := uint64(shape.Width), uint64(shape.Height)
	for y := range shape.Height {
		px := fixed(float64(m.b*float64(y))+m.c) + 1<<(bits-1)
		py := fixed(float64(m.e*float64(y))+m.f) + 1<<(bits-1)
		first, end := y*shape.Width, (y+1)*shape.Width
		if len(src) == 3 {
			s0, s1, s2 := src[0], src[1][:len(src[0])], src[2][:len(src[0])]
			d0 := dst[0][first:end]
			d1, d2 := dst[1][first:end][:len(d0)], dst[2][first:end][:len(d0)]
			for k := range d0 {
				column, row := uint64(px>>bits), uint64(py>>bits) // negative numbers become great ones
				px, py = px+a, py+d
				if column < w && row < h {
					from := row*w + column
					d0[k] += float64(share * s0[from])
					d1[k] += float64(share * s1[from])
					d2[k] += float64(share * s2[from])
				}
			}
			continue
		}
		for k := first; k < end; k++ {
			column, row := uint64(px>>bits), uint64(py>>bits)
			px, py = px+a, py+d
			if column < w && row < h {
				for channel, plane := range src {
					dst[channel][k] += float64(share * plane[row*w+column])
				}
			}
		}
	}
}

// addBilinear reads between the four nearest pixels, those outside being 0.
func addBilinear(dst, src [][]float64, shape pixel.Shape, m affine, share float64) {
	w, h := shape.Width, shape.Height
	for y := range h {
		for x := range w {
			px := float64(m.a*float64(x)) + float64(m.b*float64(y)) + m.c
			py := float64(m.d*float64(x)) + float64(m.e*float64(y)) + m.f
			left, top := math.Floor(px), math.Floor(py)
			dx, dy := px-left, py-top
			for _, corner := range [4]struct{ x, y, weight float64 }{
				{left, top, float64((1 - dx) * (1 - dy))}, {left + 1, top, float64(dx * (1 - dy))},
				{left, top + 1, float64((1 - dx) * dy)}, {left + 1, top + 1, float64(dx * dy)},
			} {
				if !(corner.x >= 0 && corner.x < float64(w) && corner.y >= 0 && corner.y < float64(h)) {
					continue
				}
				g, from := float64(share*corner.weight), int(corner.y)*w+int(corner.x)
				for channel, plane := range src {
					dst[channel][y*w+x] += float64(g * plane[from])
				}
			}
		}
	}
}
