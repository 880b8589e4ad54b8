package corrupt

import (
	"math"
	"testing"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/jpeg"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance) {
		t.Errorf("%s is %.10g; expected %.10g", what, got, want)
	}
}

// The published kernels of a disk: centre, edge and corner of the 3×3 Gaussians, then the plus of 0.2 and the box of 1/9.
func TestDiskKernel(t *testing.T) {
	for _, c := range []struct{ radius, smooth, centre, edge, corner, tolerance float64 }{
		{.3, .4, .844973, .037126, .001631, 5e-7},
		{.4, .5, .619347, .083820, .011344, 5e-7},
		{.5, .6, .445213, .111015, .027682, 5e-7},
		{1, .2, .2, .2, 0, 1e-5},
		{1.5, .1, 1. / 9, 1. / 9, 1. / 9, 1e-9},
	} {
		taps, _ := diskKernel(c.radius, c.smooth)
		sum := 0.0
		for _, tap := range taps {
			sum += tap.weight
			want := map[int]float64{0: c.centre, 1: c.edge, 2: c.corner}[tap.dy*tap.dy+tap.dx*tap.dx]
			near(t, "a weight", tap.weight, want, c.tolerance)
		}
		near(t, "the sum", sum, 1, 1e-12)
	}
	for _, radius := range []float64{2.1, 7, 10.5} { // larger images: sums of 1, and the support of the disk
		taps, margin := diskKernel(radius, .7)
		sum := 0.0
		for _, tap := range taps {
			sum += tap.weight
			if max(tap.dy, -tap.dy, tap.dx, -tap.dx) > margin {
				t.Fatalf("tap %+v outside of the margin %d", tap, margin)
			}
		}
		near(t, "the sum", sum, 1, 1e-12)
	}
}

func TestMotionKernel(t *testing.T) {
	weights := motionKernel(6, 1)
	if len(weights) != 13 {
		t.Fatalf("%d weights; expected 13", len(weights))
	}
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	near(t, "the sum", sum, 1, 1e-12)
	for i, want := range []float64{.570348, .345934, .077188, .006336, .000191} {
		near(t, "a weight", weights[i], want, 5e-7)
	}
	sin, cos := math.Sincos(math.Pi / 6)
	for i, want := range [][2]int{{0, 0}, {1, 0}, {2, 1}, {3, 1}, {3, 2}, {4, 2}, {5, 3}} { // columns, rows
		if got := [2]int{motionOffset(i, cos), motionOffset(i, sin)}; got != want {
			t.Errorf("offset %d is %v; expected %v", i, got, want)
		}
	}
}

func TestZoomOfALine(t *testing.T) {
	for i, at := range newZoom(32, 1.01).at { // 32 samples become 32
		if f := newZoom(32, 1.01).fraction[i]; float64(at)+f != float64(i) {
			t.Fatalf("1.01: sample %d is read at %v", i, float64(at)+f)
		}
	}
	z := newZoom(32, 1.02) // 32 become 33, of which the first 32 stay
	for i := range 32 {
		near(t, "the place", float64(z.at[i])+z.fraction[i], float64(i)*31/32, 1e-12)
	}
	z = newZoom(32, 1.25) // ⌈25.6⌉ = 26 from the third on become 32.5, rounded to even
	near(t, "the first place", float64(z.at[0])+z.fraction[0], 3, 1e-12)
	near(t, "the last place", float64(z.at[31])+z.fraction[31], 28, 1e-12)
	z = newZoom(32, zoomFactor(25)) // 33, of which the first 32 stay: np.arange(1, 1.26, .01)[25] is 1.2500000000000002
	near(t, "the last place of 33", float64(z.at[31])+z.fraction[31], 3+31.*25/32, 1e-12)
	if zoomFactor(25) != 1.2500000000000002 {
		t.Errorf("the last factor is %v", zoomFactor(25))
	}
}

// The entries at frequency 0 of the scaled tables.
func TestJPEGTables(t *testing.T) {
	for i, quality := range []int{80, 65, 58, 50, 40} {
		luma, chroma := jpegTable(&jpegLuminance, quality)[0], jpegTable(&jpegChrominance, quality)[0]
		if want := [][2]int32{{6, 7}, {11, 12}, {13, 14}, {16, 17}, {20, 21}}[i]; luma != want[0] || chroma != want[1] {
			t.Errorf("quality %d: %d and %d; expected %v", quality, luma, chroma, want)
		}
	}
}

