package fouriermix

import (
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/pixel"
)

// Draws is all the chance of M views, drawn on the host from the streams that augment.FourierMix.Apply reads.
type Draws struct {
	method augment.FourierMix
	shape  pixel.Shape
	chains int
	bins   int // of a channel

	keep, weight, spectral []float32 // [M], [M, chains], [M, chains]
	amplitude, phase       []float32 // [M, chains, channels, bins]
	maps                   *Maps     // of M·chains
}

// NewDraws makes room for the draws of views by f. An option that is out of its range, and a shape
// without a pixel, are errors.
func NewDraws(f augment.FourierMix, shape pixel.Shape, views int) (*Draws, error) {
	// One draw checks the options and knows how many chains and bins there are.
	first, err := f.Draw(shape, augment.NewStream(augment.Address{}))
	if err != nil {
		return nil, err
	}
	d := &Draws{method: f, shape: shape, chains: len(first.Chains), bins: len(first.Chains[0].Amplitude[0])}
	n := views * d.chains
	d.keep, d.weight, d.spectral = make([]float32, views), make([]float32, n), make([]float32, n)
	d.amplitude, d.phase = make([]float32, n*shape.Channels*d.bins), make([]float32, n*shape.Channels*d.bins)
	d.maps = NewMaps(shape, n)
	return d, nil
}

// Draw draws view i from a stream. Different views may be drawn at once.
func (d *Draws) Draw(i int, random *augment.Stream) error {
	drawn, err := d.method.Draw(d.shape, random)
	if err != nil {
		return err
	}
	d.keep[i] = float32(drawn.Keep)
	for k := range drawn.Chains {
		c, at := &drawn.Chains[k], i*d.chains+k
		d.weight[at], d.spectral[at] = float32(c.Weight), float32(c.Spectral)
		for channel := range c.Amplitude {
			first := (at*d.shape.Channels + channel) * d.bins
			narrow(d.amplitude[first:], c.Amplitude[channel])
			narrow(d.phase[first:], c.Phase[channel])
		}
		d.maps.Set(at, c.Inverse(d.shape), d.method.Sampling != "bilinear")
	}
	return nil
}

func narrow(dst []float32, src []float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = float32(v)
	}
}

// Tensors are the inputs of Mix behind the images; the caller frees them.
func (d *Draws) Tensors() []*tensors.Tensor {
	m, c := len(d.keep), d.shape.Channels
	return append([]*tensors.Tensor{
		tensors.FromFlatDataAndDimensions(d.keep, m),
		tensors.FromFlatDataAndDimensions(d.weight, m, d.chains),
		tensors.FromFlatDataAndDimensions(d.spectral, m, d.chains),
		tensors.FromFlatDataAndDimensions(d.amplitude, m, d.chains, c, d.shape.Height, d.columns()),
		tensors.FromFlatDataAndDimensions(d.phase, m, d.chains, c, d.shape.Height, d.columns()),
	}, d.maps.Tensors()...)
}

// columns of the spectra: those of the half spectrum, or all.
func (d *Draws) columns() int { return d.bins / d.shape.Height }
