package augment

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/spectral/fourier"
)

// Mix makes the view with given values in place of drawn ones: Apply is Draw and Mix. The options that shape draws, and
// Chains, do not count here.
//
// Errors: values that are not finite, or of another number of channels or bins, as *ImageError.
func (f FourierMix) Mix(im Image, d *FourierMixDraw) error {
	if err := f.prepare(im); err != nil {
		return err
	}
	r, err := workspaceFor(im.Shape)
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
	if orDefault(f.RealMode, hermitian) != hermitian {
		bins = half.Height * half.Width
	}
	bad := func(what, expected string) error { return &ImageError{"fouriermix", what, expected} }
	out := &FourierMixDraw{Keep: d.Keep, Chains: append([]FourierMixChain(nil), d.Chains...)}
	sum := d.Keep
	for i := range out.Chains {
		c := &out.Chains[i]
		sum += c.Weight + c.Spectral + c.Rotation + c.Right + c.Down + c.Shear
		if len(c.Amplitude) != im.Shape.Channels || len(c.Phase) != im.Shape.Channels {
			return nil, bad(fmt.Sprintf("chain %d has amplitudes of %d channels and phases of %d", i, len(c.Amplitude),
				len(c.Phase)), fmt.Sprint(im.Shape.Channels))
		}
		given := c.Phase
		c.Phase = make([][]float64, len(given))
		for channel, phase := range given {
			if len(phase) != bins || len(c.Amplitude[channel]) != bins {
				return nil, bad(fmt.Sprintf("chain %d has %d amplitudes and %d phases in channel %d", i,
					len(c.Amplitude[channel]), len(phase), channel), fmt.Sprint(bins))
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

func (f FourierMix) mix(im Image, d *FourierMixDraw, r *workspace) {
	split(r.image, im.Values)
	for channel, plane := range r.image {
		r.plan.Forward(r.work, r.spectrum[channel], plane)
	}
	if f.RealMode == modulus || f.AffineOf == affineOfSpectral {
		for _, plane := range r.sum {
			clear(plane)
		}
		for i := range d.Chains {
			c := &d.Chains[i]
			f.perturb(r.chain, r, d.Chains[i:i+1], func(*FourierMixChain) float64 { return 1 })
			addScaled(r.sum, r.chain, float64(c.Weight*c.Spectral))
			of := r.image
			if f.AffineOf == affineOfSpectral {
				of = r.chain
			}
			f.addAffine(r.sum, of, im.Shape, c)
		}
	} else {
		// Mixing is linear, so that one inverse transform does for all chains.
		f.perturb(r.sum, r, d.Chains, func(c *FourierMixChain) float64 { return float64(c.Weight * c.Spectral) })
		for i := range d.Chains {
			f.addAffine(r.sum, r.image, im.Shape, &d.Chains[i])
		}
	}
	for channel, plane := range r.image {
		sum := r.sum[channel][:len(plane)]
		for k, v := range plane {
			plane[k] = float64(d.Keep*v) + float64((1-d.Keep)*sum[k])
		}
	}
	interleave(im.Values, r.image)
	if f.Clip {
		for i, v := range im.Values {
			im.Values[i] = min(max(v, 0), 1)
		}
	}
}

// perturb writes the inverse transforms of X·Σ g·A·exp(iφ) over chains.
func (f FourierMix) perturb(dst [][]float64, r *workspace, chains []FourierMixChain,
	share func(*FourierMixChain) float64) {
	whole := orDefault(f.RealMode, hermitian) != hermitian
	sum := r.factor
	if whole {
		r.wholes()
		sum = r.whole
	}
	for channel, plane := range dst {
		clear(sum.Re)
		clear(sum.Im)
		for i := range chains {
			c := &chains[i]
			addTurned(sum.Re, sum.Im, c.Amplitude[channel], c.Phase[channel], share(c), c.PhaseSeverity)
		}
		x := r.spectrum[channel]
		switch f.RealMode {
		case realPartMode:
			fourier.Project(r.half, r.factor, r.other, r.whole)
			multiply(r.factor, x)
		case modulus:
			fourier.Expand(r.half, r.wholeX, x)
			multiply(r.whole, r.wholeX)
			fourier.Project(r.half, r.factor, r.other, r.whole)
		default:
			multiply(r.factor, x)
		}
		r.plan.Inverse(r.work, plane, r.factor)
		if f.RealMode == modulus {
			r.plan.Inverse(r.work, r.imaginary, r.other)
			for k, v := range r.imaginary {
				plane[k] = math.Sqrt(float64(plane[k]*plane[k]) + float64(v*v))
			}
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

// split writes the channels of an image to planes of their own.
func split(planes [][]float64, values []float32) {
	if len(planes) == 3 {
		a, b, c := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
		for k := range a {
			v := values[3*k : 3*k+3 : 3*k+3]
			a[k], b[k], c[k] = float64(v[0]), float64(v[1]), float64(v[2])
		}
		return
	}
	for channel, plane := range planes {
		for k := range plane {
			plane[k] = float64(values[k*len(planes)+channel])
		}
	}
}

// interleave is the inverse of split.
func interleave(values []float32, planes [][]float64) {
	if len(planes) == 3 {
		a, b, c := planes[0], planes[1][:len(planes[0])], planes[2][:len(planes[0])]
		for k := range a {
			v := values[3*k : 3*k+3 : 3*k+3]
			v[0], v[1], v[2] = float32(a[k]), float32(b[k]), float32(c[k])
		}
		return
	}
	for channel, plane := range planes {
		for k, v := range plane {
			values[k*len(planes)+channel] = float32(v)
		}
	}
}

func addScaled(dst, src [][]float64, scale float64) {
	for channel, plane := range src {
		to := dst[channel][:len(plane)]
		for k, v := range plane {
			to[k] += float64(scale * v)
		}
	}
}