// The DCT against its definition, and back.
func TestDCT(t *testing.T) {
	r := newStream("dct", 0)
	var block, original [64]int32
	for i := range block {
		block[i] = int32(r.below(256)) - 128
	}
	original = block
	jpeg.ForwardDCT(&block)
	scale := func(k int) float64 {
		if k == 0 {
			return math.Sqrt(1. / 8)
		}
		return .5
	}
	for u := range 8 {
		for v := range 8 {
			sum := 0.0
			for y := range 8 {
				for x := range 8 {
					sum += float64(original[y*8+x]) * math.Cos(float64(2*y+1)*float64(u)*math.Pi/16) * math.Cos(float64(2*x+1)*float64(v)*math.Pi/16)
				}
			}
			near(t, "a coefficient", float64(block[u*8+v])/8, sum*scale(u)*scale(v), .2)
		}
	}
	for i := range block {
		block[i] = jpeg.Descale(block[i], 3)
	}
	jpeg.InverseDCT(&block)
	for i, v := range block {
		near(t, "a value", float64(v), float64(original[i]), 2)
	}
}

// Strength 0 changes nothing but what cutting off bytes does.
func TestZeroStrength(t *testing.T) {
	j := job{shape: colour32}
	src := scenes(colour32, 1)
	for name, build := range map[string]func() operator{
		"contrast":       contrastBy(j, 1),
		"brightness":     brightnessBy(j, 0),
		"saturate":       saturateBy(1, 0),
		"fog":            fogBy(j, 0, 3),
		"gaussian noise": normalLaw(func(float64) float64 { return 0 }).operator,
		"impulse noise":  impulseLaw(0).operator,
		"elastic":        elasticBy(j, 0, 0, 0),
	} {
		dst := make([]uint8, len(src))
		build()(dst, src, newStream("zero", 0))
		for i, b := range dst {
			if d := int(src[i]) - int(b); d < 0 || d > 1 {
				t.Errorf("%s makes %d of %d", name, b, src[i])
				break
			}
		}
	}
}

// Cubic splines of B-spline coefficients go through the samples.
func TestSplineInterpolates(t *testing.T) {
	j := job{shape: pixel.Shape{Height: 9, Width: 14, Channels: 3}}
	image := make([]float64, j.shape.Len())
	toUnits(image, scenes(j.shape, 1))
	coefficients := append([]float64(nil), image...)
	raster.SplineCoefficients(coefficients, j.shape)
	for y := range 9 {
		for x := range 14 {
			var sum [3]float64
			addSpline(&sum, coefficients, j, float64(y), float64(x), 1)
			for c := range 3 {
				near(t, "a sample", sum[c], image[(y*14+x)*3+c], 1e-12)
			}
		}
	}
	for _, f := range []float64{0, .3, .5, .99} {
		w := raster.SplineWeights(f)
		near(t, "the sum", w[0]+w[1]+w[2]+w[3], 1, 1e-15)
	}
	w := raster.SplineWeights(0)
	near(t, "a weight", w[0], 1./6, 1e-15)
	near(t, "a weight", w[1], 2./3, 1e-15)
}

// A line is about one pixel wide in every direction.
func TestLine(t *testing.T) {
	for _, to := range [][2]int{{0, 40}, {40, 40}, {13, 40}, {-40, 7}} {
		sum := 0.0
		line(0, 0, to[0], to[1], func(_, _ int, coverage float64) {
			if coverage < 0 || coverage > 1 {
				t.Errorf("to %v: coverage %v", to, coverage)
			}
			sum += coverage
		})
		near(t, "the coverage per pixel of length", sum/(math.Hypot(float64(to[0]), float64(to[1]))+1), 1, .2)
	}
}

