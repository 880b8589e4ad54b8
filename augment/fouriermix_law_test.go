package augment

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// draws calls see with so many draws for CIFAR images.
func draws(t *testing.T, f FourierMix, n int, see func(*FourierMixDraw)) {
	t.Helper()
	r, err := newWorkspace(cifar)
	if err != nil {
		t.Fatal(err)
	}
	d := &FourierMixDraw{}
	for i := range n {
		f.draw(d, r, cifar, NewStream(Address{Seed: 9, Image: uint64(i)}))
		see(d)
	}
}

// Noise is drawn on the half plane and mirrored: 510 pairs, and 4 bins with φ = 0.
func TestNoiseIsHermitian(t *testing.T) {
	half := fourier.Half{Height: 32, Width: 32}
	draws(t, FourierMix{}, 3, func(d *FourierMixDraw) {
		for _, c := range d.Chains {
			for channel, a := range c.Amplitude {
				phi := c.Phase[channel]
				alone := map[float64]bool{}
				zero := 0
				for k := range a {
					m := half.Mirror(k)
					if m >= 0 && (a[m] != a[k] || phi[m] != -phi[k]) {
						t.Fatalf("bin %d has %v, %v; its mirror %d has %v, %v", k, a[k], phi[k], m, a[m], phi[m])
					}
					if phi[k] == 0 {
						zero++
					} else {
						alone[math.Abs(phi[k])] = true
					}
				}
				if zero != 4 || len(alone) != 510 {
					t.Fatalf("%d bins without phase and %d different phases; expected 4 and 510", zero, len(alone))
				}
			}
		}
	})
}

// Integrals of the laws: E cos φ is .900640 for the normal law at π/4 (.900316 for the uniform one) and .988620 at π/12, A is uniform
// with variance s²/3, the standard deviation of φ at π/4 is 0.452704 (uniform: 0.453450).
func TestNoiseHasItsLaws(t *testing.T) {
	count := 600
	if testing.Short() {
		count = 100
	}
	for _, c := range []struct {
		f               FourierMix
		s, cosine, turn float64
	}{
		{FourierMix{Phase: []float64{math.Pi / 4}, Amplitude: []float64{.6}}, .6, .900640, .452704},
		{FourierMix{Phase: []float64{math.Pi / 4}, PhaseLaw: uniformPhase, Amplitude: []float64{.2}}, .2, .900316, .453450},
		{FourierMix{Phase: []float64{math.Pi / 12}, Amplitude: []float64{.4}, RealMode: realPartMode}, .4, .988620, 0},
	} {
		var amplitude, cosine, turn []float64
		half := fourier.Half{Height: 32, Width: 32}
		pairs := half.Pairs()
		draws(t, c.f, count, func(d *FourierMixDraw) {
			for _, chain := range d.Chains {
				for channel := range chain.Phase {
					for _, k := range pairs { // of the whole spectrum these are some bins, all of them independent
						amplitude = append(amplitude, chain.Amplitude[channel][k])
						cosine = append(cosine, math.Cos(chain.Phase[channel][k]))
						turn = append(turn, chain.Phase[channel][k])
					}
				}
			}
		})
		s2 := c.s * c.s
		moments(t, c.f.String()+", A", amplitude, 1, s2/3, s2*s2/5)
		var sum, squares float64
		for _, v := range cosine {
			sum += v
			squares += v * v
		}
		n := float64(len(cosine))
		if error := math.Sqrt((squares/n - sum*sum/n/n) / n); math.Abs(sum/n-c.cosine) > 5*error+5e-7 {
			t.Errorf("%v: mean cosine %v ± %v; expected %v", c.f, sum/n, error, c.cosine)
		}
		if c.turn > 0 {
			v := c.turn * c.turn
			moments(t, c.f.String()+", φ", turn, 0, v, v*v*1.8) // nearly uniform: fourth moment 9/5 of the variance squared
		}
	}
}

// 5·Φ⁻¹(c + U(1−2c)) with c = Φ(−π/20) at U = .9 is .6273866 (NormalDist of Python 3.11).
func TestPhaseByInversion(t *testing.T) {
	c := &FourierMixChain{PhaseSeverity: math.Pi / 4}
	u := 0.4 * (1 << 32)
	var word [4]byte
	binary.LittleEndian.PutUint32(word[:], uint32(int32(u)))
	phi := []float64{0}
	FourierMix{}.law(c).phases(phi, word[:])
	if math.Abs(phi[0]-.6273866) > 5e-8 {
		t.Errorf("φ = %v; expected .6273866", phi[0])
	}
	for _, s := range []float64{math.Pi / 12, math.Pi} { // both ends of the law
		c.PhaseSeverity = s
		for _, k := range []int32{math.MinInt32, math.MaxInt32} {
			binary.LittleEndian.PutUint32(word[:], uint32(k))
			FourierMix{}.law(c).phases(phi, word[:])
			if want := math.Copysign(s, float64(k)); math.Abs(phi[0]-want) > 1e-8 {
				t.Errorf("φ at the end of the law is %v; expected %v", phi[0], want)
			}
		}
	}
}

func TestSignedHalfAmplitudes(t *testing.T) {
	f := FourierMix{AmplitudeLaw: signedHalfAmplitude, Amplitude: []float64{.5}}
	up := 0
	var shares []float64
	draws(t, f, 300, func(d *FourierMixDraw) {
		for _, c := range d.Chains {
			if c.Sign > 0 {
				up++
			}
			for _, v := range c.Amplitude[1] {
				share := (v - 1) * c.Sign / .5
				if share < 0 || share > 1 {
					t.Fatalf("A = %v with sign %v", v, c.Sign)
				}
				shares = append(shares, share)
			}
		}
	})
	// 900 fair coins; 5 standard deviations: false alarm below 10⁻⁶. Mirrored bins repeat some numbers, which the margin of moments bears.
	if math.Abs(float64(up)-450) > 75 {
		t.Errorf("%d of 900 chains go up", up)
	}
	moments(t, "share", shares[:510], 1./2, 1./12, 1./80)
}

