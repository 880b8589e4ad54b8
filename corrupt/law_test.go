package corrupt

import (
	"math"
	"testing"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/pixel"
)

// probabilities adds up what the columns of a law give to each byte.
func (l *law) probabilities(x int) (p [256]float64) {
	for column, c := range l[x] {
		own := float64(c >> 8)
		if uint8(c) == uint8(column) {
			own = 1 << 24
		}
		p[column] += own * 0x1p-32
		p[uint8(c)] += (1<<24 - own) * 0x1p-32
	}
	return p
}

// The tables hold the laws: cut-off bytes of x + N(0, s²) and x + x·N(0, s²), from the error function of package math; Poisson
// probabilities from its logarithm of Γ; and the four outcomes of impulse noise.
func TestLaws(t *testing.T) {
	normal := func(s func(x int) float64) func(x, k int) float64 {
		below := func(x, k int) float64 { return .5 * math.Erfc((float64(x)-float64(k+1))/(255*s(x))/math.Sqrt2) }
		return func(x, k int) float64 {
			switch k {
			case 0:
				return below(x, 0)
			case 255:
				return 1 - below(x, 254)
			}
			return below(x, k) - below(x, k-1)
		}
	}
	for _, c := range []struct {
		name string
		law  *law
		want func(x, k int) float64
	}{
		{"gaussian 0.08", normalLaw(func(float64) float64 { return .08 }), normal(func(int) float64 { return .08 })},
		{"speckle 0.2", normalLaw(func(x float64) float64 { return .2 * x }), normal(func(x int) float64 { return .2 * float64(x) / 255 })},
		{"impulse 0.07", impulseLaw(.07), func(x, k int) float64 {
			p := 0.0
			if k == x {
				p += .93
			}
			if k == 0 || k == 255 {
				p += .035
			}
			return p
		}},
		{"shot 75", poissonLaw(75), func(x, k int) float64 {
			mean, p := float64(75*x)/255, 0.0
			for n := range 500 {
				if min(int(math.Floor(float64(n)/75*255)), 255) == k {
					g, _ := math.Lgamma(float64(n + 1))
					p += math.Exp(float64(n)*math.Log(mean) - mean - g)
				}
			}
			return p
		}},
	} {
		for _, x := range []int{1, 3, 100, 128, 200, 254, 255} {
			p := c.law.probabilities(x)
			for k := range 256 {
				if want := c.want(x, k); math.Abs(p[k]-want) > 1e-9 {
					t.Fatalf("%s: %d becomes %d with the probability %.12f; expected %.12f", c.name, x, k, p[k], want)
				}
			}
		}
		if c.name[0] != 'i' && c.name[0] != 'g' {
			if p := c.law.probabilities(0); p[0] != 1 {
				t.Errorf("%s: black stays black with the probability %v", c.name, p[0])
			}
		}
	}
}

// Mean and variance of drawn bytes agree with the closed forms. Seven tests, each at 5 standard errors: the false-alarm rate is below 10⁻⁵ in all, for
// another choice of the fixed seed.
func TestMomentsOfDraws(t *testing.T) {
	shape := pixel.Shape{Height: 256, Width: 256, Channels: 3}
	src := make([]uint8, shape.Len())
	for i := range src {
		src[i] = 128
	}
	n := float64(len(src))
	moments := func(s Setting) (mean, variance float64) {
		values := make([]float64, len(src))
		for i, b := range corrupted(t, s, shape, testKey, src, 0, 1) {
			values[i] = float64(b)
		}
		mean, deviation := raster.Moments(values)
		return mean, deviation * deviation
	}
	// Cutting off moves the mean by half a step and adds a twelfth to the variance; nothing is clipped at these strengths.
	for _, c := range []struct {
		name      string
		deviation float64
	}{{"gaussian_noise", .04 * 255}, {"speckle_noise", .06 * 128}} {
		mean, variance := moments(Setting{Name: c.name, Severity: 1})
		want := c.deviation*c.deviation + 1./12
		near(t, c.name+": mean", mean, 127.5, 5*math.Sqrt(want/n))
		near(t, c.name+": variance", variance, want, 5*want*math.Sqrt(2/n))
	}
	// A Poisson number of mean λ = c·x and its bytes: the variance of 255·N/c is 255²·x/c, cut off in steps of 0.51 of a byte.
	mean, variance := moments(Setting{Name: "shot_noise", Severity: 1})
	want := 255 * 255 * (128. / 255) / 500
	near(t, "shot_noise: mean", mean, 127.5, .5+5*math.Sqrt(want/n))
	near(t, "shot_noise: variance", variance, want, 1+5*want*math.Sqrt(2/n))
	black, white := 0.0, 0.0
	for _, b := range corrupted(t, Setting{Name: "impulse_noise", Severity: 5}, shape, testKey, src, 0, 1) {
		switch b {
		case 0:
			black++
		case 255:
			white++
		}
	}
	near(t, "impulse_noise: black", black/n, .035, 5*math.Sqrt(.035*.965/n))
	near(t, "impulse_noise: white", white/n, .035, 5*math.Sqrt(.035*.965/n))
}

