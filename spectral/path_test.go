package spectral

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// The numbers of these tests are in section 14 of the specification of the Fourier lens, by the number given there.

func mustAmplitude(t *testing.T, shape pixel.Shape, o FourierOptions) Path {
	t.Helper()
	p, err := NewAmplitude(shape, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func mustPhase(t *testing.T, shape pixel.Shape, o FourierOptions) Path {
	t.Helper()
	p, err := NewPhase(shape, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// points gives all points of a path.
func points(t *testing.T, p Path, x0, x1 []float64) [][]float64 {
	t.Helper()
	n, err := p.Set(x0, x1)
	if err != nil {
		t.Fatal(err)
	}
	list := make([][]float64, n)
	for j := range list {
		list[j] = make([]float64, len(x0))
		p.Point(list[j], j)
	}
	return list
}

func checkClose(t *testing.T, what string, got, want []float64, tolerance float64) {
	t.Helper()
	for k := range want {
		if !(math.Abs(got[k]-want[k]) <= tolerance) {
			t.Fatalf("%s: value %d is %v, want %v", what, k, got[k], want[k])
		}
	}
}

func randomImage(shape pixel.Shape, seed uint64) []float64 {
	r := rand.New(rand.NewPCG(seed, 9))
	x := make([]float64, shape.Len())
	for k := range x {
		x[k] = r.Float64()
	}
	return x
}

// Number 10.
func TestPathsOfTheSpecification(t *testing.T) {
	x0 := []float64{1, 2, 0, -1, 0, 1, 3, 2, -2, 0, 1, 1, 1, -1, 0, 2}
	x1 := []float64{0, 1, 1, 0, 2, -3, 1, 0, 1, 1, -1, -4, 0, -2, 1, 0}
	shape := pixel.Shape{Height: 4, Width: 4, Channels: 1}
	o := FourierOptions{Window: .25, Points: 5} // b = 1, and λ = 1/2 is the middle
	full := FourierOptions{Window: .5, Points: 5}
	for _, c := range []struct {
		name string
		path Path
		want []float64
	}{
		{"amplitude", mustAmplitude(t, shape, o), []float64{.8857, 1.7135, -.3506, -1.1785, .0954, .7142, 2.4747, 1.8559,
			-2.0438, -.0426, .5087, .5076, .7465, -1.0432, -.3165, 1.4731}},
		{"amplitude, full window", mustAmplitude(t, shape, full), []float64{.7758, 2.5137, -.4604, -1.0090, -.2796, .3988, 2.0997, 2.1713,
			-2.4339, 1.0379, .1186, .9574, .3715, -1.3585, -.6915, 1.7885}},
		{"phase", mustPhase(t, shape, o), []float64{1.5122, -.5872, -1.3737, .7257, 1.5322, .4356, -.1035, .9931,
			-2.1085, .9302, -.5300, -1.5687, -.1285, -2.0926, .1998, 2.1639}},
	} {
		checkClose(t, c.name, points(t, c.path, x0, x1)[2], c.want, 5.1e-5)
	}
}

func fourierPaths(t *testing.T, shape pixel.Shape, o FourierOptions) map[string]Path {
	t.Helper()
	return map[string]Path{"amplitude": mustAmplitude(t, shape, o), "phase": mustPhase(t, shape, o)}
}

// Numbers 2 and 3, in several shapes, windows and spaces.
func TestPathsBeginAtTheFirstImage(t *testing.T) {
	for _, shape := range []pixel.Shape{{Height: 32, Width: 32, Channels: 3}, {Height: 28, Width: 28, Channels: 1}, {Height: 7, Width: 10, Channels: 4}, {Height: 1, Width: 13, Channels: 1}} {
		x0, x1 := randomImage(shape, 1), randomImage(shape, 2)
		for _, w := range []float64{.1, .2, .5} {
			o := FourierOptions{Window: w, Points: 7, Radial: w == .1}
			if shape.Channels == 3 {
				o.Normalization = CIFAR10
			}
			for name, path := range fourierPaths(t, shape, o) {
				all := points(t, path, x0, x1)
				if len(all) != 7 {
					t.Fatalf("%s: %d points", name, len(all))
				}
				checkClose(t, name+" at 0", all[0], x0, 1e-12)
				if slices.Equal(all[0], all[6]) && math.Floor(float64(min(shape.Height, shape.Width))*w) > 0 {
					t.Errorf("%v, window %v: the %s path stands still", shape, w, name)
				}
				for _, x := range points(t, path, x0, x0) {
					checkClose(t, name+" to itself", x, x0, 1e-12)
				}
			}
		}
	}
}

// Numbers 4 and 5: a brighter image has other amplitudes, a shifted one other phases, and nothing else.
func TestPathsToScaledAndShiftedImages(t *testing.T) {
	shape := pixel.Shape{Height: 9, Width: 9, Channels: 2}
	o := FourierOptions{Window: .5, Points: 11}
	x0 := randomImage(shape, 3)
	scaled, shifted := make([]float64, len(x0)), make([]float64, len(x0))
	for k := range x0 {
		scaled[k] = 1.75 * x0[k]
		i, j, c := k/18, k/2%9, k%2
		shifted[((i+5)%9*9+(j+2)%9)*2+c] = x0[k]
	}
	for _, x := range points(t, mustPhase(t, shape, o), x0, scaled) {
		checkClose(t, "phase path to the scaled image", x, x0, 1e-12)
	}
	for j, x := range points(t, mustAmplitude(t, shape, o), x0, scaled) {
		want := make([]float64, len(x0))
		for k := range want {
			want[k] = x0[k] * (1 + float64(j)/10*.75)
		}
		checkClose(t, "amplitude path to the scaled image", x, want, 1e-12)
	}
	for _, x := range points(t, mustAmplitude(t, shape, o), x0, shifted) {
		checkClose(t, "amplitude path to the shifted image", x, x0, 1e-12)
	}
	end := points(t, mustPhase(t, shape, o), x0, shifted)[10]
	checkClose(t, "end of the phase path to the shifted image", end, shifted, 1e-12)
	short := o
	short.Shortest = true
	end = points(t, mustPhase(t, shape, short), x0, shifted)[10]
	checkClose(t, "end of the shorter phase path to the shifted image", end, shifted, 1e-12)
}

// Numbers 6 and 7: the amplitude path ends with the amplitudes of x1, and its energy is that of its amplitudes.
func TestEndOfTheAmplitudePath(t *testing.T) {
	shape := pixel.Shape{Height: 8, Width: 8, Channels: 1}
	x0, x1 := randomImage(shape, 5), randomImage(shape, 6)
	path := points(t, mustAmplitude(t, shape, FourierOptions{Window: .5, Points: 5}), x0, x1)
	plan, err := fourier.NewPlan[float64](8, 8)
	if err != nil {
		t.Fatal(err)
	}
	h, w := plan.Half(), plan.NewWorkspace()
	polar := func(x []float64) (amplitude, phase []float64) {
		s := fourier.NewSpectrum[float64](h)
		plan.Forward(w, s, x)
		amplitude, phase = make([]float64, h.Len()), make([]float64, h.Len())
		plan.Amplitude(amplitude, s)
		fourier.Phase(h, phase, s)
		return amplitude, phase
	}
	a0, p0 := polar(x0)
	a1, _ := polar(x1)
	for j, x := range path {
		a, p := polar(x)
		energy, image := 0.0, 0.0
		for k := range a {
			want := a0[k] + (a1[k]-a0[k])*float64(j)/4
			if math.Abs(a[k]-want) > 1e-12 || math.Abs(p[k]-p0[k]) > 1e-10 {
				t.Fatalf("point %d, bin %d: %v∠%v, want %v∠%v", j, k, a[k], p[k], want, p0[k])
			}
			energy += float64(h.Multiplicity(k)) * want * want / 64
		}
		for _, v := range x {
			image += v * v
		}
		if math.Abs(energy-image) > 1e-12*image {
			t.Errorf("point %d: energy %v, want %v", j, image, energy)
		}
	}
}

// Number 8.
func TestWindow(t *testing.T) {
	for _, c := range []struct {
		side  int
		w     float64
		count int
	}{{32, .2, 169}, {32, .1, 49}, {32, .5, 1024}, {224, .1, 2025}, {8, .2, 9}, {10, .3, 49}, {1, .2, 1}} {
		h := fourier.Half{Height: c.side, Width: c.side}
		got := 0
		for _, k := range window(h, c.w, false) {
			got++
			if h.Mirror(k) != k {
				got++
			}
		}
		if got != c.count {
			t.Errorf("side %d, w = %v: %d frequencies, want %d", c.side, c.w, got, c.count)
		}
	}
	// 29 integer points have u² + v² ≤ 9 (Gauss's circle problem).
	h := fourier.Half{Height: 10, Width: 10}
	if got := len(window(h, .3, true)); got != 15 { // 14 pairs, and zero
		t.Errorf("%d bins in the disc, want 15", got)
	}
}

// Number 9.
func TestMeanAlongThePhasePath(t *testing.T) {
	shape := pixel.Shape{Height: 6, Width: 6, Channels: 1}
	x0, x1 := randomImage(shape, 7), randomImage(shape, 8)
	mean := func(x []float64) float64 {
		sum := 0.0
		for _, v := range x {
			sum += v
		}
		return sum / float64(len(x))
	}
	m := mean(x0)
	for _, x := range points(t, mustPhase(t, shape, FourierOptions{Points: 9}), x0, x1) {
		if math.Abs(mean(x)-m) > 1e-12 {
			t.Errorf("mean %v between images of positive mean, want %v", mean(x), m)
		}
	}
	for k := range x1 {
		x1[k] -= 1
	}
	for j, x := range points(t, mustPhase(t, shape, FourierOptions{Points: 9}), x0, x1) {
		if want := m * math.Cos(math.Pi*float64(j)/8); math.Abs(mean(x)-want) > 1e-12 {
			t.Errorf("mean %v at point %d, want %v", mean(x), j, want)
		}
	}
	// In normalized space the signs are the normalized means' signs.
	dark := Normalization{[]float64{m + .3}, []float64{.25}}
	bright := randomImage(shape, 7)
	for k := range bright {
		bright[k] += .6
	}
	end := points(t, mustPhase(t, shape, FourierOptions{Points: 9, Normalization: dark}), x0, bright)[8]
	if want := m + .6; math.Abs(mean(end)-want) > 1e-12 { // −.3 below becomes .3 above
		t.Errorf("mean %v at the end, want %v", mean(end), want)
	}
}

// Section 3: unit spacing, ⌈d⌉ points, the end left out.
func TestPixelPath(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	p, err := NewPixel(shape, Normalization{[]float64{.5}, []float64{.1}})
	if err != nil {
		t.Fatal(err)
	}
	x0, x1 := []float64{.1, .2, .3, .4}, []float64{.4, .2, .3, .8} // .5 apart, 5 in normalized space
	all := points(t, p, x0, x1)
	if len(all) != 5 {
		t.Fatalf("%d points, want 5", len(all))
	}
	checkClose(t, "point 0", all[0], x0, 0)
	checkClose(t, "point 4", all[4], []float64{.1 + 4*.06, .2, .3, .4 + 4*.08}, 1e-12)
	x1[0] += .03
	if got := len(points(t, p, x0, x1)); got != 6 {
		t.Errorf("%d points, want 6", got)
	}
	if n, err := p.Set(x0, x0); n != 0 || err != nil {
		t.Errorf("%d points from an image to itself, %v", n, err)
	}
}

func TestPathsOfBadInput(t *testing.T) {
	shape := pixel.Shape{Height: 3, Width: 5, Channels: 3}
	good := randomImage(shape, 1)
	bad := slices.Clone(good)
	bad[7] = math.NaN()
	paths := fourierPaths(t, shape, FourierOptions{})
	paths["pixel"], _ = NewPixel(shape, Normalization{})
	for name, p := range paths {
		for _, pair := range [][2][]float64{{bad, good}, {good, bad}, {good[:9], good}, {good, nil}} {
			if _, err := p.Set(pair[0], pair[1]); err == nil {
				t.Errorf("%s: no error", name)
			}
		}
	}
	for _, o := range []FourierOptions{{Window: -1}, {Window: .6}, {Window: math.NaN()}, {Points: 3}, {Normalization: Normalization{[]float64{1}, []float64{1}}},
		{Normalization: Normalization{make([]float64, 3), make([]float64, 3)}}} {
		if _, err := NewAmplitude(shape, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
		if _, err := NewPhase(shape, o); err == nil {
			t.Errorf("%+v: no error", o)
		}
	}
	if _, err := NewPixel(pixel.Shape{}, Normalization{}); err == nil {
		t.Error("no shape: no error")
	}
}
