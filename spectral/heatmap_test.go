package spectral

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/certspec/certspec/pixel"
)

func TestRepresentatives(t *testing.T) {
	h := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	// Section 11.4 of the specification of FourierMix.
	if n := len(Representatives(h, Window(15), Window(15))); n != 481 {
		t.Errorf("%d representatives of the window, want 481", n)
	}
	all := Representatives(h, Frequencies(32), Frequencies(32))
	if len(all) != 514 {
		t.Errorf("%d representatives, want 514", len(all))
	}
	for _, f := range Representatives(h, Window(15), Window(15)) {
		if f.V < 0 || f.V == 0 && f.U < 0 || Canonical(h, f) != f || Canonical(h, Frequency{-f.U, -f.V}) != f {
			t.Errorf("%v does not stand for itself and its negative", f)
		}
	}
}

func TestHeatMap(t *testing.T) {
	h := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	calls := 0
	m, err := HeatMap(t.Context(), h, Window(15), Window(15), func(_ context.Context, f Frequency) (float64, error) {
		calls++
		return float64(f.U*f.U*100 + f.U*f.V), nil
	})
	if err != nil || calls != 481 {
		t.Fatalf("%d calls, %v", calls, err)
	}
	for _, u := range m.U {
		for _, v := range m.V {
			if got, _ := m.At(u, v); got != float64(u*u*100+u*v) {
				t.Fatalf("value %v at (%d, %d)", got, u, v)
			}
		}
	}
	// A coarse grid, on sides that differ.
	grid := []int{-5, -1, 0, 1, 5}
	m, err = HeatMap(t.Context(), pixel.Shape{Height: 11, Width: 30, Channels: 1}, grid, []int{-3, 0, 3}, func(_ context.Context, f Frequency) (float64, error) {
		return float64(f.U * f.V), nil
	})
	if err != nil || len(m.Values) != 15 || m.Values[0] != 15 || m.Values[2] != -15 {
		t.Errorf("%+v, %v", m, err)
	}
	failure := errors.New("out of paper")
	if _, err := HeatMap(t.Context(), h, grid, grid, func(context.Context, Frequency) (float64, error) { return 0, failure }); !errors.Is(err, failure) {
		t.Errorf("error %v", err)
	}
	if _, err := HeatMap(t.Context(), h, grid, grid, func(context.Context, Frequency) (float64, error) { return math.NaN(), nil }); err == nil {
		t.Error("NaN: no error")
	}
	for _, bad := range [][]int{nil, {0, 0}, {2, 1}, {17}, {-17, 0}} {
		if _, err := HeatMap(t.Context(), h, bad, grid, func(context.Context, Frequency) (float64, error) { return 0, nil }); err == nil {
			t.Errorf("grid %v: no error", bad)
		}
	}
}

