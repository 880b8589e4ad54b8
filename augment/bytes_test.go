package augment

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/pillow"
	"github.com/certspec/certspec/pixel"
)

// written is an operation of AugMix as the paper's code has it, by name.
func written(name string, src []uint8, shape pixel.Shape, level, sign float64) []uint8 {
	dst := make([]uint8, len(src))
	side := func(n int) float64 { return sign * float64(int(level*(float64(n)/3)/10)) }
	affine := func(m ...float64) { pillow.Affine(dst, src, shape, [6]float64(m), pillow.Bilinear) }
	switch factor := level*1.8/10 + .1; name {
	case "autocontrast":
		pillow.AutoContrast(dst, src, shape)
	case "equalize":
		pillow.Equalize(dst, src, shape)
	case "posterize":
		pillow.Posterize(dst, src, shape, 4-int(level*4/10))
	case "rotate":
		pillow.Rotate(dst, src, shape, sign*float64(int(level*30/10)), pillow.Bilinear)
	case "solarize":
		pillow.Solarize(dst, src, shape, float64(256-int(level*256/10)))
	case "shear_x":
		affine(1, sign*(level*.3/10), 0, 0, 1, 0)
	case "shear_y":
		affine(1, 0, 0, sign*(level*.3/10), 1, 0)
	case "translate_x":
		affine(1, 0, side(shape.Width), 0, 1, 0)
	case "translate_y":
		affine(1, 0, 0, 0, 1, side(shape.Height))
	case "color":
		pillow.Color(dst, src, shape, factor)
	case "contrast":
		pillow.Contrast(dst, src, shape, factor)
	case "brightness":
		pillow.Brightness(dst, src, shape, factor)
	case "sharpness":
		pillow.Sharpness(dst, src, shape, factor)
	}
	return dst
}

var augMixNames = []string{"autocontrast", "equalize", "posterize", "rotate", "solarize", "shear_x", "shear_y", "translate_x", "translate_y",
	"color", "contrast", "brightness", "sharpness"}

func signed(name string) bool {
	return slices.Contains([]string{"rotate", "shear_x", "shear_y", "translate_x", "translate_y"}, name)
}

// AugMix is algorithm 1 of the paper on the numbers of the stream in the order that its comment gives.
func TestAugMixIsItsDefinition(t *testing.T) {
	shape := pixel.Shape{Height: 20, Width: 32, Channels: 3}
	used := map[string]int{}
	for _, a := range []AugMix{{}, {Operations: allOperations, Depth: 2, Width: 4, Severity: 10}, {Variant: archiveVariant}, {Variant: archiveVariant, Operations: allOperations}} {
		archive, names := a.Variant == archiveVariant, augMixNames[:9]
		if a.Operations == allOperations {
			names = augMixNames
		}
		for view := range uint64(40) {
			im, at := picture(shape, view), Address{Seed: 2, View: view}
			clean := make([]uint8, shape.Len())
			ToBytes(clean, im.Values)
			s := NewStream(at)
			w := make([]float64, orDefault(a.Width, 3))
			s.Simplex(w)
			m := s.Float64()
			want, now := make([]float64, len(clean)), clean
			for i, v := range clean {
				want[i] = (1 - m) * float64(v) / 255
			}
			for _, weight := range w {
				if !archive {
					now = clean
				}
				depth := a.Depth
				if depth == 0 {
					depth = 1 + s.IntN(3)
				}
				left := slices.Clone(names)
				var chosen []string
				for archive && len(chosen) < 3 {
					i := len(chosen) + s.IntN(len(left)-len(chosen))
					left[len(chosen)], left[i] = left[i], left[len(chosen)]
					chosen = append(chosen, left[len(chosen)])
				}
				for i := range depth {
					severity := orDefault(a.Severity, 3)
					var name string
					if archive {
						name, severity = chosen[i], float64(1+s.IntN(5))
					} else {
						name = names[s.IntN(len(names))]
					}
					level, sign := s.Between(.1, severity), 0.
					if signed(name) {
						sign = s.Sign()
					}
					now = written(name, now, shape, level, sign)
					used[name]++
				}
				for i, v := range now {
					want[i] += m * weight * float64(v) / 255
				}
			}
			got := mustApply(t, a, im, at)
			for i, v := range got.Values {
				if math.Abs(float64(v)-want[i]) > 1e-7 {
					t.Fatalf("%v, view %d: value %d is %v; expected %v", a, view, i, v, want[i])
				}
			}
		}
	}
	if len(used) != 13 {
		t.Errorf("operations used: %v", used)
	}
}

