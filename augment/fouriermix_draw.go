package augment

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// FourierMixDraw is all the chance of one view, as values.
type FourierMixDraw struct {
	Keep   float64 // m, the share of the image itself
	Chains []FourierMixChain
}

// FourierMixChain holds the random choices of one chain.
type FourierMixChain struct {
	Weight            float64 // w
	Spectral          float64 // t, the share of the spectral perturbation beside the affine map
	AmplitudeSeverity float64
	PhaseSeverity     float64 // radians
	Sign              float64 // of signedHalfAmplitude: −1 or 1; else 0
	Rotation          float64 // degrees
	Right, Down       float64 // translation, whole pixels
	Shear             float64 // tan ψ

	// A and φ of each channel, [channel][bin]: the half spectrum row by row (see fourier.Half), or, in the
	// modes realPartMode and modulus, all bins row by row.
	Amplitude, Phase [][]float64
}

// Draw draws the chance of one view of an image of the shape, as Apply does.
func (f FourierMix) Draw(shape pixel.Shape, random *Stream) (*FourierMixDraw, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	r, err := newWorkspace(shape)
	if err != nil {
		return nil, err
	}
	d := &FourierMixDraw{}
	f.draw(d, r, shape, random)
	return d, nil
}

// draw fills d, reusing what it holds.
func (f FourierMix) draw(d *FourierMixDraw, r *workspace, shape pixel.Shape, random *Stream) {
	chains := orDefault(f.Chains, defaultChains)
	if len(d.Chains) != chains {
		d.Chains = make([]FourierMixChain, chains)
	}
	weights := r.weights(chains)
	random.Simplex(weights)
	for i := range d.Chains {
		f.drawChain(&d.Chains[i], shape, random)
		d.Chains[i].Weight = weights[i]
	}
	d.Keep = random.Float64()
	for i := range d.Chains {
		f.drawNoise(&d.Chains[i], r, shape, random)
	}
}

func (f FourierMix) drawChain(c *FourierMixChain, shape pixel.Shape, random *Stream) {
	amplitude, phase := orList(f.Amplitude, amplitudes), orList(f.Phase, phases)
	c.AmplitudeSeverity = amplitude[random.IntN(len(amplitude))]
	c.PhaseSeverity = phase[random.IntN(len(phase))]
	c.Sign = 0
	if f.AmplitudeLaw == signedHalfAmplitude {
		c.Sign = random.Sign()
	}
	c.Spectral = random.Float64()
	bound := func(bounds []float64) float64 {
		if level := random.IntN(levels); level >= levels/2 {
			return bounds[level-levels/2]
		}
		return 0
	}
	rotation := bound(orList(f.Rotation, rotations))
	translation := bound(orList(f.Translation, translations))
	shear := bound(orList(f.Shear, shears))
	// A number in (−1, 1) times a bound; 0 times it is never −0, which would print oddly.
	within := func(b float64) float64 { return float64(random.Between(-1, 1)*b) + 0 }
	c.Rotation = within(rotation)
	c.Right = math.Round(within(float64(translation * float64(shape.Width))))
	c.Down = math.Round(within(float64(translation * float64(shape.Height))))
	if c.Shear = within(shear); orDefault(f.ShearUnit, shearDegrees) == shearDegrees {
		sin, cos := portable.Sincos(c.Shear * (math.Pi / 180))
		c.Shear = sin / cos
	}
}

// drawNoise draws A and φ of a chain.
func (f FourierMix) drawNoise(c *FourierMixChain, r *workspace, shape pixel.Shape, random *Stream) {
	bins := r.half.Len()
	whole := orDefault(f.RealMode, hermitian) != hermitian
	if whole {
		bins = shape.Height * shape.Width
	}
	if len(c.Amplitude) != shape.Channels || len(c.Amplitude[0]) != bins {
		c.Amplitude, c.Phase = planes(shape.Channels, bins), planes(shape.Channels, bins)
	}
	law := f.law(c)
	words := r.words(8 * bins)
	for channel := range shape.Channels {
		random.fill(words)
		a, phi := c.Amplitude[channel], c.Phase[channel]
		law.amplitudes(a, words[:4*bins])
		law.phases(phi, words[4*bins:])
		if !whole {
			fourier.Symmetrize(r.half, fourier.Spectrum[float64]{Re: a, Im: phi})
		}
	}
}

func planes(count, length int) [][]float64 {
	values := make([]float64, count*length)
	list := make([][]float64, count)
	for i := range list {
		list[i] = values[i*length : (i+1)*length : (i+1)*length]
	}
	return list
}

// noiseLaw turns uniform numbers u in (−½, ½) into A = base + slope·u and into φ: of the uniform law span·u, else the
// quantile phaseSigma·Φ⁻¹(½ + span·u).
type noiseLaw struct {
	base, slope float64
	span        float64
	normal      bool
}

func (f FourierMix) law(c *FourierMixChain) noiseLaw {
	l := noiseLaw{base: 1, slope: 2 * c.AmplitudeSeverity, span: 2 * c.PhaseSeverity}
	if c.Sign != 0 {
		l.base, l.slope = 1+float64(c.Sign*c.AmplitudeSeverity/2), float64(c.Sign*c.AmplitudeSeverity)
	}
	if orDefault(f.PhaseLaw, normalPhase) == normalPhase {
		l.normal = true
		l.span = 1 - 2*portable.NormalCDF(-c.PhaseSeverity/phaseSigma)
	}
	return l
}
