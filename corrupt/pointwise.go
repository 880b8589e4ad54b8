package corrupt

import "math"

// law is the distribution of a corrupted byte for each clean one, for corruptions of every value by
// itself. It is exact to 2⁻³², and drawing from it is a look into a table, by the alias method
// (Walker 1977, Vose 1991): of 32 random bits, 8 choose a column, and 24 decide between the
// column's own byte and its alias.
type law [256][256]uint32 // 24 bits of threshold, then the alias

// newLaw makes the law of which below(x, k) is the probability that a clean byte x becomes a byte of at most k < 255.
func newLaw(below func(x, k int) float64) *law {
	l := &law{}
	for x := range l {
		var weights [256]int64 // in units of 2⁻³²
		last := int64(0)
		for k := range 255 {
			at := max(last, int64(math.RoundToEven(below(x, k)*(1<<32))))
			weights[k], last = at-last, at
		}
		weights[255] = 1<<32 - last
		l[x] = columns(weights)
	}
	return l
}

// columns spreads weights of sum 2³² over 256 columns of 2²⁴, each of which holds at most two bytes.
func columns(weights [256]int64) (c [256]uint32) {
	const full = 1 << 24
	var small, large []int
	for k, w := range weights {
		c[k] = (full-1)<<8 | uint32(k)
		if w < full {
			small = append(small, k)
		} else {
			large = append(large, k)
		}
	}
	for len(small) > 0 && len(large) > 0 {
		s, g := small[len(small)-1], large[len(large)-1]
		small = small[:len(small)-1]
		c[s] = uint32(weights[s])<<8 | uint32(g)
		if weights[g] -= full - weights[s]; weights[g] < full {
			large = large[:len(large)-1]
			small = append(small, g)
		}
	}
	return c
}

func (l *law) draw(x uint8, random uint32) uint8 {
	column := uint8(random >> 24)
	c := l[x][column]
	if random&(1<<24-1) < c>>8 {
		return column
	}
	return uint8(c)
}

// keeps says of each column whether it leaves every byte as it is. Where most do, a look into it,
// which stays near the processor, is enough for most values.
func (l *law) keeps() (keeps [256]bool, most bool) {
	count := 0
	for column := range keeps {
		keeps[column] = true
		for x, row := range l {
			if c := row[column]; uint8(c) != uint8(x) || c>>8 != 0 && column != x {
				keeps[column] = false
				break
			}
		}
		if keeps[column] {
			count++
		}
	}
	return keeps, count > 128
}

// operator draws two values from each 64 random bits.
func (l *law) operator() operator {
	if keeps, most := l.keeps(); most {
		return l.sparse(&keeps)
	}
	return func(dst, src []uint8, r *stream) {
		n := len(src) &^ 1
		for i := 0; i < n; i += 2 {
			random := r.uint64()
			dst[i] = l.draw(src[i], uint32(random>>32))
			dst[i+1] = l.draw(src[i+1], uint32(random))
		}
		if n < len(src) {
			dst[n] = l.draw(src[n], uint32(r.uint64()>>32))
		}
	}
}

// sparse is operator where most columns keep the byte.
func (l *law) sparse(keeps *[256]bool) operator {
	draw := func(x uint8, random uint32) uint8 {
		if keeps[random>>24] {
			return x
		}
		return l.draw(x, random)
	}
	return func(dst, src []uint8, r *stream) {
		copy(dst, src)
		n := len(src) &^ 1
		for i := 0; i < n; i += 2 {
			random := r.uint64()
			if first, second := uint32(random>>32), uint32(random); !keeps[first>>24] || !keeps[second>>24] {
				dst[i], dst[i+1] = draw(src[i], first), draw(src[i+1], second)
			}
		}
		if n < len(src) {
			dst[n] = draw(src[n], uint32(r.uint64()>>32))
		}
	}
}