// The stream's own numbers: uniform, below, sign and normal, at 5 standard errors.
func TestStream(t *testing.T) {
	const n = 200_000
	r := newStream("stream", 0)
	var u, z, z2, s float64
	var counts [7]float64
	for range n {
		u += r.uniform()
		v := r.normal()
		z, z2 = z+v, z2+v*v
		s += r.sign()
		counts[r.below(7)]++
	}
	near(t, "mean of uniform", u/n, .5, 5*math.Sqrt(1./12/n))
	near(t, "mean of normal", z/n, 0, 5/math.Sqrt(n))
	near(t, "variance of normal", z2/n, 1, 5*math.Sqrt(2./n))
	near(t, "mean of sign", s/n, 0, 5/math.Sqrt(n))
	for k, c := range counts {
		near(t, "share of a number", c/n, 1./7, 5*math.Sqrt(6./49/n))
		_ = k
	}
	// The keys are the published ones.
	if got := streamKey(F, Setting{Name: "fourier", Centre: 3, Decay: .5, Norm: 8}, Key{"CIFAR-10", 7}); got != "CIFAR-10-F|v1|7|a=0.5|fc=3|eps=8|i=" {
		t.Errorf("key %q", got)
	}
	if got := streamKey(C, Setting{Name: "fog", Severity: 3}, Key{"CIFAR-10", 7}); got != "CIFAR-10-C|v1|7|fog|sev=3|i=" {
		t.Errorf("key %q", got)
	}
}

// Blue noise keeps the published shares of pixels (from the normal approximation, which the field follows to a few thousandths).
func TestBlueNoiseKeeps(t *testing.T) {
	const count = 200
	src := make([]uint8, count*32*32)
	for i := range src {
		src[i] = 200
	}
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 1}
	for severity, want := range []float64{.989, .981, .969, .926, .893} {
		kept := 0.0
		for _, b := range corrupted(t, Setting{Name: "blue_noise_sample", Severity: severity + 1}, shape, testKey, src, 0, 2) {
			kept += float64(b) / 200
		}
		near(t, "share of pixels kept", kept/float64(len(src)), want, .004)
	}
}

// The drawn frost has the colours of the crops that it stands for, up to what clipping takes: 5 standard errors of the mean, plus 2 bytes.
func TestIce(t *testing.T) {
	const count = 400
	s := newIce(colour32)
	layer := make([]float64, colour32.Len())
	var mean, square [3]float64
	r := newStream("ice", 0)
	for range count {
		s.draw(layer, r)
		for c := range 3 {
			m := 0.0
			for i := c; i < len(layer); i += 3 {
				m += layer[i]
			}
			m /= 1024
			mean[c] += m / count
			square[c] += m * m / count
		}
	}
	for c, want := range [3]float64{(77 + 2*199 + 143 + 103) / 5., (148 + 2*203 + 158 + 114) / 5., (165 + 2*212 + 171 + 126) / 5.} {
		near(t, "mean colour", mean[c], want, 2+5*math.Sqrt((square[c]-mean[c]*mean[c])/count))
	}
	f := raster.NewField(colour32, iceA.at)
	for i, frequency := range []float64{1, 2, 4, 8, 16, 22} {
		near(t, "amplitude", iceA.at(frequency), []float64{1, .46, .20, .13, .12, .12}[i], 1e-12)
	}
	plane := make([]float64, 1024)
	f.Draw(plane, r.uniform)
	_, deviation := raster.Moments(plane)
	near(t, "deviation of a field", deviation, 1, 1e-12)
}
