package spectral

import (
	"context"
	"encoding/csv"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

func mustSpectrum(t *testing.T, s Source) *Spectrum {
	t.Helper()
	m, err := MeanSpectrum(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func at(t *testing.T, m Map, u, v int) float64 {
	t.Helper()
	value, found := m.At(u, v)
	if !found {
		t.Fatalf("no frequency (%d, %d)", u, v)
	}
	return value
}

// What one brighter grey level and one wave change is known in closed form.
func TestDifferenceOfKnownImages(t *testing.T) {
	for _, shape := range []pixel.Shape{{Height: 32, Width: 32, Channels: 3}, {Height: 7, Width: 12, Channels: 1}, {Height: 5, Width: 1, Channels: 4}} {
		clean := make([]uint8, 2*shape.Len())
		brighter := slices.Clone(clean)
		for k := range brighter {
			brighter[k] = 51
		}
		s, err := Difference(shape, brighter, clean)
		if err != nil {
			t.Fatal(err)
		}
		m := mustSpectrum(t, s)
		darker, err := Difference(shape, clean, brighter)
		if err != nil {
			t.Fatal(err)
		}
		if got := mustSpectrum(t, darker).Amplitude.Values; !slices.Equal(got, m.Amplitude.Values) {
			t.Errorf("%v: a difference and its negative have the amplitudes %v and %v", shape, m.Amplitude.Values, got)
		}
		want := .2 * float64(shape.Height*shape.Width)
		if got := at(t, m.Amplitude, 0, 0); math.Abs(got-want) > 1e-12*want {
			t.Errorf("%v: amplitude %v at zero frequency, want %v", shape, got, want)
		}
		if got := at(t, m.Power, 0, 0); math.Abs(got-want*want) > 1e-12*want*want {
			t.Errorf("%v: power %v at zero frequency, want %v", shape, got, want*want)
		}
		if c, err := m.Amplitude.Centroid(); err != nil || c != 0 {
			t.Errorf("%v: centroid %v, %v; want 0, without the noise of rounding", shape, c, err)
		}
	}
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	wave := make([]float32, 64)
	for k := range wave {
		wave[k] = float32(math.Cos(2 * math.Pi * float64(2*(k/8)-3*(k%8)) / 8))
	}
	m := mustSpectrum(t, Real(shape, wave))
	for k, v := range m.Amplitude.Values {
		u, w := m.Amplitude.U[k/8], m.Amplitude.V[k%8]
		want := 0.0
		if u == 2 && w == -3 || u == -2 && w == 3 {
			want = 32
		}
		if math.Abs(v-want) > 1e-5 {
			t.Errorf("amplitude %v at (%d, %d), want %v", v, u, w, want)
		}
	}
	if c, err := m.Amplitude.Centroid(); err != nil || math.Abs(c-math.Sqrt(13)) > 1e-4 {
		t.Errorf("centroid %v, %v; want √13", c, err)
	}
}

// White noise of variance s² has power N s² everywhere, and amplitude √(πN/4)s in complex bins, √(2N/π)s in real ones.
// The mean over 6,000 planes has a relative deviation of at most 0.010 (√(π/2−1)/√6000 of the amplitude of a real bin), 1/√6000 = .0129 for complex
// power, √2 as much for real power; 6 of these over 2·1024 values fail by chance in less than one of 10⁵ seeds.
func TestWhiteNoise(t *testing.T) {
	shape := pixel.Shape{Height: 8, Width: 6, Channels: 3}
	const images = 2000
	r := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, images*shape.Len())
	for k := range x {
		x[k] = float32(.5 * r.NormFloat64())
	}
	m := mustSpectrum(t, Real(shape, x))
	half := fourier.Half{Height: 8, Width: 6}
	for k := range m.Power.Values {
		u, v := m.Power.U[k/6], m.Power.V[k%6]
		bin, _ := half.Bin(u, v)
		amplitude, deviation := math.Sqrt(math.Pi*48/4)*.5, .0129
		if half.Mirror(bin) == bin {
			amplitude, deviation = math.Sqrt(2*48/math.Pi)*.5, .0183
		}
		if got := m.Amplitude.Values[k]; math.Abs(got/amplitude-1) > 6*.010 {
			t.Errorf("(%d, %d): amplitude %v, want %v", u, v, got, amplitude)
		}
		if got := m.Power.Values[k]; math.Abs(got/12-1) > 6*deviation {
			t.Errorf("(%d, %d): power %v, want 12", u, v, got)
		}
	}
}

func TestSpectrumDoesNotDependOnWorkers(t *testing.T) {
	shape := pixel.Shape{Height: 9, Width: 10, Channels: 3}
	x := make([]uint8, 5*block/2*shape.Len())
	r := rand.New(rand.NewPCG(5, 2))
	for k := range x {
		x[k] = uint8(r.Uint32())
	}
	var want []float64
	for _, n := range []int{1, 2, 3, 7} {
		before := runtime.GOMAXPROCS(n)
		m := mustSpectrum(t, Bytes(shape, x))
		runtime.GOMAXPROCS(before)
		if want == nil {
			want = m.Amplitude.Values
		}
		if !slices.Equal(want, m.Amplitude.Values) {
			t.Errorf("%d goroutines give another spectrum", n)
		}
	}
}

func TestSpectrumOfBadInput(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 5, Channels: 2}
	for _, bad := range []float64{math.NaN(), math.Inf(-1)} {
		x := make([]float32, 3*shape.Len())
		x[2*shape.Len()+(3*5+1)*2+1] = float32(bad)
		_, err := MeanSpectrum(t.Context(), Real(shape, x), nil)
		if err == nil || !strings.Contains(err.Error(), "image 2") || !strings.Contains(err.Error(), "row 3, column 1, channel 1") {
			t.Errorf("value %v: error %v", bad, err)
		}
	}
	if _, err := MeanSpectrum(t.Context(), Bytes(shape, nil), nil); err == nil {
		t.Error("no images: no error")
	}
	if _, err := MeanSpectrum(t.Context(), Source{Len: 1}, nil); err == nil {
		t.Error("no shape: no error")
	}
	if _, err := Difference(shape, make([]uint8, 40), make([]uint8, 80)); err == nil {
		t.Error("one image minus two: no error")
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := MeanSpectrum(stopped, Bytes(shape, make([]uint8, 40)), nil); err != context.Canceled {
		t.Errorf("stopped: %v", err)
	}
}

// powerLaw is f^exponent, and 5 at zero frequency.
func powerLaw(height, width int, exponent float64) *Map {
	h := fourier.Half{Height: height, Width: width}
	values := make([]float64, h.Len())
	for k := range values {
		values[k] = 5
		if r := h.Radius(k); r > 0 {
			values[k] = math.Pow(r, exponent)
		}
	}
	m := fromHalf(h, values)
	return &m
}

func TestSlope(t *testing.T) {
	for _, side := range [][2]int{{32, 32}, {31, 20}, {28, 28}} {
		s, err := powerLaw(side[0], side[1], -1.25).Slope(1, float64(min(side[0], side[1])/2-1))
		if err != nil || math.Abs(s.Exponent+1.25) > 1e-12 || math.Abs(s.Intercept) > 1e-12 || math.Abs(s.R2-1) > 1e-12 {
			t.Errorf("%v: %+v, %v; want exponent −1.25", side, s, err)
		}
	}
	// 708 of the integer points of the plane have 1 ≤ u² + v² ≤ 225 (Gauss's circle problem, N(15) = 709).
	if s, _ := powerLaw(32, 32, 1).Slope(1, 15); s.Bins != 708 {
		t.Errorf("%d bins, want 708", s.Bins)
	}
	flat := powerLaw(32, 32, -1)
	flat.Values[16*32+20] = 0
	if _, err := flat.Slope(1, 15); err == nil {
		t.Error("a zero: no error")
	}
	if _, err := powerLaw(1, 1, 1).Slope(1, 15); err == nil {
		t.Error("one frequency: no error")
	}
}

func TestProfile(t *testing.T) {
	rings := powerLaw(32, 32, 1).Profile()
	if len(rings) != 24 || rings[0] != (Ring{Bins: 1, Mean: 5}) {
		t.Fatalf("%d rings, the first %v", len(rings), rings[0])
	}
	// Numbers of bins with |f − f_c| < .5: section 11.7 of the specification of FourierMix.
	for f, bins := range map[int]int{1: 8, 2: 12, 3: 16, 8: 48, 16: 94} {
		if rings[f].Bins != bins || math.Abs(rings[f].Mean-float64(f)) > .5 {
			t.Errorf("ring %+v, want %d bins", rings[f], bins)
		}
	}
	if want := (4 + 4*math.Sqrt2) / 8; math.Abs(rings[1].Mean-want) > 1e-12 {
		t.Errorf("mean of the first ring %v, want %v", rings[1].Mean, want)
	}
}

func TestCentroidOfBadMaps(t *testing.T) {
	m := powerLaw(4, 4, 1)
	m.Values[3] = -1
	if _, err := m.Centroid(); err == nil {
		t.Error("a negative value: no error")
	}
	clear(m.Values)
	if _, err := m.Centroid(); err == nil {
		t.Error("zeros: no error")
	}
}

func TestWriteCSV(t *testing.T) {
	m := powerLaw(3, 4, 1)
	var text strings.Builder
	if err := m.WriteCSV(&text); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
	if err != nil || len(rows) != 3 || len(rows[0]) != 4 || rows[1][2] != "5" || rows[1][3] != ".75" && rows[1][3] != "0.75" {
		t.Errorf("%v, %q; want 3×4 with 5 at row 1, column 2, and 3/4 to its right", err, rows)
	}
}

func BenchmarkMeanSpectrum(b *testing.B) {
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	x := make([]uint8, 1000*shape.Len())
	for k := range x {
		x[k] = uint8(k * 7919 >> 3)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := MeanSpectrum(b.Context(), Bytes(shape, x), nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(1000*float64(b.N)/b.Elapsed().Seconds(), "images/s")
}
