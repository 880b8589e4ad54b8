package corrupt

import (
	"cmp"
	"math/big"
	"slices"

	"github.com/certspec/certspec/pixel"
)

// contrasts scales the distance of every byte from 127.5. At a real θ = n/d, v becomes the clipped
// ⌊((2v − 255)·n + 256·d) / 2d⌋, so that it moves where θ crosses (2k − 256)/(2v − 255) for a whole
// k. Bytes above 127.5 have moved at the crossing, those below only behind it. Between two
// crossings nothing moves.
func contrasts(s Strengths, _ pixel.Shape) (*list, error) {
	type fraction struct{ n, d int64 }
	compare := func(a, b fraction) int { return cmp.Compare(a.n*b.d, b.n*a.d) }
	fractionOf := func(r *big.Rat) fraction { return fraction{r.Num().Int64(), r.Denom().Int64()} }
	from, to := fractionOf(s.from), fractionOf(s.to)
	at := []fraction{from, to}
	for d := int64(1); d <= pixel.Steps; d += 2 {
		for n := 2 * (from.n * d / from.d / 2); n*to.d <= to.n*d && n <= 256; n += 2 {
			if n*from.d > from.n*d && n*to.d < to.n*d {
				r := fractionOf(big.NewRat(n, d))
				at = append(at, r)
			}
		}
	}
	slices.SortFunc(at, compare)
	at = slices.Compact(at)
	var thetas []fraction
	var tables [][256]uint8
	unchanged := 0
	put := func(f fraction) {
		var table [256]uint8
		for v := range table {
			scaled := (int64(2*v-255)*f.n + 256*f.d) / (2 * f.d)
			if (int64(2*v-255)*f.n+256*f.d)%(2*f.d) < 0 {
				scaled--
			}
			table[v] = uint8(min(max(scaled, 0), pixel.Steps))
		}
		if len(tables) > 0 && table == tables[len(tables)-1] {
			return
		}
		if f.n <= f.d {
			unchanged = len(tables)
		}
		thetas, tables = append(thetas, f), append(tables, table)
	}
	for i, f := range at {
		if i > 0 {
			before := at[i-1]
			put(fractionOf(big.NewRat(before.n*f.d+f.n*before.d, 2*before.d*f.d)))
		}
		put(f)
	}
	return &list{
		len:       len(tables),
		unchanged: unchanged,
		theta: func(i int) string {
			if i == len(tables)-1 { // of the last interval, its end
				return s.to.RatString()
			}
			return big.NewRat(thetas[i].n, thetas[i].d).RatString()
		},
		spaced: func(n int) (indices []int) {
			width := new(big.Rat).Sub(s.to, s.from)
			for k := range n {
				t := new(big.Rat).Mul(width, big.NewRat(int64(k), int64(max(1, n-1))))
				theta := fractionOf(t.Add(t, s.from))
				i, found := slices.BinarySearchFunc(thetas, theta, compare)
				if !found {
					i--
				}
				indices = append(indices, i)
			}
			return indices
		},
		build: func() func(dst, src []uint8, i int) {
			return func(dst, src []uint8, i int) {
				table := &tables[i]
				for k, v := range src {
					dst[k] = table[v]
				}
			}
		},
	}, nil
}
