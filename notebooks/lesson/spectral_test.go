package lesson

import (
	"slices"
	"testing"
)

func TestInBytes(t *testing.T) {
	if got := inBytes([]float64{-3, 0, 1. / 255, .5, 1, 7}); !slices.Equal(got, []uint8{0, 0, 1, 128, 255, 255}) {
		t.Errorf("%v", got)
	}
}
