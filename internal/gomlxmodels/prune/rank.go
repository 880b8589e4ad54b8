package prune

import "math"

// Keep says which values of tensors stay: so many of those of largest magnitude, and of equal ones
// the first by tensor and place. Where among is not nil, only what it has can stay. The smallest
// magnitude that stays is found by bisection over the bit patterns of magnitudes, whose order as
// whole numbers equals the order of the magnitudes.
func Keep(tensors [][]float32, among [][]bool, keep int) [][]bool {
	key := func(i, j int) int64 {
		if among != nil && !among[i][j] {
			return -1
		}
		return int64(math.Float32bits(tensors[i][j]) &^ (1 << 31))
	}
	atLeast := func(least int64) (n int) {
		for i := range tensors {
			for j := range tensors[i] {
				if key(i, j) >= least {
					n++
				}
			}
		}
		return n
	}
	var threshold int64 // the keep-th largest
	for bit := int64(1) << 30; bit > 0; bit >>= 1 {
		if atLeast(threshold|bit) >= keep {
			threshold |= bit
		}
	}
	ties := keep - atLeast(threshold+1)
	masks := make([][]bool, len(tensors))
	for i := range tensors {
		masks[i] = make([]bool, len(tensors[i]))
		for j := range tensors[i] {
			k := key(i, j)
			tie := k == threshold && ties > 0
			if tie {
				ties--
			}
			masks[i][j] = tie || k > threshold
		}
	}
	return masks
}

// EffectiveOf is Effective on values.
func EffectiveOf(m Method, mask []bool, weights []float32) []float32 {
	out := make([]float32, len(weights))
	_, binary := m.(BiProp)
	alpha, kept := 0., 0.
	for i, keep := range mask {
		if keep {
			alpha += math.Abs(float64(weights[i]))
			kept++
		}
	}
	alpha /= kept
	for i, keep := range mask {
		switch {
		case keep && binary:
			out[i] = float32(math.Copysign(float64(float32(alpha)), float64(weights[i])))
		case keep:
			out[i] = weights[i]
		}
	}
	return out
}
