package kernel

import "math"

// Width is how many rows of coefficients are walked back side by side, in float32.
const Width = 16

// RowLane holds the coefficients of as many rows on one value.
type RowLane [Width]float32

// Add adds another row times ±1.
func (to *RowLane) Add(from *RowLane, sign float32) {
	for r, v := range from {
		to[r] += float32(sign * v)
	}
}

// A tile is the sums of tileChannels values at tilePlaces places.
const (
	TileChannels = 6
	TilePlaces   = 4
	TileSums     = TileChannels * TilePlaces
)

// Tap is a run of products in the sums of a tile: where its coefficients begin for each place, and its weights.
type Tap struct {
	X [TilePlaces]int
	W int
}

// Bend changes a coefficient v on a value: Up·v where v > 0, else Low·v; and what the row's constant
// gains: Over·v or Under·v.
type Bend struct {
	Up, Low     float32
	Over, Under float64
}

// tilePlain adds to sum 4c+p of a tile the products of k coefficients at place p with the weights of channel c, tap by
// tap. It defines what the vector forms compute, bit for bit.
func tilePlain(sums *[TileSums]RowLane, x []RowLane, w []float32, taps []Tap, k int) {
	for _, t := range taps {
		for l := range k {
			for c, weight := range w[t.W+l*TileChannels:][:TileChannels] {
				for p, at := range t.X {
					to := &sums[c*TilePlaces+p]
					for r, v := range x[at+l] {
						to[r] = fused32(v, weight, to[r])
					}
				}
			}
		}
	}
}

// tilePlain64 is tilePlain in float64, whose lanes are neighbouring values.
func tilePlain64(sums *[TileSums]Lane, x []Lane, w []float64, taps []Tap, k int) {
	for _, t := range taps {
		for l := range k {
			for c, weight := range w[t.W+l*TileChannels:][:TileChannels] {
				for p, at := range t.X {
					to := &sums[c*TilePlaces+p]
					for r, v := range x[at+l] {
						to[r] = math.FMA(v, weight, to[r])
					}
				}
			}
		}
	}
}

// Products are w·x_0, |w|·x_1 and |w|·x_2.
func Products(w []float64, x [3][]float64) (p [3]float64) {
	var sums [3]Lane
	dots(&sums, w, x[0], x[1], x[2])
	for i, whole := len(w)-len(w)%Lanes, len(w)-len(w)%Lanes; i < len(w); i++ {
		j, size := i-whole, math.Abs(w[i])
		sums[0][j] = math.FMA(x[0][i], w[i], sums[0][j])
		sums[1][j] = math.FMA(x[1][i], size, sums[1][j])
		sums[2][j] = math.FMA(x[2][i], size, sums[2][j])
	}
	for which, s := range sums {
		for _, v := range s {
			p[which] += v
		}
	}
	return p
}

// dotsPlain makes w·c, |w|·r and |w|·m over the values up to the last multiple of Lanes, in a sum for each lane.
func dotsPlain(sums *[3]Lane, w, c, r, m []float64) {
	*sums = [3]Lane{}
	for i := 0; i+Lanes <= len(w); i += Lanes {
		for j, v := range w[i : i+Lanes] {
			size := math.Abs(v)
			sums[0][j] = math.FMA(c[i+j], v, sums[0][j])
			sums[1][j] = math.FMA(r[i+j], size, sums[1][j])
			sums[2][j] = math.FMA(m[i+j], size, sums[2][j])
		}
	}
}

func sumsPlain(sums *[Width]float64, g []RowLane, lines []Bend) {
	for i := range lines {
		l := &lines[i]
		for r, v := range g[i] {
			switch {
			case v > 0:
				sums[r] += float64(float64(v) * l.Over)
			case v != 0: // what is not a number among them
				sums[r] += float64(float64(v) * l.Under)
			}
		}
	}
}

func bendsPlain(sums *[Width]float64, g []RowLane, lines []Bend, gin []RowLane, fresh bool) {
	sumsPlain(sums, g, lines)
	for i := range lines {
		for r, v := range g[i] {
			slope, to := lines[i].Low, gin[i][r]
			if fresh {
				to = 0
			}
			if v > 0 {
				slope = lines[i].Up
			}
			gin[i][r] = fused32(v, slope, to)
		}
	}
}

// fused32 is a·b + c with one rounding to float32. The product is exact in float64; the sum is rounded to odd there,
// after which rounding to float32 gives the exact sum rounded.
func fused32(a, b, c float32) float32 {
	product, other := float64(a)*float64(b), float64(c)
	sum := product + other
	part := sum - product
	lost := (product - (sum - part)) + (other - part)
	if bits := math.Float64bits(sum); lost != 0 && bits&1 == 0 && !math.IsNaN(lost) && !math.IsInf(sum, 0) {
		if lost > 0 == (sum > 0) {
			sum = math.Float64frombits(bits + 1)
		} else {
			sum = math.Float64frombits(bits - 1)
		}
	}
	return float32(sum)
}
