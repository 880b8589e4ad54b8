package spectral

import (
	"slices"
	"strings"
	"testing"
)

// Index lists of sections 2.2 and 3 of the specification of the Fourier lens, drawn there with NumPy.
func TestLegacyPairs(t *testing.T) {
	if got := newLegacy(0).Uint32(); got != 2357136044 {
		t.Errorf("first output %d, want 2357136044", got)
	}
	if got := newLegacy(0).Permutation(10); !slices.Equal(got, []int{2, 8, 4, 9, 1, 6, 7, 3, 0, 5}) {
		t.Errorf("permutation(10) = %v", got)
	}
	pairs, err := FourierPairs(10000, 5000)
	if err != nil {
		t.Fatal(err)
	}
	if want := []Pair{{9394, 898}, {2398, 5906}, {2343, 8225}, {5506, 6451}, {2670, 3497}}; !slices.Equal(pairs[:5], want) || pairs[4999] != (Pair{9845, 2732}) {
		t.Errorf("pairs %v … %v, want %v … {9845 2732}", pairs[:5], pairs[4999], want)
	}
	if few, _ := FourierPairs(10000, 3); !slices.Equal(few, pairs[:3]) {
		t.Errorf("three pairs %v are not the first three", few)
	}
	// Sorted by class, an image's place is 1000·class + its place in the class.
	labels := make([]int, 10000)
	for i := range labels {
		labels[i] = i / 1000
	}
	within, between, err := pixelPairs(labels, 10, 200)
	if err != nil || len(within) != 2000 || len(between) != 9000 {
		t.Fatalf("%d and %d pairs, %v", len(within), len(between), err)
	}
	for _, c := range []struct {
		name          string
		got           []Pair
		first, second int
		want          []Pair
	}{
		{"class 0", within, 0, 0, []Pair{{993, 859}, {298, 553}, {672, 971}}},
		{"class 9", within[1800:], 9000, 9000, []Pair{{181, 990}, {838, 985}}},
		{"classes 0 and 1", between, 0, 1000, []Pair{{137, 948}, {304, 616}, {817, 619}}},
		{"classes 8 and 9", between[8800:], 8000, 9000, []Pair{{262, 288}, {269, 44}}},
	} {
		for k, w := range c.want {
			if want := (Pair{w[0] + c.first, w[1] + c.second}); c.got[k] != want {
				t.Errorf("%s: pair %d is %v, want %v", c.name, k, c.got[k], want)
			}
		}
	}
}

func TestPairsOfBadInput(t *testing.T) {
	for _, pairs := range []int{0, -1, 6} {
		if _, err := FourierPairs(11, pairs); err == nil {
			t.Errorf("%d pairs of 11 images: no error", pairs)
		}
	}
	if _, err := FourierPairs(11, 5); err != nil {
		t.Error(err)
	}
	for _, labels := range [][]int{{0, 0, 1}, {0, 0, 2, 2}, {0, 0, -1, 1}} {
		if _, _, err := pixelPairs(labels, 2, 1); err == nil {
			t.Errorf("labels %v: no error", labels)
		}
	}
}

// Where there is no pair at all, the error says so, and names no range that is empty.
func TestTooFewImagesForAPair(t *testing.T) {
	_, err := FourierPairs(1, 1)
	_, _, within := pixelPairs([]int{0, 0, 1}, 2, 1)
	for _, err := range []error{err, within} {
		if err == nil || !strings.Contains(err.Error(), "at least 2") {
			t.Errorf("%v", err)
		}
	}
}
