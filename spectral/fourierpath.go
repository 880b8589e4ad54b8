package spectral

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// FourierOptions are the settings of amplitude and phase paths; the zero value agrees with the released code of
// Fridovich-Keil et al. (2022) for CIFAR-10, but for the normalization, which is none.
type FourierOptions struct {
	// Window is w: the frequencies with |u|, |v| ≤ ⌊min(H,W) w⌋ take part. 0 means 0.2, "the lowest
	// 40 %" per axis; 0.1 is ImageNet's phase window, and 0.5 is all frequencies of square images.
	Window float64
	// Radial takes √(u²+v²) ≤ min(H,W) w instead of the square.
	Radial bool
	// Shortest turns phases the shorter way. Else they are blended as plain numbers in (−π, π].
	Shortest bool
	// Points is the number of points, both ends included; 0 means 100. At least 4.
	Points int
	// Normalization is the space in which the paths are made.
	Normalization Normalization
}

type band struct {
	space
	points   int
	shortest bool
	plan     *fourier.Plan[float64]
	work     *fourier.Workspace[float64]
	bins     []int // of the half spectrum, in the window, one of each pair
	plane    []float64
}

func newBand(shape pixel.Shape, o FourierOptions) (*band, error) {
	s, err := newSpace(shape, o.Normalization)
	if err != nil {
		return nil, err
	}
	o.Window = cmp.Or(o.Window, .2)
	o.Points = cmp.Or(o.Points, 100)
	if !(o.Window > 0 && o.Window <= .5) {
		return nil, &InputError{"window", fmt.Sprint(o.Window), "more than 0 and at most 0.5"}
	}
	if o.Points < 4 || o.Points > maxPoints {
		return nil, &InputError{"number of points", fmt.Sprint(o.Points), fmt.Sprintf("4 to %d", maxPoints)}
	}
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		return nil, err
	}
	b := &band{space: s, points: o.Points, shortest: o.Shortest, plan: plan, work: plan.NewWorkspace(),
		plane: make([]float64, shape.Height*shape.Width)}
	b.bins = window(plan.Half(), o.Window, o.Radial)
	return b, nil
}

// window lists the bins of the half spectrum that take part, one of each pair.
func window(h fourier.Half, w float64, radial bool) []int {
	shorter := float64(min(h.Height, h.Width))
	limit := math.Floor(shorter*w + 1e-9) // 0.3·10 is less than 3 in binary
	var bins []int
	for _, k := range slices.Concat(h.Pairs(), h.Real()) {
		u, v := h.Frequency(k)
		x, y := math.Abs(float64(u)), float64(v)
		if radial && math.Hypot(x, y) <= shorter*w || !radial && x <= limit && y <= limit {
			bins = append(bins, k)
		}
	}
	return bins
}

func (b *band) transform(s fourier.Spectrum[float64], image []float64, channel int) {
	b.space.plane(b.plane, image, channel)
	b.plan.Forward(b.work, s, b.plane)
}

// amplitudePath: see NewAmplitude.
type amplitudePath struct {
	*band
	first, second fourier.Spectrum[float64]
	a0, a1        []float64
	from, step    []float64
}

// NewAmplitude makes amplitude paths between images of one shape: the amplitudes of the window go from those of x0 to
// those of x1, straight, with the phases of x0:
//
//	x_λ = IDFT[((1−λ)|X0| + λ|X1|) exp(i arg X0)],  λ = 0, 1/(N−1), …, 1
//
// As it is linear in λ, it is a straight line in pixel space.
func NewAmplitude(shape pixel.Shape, o FourierOptions) (Path, error) {
	b, err := newBand(shape, o)
	if err != nil {
		return nil, err
	}
	h := b.plan.Half()
	return &amplitudePath{b, fourier.NewSpectrum[float64](h), fourier.NewSpectrum[float64](h), make([]float64, h.Len()),
		make([]float64, h.Len()),
		make([]float64, shape.Len()), make([]float64, shape.Len())}, nil
}