// AutoAugment is its table on the numbers of the stream; the magnitudes of an index i are written out.
func TestAutoAugmentIsItsDefinition(t *testing.T) {
	chosen := map[int]int{}
	for view := range uint64(600) {
		im, at := picture(cifar, view), Address{Seed: 8, View: view}
		now, next := make([]uint8, cifar.Len()), make([]uint8, cifar.Len())
		ToBytes(now, im.Values)
		s := NewStream(at)
		number := s.IntN(25)
		chosen[number]++
		for _, step := range policy[number] {
			applied, sign := s.Float64() < step.probability, s.Sign()
			if !applied {
				continue
			}
			i := float64(step.magnitude)
			affine := func(m ...float64) { pillow.Affine(next, now, cifar, [6]float64(m), pillow.Nearest) }
			pixels := -sign * float64([]int{0, 1, 3, 4, 6, 8, 9, 11, 12, 14}[step.magnitude]) // ⌊14.502 i/9⌋
			switch step.operation {
			case "ShearY":
				affine(1, 0, 0, sign*.3*i/9, 1, 0)
			case "TranslateX":
				affine(1, 0, pixels, 0, 1, 0)
			case "TranslateY":
				affine(1, 0, 0, 0, 1, pixels)
			case "Rotate":
				pillow.Rotate(next, now, cifar, sign*30*i/9, pillow.Nearest)
			case "Brightness":
				pillow.Brightness(next, now, cifar, 1+sign*.9*i/9)
			case "Color":
				pillow.Color(next, now, cifar, 1+sign*.9*i/9)
			case "Contrast":
				pillow.Contrast(next, now, cifar, 1+sign*.9*i/9)
			case "Sharpness":
				pillow.Sharpness(next, now, cifar, 1+sign*.9*i/9)
			case "Posterize":
				pillow.Posterize(next, now, cifar, []int{8, 8, 7, 7, 6, 6, 5, 5, 4, 4}[step.magnitude])
			case "Solarize":
				pillow.Solarize(next, now, cifar, 255*(9-i)/9)
			case "AutoContrast":
				pillow.AutoContrast(next, now, cifar)
			case "Equalize":
				pillow.Equalize(next, now, cifar)
			case "Invert":
				pillow.Invert(next, now, cifar)
			default:
				t.Fatalf("no operation %q", step.operation)
			}
			now, next = next, now
		}
		want := Image{cifar, make([]float32, cifar.Len())}
		FromBytes(want.Values, now)
		if got := mustApply(t, AutoAugment{}, im, at); !slices.Equal(got.Values, want.Values) {
			t.Fatalf("view %d, sub-policy %d (%v): other bytes", view, number+1, policy[number])
		}
	}
	if len(chosen) != 25 {
		t.Errorf("sub-policies chosen: %v", chosen)
	}
}

func TestCropAndFlip(t *testing.T) {
	shape := pixel.Shape{Height: 5, Width: 3, Channels: 2}
	im := Image{shape, make([]float32, shape.Len())}
	for i := range im.Values {
		im.Values[i] = float32(i + 1)
	}
	places, mirrored := map[string]int{}, 0
	const n, pad = 20_000, 2
	for view := range uint64(n) {
		at := Address{View: view}
		out := mustApply(t, Chain{crop{Pad: pad}, Flip{}}, im, at)
		s := NewStream(at)
		down, right, flip := s.IntN(2*pad+1)-pad, s.IntN(2*pad+1)-pad, s.IntN(2) == 1
		places[fmt.Sprint(down, right)]++
		if flip {
			mirrored++
		}
		for i, got := range out.Values {
			y, x, c := i/2/3+down, i/2%3, i%2
			if flip {
				x = 2 - x
			}
			x += right
			want := float32(0)
			if y >= 0 && y < 5 && x >= 0 && x < 3 {
				want = im.Values[(y*3+x)*2+c]
			}
			if got != want {
				t.Fatalf("window at (%d, %d), mirrored %v: value %d is %v; expected %v", down, right, flip, i, got, want)
			}
		}
	}
	chi := 0.0
	for _, count := range places {
		d := float64(count) - n/25.
		chi += d * d / (n / 25.)
	}
	if len(places) != 25 || chi > 72 { // χ² with 24 degrees of freedom: false alarm 10⁻⁶
		t.Errorf("%d places, χ² %.1f", len(places), chi)
	}
	if math.Abs(float64(mirrored)-n/2) > 5*math.Sqrt(n)/2 { // false alarm 6·10⁻⁷
		t.Errorf("%d of %d mirrored", mirrored, n)
	}
}

func TestQuantize(t *testing.T) {
	im := Image{pixel.Shape{Height: 1, Width: 7, Channels: 1}, []float32{-3, 0.49 / 255, 0.51 / 255, 127.4 / 255, 254.6 / 255, 1, 1e30}}
	out := mustApply(t, quantize{}, im, Address{})
	got := make([]uint8, 7)
	ToBytes(got, out.Values)
	if want := []uint8{0, 0, 1, 127, 255, 255, 255}; !slices.Equal(got, want) {
		t.Errorf("bytes %v; expected %v", got, want)
	}
	for b := range 256 {
		if round(unit[b]) != uint8(b) || unit[b] != float32(b)/255 {
			t.Errorf("byte %d becomes %v and %d", b, unit[b], round(unit[b]))
		}
	}
}
