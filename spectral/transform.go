package spectral

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// Transform returns the discrete Fourier transform of each channel of an image of bytes, HWC, in units of the full
// range:
//
//	X[u,v] = Σ_{a,b} x[a,b] exp(−2πi(ua/H + vb/W))
//
// The value of the frequency (u, v) stands at (u mod H)·W + (v mod W); a channel's mean is its value at 0 over H·W. It
// panics where the image is not of the shape.
func Transform(shape pixel.Shape, image []uint8) [][]complex128 {
	t := newTransformer(shape)
	if len(image) != shape.Len() {
		panic(fmt.Sprintf("spectral: image of %d bytes; %v has %d", len(image), shape, shape.Len()))
	}
	half, source := t.plan.Half(), Bytes(shape, image)
	out := make([][]complex128, shape.Channels)
	for channel := range out {
		_ = source.Plane(t.plane, 0, channel) // which fails for no bytes
		t.plan.Forward(t.work, t.half, t.plane)
		fourier.Expand(half, t.whole, t.half)
		out[channel] = make([]complex128, len(t.plane))
		for k := range t.plane {
			out[channel][k] = complex(t.whole.Re[k], t.whole.Im[k])
		}
	}
	return out
}

// Inverse returns the image of bytes, HWC, of what Transform gives, rounded and clipped to the range. Only the real
// part of the inverse transform counts. It panics where the channels are not of the shape.
func Inverse(shape pixel.Shape, channels [][]complex128) []uint8 {
	t := newTransformer(shape)
	if len(channels) != shape.Channels {
		panic(fmt.Sprintf("spectral: %d channels of a transform; %v has %d", len(channels), shape, shape.Channels))
	}
	out := make([]uint8, shape.Len())
	imaginary := fourier.NewSpectrum[float64](t.plan.Half())
	for channel, values := range channels {
		if len(values) != len(t.plane) {
			panic(fmt.Sprintf("spectral: %d values of a transform; a channel of %v has %d", len(values), shape,
				len(t.plane)))
		}
		for k, z := range values {
			t.whole.Re[k], t.whole.Im[k] = real(z), imag(z)
		}
		fourier.Project(t.plan.Half(), t.half, imaginary, t.whole)
		t.store(out, shape, channel)
	}
	return out
}

// transformer transforms one channel after the other.
type transformer struct {
	plan        *fourier.Plan[float64]
	work        *fourier.Workspace[float64]
	half, whole fourier.Spectrum[float64]
	plane       []float64
}

func newTransformer(shape pixel.Shape) *transformer {
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		panic("spectral: " + err.Error())
	}
	t := &transformer{plan: plan, work: plan.NewWorkspace(), half: fourier.NewSpectrum[float64](plan.Half()),
		plane: make([]float64, shape.Height*shape.Width)}
	t.whole = fourier.Spectrum[float64]{Re: make([]float64, len(t.plane)), Im: make([]float64, len(t.plane))}
	return t
}

// store writes the inverse of the half spectrum to a channel of an image of bytes.
func (t *transformer) store(image []uint8, shape pixel.Shape, channel int) {
	t.plan.Inverse(t.work, t.plane, t.half)
	for k, v := range t.plane {
		image[k*shape.Channels+channel] = uint8(math.Round(min(max(v, 0), 1) * pixel.Steps))
	}
}

// BandPass returns the data set of the same images with the frequencies f of from ≤ f < to alone: azimuthal
// frequencies √(u² + v²), in periods per shorter side. The mean of each channel stays. Values are rounded to bytes and
// clipped. So BandPass(d, 0, k) is coarse, BandPass(d, k, n) fine, and each is a data set of its own name.
//
// A range that is empty or begins below 0 is an *InputError of Load.
func BandPass(data *dataset.Dataset, from, to int) *dataset.Dataset {
	apply := func(ctx context.Context, shape pixel.Shape, ids []int, pixels []uint8) ([]uint8, error) {
		if from < 0 || to <= from {
			return nil, &InputError{"band", fmt.Sprintf("%d to %d", from, to), "0 ≤ from < to, in periods"}
		}
		if _, err := fourier.NewHalf(shape.Height, shape.Width); err != nil {
			return nil, err
		}
		t, out, source := newTransformer(shape), make([]uint8, len(pixels)), Bytes(shape, pixels)
		for i := range ids {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			for channel := range shape.Channels {
				_ = source.Plane(t.plane, i, channel) // which fails for no bytes
				t.plan.Forward(t.work, t.half, t.plane)
				for k := 1; k < t.plan.Half().Len(); k++ { // the first is the mean
					if f := t.plan.Half().Radius(k); f < float64(from) || f >= float64(to) {
						t.half.Re[k], t.half.Im[k] = 0, 0
					}
				}
				t.store(out[i*shape.Len():][:shape.Len()], shape, channel)
			}
		}
		return out, nil
	}
	return data.Changed(dataset.Change{Name: fmt.Sprintf("band=%d-%d", from, to), Apply: apply})
}
