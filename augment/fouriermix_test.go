package augment

import (
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

var still = []float64{0, 0, 0, 0}

// shapes are sides of 1, primes, other than equal, and any number of channels.
var shapes = []pixel.Shape{cifar, {Height: 28, Width: 28, Channels: 1}, {Height: 1, Width: 1, Channels: 1}, {Height: 1, Width: 7, Channels: 3},
	{Height: 13, Width: 1, Channels: 2}, {Height: 6, Width: 5, Channels: 4}, {Height: 31, Width: 17, Channels: 3}}

func clone(im Image) Image { return Image{im.Shape, slices.Clone(im.Values)} }

func mustApply(t testing.TB, a Augmentation, im Image, at Address) Image {
	t.Helper()
	out := clone(im)
	if err := a.Apply(out, NewStream(at)); err != nil {
		t.Fatalf("%v of %v: %v", a, im.Shape, err)
	}
	return out
}

// apart is the greatest difference of two images.
func apart(a, b Image) float64 {
	greatest := 0.0
	for i := range a.Values {
		greatest = max(greatest, math.Abs(float64(a.Values[i])-float64(b.Values[i])))
	}
	return greatest
}

// Without strength, the view is the image, whatever w, t and m are.
func TestNoStrengthIsTheImage(t *testing.T) {
	f := FourierMix{Amplitude: []float64{0}, Phase: []float64{0}, Rotation: still, Translation: still, Shear: still}
	for _, mode := range []string{hermitian, realPartMode, modulus} {
		for _, of := range []string{affineOfImage, affineOfSpectral} {
			for _, shape := range shapes {
				f.RealMode, f.AffineOf = mode, of
				im := picture(shape, 3)
				if d := apart(mustApply(t, f, im, Address{View: 5}), im); d > 1e-6 {
					t.Errorf("%v of %v: %v off the image", f, shape, d)
				}
			}
		}
	}
}

// oneChain is a draw of which nothing but the spectral perturbation is left, with A = 1 and φ = 0.
func oneChain(shape pixel.Shape, bins int) *FourierMixDraw {
	c := FourierMixChain{Weight: 1, Spectral: 1, Amplitude: planes(shape.Channels, bins), Phase: planes(shape.Channels, bins)}
	for _, a := range c.Amplitude {
		for k := range a {
			a[k] = 1
		}
	}
	return &FourierMixDraw{Chains: []FourierMixChain{c}}
}

// A constant multiplier scales, a linear phase shifts around, and minus twice the phase reflects in a point.
func TestKnownMultipliers(t *testing.T) {
	for _, shape := range shapes {
		half := fourier.Half{Height: shape.Height, Width: shape.Width}
		im := picture(shape, 4)
		at := func(y, x, c int) float32 {
			h, w := shape.Height, shape.Width
			return im.Values[(((y%h+h)%h)*w+(x%w+w)%w)*shape.Channels+c]
		}
		check := func(what string, d *FourierMixDraw, want func(y, x, c int) float32) {
			t.Helper()
			out := clone(im)
			if err := (FourierMix{}).Mix(out, d); err != nil {
				t.Fatal(err)
			}
			for i, got := range out.Values {
				y, x, c := i/shape.Channels/shape.Width, i/shape.Channels%shape.Width, i%shape.Channels
				if math.Abs(float64(got-want(y, x, c))) > 1e-6 {
					t.Fatalf("%s of %v: value at row %d, column %d is %v; expected %v", what, shape, y, x, got, want(y, x, c))
				}
			}
		}
		d := oneChain(shape, half.Len())
		for _, a := range d.Chains[0].Amplitude {
			for k := range a {
				a[k] = 0.7
			}
		}
		check("scaling", d, func(y, x, c int) float32 { return 0.7 * at(y, x, c) })

		const down, right = 3, -5
		d = oneChain(shape, half.Len())
		for _, phase := range d.Chains[0].Phase {
			for k := range phase {
				u, v := half.Frequency(k)
				phase[k] = -2 * math.Pi * (float64(u*down)/float64(shape.Height) + float64(v*right)/float64(shape.Width))
			}
		}
		check("shift", d, func(y, x, c int) float32 { return at(y-down, x-right, c) })

		d = oneChain(shape, half.Len())
		plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
		if err != nil {
			t.Fatal(err)
		}
		plane, spectrum := make([]float64, shape.Height*shape.Width), fourier.NewSpectrum[float64](half)
		for channel, phase := range d.Chains[0].Phase {
			for k := range plane {
				plane[k] = float64(im.Values[k*shape.Channels+channel])
			}
			plan.Forward(plan.NewWorkspace(), spectrum, plane)
			for k := range phase {
				phase[k] = -2 * math.Atan2(spectrum.Im[k], spectrum.Re[k])
			}
		}
		check("reflection", d, func(y, x, c int) float32 { return at(-y, -x, c) })
	}
}

// direct is the view by its formulas, with sums in place of fast transforms.
func direct(f FourierMix, im Image, d *FourierMixDraw) []float64 {
	h, w, channels := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	half := fourier.Half{Height: h, Width: w}
	out := make([]float64, len(im.Values))
	for channel := range channels {
		x := make([]float64, h*w)
		for k := range x {
			x[k] = float64(im.Values[k*channels+channel])
		}
		mixed := make([]float64, h*w)
		for _, c := range d.Chains {
			perturbed := make([]complex128, h*w)
			for u := range h {
				for v := range w {
					a, phi := 0.0, 0.0
					if f.RealMode == realPartMode || f.RealMode == modulus {
						a, phi = c.Amplitude[channel][u*w+v], c.Phase[channel][u*w+v]
					} else {
						k, conjugate := half.Bin(u, v)
						if a, phi = c.Amplitude[channel][k], c.Phase[channel][k]; conjugate {
							phi = -phi
						}
					}
					bin := 0i
					for k, value := range x {
						bin += complex(value, 0) * cmplx.Rect(1, -2*math.Pi*(float64(u*(k/w))/float64(h)+float64(v*(k%w))/float64(w)))
					}
					bin *= cmplx.Rect(a, phi) / complex(float64(h*w), 0)
					for k := range perturbed {
						perturbed[k] += bin * cmplx.Rect(1, 2*math.Pi*(float64(u*(k/w))/float64(h)+float64(v*(k%w))/float64(w)))
					}
				}
			}
			spectral := make([]float64, h*w)
			for k, z := range perturbed {
				if spectral[k] = real(z); f.RealMode == modulus {
					spectral[k] = cmplx.Abs(z)
				}
				if f.RealMode == hermitian && math.Abs(imag(z)) > 1e-12 {
					panic(fmt.Sprintf("imaginary part %v", imag(z)))
				}
			}
			of := x
			if f.AffineOf == affineOfSpectral {
				of = spectral
			}
			for k := range mixed {
				mixed[k] += c.Weight * (c.Spectral*spectral[k] + (1-c.Spectral)*moved(f, of, h, w, c, k))
			}
		}
		for k := range x {
			v := d.Keep*x[k] + (1-d.Keep)*mixed[k]
			if f.Clip {
				v = min(max(v, 0), 1)
			}
			out[k*channels+channel] = v
		}
	}
	return out
}

// moved is pixel k of the affine map: the inverse of a two by two matrix in general form.
func moved(f FourierMix, x []float64, h, w int, c FourierMixChain, k int) float64 {
	theta := c.Rotation * math.Pi / 180
	m := [4]float64{math.Cos(theta), -math.Cos(theta)*c.Shear - math.Sin(theta), math.Sin(theta), -math.Sin(theta)*c.Shear + math.Cos(theta)}
	det := m[0]*m[3] - m[1]*m[2]
	middleX, middleY := float64(w-1)/2, float64(h-1)/2
	ox, oy := float64(k%w)-middleX-c.Right, float64(k/w)-middleY-c.Down
	px, py := (m[3]*ox-m[1]*oy)/det+middleX, (-m[2]*ox+m[0]*oy)/det+middleY
	read := func(row, column float64) float64 {
		if row < 0 || row >= float64(h) || column < 0 || column >= float64(w) {
			return 0
		}
		return x[int(row)*w+int(column)]
	}
	if f.Sampling != bilinearSampling {
		return read(math.Floor(py+.5), math.Floor(px+.5))
	}
	left, top := math.Floor(px), math.Floor(py)
	dx, dy := px-left, py-top
	return (1-dy)*((1-dx)*read(top, left)+dx*read(top, left+1)) + dy*((1-dx)*read(top+1, left)+dx*read(top+1, left+1))
}

func TestMixIsItsDefinition(t *testing.T) {
	for _, f := range []FourierMix{
		{}, {RealMode: realPartMode}, {RealMode: modulus}, {Sampling: bilinearSampling}, {AffineOf: affineOfSpectral}, {Clip: true, Amplitude: []float64{1}},
		{AmplitudeLaw: signedHalfAmplitude, PhaseLaw: uniformPhase, Phase: []float64{math.Pi}},
		{RealMode: modulus, AffineOf: affineOfSpectral, Sampling: bilinearSampling, ShearUnit: shearFactor, Chains: 1, Rotation: []float64{45, 90, 135, 180}},
		{Shear: []float64{.3, .3, .3, .3}, ShearUnit: shearFactor, Translation: []float64{.5, .5, .5, .5}, Chains: 5},
	} {
		f.RealMode = orDefault(f.RealMode, hermitian)
		for _, shape := range []pixel.Shape{{Height: 8, Width: 8, Channels: 3}, {Height: 6, Width: 5, Channels: 4}, {Height: 1, Width: 7, Channels: 1}, {Height: 11, Width: 1, Channels: 1}, {Height: 1, Width: 1, Channels: 1}} {
			for view := range uint64(4) {
				im, at := picture(shape, view), Address{Seed: 3, View: view}
				d, err := f.Draw(shape, NewStream(at))
				if err != nil {
					t.Fatal(err)
				}
				got, want := mustApply(t, f, im, at), direct(f, im, d)
				again := clone(im)
				if err := f.Mix(again, d); err != nil || !slices.Equal(again.Values, got.Values) {
					t.Errorf("%v of %v: Mix of what Draw draws is not Apply (%v)", f, shape, err)
				}
				for i, v := range got.Values {
					if math.Abs(float64(v)-want[i]) > 2e-7 {
						t.Fatalf("%v of %v, view %d: value %d is %v; by the definition %v", f, shape, view, i, v, want[i])
					}
				}
			}
		}
	}
}

// The mean of a channel changes by the factor of its zero frequency alone.
func TestMeanChangesByTheZeroFrequency(t *testing.T) {
	f := FourierMix{Chains: 1}
	d, err := f.Draw(cifar, NewStream(Address{Seed: 5}))
	if err != nil {
		t.Fatal(err)
	}
	d.Keep, d.Chains[0].Spectral = 0, 1
	im := picture(cifar, 6)
	out := clone(im)
	if err := f.Mix(out, d); err != nil {
		t.Fatal(err)
	}
	var before, after [3]float64
	for i, v := range im.Values {
		before[i%3] += float64(v)
		after[i%3] += float64(out.Values[i])
	}
	for c := range before {
		if ratio := after[c] / before[c]; math.Abs(ratio-d.Chains[0].Amplitude[c][0]) > 1e-6 {
			t.Errorf("channel %d: the mean changes by %v; the factor of the zero frequency is %v", c, ratio, d.Chains[0].Amplitude[c][0])
		}
	}
}
