package fourier

import "slices"

// lines transforms the columns of an array of n rows, all at once, forward: Stockham's self-sorting
// algorithm. With the rows in arrays of real and imaginary parts, a pass of radix r combines whole runs of values that
// follow one another, and needs one factor per run:
//
//	dst[r·p + j] = w^{pj} Σ_i src[p + i·m] exp(−2πi·ij/r),  w = exp(−2πi/(r·m)),  p = 0 … m−1
//
// where an element is a run of (product of the radices before) × (columns) values.
type lines[T Float] struct {
	passes  []pass[T]
	largest int // radix
}

type pass[T Float] struct {
	radix  int
	count  int // m
	stride int // product of the radices before
	// Factors, each repeated to fill a vector.
	twiddle []T // cos and −sin of each j = 1 … r−1, for each p = 1 … m−1
	table   []T // of the odd radices: cos and sin of 2πk/r, k = 0 … r−1
}

// radices factorizes n: eights and fours, a two only where n has one, then odd primes.
func radices(n int) []int {
	var list []int
	twos := 0
	for ; n%2 == 0; n /= 2 {
		twos++
	}
	switch {
	case twos == 1:
		list = append(list, 2)
	case twos%3 == 1:
		list = append(list, 4, 4)
		twos -= 4
	case twos%3 == 2:
		list = append(list, 4)
		twos -= 2
	}
	for ; twos >= 3; twos -= 3 {
		list = append([]int{8}, list...)
	}
	for r := 3; n > 1; r += 2 {
		if r*r > n {
			r = n
		}
		for ; n%r == 0; n /= r {
			list = append(list, r)
		}
	}
	return list
}

func newLines[T Float](n, lanes int) *lines[T] {
	l := &lines[T]{largest: 1}
	stride := 1
	for _, r := range radices(n) {
		p := pass[T]{radix: r, count: n / stride / r, stride: stride}
		for k := 1; k < p.count; k++ {
			for j := 1; j < r; j++ {
				cos, sin := turn(k*j, r*p.count)
				p.twiddle = append(p.twiddle, repeat(lanes, T(cos), T(-sin))...)
			}
		}
		if r%2 == 1 {
			for k := range r {
				cos, sin := turn(k, r)
				p.table = append(p.table, repeat(lanes, T(cos), T(sin))...)
			}
		}
		l.passes = append(l.passes, p)
		l.largest = max(l.largest, r)
		stride *= r
	}
	return l
}

func repeat[T Float](lanes int, cos, sin T) []T {
	return append(slices.Repeat([]T{cos}, lanes), slices.Repeat([]T{sin}, lanes)...)
}

// transform works on the columns of re and im, to and fro between them and re2 and im2, and says where the
// result is.
func (l *lines[T]) transform(k *kernels[T], re, im, re2, im2 []T, columns int, scratch []T) ([]T, []T) {
	for i := range l.passes {
		p := &l.passes[i]
		run := p.stride * columns
		size := run * p.count * p.radix
		a, b, c, d := re[:size], im[:size], re2[:size], im2[:size]
		switch p.radix {
		case 2:
			k.radix2(p, c, d, a, b, run)
		case 4:
			k.radix4(p, c, d, a, b, run)
		case 8:
			k.radix8(p, c, d, a, b, run)
		default:
			k.odd(p, c, d, a, b, run, scratch)
		}
		re, im, re2, im2 = re2, im2, re, im
	}
	return re, im
}