func (p *amplitudePath) Set(x0, x1 []float64) (int, error) {
	if err := p.check(x0, x1); err != nil {
		return 0, err
	}
	copy(p.from, x0)
	for c := range p.shape.Channels {
		p.transform(p.first, x0, c)
		p.transform(p.second, x1, c)
		p.plan.Amplitude(p.a0, p.first)
		p.plan.Amplitude(p.a1, p.second)
		change := p.second
		clear(change.Re)
		clear(change.Im)
		for _, k := range p.bins {
			d := p.a1[k] - p.a0[k]
			if change.Re[k] = d; p.a0[k] > 0 { // the phase of zero is zero
				change.Re[k], change.Im[k] = d*(p.first.Re[k]/p.a0[k]), d*(p.first.Im[k]/p.a0[k])
			}
		}
		fourier.Symmetrize(p.plan.Half(), change)
		p.plan.Inverse(p.work, p.plane, change)
		for k, v := range p.plane {
			p.step[k*p.shape.Channels+c] = v * p.std[c]
		}
	}
	return p.points, nil
}

func (p *amplitudePath) Point(dst []float64, j int) {
	lambda := float64(j) / float64(p.points-1)
	for k, x := range p.from {
		dst[k] = x + lambda*p.step[k]
	}
}

// phasePath: see NewPhase.
type phasePath struct {
	*band
	channels []phaseChannel
	blend    fourier.Spectrum[float64]
}

type phaseChannel struct {
	spectrum                 fourier.Spectrum[float64] // of x0
	amplitude, phase, change []float64
}

// NewPhase makes phase paths between images of one shape: the phases of the window go from those of x0 to those of x1,
// with the amplitudes of x0:
//
//	x_λ = Re IDFT[|X0| exp(i((1−λ) arg X0 + λ arg X1))]
//
// A frequency that is its own mirror has phase 0 or π. Between two of different sign its value is |X0| cos(πλ), so the
// mean of a channel ends at its negative.
func NewPhase(shape pixel.Shape, o FourierOptions) (Path, error) {
	b, err := newBand(shape, o)
	if err != nil {
		return nil, err
	}
	h := b.plan.Half()
	p := &phasePath{b, make([]phaseChannel, shape.Channels), fourier.NewSpectrum[float64](h)}
	for c := range p.channels {
		p.channels[c] = phaseChannel{fourier.NewSpectrum[float64](h), make([]float64, h.Len()),
			make([]float64, h.Len()), make([]float64, h.Len())}
	}
	return p, nil
}

func (p *phasePath) Set(x0, x1 []float64) (int, error) {
	if err := p.check(x0, x1); err != nil {
		return 0, err
	}
	for i := range p.channels {
		c := &p.channels[i]
		p.transform(c.spectrum, x0, i)
		p.transform(p.blend, x1, i)
		p.plan.Amplitude(c.amplitude, c.spectrum)
		fourier.Phase(p.plan.Half(), c.phase, c.spectrum)
		fourier.Phase(p.plan.Half(), c.change, p.blend)
		for k := range c.change {
			c.change[k] -= c.phase[k]
			if p.shortest {
				c.change[k] = wrap(c.change[k])
			}
		}
	}
	return p.points, nil
}

// wrap brings the difference of two angles into (−π, π].
func wrap(x float64) float64 {
	if x > math.Pi {
		return x - 2*math.Pi
	}
	if x <= -math.Pi {
		return x + 2*math.Pi
	}
	return x
}

func (p *phasePath) Point(dst []float64, j int) {
	lambda := float64(j) / float64(p.points-1)
	for i := range p.channels {
		c := &p.channels[i]
		copy(p.blend.Re, c.spectrum.Re)
		copy(p.blend.Im, c.spectrum.Im)
		for _, k := range p.bins {
			sin, cos := math.Sincos(c.phase[k] + lambda*c.change[k])
			p.blend.Re[k], p.blend.Im[k] = c.amplitude[k]*cos, c.amplitude[k]*sin
		}
		fourier.Symmetrize(p.plan.Half(), p.blend)
		p.plan.Inverse(p.work, p.plane, p.blend)
		for k, v := range p.plane {
			dst[k*p.shape.Channels+i] = v*p.std[i] + p.mean[i]
		}
	}
}