// The multiplier of the real part has the same mean and half the variance.
func TestRealPartHasHalfTheVariance(t *testing.T) {
	half := fourier.Half{Height: 32, Width: 32}
	plan, err := fourier.NewPlan[float64](32, 32)
	if err != nil {
		t.Fatal(err)
	}
	work, spectrum, plane := plan.NewWorkspace(), fourier.NewSpectrum[float64](half), make([]float64, 1024)
	statistics := func(mode string) (mean, variance float64) {
		f := FourierMix{RealMode: mode, Chains: 1, Phase: []float64{math.Pi / 4}, Amplitude: []float64{.6}}
		var sum, squares, n float64
		im := Image{pixel.Shape{Height: 32, Width: 32, Channels: 1}, make([]float32, 1024)}
		for i := range 400 {
			clear(im.Values)
			im.Values[0] = 1 // its spectrum is 1 everywhere, so that the view's spectrum is the multiplier
			d, err := f.Draw(im.Shape, NewStream(Address{Image: uint64(i)}))
			if err != nil {
				t.Fatal(err)
			}
			d.Keep, d.Chains[0].Spectral = 0, 1
			if err := f.Mix(im, d); err != nil {
				t.Fatal(err)
			}
			for k, v := range im.Values {
				plane[k] = float64(v)
			}
			plan.Forward(work, spectrum, plane)
			for _, k := range half.Pairs() {
				sum += spectrum.Re[k]
				squares += spectrum.Re[k] * spectrum.Re[k]
				n++
			}
		}
		return sum / n, squares/n - sum*sum/n/n
	}
	mean, variance := statistics(hermitian)
	realMean, realVariance := statistics(realPartMode)
	// 204,000 numbers each: the standard error of a mean is below .0008, of the ratio below .003.
	if math.Abs(mean-.900640) > .004 || math.Abs(realMean-.900640) > .004 {
		t.Errorf("means %v and %v; expected .900640", mean, realMean)
	}
	if ratio := realVariance / variance; math.Abs(ratio-.5) > .015 {
		t.Errorf("the variances %v and %v have the ratio %v; expected .5", realVariance, variance, ratio)
	}
}

// Severities uniform, shares uniform, affine components off with probability ½ each, translations of at most
// 1, 3, 4, 5 pixels.
func TestChainsHaveTheirLaws(t *testing.T) {
	random := NewStream(Address{Seed: 4})
	const n = 60_000
	var amplitude, phase map[float64]int = map[float64]int{}, map[float64]int{}
	off, turned := 0, 0
	var shares, angles []float64
	c := &FourierMixChain{}
	f := FourierMix{Rotation: []float64{20, 20, 20, 20}}
	for range n {
		f.drawChain(c, cifar, random)
		amplitude[c.AmplitudeSeverity]++
		phase[c.PhaseSeverity]++
		shares = append(shares, c.Spectral)
		if c.Rotation == 0 {
			if c.Right == 0 && c.Down == 0 && c.Shear == 0 {
				off++
			}
		} else {
			turned++
			angles = append(angles, c.Rotation/20)
		}
	}
	uniform := func(what string, counts map[float64]int) {
		chi := 0.0
		for _, count := range counts {
			d := float64(count) - n/5.
			chi += d * d / (n / 5.)
		}
		if len(counts) != 5 || chi > 33.4 { // χ² with 4 degrees of freedom: false alarm 10⁻⁶
			t.Errorf("%s: %v (χ² %.1f)", what, counts, chi)
		}
	}
	uniform("amplitude severities", amplitude)
	uniform("phase severities", phase)
	moments(t, "t", shares, 1./2, 1./12, 1./80)
	moments(t, "angle", angles, 0, 1./3, 1./5)
	if math.Abs(float64(turned)-n/2) > 5*math.Sqrt(n)/2 {
		t.Errorf("%d of %d chains rotate; expected half", turned, n)
	}
	// Off altogether: 1/8, and a little more, as translations below half a pixel round to none; with bounds of
	// whole sides the share of these is small: see below.
	exact, sum := 0, 0.0
	f.Translation = []float64{1, 1, 1, 1}
	for range n {
		f.drawChain(c, pixel.Shape{Height: 1 << 20, Width: 1 << 20, Channels: 1}, random)
		if c.still() {
			exact++
		}
	}
	if sum = float64(exact) - n/8.; math.Abs(sum) > 5*math.Sqrt(n*7./64) {
		t.Errorf("%d of %d chains move nothing; expected an eighth", exact, n)
	}
	if off < exact-2000 {
		t.Errorf("%d chains move nothing with small translations, %d with great ones", off, exact)
	}
	for i, want := range []float64{1, 3, 4, 5} {
		b := translations[0].values[i]
		f.Translation = []float64{b, b, b, b}
		seen := map[float64]bool{}
		for range 2000 {
			f.drawChain(c, cifar, random)
			seen[c.Right], seen[c.Down] = true, true
		}
		for v := range seen {
			if math.Abs(v) > want {
				t.Errorf("level %d: translation by %v; expected at most %v", i+5, v, want)
			}
		}
		if len(seen) != int(2*want+1) {
			t.Errorf("level %d: %d translations; expected all from −%v to %[3]v", i+5, len(seen), want)
		}
	}
}