func mustProbe(t testing.TB, shape pixel.Shape, f Frequency) *Probe {
	t.Helper()
	p, err := NewProbe(shape, f, DefaultEpsilon)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Section 7.2 of the specification of FourierMix: norm 4√3 over RGB, peak .1768, at zero frequency .125.
func TestProbe(t *testing.T) {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	image := make([]uint8, shape.Len())
	for k := range image {
		image[k] = uint8(k)
	}
	for _, c := range []struct {
		f    Frequency
		peak float64
	}{{Frequency{3, 5}, .1768}, {Frequency{0, 0}, .125}, {Frequency{-16, 16}, .125}} {
		p := mustProbe(t, shape, c.f)
		for signs := range 8 {
			grid, real := make([]int16, len(image)), make([]float32, len(image))
			p.AddTo(grid, image, signs)
			p.AddRealTo(real, image, signs)
			sum, peak, steps := 0.0, 0.0, 0
			for k := range image {
				d := float64(real[k]) - float64(image[k])/255
				sum, peak = sum+d*d, max(peak, math.Abs(d))
				step := int(grid[k]) - int(image[k])
				steps += step * step
				if math.Abs(float64(step)-255*d) > .5001 {
					t.Fatalf("%v, signs %03b: step %d for %v", c.f, signs, step, 255*d)
				}
			}
			if math.Abs(math.Sqrt(sum)-4*math.Sqrt(3)) > 1e-5 || math.Abs(peak-c.peak) > 5e-5 {
				t.Errorf("%v, signs %03b: norm %v and peak %v, want 4√3 and %v", c.f, signs, math.Sqrt(sum), peak, c.peak)
			}
			if got := math.Sqrt(float64(steps)) / 255; math.Abs(got-p.Norm()) > 1e-12 || math.Abs(got-4*math.Sqrt(3)) > .05 {
				t.Errorf("%v, signs %03b: norm on the grid %v, Norm %v", c.f, signs, got, p.Norm())
			}
			for c := range 3 {
				first := real[c] - float32(image[c])/255 // U is positive at the first pixel
				if (first < 0) != (signs>>c&1 == 1) {
					t.Errorf("signs %03b: channel %d has %v", signs, c, first)
				}
			}
		}
	}
	for _, bad := range []float64{0, -1, 1000, math.NaN()} {
		if _, err := NewProbe(shape, Frequency{1, 1}, bad); err == nil {
			t.Errorf("norm %v: no error", bad)
		}
	}
	for _, channels := range []int{0, 9} {
		if _, err := NewProbe(pixel.Shape{Height: 4, Width: 4, Channels: channels}, Frequency{1, 1}, 1); err == nil {
			t.Errorf("%d channels: no error", channels)
		}
	}
	mustProbe(t, pixel.Shape{Height: 1, Width: 13, Channels: 4}, Frequency{0, 3})
}

func TestAddBytesFormsAgree(t *testing.T) {
	for n := range 70 {
		image, step, a, b := make([]uint8, n), make([]int16, n), make([]int16, n), make([]int16, n)
		for k := range image {
			image[k], step[k] = uint8(91*k), int16(-3000+k*977)
		}
		addBytes(a, image, step)
		addBytesPlain(b, image, step)
		for k := range a {
			if a[k] != b[k] || int(a[k]) != int(image[k])+int(step[k]) {
				t.Fatalf("value %d of %d: %d and %d", k, n, a[k], b[k])
			}
		}
	}
}

func TestAddUnitsFormsAgree(t *testing.T) {
	for n := range 300 {
		image, step, a, b := make([]uint8, n), make([]float32, n), make([]float32, n), make([]float32, n)
		for k := range image {
			image[k], step[k] = uint8(91*k), float32(k-150)/64
		}
		addUnits(a, image, step)
		addUnitsPlain(b, image, step)
		for k := range a {
			if want := float32(float64(image[k])/255) + step[k]; a[k] != want || b[k] != want {
				t.Fatalf("value %d of %d: %v and %v, want %v", k, n, a[k], b[k], want)
			}
		}
	}
}

// Each of the eight sets of signs has probability 1/8. Over 8,000 images a count has standard deviation 29.6; six of them in
// any of 8 counts fail by chance once in 10⁸.
func TestSigns(t *testing.T) {
	h := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	counts := map[int]int{}
	for image := range uint64(8000) {
		signs := Signs(h, Frequency{3, -5}, 1, image)
		if signs != Signs(h, Frequency{-3, 5}, 1, image) {
			t.Fatal("a frequency and its negative have different signs")
		}
		counts[signs&7]++
	}
	for signs, n := range counts {
		if math.Abs(float64(n)-1000) > 6*29.6 {
			t.Errorf("signs %03b: %d times of 8000", signs, n)
		}
	}
	if len(counts) != 8 || Shared(0b110)&7 != 0 || Shared(0b001)&7 != 7 {
		t.Errorf("%d sets of signs; shared %03b and %03b", len(counts), Shared(0b110)&7, Shared(0b001)&7)
	}
}

func BenchmarkProbeAddTo(b *testing.B) {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	p := mustProbe(b, shape, Frequency{3, 5})
	dst, image := make([]int16, shape.Len()), make([]uint8, shape.Len())
	for b.Loop() {
		p.AddTo(dst, image, 5)
	}
}
