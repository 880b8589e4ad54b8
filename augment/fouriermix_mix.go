package augment

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/spectral/fourier"
)

// Mix makes the view with given values in place of drawn ones: Apply is Draw and Mix. The options that shape draws, and
// Chains, do not count here. Errors: values that are not finite, or of another number of channels or bins, as *ImageError.
func (f FourierMix) Mix(im Image, d *FourierMixDraw) error {
	if err := f.prepare(im); err != nil {
		return err
	}
	r, err := roomFor(im.Shape)
	if err != nil {
		return err
	}
	defer r.release()
	reduced, err := f.reduce(d, im, r.half)
	if err != nil {
		return err
	}
	f.mix(im, reduced, r)
	return nil
}

// reduce checks given values, brings phases to [−π, π], and severities to no less than the phases.
func (f FourierMix) reduce(d *FourierMixDraw, im Image, half fourier.Half) (*FourierMixDraw, error) {
	bins := half.Len()
	if orDefault(f.RealMode, Hermitian) != Hermitian {
		bins = half.Height * half.Width
	}
	bad := func(what, expected string) error { return &ImageError{"fouriermix", what, expected} }
	out := &FourierMixDraw{Keep: d.Keep, Chains: append([]FourierMixChain(nil), d.Chains...)}
	sum := d.Keep
	for i := range out.Chains {
		c := &out.Chains[i]
		sum += c.Weight + c.Spectral + c.Rotation + c.Right + c.Down + c.Shear
		if len(c.Amplitude) != im.Shape.Channels || len(c.Phase) != im.Shape.Channels {
			return nil, bad(fmt.Sprintf("chain %d has amplitudes of %d channels and phases of %d", i, len(c.Amplitude), len(c.Phase)), fmt.Sprint(im.Shape.Channels))
		}
		given := c.Phase
		c.Phase = make([][]float64, len(given))
		for channel, phase := range given {
			if len(phase) != bins || len(c.Amplitude[channel]) != bins {
				return nil, bad(fmt.Sprintf("chain %d has %d amplitudes and %d phases in channel %d", i, len(c.Amplitude[channel]), len(phase), channel), fmt.Sprint(bins))
			}
			c.Phase[channel] = make([]float64, bins)
			for k, v := range phase {
				sum += v + c.Amplitude[channel][k]
				v -= float64(2 * math.Pi * math.RoundToEven(v/(2*math.Pi)))
				c.Phase[channel][k] = v
				if !(math.Abs(v) <= c.PhaseSeverity) {
					c.PhaseSeverity = math.Pi
				}
			}
		}
	}
	if sum-sum != 0 {
		return nil, bad("a value of the draw is not finite", "finite values")
	}
	return out, nil
}

func (f FourierMix) mix(im Image, d *FourierMixDraw, r *room) {
	shape := im.Shape
	for i, v := range im.Values {
		r.image[i] = float64(v)
	}
	for channel := range shape.Channels {
		for k := range r.plane {
			r.plane[k] = r.image[k*shape.Channels+channel]
		}
		r.plan.Forward(r.work, r.spectrum[channel], r.plane)
	}
	clear(r.sum)
	if f.RealMode == Modulus || f.AffineOf == AffineOfSpectral {
		for i := range d.Chains {
			c := &d.Chains[i]
			clear(r.chain)
			f.perturb(r.chain, r, shape.Channels, d.Chains[i:i+1], func(*FourierMixChain) float64 { return 1 })
			addScaled(r.sum, r.chain, float64(c.Weight*c.Spectral))
			of := r.image
			if f.AffineOf == AffineOfSpectral {
				of = r.chain
			}
			f.addAffine(r.sum, of, shape, c)
		}
	} else {
		// Mixing is linear, so that one inverse transform does for all chains.
		f.perturb(r.sum, r, shape.Channels, d.Chains, func(c *FourierMixChain) float64 { return float64(c.Weight * c.Spectral) })
		for i := range d.Chains {
			f.addAffine(r.sum, r.image, shape, &d.Chains[i])
		}
	}
	for i, v := range r.image {
		mixed := float64(d.Keep*v) + float64((1-d.Keep)*r.sum[i])
		if f.Clip {
			mixed = min(max(mixed, 0), 1)
		}
		im.Values[i] = float32(mixed)
	}
}

// perturb adds the inverse transforms of X·Σ g·A·exp(iφ) over chains to dst, HWC.
func (f FourierMix) perturb(dst []float64, r *room, channels int, chains []FourierMixChain, share func(*FourierMixChain) float64) {
	whole := orDefault(f.RealMode, Hermitian) != Hermitian
	sum := r.factor
	if whole {
		r.wholes()
		sum = r.whole
	}
	for channel := range channels {
		clear(sum.Re)
		clear(sum.Im)
		for i := range chains {
			c := &chains[i]
			addTurned(sum.Re, sum.Im, c.Amplitude[channel], c.Phase[channel], share(c), c.PhaseSeverity)
		}
		x := r.spectrum[channel]
		if f.RealMode != Modulus {
			if whole {
				fourier.Project(r.half, r.factor, r.other, r.whole)
			}
			multiply(r.factor, x)
			r.plan.Inverse(r.work, r.plane, r.factor)
			scatterAdd(dst, r.plane, channel, channels)
			continue
		}
		fourier.Expand(r.half, r.wholeX, x)
		multiply(r.whole, r.wholeX)
		fourier.Project(r.half, r.factor, r.other, r.whole)
		r.plan.Inverse(r.work, r.plane, r.factor)
		scatterAdd(dst, r.plane, channel, channels)
		r.plan.Inverse(r.work, r.plane, r.other)
		for k, v := range r.plane {
			at := &dst[k*channels+channel]
			*at = math.Sqrt(float64(*at**at) + float64(v*v))
		}
	}
}

// multiply is z·x, in z.
func multiply(z, x fourier.Spectrum[float64]) {
	re, im, xr, xi := z.Re, z.Im[:len(z.Re)], x.Re[:len(z.Re)], x.Im[:len(z.Re)]
	for k, a := range re {
		b := im[k]
		re[k] = float64(a*xr[k]) - float64(b*xi[k])
		im[k] = float64(a*xi[k]) + float64(b*xr[k])
	}
}

func scatterAdd(image, plane []float64, channel, channels int) {
	for k, v := range plane {
		image[k*channels+channel] += v
	}
}

func addScaled(dst, src []float64, scale float64) {
	for i, v := range src {
		dst[i] += float64(scale * v)
	}
}
