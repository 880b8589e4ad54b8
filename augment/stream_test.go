package augment

import (
	"encoding/binary"
	"math"
	"testing"
)

// Reference words: "openssl enc -aes-128-ctr" of zeros under the key that the comment of Stream describes, made
// with Python's hashlib.
func TestStreamIsWhatItSays(t *testing.T) {
	at := Address{Seed: 7, Epoch: 2, Image: 40, View: 1}
	s := NewStream(at)
	for i, want := range []uint64{0x13711c443490f5e0, 0xb87a5ace79850ce8, 0x8e7c5c39be9ced79} {
		if got := s.Uint64(); got != want {
			t.Errorf("word %d is %#x; expected %#x", i, got, want)
		}
	}
	// A block begins behind the 512 bytes that are buffered.
	var block [8]byte
	s.fill(block[:])
	if got := binary.LittleEndian.Uint64(block[:]); got != 0xb34e442d466d94d8 {
		t.Errorf("the block begins with %#x; expected %#x", got, uint64(0xb34e442d466d94d8))
	}
	for range 60 {
		s.Uint64()
	}
	// The last word that was buffered, and the first behind the block.
	for _, want := range []uint64{0x8929c5d9b02284ac, 0x703279190abbe9e4} {
		if got := s.Uint64(); got != want {
			t.Errorf("word %#x; expected %#x", got, want)
		}
	}
	first := NewStream(at).Uint64()
	for _, other := range []Address{{8, 2, 40, 1}, {7, 3, 40, 1}, {7, 2, 41, 1}, {7, 2, 40, 0}} {
		if NewStream(other).Uint64() == first {
			t.Errorf("%v and %v share a stream", at, other)
		}
	}
}

// moments checks mean and variance of n independent numbers against their expectations, given the fourth central moment. The chance of a
// false alarm is below 3·10⁻⁶ for each call (5 standard errors of each, normal approximation); seeds are fixed.
func moments(t *testing.T, what string, values []float64, mean, variance, fourth float64) {
	t.Helper()
	n := float64(len(values))
	var sum, squares float64
	for _, v := range values {
		sum += v
		squares += (v - mean) * (v - mean)
	}
	if z := (sum/n - mean) / math.Sqrt(variance/n); !(math.Abs(z) < 5) {
		t.Errorf("%s: mean %v; expected %v (%.1f standard errors)", what, sum/n, mean, z)
	}
	if z := (squares/n - variance) / math.Sqrt((fourth-variance*variance)/n); !(math.Abs(z) < 5) {
		t.Errorf("%s: variance %v; expected %v (%.1f standard errors)", what, squares/n, variance, z)
	}
}

func TestNumbersHaveTheirLaws(t *testing.T) {
	const n = 200_000
	s := NewStream(Address{Seed: 1})
	uniform, whole, sign := make([]float64, n), make([]float64, n), make([]float64, n)
	gaps, products := make([]float64, n), make([]float64, n)
	w := make([]float64, 3)
	for i := range n {
		uniform[i], whole[i], sign[i] = s.Float64(), float64(s.IntN(5)), s.Sign()
		s.Simplex(w)
		if sum := w[0] + w[1] + w[2]; math.Abs(sum-1) > 1e-15 || min(w[0], w[1], w[2]) < 0 {
			t.Fatalf("%v is no point of the simplex", w)
		}
		gaps[i], products[i] = w[i%3], w[0]*w[1]
	}
	moments(t, "Float64", uniform, 1./2, 1./12, 1./80)
	moments(t, "IntN(5)", whole, 2, 2, 34./5)
	moments(t, "Sign", sign, 0, 1, 1.0001)
	// Dirichlet(1, 1, 1): E wᵃ uᵇ = 2 a! b!/(a+b+2)!; each w is Beta(1, 2).
	moments(t, "Simplex", gaps, 1./3, 1./18, 1./135)
	p2, p3, p4 := 2*4./720, 2*36./40320, 2*576./3628800
	m := 1. / 12
	moments(t, "Simplex, product of two", products, m, p2-m*m, p4-4*m*p3+6*m*m*p2-3*m*m*m*m)
}
