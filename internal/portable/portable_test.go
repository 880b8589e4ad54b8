package portable

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"math/rand/v2"
	"testing"
)

// differs reports whether got is off want by more than a relative tolerance, or by more than an absolute one.
func differs(got, want, relative, absolute float64) bool {
	return !(math.Abs(got-want) <= relative*math.Abs(want)+absolute)
}

// Package math is right to the last place or two, on whatever platform the test runs.
func TestAgainstMath(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50_000 {
		x := (r.Float64() - 0.5) * 400
		sin, cos := Sincos(x)
		if s, c := math.Sincos(x); differs(sin, s, 0, 1e-15) || differs(cos, c, 0, 1e-15) {
			t.Fatalf("Sincos(%v) = %v, %v; math has %v, %v", x, sin, cos, s, c)
		}
		if got, want := Exp(x), math.Exp(x); differs(got, want, 4e-15, 0) {
			t.Fatalf("Exp(%v) = %v; math has %v", x, got, want)
		}
		y := math.Ldexp(r.Float64()+1e-9, r.IntN(40)-20)
		if got, want := Log(y), math.Log(y); differs(got, want, 4e-16, 4e-16) {
			t.Fatalf("Log(%v) = %v; math has %v", y, got, want)
		}
		if got, want := Pow(y, 0.3), math.Pow(y, 0.3); differs(got, want, 4e-15, 0) {
			t.Fatalf("Pow(%v, 0.3) = %v; math has %v", y, got, want)
		}
		a, b := r.NormFloat64(), r.NormFloat64()
		if got, want := Atan2(a, b), math.Atan2(a, b); differs(got, want, 1e-15, 1e-15) {
			t.Fatalf("Atan2(%v, %v) = %v; math has %v", a, b, got, want)
		}
		z := x / 40
		if got, want := NormalCDF(z), 0.5*math.Erfc(-z/math.Sqrt2); differs(got, want, 0, 1e-15) {
			t.Fatalf("NormalCDF(%v) = %v; math has %v", z, got, want)
		}
		p := r.Float64()
		if got, want := NormalQuantile(p), -math.Sqrt2*math.Erfcinv(2*p); differs(got, want, 2e-14, 1e-15) {
			t.Fatalf("NormalQuantile(%v) = %v; math has %v", p, got, want)
		}
	}
}

func TestTails(t *testing.T) {
	// Φ⁻¹(10⁻¹⁰) and Φ⁻¹(10⁻²⁰): Wichura 1988 prints −9.262340089798408 for the latter.
	if got := NormalQuantile(1e-20); differs(got, -9.262340089798408, 1e-14, 0) {
		t.Errorf("NormalQuantile(1e-20) = %v", got)
	}
	for _, c := range []struct{ got, want float64 }{
		{Exp(-746), 0}, {Exp(710), math.Inf(1)}, {Exp(0), 1}, {Log(0), math.Inf(-1)}, {Log(1), 0},
		{Pow(0, 2), 0}, {Pow(0, 0), 1}, {Atan2(0, -1), math.Pi}, {Atan2(0, 0), 0}, {Atan2(-1, 0), -math.Pi / 2},
		{NormalCDF(9), 1}, {NormalCDF(-9), 0}, {NormalCDF(0), 0.5}, {NormalQuantile(0.5), 0},
		{NormalQuantile(0), math.Inf(-1)}, {NormalQuantile(1), math.Inf(1)},
	} {
		if c.got != c.want {
			t.Errorf("got %v, want %v", c.got, c.want)
		}
	}
	if !math.IsNaN(Log(-1)) || !math.IsNaN(Exp(math.NaN())) {
		t.Error("a logarithm of a negative number, or an exponential of NaN, is a number")
	}
}

// The bits of many results, as one digest. Another digest means another rounding: what is drawn from seeds would change.
func TestSameBitsEverywhere(t *testing.T) {
	const want = "3b8ac1d3d04a82d8"
	r := rand.New(rand.NewPCG(3, 4))
	h := sha256.New()
	put := func(v float64) {
		h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
	}
	for range 20_000 {
		x := float64((r.Float64() - 0.5) * 100)
		sin, cos := Sincos(x)
		put(sin)
		put(cos)
		put(Exp(x))
		put(Log(math.Abs(x)))
		put(Atan2(x, 10))
		put(NormalCDF(x / 16))
		put(NormalQuantile(r.Float64()))
	}
	if got := hex.EncodeToString(h.Sum(nil)[:8]); got != want {
		t.Errorf("digest %s; expected %s", got, want)
	}
}
