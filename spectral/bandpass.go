package spectral

import (
	"context"
	"fmt"
	"math"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

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

// transformer transforms one channel after the other.
type transformer struct {
	plan  *fourier.Plan[float64]
	work  *fourier.Workspace[float64]
	half  fourier.Spectrum[float64]
	plane []float64
}

func newTransformer(shape pixel.Shape) *transformer {
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		panic("spectral: " + err.Error())
	}
	return &transformer{plan, plan.NewWorkspace(), fourier.NewSpectrum[float64](plan.Half()),
		make([]float64, shape.Height*shape.Width)}
}

// store writes the inverse of the half spectrum to a channel of an image of bytes.
func (t *transformer) store(image []uint8, shape pixel.Shape, channel int) {
	t.plan.Inverse(t.work, t.plane, t.half)
	for k, v := range t.plane {
		image[k*shape.Channels+channel] = uint8(math.Round(min(max(v, 0), 1) * pixel.Steps))
	}
}
