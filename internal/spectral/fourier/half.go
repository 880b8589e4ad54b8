package fourier

import (
	"fmt"
	"math"
)

// Half is the geometry of the half spectrum of a real plane: the bins (u, v) with v = 0 … ⌊W/2⌋ and all H
// values of u, row by row; the bin of row r and column v holds the frequency u = r, or r − H from r = ⌈H/2⌉ on.
//
// The other bins are the conjugates of these. Inside the half spectrum, the columns v = 0 and, where W is even,
// v = W/2 still hold both bins of a pair; up to four bins are their own mirror, and real.
type Half struct{ Height, Width int }

// NewHalf checks the sides of a plane.
func NewHalf(height, width int) (Half, error) {
	if height < 1 || width < 1 || height > math.MaxInt32/width {
		return Half{}, fmt.Errorf("fourier: plane of %d×%d values; expected sides of at least 1 and at most %d values",
			height, width, math.MaxInt32)
	}
	return Half{height, width}, nil
}

// Columns is the number of columns, ⌊W/2⌋ + 1.
func (h Half) Columns() int { return h.Width/2 + 1 }

// Len is the number of bins, H (⌊W/2⌋ + 1).
func (h Half) Len() int { return h.Height * h.Columns() }

// Frequency is the frequency of the k-th bin, −⌊H/2⌋ ≤ u ≤ ⌈H/2⌉−1 and 0 ≤ v ≤ ⌊W/2⌋; v = W/2 is −W/2 as well.
func (h Half) Frequency(k int) (u, v int) {
	return signed(k/h.Columns(), h.Height), k % h.Columns()
}

// signed is the frequency that is stored at an index.
func signed(index, n int) int {
	if index < (n+1)/2 {
		return index
	}
	return index - n
}

// modulo is x mod n in [0, n).
func modulo(x, n int) int {
	if x %= n; x < 0 {
		x += n
	}
	return x
}

// Bin is the bin of a frequency of any size, or, where conjugate is true, the bin of its negative, whose
// conjugate is the value of the frequency.
func (h Half) Bin(u, v int) (k int, conjugate bool) {
	u, v = modulo(u, h.Height), modulo(v, h.Width)
	if v >= h.Columns() {
		u, v, conjugate = modulo(-u, h.Height), h.Width-v, true
	}
	return u*h.Columns() + v, conjugate
}

// Mirror is the bin of −(u, v) for the k-th bin (u, v), or −1 where that is not in the half spectrum. A bin
// that is its own mirror is real.
func (h Half) Mirror(k int) int {
	u, v := k/h.Columns(), k%h.Columns()
	if v != 0 && 2*v != h.Width {
		return -1
	}
	return (h.Height-u)%h.Height*h.Columns() + v
}

// symmetric are the columns that hold both bins of a pair.
func (h Half) symmetric() []int {
	if h.Width%2 == 0 {
		return []int{0, h.Width / 2}
	}
	return []int{0}
}

// Real lists the bins that are their own mirror, ascending: u is 0 or H/2 and v is 0 or W/2, four bins where both
// sides are even, two or one else. Their values are real.
func (h Half) Real() []int {
	var list []int
	for k := range h.Len() {
		if h.Mirror(k) == k {
			list = append(list, k)
		}
	}
	return list
}

// Pairs lists one bin of each pair of different bins (u, v) and −(u, v), ascending: the columns between v = 0 and
// v = W/2, and of these two the rows 1 ≤ u < H/2. What is drawn at random on a half plane is drawn here;
// Symmetrize does the rest.
func (h Half) Pairs() []int {
	var list []int
	for k := range h.Len() {
		if mirror := h.Mirror(k); mirror < 0 || mirror > k {
			list = append(list, k)
		}
	}
	return list
}

// Multiplicity is how many bins of the whole spectrum the k-th bin of the half spectrum stands for,
// 1 or 2: a sum over the whole spectrum of what is equal at (u, v) and −(u, v) is one over the half
// spectrum with these weights.
func (h Half) Multiplicity(k int) int {
	if h.Mirror(k) < 0 {
		return 2
	}
	return 1
}

// Radius is the azimuthal frequency √(u² + v²) of the k-th bin. Where the sides differ it is in periods per
// shorter side s, √((su/H)² + (sv/W)²), so that equal radii are equal wavelengths in pixels.
func (h Half) Radius(k int) float64 {
	u, v := h.Frequency(k)
	return h.radius(u, v)
}

func (h Half) radius(u, v int) float64 {
	s := float64(min(h.Height, h.Width))
	x, y := float64(u)*(s/float64(h.Height)), float64(v)*(s/float64(h.Width))
	return math.Sqrt(float64(x*x) + float64(y*y))
}
