package fourier

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
)

// allForms gives a plan in the plain form and those in the vector forms that the machine has.
func allForms[T Float](t *testing.T, height, width int) (plain *Plan[T], quick []*Plan[T]) {
	t.Helper()
	if !vector {
		t.Skip("no vector form in this build, or on this machine")
	}
	quick = append(quick, mustPlan[T](t, height, width))
	if wide {
		wide = false
		quick = append(quick, mustPlan[T](t, height, width))
		wide = true
	}
	vector = false
	defer func() { vector = true }()
	return mustPlan[T](t, height, width), quick
}

func testForms[T Float](t *testing.T) {
	for _, side := range append(sides, [2]int{224, 224}, [2]int{11, 121}, [2]int{66, 75}) {
		height, width := side[0], side[1]
		plain, forms := allForms[T](t, height, width)
		h, x := plain.Half(), randomPlane[T](height*width, 21)
		a, b := NewSpectrum[T](h), NewSpectrum[T](h)
		plain.Forward(plain.NewWorkspace(), a, x)
		y, z := make([]T, len(x)), make([]T, len(x))
		plain.Inverse(plain.NewWorkspace(), y, a)
		p, q := make([]T, h.Len()), make([]T, h.Len())
		plain.Amplitude(p, a)
		for _, quick := range forms {
			quick.Forward(quick.NewWorkspace(), b, x)
			equal(t, side, "real part", a.Re, b.Re)
			equal(t, side, "imaginary part", a.Im, b.Im)
			quick.Inverse(quick.NewWorkspace(), z, a)
			equal(t, side, "inverse", y, z)
			quick.Amplitude(q, a)
			equal(t, side, "amplitude", p, q)
		}
	}
}

func equal[T Float](t *testing.T, side [2]int, what string, a, b []T) {
	t.Helper()
	for k := range a {
		if math.Float64bits(float64(a[k])) != math.Float64bits(float64(b[k])) {
			t.Fatalf("%v: %s %d is %v in the plain form, %v in the vector form", side, what, k, a[k], b[k])
		}
	}
}

func TestFormsAgreeToTheBit(t *testing.T) {
	t.Run("float64", testForms[float64])
	t.Run("float32", testForms[float32])
}

// The hash was taken from this code, whose values the other tests check; it holds on every platform and in every
// form of the build.
func TestBitsStayTheSame(t *testing.T) {
	const want = "6ff7eb4866fc5cf5b8fd5a3f8ad1209deef490742d2cc579f0162ebb0beca791"
	hash := sha256.New()
	for _, side := range sides {
		p := mustPlan[float32](t, side[0], side[1])
		s := NewSpectrum[float32](p.Half())
		x := randomPlane[float32](side[0]*side[1], 31)
		p.Forward(p.NewWorkspace(), s, x)
		binary.Write(hash, binary.LittleEndian, s.Re)
		binary.Write(hash, binary.LittleEndian, s.Im)
		p.Inverse(p.NewWorkspace(), x, s)
		binary.Write(hash, binary.LittleEndian, x)
		phase := make([]float32, p.Half().Len())
		Phase(p.Half(), phase, s)
		binary.Write(hash, binary.LittleEndian, phase)
		u := mustBasis(t, p.Half(), 1, 2, .5)
		binary.Write(hash, binary.LittleEndian, u)
	}
	if got := hex.EncodeToString(hash.Sum(nil)); got != want {
		t.Errorf("the bits are %s, want %s", got, want)
	}
}
