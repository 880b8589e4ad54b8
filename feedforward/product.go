package feedforward

import (
	"context"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// product is x_i·y_i of two inputs of one shape. With x = c ± r and y = d ± s it lies within r·s of the plane
// d·x + c·y − c·d, which bounds walk back along.
type product struct{}

// Square is x².
func (b *Builder) Square(in int) int { return b.add("Square", b.Shape(in), square{}, in) }

// Product multiplies two layers of one shape, value by value.
func (b *Builder) Product(x, y int) int {
	if !slices.Equal(b.Shape(x), b.Shape(y)) {
		return b.fail("Product", "layers of shapes %v and %v", b.Shape(x), b.Shape(y))
	}
	return b.add("Product", b.Shape(x), product{}, x, y)
}

func (product) forward(in [][]float64, out []float64) {
	for i, v := range in[0] {
		out[i] = v * in[1][i]
	}
}

func (product) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for i, v := range g {
		gin[0][i] += v * in[1][i]
		gin[1][i] += v * in[0][i]
	}
}

func (product) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	for i := range out.Lower {
		x, y := [2]float64{in[0].Lower[i], in[0].Upper[i]}, [2]float64{in[1].Lower[i], in[1].Upper[i]}
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, v := range x {
			for _, w := range y {
				lo, hi = min(lo, v*w), max(hi, v*w)
			}
		}
		off := productError(in[0].largest(i), in[1].largest(i), a)
		out.Lower[i], out.Upper[i] = a.down(lo-off), a.up(hi+off)
		if math.IsInf(x[0], 0) || math.IsInf(x[1], 0) || math.IsInf(y[0], 0) || math.IsInf(y[1], 0) {
			out.Lower[i], out.Upper[i] = math.Inf(-1), math.Inf(1) // 0 times what has no end may be NaN
		}
	}
}

// productError bounds the error of a product of numbers of these magnitudes in float32.
func productError(x, y float64, a Arithmetic) float64 {
	if a == Plain {
		return 0
	}
	return 2*single*x*y + tiny
}

func (l product) walk(s step, at int) {
	if s.bends[at] == nil {
		s.bends[at] = l.planes(s, at)
	}
	n := len(s.out.Lower)
	for b := range s.blocks {
		for j := range s.in {
			kernel.BendRows(&s.sums[b], s.block(b), s.bends[at][j*n:(j+1)*n], s.into(j, b), s.fresh[j])
		}
	}
}

// planes are lines for the first input, then for the second, which have the constants.
func (product) planes(s step, at int) []kernel.Bend {
	n, faint := len(s.out.Lower), s.r.reach[at].faint()
	x, y := s.r.boxes[s.in[0]], s.r.boxes[s.in[1]]
	lines, c, r, m := make([]kernel.Bend, 2*n), [2][]float64{}, [2][]float64{}, [2][]float64{}
	for j, box := range []Box{x, y} {
		c[j], r[j], m[j] = make([]float64, n), make([]float64, n), make([]float64, n)
		box.centre(c[j], r[j], m[j], s.a)
	}
	for i := range n {
		line := &lines[n+i]
		if line.Over, line.Under = s.out.Upper[i], s.out.Lower[i]; !math.IsInf(m[0][i], 0) && !math.IsInf(m[1][i], 0) {
			c0, c1, m0, m1 := c[0][i], c[1][i], m[0][i], m[1][i]
			e := r[0][i] * r[1][i]
			if s.a != Plain {
				e += productError(m0, m1, s.a) + host*(math.Abs(c0*c1)+e) + (m0+m1)*tiny
				e += (s.off[0]+2*single+host)*math.Abs(c1)*m0 + (s.off[1]+2*single+host)*math.Abs(c0)*m1
			}
			lines[i].Up, lines[i].Low, line.Up, line.Low = float32(c1), float32(c1), float32(c0), float32(c0)
			line.Over, line.Under = e-c0*c1, -e-c0*c1
		}
		if s.a != Plain {
			line.Over, line.Under = line.Over+faint, line.Under-faint
		}
	}
	return lines
}

type square struct{}

func (square) forward(in [][]float64, out []float64) {
	for i, v := range in[0] {
		out[i] = v * v
	}
}

func (square) backward(in [][]float64, out, g []float64, gin [][]float64) {
	for i, v := range in[0] {
		gin[0][i] += 2 * v * g[i]
	}
}

func (square) interval(ctx context.Context, in []Box, out Box, a Arithmetic) {
	for i, lo := range in[0].Lower {
		hi := in[0].Upper[i]
		least, most := min(lo*lo, hi*hi), max(lo*lo, hi*hi)
		if lo < 0 && hi > 0 {
			least = 0
		}
		if a != Plain {
			least, most = max(0, least*(1-4*single)-tiny), most*(1+4*single)+tiny
		}
		out.Lower[i], out.Upper[i] = least, most
	}
}

func (square) walk(s step, at int) { s.atEnds() }