// The weights, norm and γ of the noise of CIFAR-F on a constant image of 1/2, without the random factor of the amplitudes.
func TestFourierNoiseOfAConstant(t *testing.T) {
	shape := colour32
	half, err := fourier.NewHalf(32, 32)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		decay float64
		want  []float64 // at f = 0, 1, 2, 3, 4, 5, 10, 16
	}{
		{1, []float64{.25, .333333, .5, 1, .5, .333333, .125, .071429}},
		{3, []float64{.015625, .037037, .125, 1, .125, .037037, .001953, .000364}},
		{.5, []float64{.5, .57735, .707107, 1, .707107, .57735, .353553, .267261}},
		{2, []float64{.0625, .111111, .25, 1, .25, .111111, .015625, .005102}},
	} {
		g := newRing(shape, 3, c.decay, 0)
		for i, f := range []int{0, 1, 2, 3, 4, 5, 10, 16} {
			k, _ := half.Bin(0, f)
			near(t, "a weight", g.weights[k], c.want[i], 5e-7)
		}
	}
	// 1/2 is no byte. 128/255 has DC 514, clipped to 200 as 512 would be, and nothing else.
	src := make([]uint8, shape.Len())
	for i := range src {
		src[i] = 128
	}
	g := newRing(shape, 3, 2, 0)
	s := g.sampler()
	for index := range 3 {
		planes, norm := s.draw(src, newStream("F", index))
		near(t, "the norm", norm, 4.1860357500, 1e-9)
		near(t, "γ", 8/norm, 1.9111160242, 1e-9)
		sum := 0.0
		for _, v := range planes[:1024] {
			sum += v * v
		}
		near(t, "the norm of a channel", math.Sqrt(sum), 2.4168088670, 1e-9)
		spectrum, amplitude := fourier.NewSpectrum[float64](half), make([]float64, half.Len())
		g.plan.Forward(g.plan.NewWorkspace(), spectrum, planes[:1024])
		for k := range amplitude {
			amplitude[k] = math.Hypot(spectrum.Re[k], spectrum.Im[k])
		}
		for _, bin := range []struct {
			u, v int
			want float64
		}{{0, 0, 12.5}, {0, 3, 20}, {3, 4, 2.222222}, {16, 16, .0470046}} {
			k, _ := half.Bin(bin.u, bin.v)
			near(t, "an amplitude", amplitude[k], bin.want, 5e-7)
		}
	}
	// Share of the energy within half a period of the ring.
	for i, decay := range FourierDecays {
		g := newRing(shape, 5, decay, 0)
		inside, all := 0.0, 0.0
		for k, w := range g.weights {
			a := shared.FourierLower * w
			if k == 0 {
				a = shared.FourierUpper * w
			}
			e := float64(half.Multiplicity(k)) * a * a
			if half.Mirror(k) == k || half.Mirror(k) >= 0 {
				e = a * a
			}
			all += e
			if math.Abs(half.Radius(k)-5) <= .5 {
				inside += e
			}
		}
		near(t, "the share of the ring", inside/all, []float64{.1243, .3466, .7452, .9068}[i], 5e-5)
	}
	for i, centre := range []int{1, 2, 3, 8, 16} {
		bins := 0
		for k := range half.Len() {
			if math.Abs(half.Radius(k)-float64(centre)) < .5 {
				bins += half.Multiplicity(k)
			}
		}
		if want := []int{8, 12, 16, 48, 94}[i]; bins != want {
			t.Errorf("%d bins around %d; expected %d", bins, centre, want)
		}
	}
}

// The norm of the noise before clipping is ε, and not larger after it. (Rounding to bytes adds at most half a step per value.)
func TestFourierNorm(t *testing.T) {
	src := make([]uint8, colour32.Len())
	for i := range src {
		src[i] = 128
	}
	for _, norm := range []float64{1, 8, 12} {
		dst := corrupted(t, Setting{Name: "fourier", Centre: 9, Decay: 1, Norm: norm}, colour32, testKey, src, 0, 1)
		sum := math.Sqrt(squaredChange(dst, src)*float64(len(src))) / 255
		if norm == 1 {
			near(t, "the norm", sum, 1, .02) // no value comes near 0 or 1
		}
		if sum > norm+math.Sqrt(float64(len(src)))/510 {
			t.Errorf("norm %v after clipping; expected at most %v", sum, norm)
		}
	}
}

// 192 settings make CIFAR-F, in 64 files.
func TestFiles(t *testing.T) {
	files, err := Files(Setting{Name: "fourier"})
	if err != nil {
		t.Fatal(err)
	}
	settings := 0
	for _, f := range files {
		settings += len(f.Settings)
	}
	if len(files) != 64 || settings != 192 || files[2].Name != "fourier_fc3_a0.5.npy" {
		t.Errorf("%d files with %d settings, the third is %s", len(files), settings, files[2].Name)
	}
	for word, want := range map[string]int{"C": 15, "C-extra": 4, "C-bar": 10, "F": 1, "Low": 5, "Mid": 5, "High": 5, "all": 30} {
		if names, err := Names([]string{word}); err != nil || len(names) != want {
			t.Errorf("%s: %d corruptions, %v; expected %d", word, len(names), err, want)
		}
	}
	if _, err := Names([]string{"D"}); err == nil {
		t.Error("there is a family D")
	}
}
