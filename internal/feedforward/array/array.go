// Package array computes places in arrays of several axes, row by row.
package array

import (
	"math"
	"slices"
)

// MostValues bounds the values of one array.
const MostValues = 1 << 28

// Size is the number of values of dimensions.
func Size(dims []int) int {
	n := 1
	for _, d := range dims {
		n *= d
	}
	return n
}

// Strides are the steps from an index to the next along each axis, row by row.
func Strides(s []int) []int {
	strides := make([]int, len(s))
	n := 1
	for i := len(s) - 1; i >= 0; i-- {
		strides[i] = n
		n *= s[i]
	}
	return strides
}

// Each calls f for every index of a shape, in order.
func Each(s []int, f func(index []int)) {
	index := make([]int, len(s))
	for range Size(s) {
		f(index)
		for i := len(s) - 1; i >= 0; i-- {
			if index[i]++; index[i] < s[i] {
				break
			}
			index[i] = 0
		}
	}
}

// At is the place of an index by its strides.
func At(x, y []int) (sum int) {
	for i, v := range x {
		sum += v * y[i]
	}
	return sum
}

// Steps are the strides with which an index of the dimensions to finds its value in those from, by NumPy's rule.
func Steps(from, to []int) (steps []int, ok bool) {
	before := len(to) - len(from)
	if before < 0 {
		return nil, false
	}
	steps = append(make([]int, before), Strides(from)...)
	for i, d := range from {
		switch d {
		case to[before+i]:
		case 1:
			steps[before+i] = 0
		default:
			return nil, false
		}
	}
	return steps, true
}

// Broadcast are the dimensions that two arrays have together by NumPy's rule.
func Broadcast(x, y []int) (dims []int, ok bool) {
	if len(x) < len(y) {
		x, y = y, x
	}
	dims = slices.Clone(x)
	for i, d := range y {
		switch at := &dims[len(x)-len(y)+i]; {
		case *at == 1:
			*at = d
		case d != 1 && d != *at:
			return nil, false
		}
	}
	return dims, true
}

// Fits gives the number of values of dimensions, each at least 1; false where there are more than MostValues.
func Fits(dims []int) (int, bool) {
	n := 1
	for _, d := range dims {
		if d < 1 || d > MostValues/n {
			return 0, false
		}
		n *= d
	}
	return n, true
}

// Largest is max |v|, at least 1.
func Largest(values ...[]float64) float64 {
	most := 1.0
	for _, list := range values {
		for _, v := range list {
			most = max(most, math.Abs(v))
		}
	}
	return most
}

// UpTo are the numbers from one up to another.
func UpTo(from, to int) []int {
	out := make([]int, to-from)
	for i := range out {
		out[i] = from + i
	}
	return out
}
