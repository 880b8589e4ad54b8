//go:build goexperiment.simd && amd64

package augment

import (
	"slices"
	"testing"
)

// Views are the same bits without vectors, and with vectors of 256 and of 512 bits.
func TestFormsAgreeToTheBit(t *testing.T) {
	if !vector {
		t.Skip("the machine has no vectors of 256 bits")
	}
	haveWide := wide
	defer func() { vector, wide = true, haveWide }()
	for _, c := range suite {
		a, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		for _, shape := range shapes {
			if shape.Channels != 1 && shape.Channels != 3 {
				continue
			}
			im, at := picture(shape, 4), Address{Seed: 5, Image: 6}
			vector, wide = false, false
			plain := mustApply(t, a, im, at)
			vector = true
			for _, wide = range []bool{false, haveWide} {
				if got := mustApply(t, a, im, at); !slices.Equal(got.Values, plain.Values) {
					t.Errorf("%s, %v: another view with vectors, wide %v", c.text, shape, wide)
				}
			}
		}
	}
}
