package corrupt_test

import (
	"bytes"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/pixel"
)

// picture draws an image.
func picture(shape pixel.Shape, seed uint64) []uint8 {
	r, image := rand.New(rand.NewPCG(seed, 0)), make([]uint8, shape.Len())
	for i := range image {
		image[i] = uint8(r.IntN(256))
	}
	return image
}

func orbits(t *testing.T, text string, shape pixel.Shape) *corrupt.Orbits {
	t.Helper()
	s, err := corrupt.ParseStrengths(text)
	if err != nil {
		t.Fatal(err)
	}
	if s.String() != text {
		t.Errorf("%s is written as %s", text, s)
	}
	o, err := s.Orbits(shape)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// The lengths are counted by hand (levels, qualities, a square) and, for contrast, by a program in
// Python's fractions.
func TestLengthOfLists(t *testing.T) {
	for text, want := range map[string]int{"brightness=-51:51": 103, "jpeg=10:100": 91, "shift=-2:2": 25,
		"contrast=0.7:1.3": 7027, "contrast=1:1": 1, "jpeg=50:50": 1, "shift=0:0": 1} {
		if got := orbits(t, text, pixel.Shape{Height: 8, Width: 8, Channels: 3}).Len(); got != want {
			t.Errorf("%s: %d images; expected %d", text, got, want)
		}
	}
}

func TestParseStrengthsRefuses(t *testing.T) {
	for _, text := range []string{"", "jpeg", "jpeg=", "jpeg=10", "jpeg=10:", "jpeg=:10", "jpeg=0:10", "jpeg=10:101",
		"jpeg=20:10", "jpeg=10.5:20", "jpeg=010:20", "jpeg=1e1:20", "jpeg=10:20:30", "brightness=-256:0", "shift=-1:2",
		"shift=1:2", "shift=-17:17", "contrast=-0.1:1", "contrast=0.70:1.3", "contrast=0.12345:1", "contrast=nan:1",
		"contrast=1/2:1", "fog=1:3", "JPEG=10:100", "jpeg=+10:20", "brightness=-0:1", "contrast=.7:1.3"} {
		if s, err := corrupt.ParseStrengths(text); err == nil {
			t.Errorf("%q was read as %v", text, s)
		} else if !strings.Contains(err.Error(), "expected") {
			t.Errorf("%q: %v", text, err)
		}
	}
	s, _ := corrupt.ParseStrengths("jpeg=10:100")
	if _, err := s.Orbits(pixel.Shape{Height: 8, Width: 8, Channels: 2}); err == nil {
		t.Error("JPEG of two channels")
	}
	s, _ = corrupt.ParseStrengths("shift=-2:2")
	if _, err := s.Orbits(pixel.Shape{Height: 2, Width: 8, Channels: 1}); err == nil {
		t.Error("a shift by a whole side")
	}
}

// Outward gives every index once, from no corruption on, and the image exactly where it differs
// from the image of the inner neighbour.
func TestOutward(t *testing.T) {
	shape := pixel.Shape{Height: 6, Width: 5, Channels: 3}
	for _, c := range []struct {
		text  string
		first string
	}{{"brightness=-9:20", "0"}, {"brightness=3:9", "3"}, {"brightness=-9:-3", "-3"}, {"jpeg=90:100", "100"}, {"shift=-2:2", "0,0"},
		{"contrast=0.98:1.05", "1"}, {"contrast=1.2:1.21", "6/5"}, {"contrast=0.5:0.51", "51/100"}} {
		o := orbits(t, c.text, shape)
		for _, image := range [][]uint8{picture(shape, 1), bytes.Repeat([]byte{128}, shape.Len()), make([]byte, shape.Len())} {
			at, seen, inner := o.At(), map[int][]uint8{}, map[int]int{}
			var order []int
			for i, shown := range o.Outward(image) {
				if len(order) == 0 && o.Theta(i) != c.first {
					t.Errorf("%s begins with %s; expected %s", c.text, o.Theta(i), c.first)
				}
				want := make([]uint8, len(image))
				at(want, image, i)
				neighbour := -1
				if _, ok := seen[i-1]; ok {
					neighbour = i - 1
				} else if _, ok := seen[i+1]; ok {
					neighbour = i + 1
				}
				if (neighbour < 0) != (len(order) == 0) {
					t.Fatalf("%s: %d comes behind %v", c.text, i, order)
				}
				same := neighbour >= 0 && bytes.Equal(want, seen[neighbour])
				if same != (shown == nil) || shown != nil && !bytes.Equal(shown, want) {
					t.Errorf("%s: a wrong image at %s", c.text, o.Theta(i))
				}
				seen[i], inner[i] = want, neighbour
				order = append(order, i)
			}
			slices.Sort(order)
			if len(order) != o.Len() || order[0] != 0 || order[len(order)-1] != o.Len()-1 || len(seen) != o.Len() {
				t.Errorf("%s: %v", c.text, order)
			}
		}
	}
}

// byFractions is contrast in exact fractions.
func byFractions(v uint8, theta *big.Rat) uint8 {
	r := new(big.Rat).Mul(big.NewRat(2*int64(v)-255, 2), theta)
	r.Add(r, big.NewRat(128, 1))
	k := new(big.Int).Div(r.Num(), r.Denom()) // rounds down, as the denominator is positive
	return uint8(max(min(k.Int64(), 255), 0))
}

// Every byte at thousands of strengths, at every crossing, and close to it on both sides: the image
// at θ is the one that the list has last at or before θ.
func TestContrastIsComplete(t *testing.T) {
	shape := pixel.Shape{Height: 16, Width: 16, Channels: 1}
	image := make([]uint8, 256)
	for v := range image {
		image[v] = uint8(v)
	}
	for _, text := range []string{"contrast=0.7:1.3", "contrast=0:0.4", "contrast=2.5:3.1"} {
		o := orbits(t, text, shape)
		ends := strings.Split(strings.TrimPrefix(text, "contrast="), ":")
		low, _ := new(big.Rat).SetString(ends[0])
		high, _ := new(big.Rat).SetString(ends[1])
		var thetas []*big.Rat
		for i := range o.Len() {
			r, _ := new(big.Rat).SetString(o.Theta(i))
			thetas = append(thetas, r)
		}
		at, got := o.At(), make([]uint8, 256)
		check := func(theta *big.Rat) {
			if theta.Cmp(low) < 0 || theta.Cmp(high) > 0 {
				return
			}
			want := make([]uint8, 256)
			for v := range want {
				want[v] = byFractions(uint8(v), theta)
			}
			// Among the neighbours by θ there is this image: that of an interval stands at its
			// middle.
			i, _ := slices.BinarySearchFunc(thetas, theta, func(a, b *big.Rat) int { return a.Cmp(b) })
			for _, k := range []int{i - 1, i} {
				if k >= 0 && k < o.Len() {
					if at(got, image, k); bytes.Equal(got, want) {
						return
					}
				}
			}
			t.Fatalf("%s: the image at %s is not in the list", text, theta)
		}
		near := big.NewRat(1, 1e12)
		for n := int64(0); n <= 800; n += 2 {
			for d := int64(1); d <= 255; d += 2 {
				if r := big.NewRat(n, d); (n/2+d)%12 == 0 && r.Cmp(low) >= 0 && r.Cmp(high) <= 0 {
					check(r)
					check(new(big.Rat).Add(r, near))
					check(new(big.Rat).Sub(r, near))
				}
			}
		}
		check(low)
		check(high)
	}
}

// Brightness and shifts by the words of their definition.
func TestWholeStrengths(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 5, Channels: 3}
	image, got := picture(shape, 2), make([]uint8, shape.Len())
	o := orbits(t, "brightness=-255:255", shape)
	at := o.At()
	for i := range o.Len() {
		at(got, image, i)
		for k, v := range image {
			if want := max(0, min(255, int(v)+i-255)); int(got[k]) != want || o.Theta(i) != fmt.Sprint(i-255) {
				t.Fatalf("%d + %s is %d", v, o.Theta(i), got[k])
			}
		}
	}
	o = orbits(t, "shift=-3:3", shape)
	at = o.At()
	seen := map[string]bool{}
	for i := range o.Len() {
		var down, right int
		fmt.Sscanf(o.Theta(i), "%d,%d", &down, &right)
		seen[o.Theta(i)] = true
		at(got, image, i)
		for y := range 4 {
			for x := range 5 {
				for c := range 3 {
					from := (max(0, min(3, y-down))*5+max(0, min(4, x-right)))*3 + c
					if got[(y*5+x)*3+c] != image[from] {
						t.Fatalf("shift %s at %d, %d", o.Theta(i), y, x)
					}
				}
			}
		}
	}
	if len(seen) != 49 {
		t.Errorf("%d shifts", len(seen))
	}
	if corners := o.Spaced(9); len(corners) != 5 || o.Theta(corners[0]) != "0,0" {
		t.Errorf("%v", corners)
	}
	var spaced []string
	o = orbits(t, "jpeg=10:100", shape)
	for _, i := range o.Spaced(5) {
		spaced = append(spaced, o.Theta(i))
	}
	if !slices.Equal(spaced, []string{"10", "32", "55", "77", "100"}) {
		t.Errorf("%v", spaced)
	}
}

// JPEG is the corruption at its five severities.
func TestQualitiesAreTheCorruption(t *testing.T) {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	image, got, want := picture(shape, 3), make([]uint8, shape.Len()), make([]uint8, shape.Len())
	o := orbits(t, "jpeg=1:100", shape)
	at := o.At()
	for i, quality := range []int{80, 65, 58, 50, 40} {
		c, err := corrupt.New(corrupt.Setting{Name: "jpeg_compression", Severity: i + 1}, shape, corrupt.Key{})
		if err != nil {
			t.Fatal(err)
		}
		c.Apply(want, image, 0)
		if at(got, image, quality-1); !bytes.Equal(got, want) {
			t.Errorf("quality %d is not severity %d", quality, i+1)
		}
	}
}
