// Package raster holds what corruptions share of image processing: edges, splines, colours, random fields and what lies
// beyond a border. Its functions give the same bits on every platform.
package raster

// Mirrored is the place of coordinate i on a line of n where it is mirrored about the edges between
// samples: dcba|abcd|dcba.
func Mirrored(i, n int) int {
	if uint(i) < uint(n) {
		return i
	}
	return fold(i, 2*n, n-1, 1)
}

// Reflect101 mirrors about the first and last sample: dcb|abcd|cba.
func Reflect101(i, n int) int {
	if uint(i) < uint(n) {
		return i
	}
	return fold(i, 2*n-2, n-1, 0)
}

// fold brings i into one period of a mirrored line, and what is beyond the last sample back.
func fold(i, period, last, gap int) int {
	if period == 0 {
		return 0
	}
	i %= period
	if i < 0 {
		i += period
	}
	if i > last {
		return period - gap - i
	}
	return i
}

// Replicate repeats the first and last sample: aaa|abcd|ddd.
func Replicate(i, n int) int { return min(max(i, 0), n-1) }
