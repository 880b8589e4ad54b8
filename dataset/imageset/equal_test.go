package imageset

import (
	"slices"
	"testing"

	"github.com/certspec/certspec/pixel"
)

func TestFirstEqual(t *testing.T) {
	im := &Images{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, IDs: []int{4, 5, 6, 9, 10}, Labels: []int{0, 1, 0, 0, 0}, Pixels: []uint8{1, 2, 3, 4, 1, 2, 2, 1, 3, 4}}
	if got := im.FirstEqual(); !slices.Equal(got, []int{0, 1, 0, 3, 1}) {
		t.Errorf("%v", got)
	}
	im.Offsets = []int16{0, 0, 0, 0, 0, 1, 0, 0, 0, 0}
	if got := im.FirstEqual(); !slices.Equal(got, []int{0, 1, 2, 3, 1}) {
		t.Errorf("off the range: %v", got)
	}
	other := &Images{Shape: im.Shape, IDs: []int{1, 2}, Labels: []int{0, 0}, Pixels: []uint8{7, 7, 2, 1}}
	if a, b, found := im.Equal(other); found {
		t.Errorf("images %d and %d are not equal off the range", a, b)
	}
	im.Offsets = nil
	if a, b, found := im.Equal(other); !found || a != 3 || b != 1 {
		t.Errorf("%d, %d, %v", a, b, found)
	}
}
