package corrupt

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/corrupt/internal/raster"
	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

func (s Setting) checkFourier(bad func(what, expected string) error) error {
	switch {
	case s.Severity != 0:
		return bad(fmt.Sprintf("severity %d", s.Severity), "none; its strength is eps")
	case s.Centre < 1 || s.Centre > 1024:
		return bad(fmt.Sprintf("fc %d", s.Centre), "1 to 1024 periods per image, published 1 to 16")
	case !(s.Decay >= 0 && s.Decay <= 64):
		return bad(fmt.Sprintf("alpha %v", s.Decay), "0 to 64, published 0.5, 1, 2, 3")
	case !(s.Norm > 0 && s.Norm <= 1e6):
		return bad(fmt.Sprintf("eps %v", s.Norm), "more than 0 and at most 1e6, published 8, 10, 12")
	}
	return nil
}

// fourierNoise adds noise δ around a ring of the spectrum (Sun et al. 2021, §6.1, equation 5): at
// each frequency of azimuth f, per channel,
//
//	|δ| = clip(|X|, 20, 200) / (|f − fc| + 1)^α · U(0.8, 1.2),  arg δ uniform in [0, 2π),
//
// mirrored so that the noise is real (at frequencies that are their own mirror the phase is 0 or
// π); scaled to an ℓ2 norm of ε over all values of the image; the sum is clipped to [0, 1] and
// rounded to bytes, halves away from 0.
func fourierNoise(j job) func() operator {
	if j.Archive {
		return archiveNoise(j)
	}
	ring := newRing(j.shape, j.Centre, j.Decay, shared.FourierSpread)
	n := j.shape.Height * j.shape.Width
	return func() operator {
		noise := ring.sampler()
		return func(dst, src []uint8, r *stream) {
			planes, norm := noise.draw(src, r)
			gain := j.Norm / norm
			for i, b := range src {
				v := min(max(unit[b]+float64(gain*planes[i%j.shape.Channels*n+i/j.shape.Channels]), 0), 1)
				dst[i] = uint8(float64(v*255) + 0.5)
			}
		}
	}
}

// ring is the law of the noise around one ring, before it is scaled.
type ring struct {
	shape        pixel.Shape
	plan         *fourier.Plan[float64]
	pairs, reals []int
	weights      []float64 // 1/(|f − fc| + 1)^α of each bin of the half spectrum
	size         float64   // what the bounds of the amplitudes are multiplied by
	spread       float64
}

func newRing(shape pixel.Shape, centre int, decay, spread float64) *ring {
	plan := raster.MustPlan(shape)
	half := plan.Half()
	g := &ring{shape: shape, plan: plan, pairs: half.Pairs(), reals: half.Real(), weights: make([]float64, half.Len()),
		size: float64(shape.Height*shape.Width) / (published * published), spread: spread}
	for k := range g.weights {
		g.weights[k] = 1 / portable.Pow(math.Abs(half.Radius(k)-float64(centre))+1, decay)
	}
	return g
}

// ringSampler draws the noise in one goroutine.
type ringSampler struct {
	*ring
	workspace *fourier.Workspace[float64]
	spectrum  fourier.Spectrum[float64]
	planes    []float64 // one after the other for each channel
}

func (g *ring) sampler() *ringSampler {
	return &ringSampler{g, g.plan.NewWorkspace(), fourier.NewSpectrum[float64](g.plan.Half()),
		make([]float64, g.shape.Len())}
}

// draw gives the noise, channel by channel, and its ℓ2 norm over all of them. Per channel it draws,
// for each of the pairs in the order of the half spectrum, U and then the phase, and for each
// frequency that is its own mirror U and then the sign.
func (s *ringSampler) draw(src []uint8, r *stream) (planes []float64, norm float64) {
	half, re, im := s.plan.Half(), s.spectrum.Re, s.spectrum.Im
	n := len(s.planes) / s.shape.Channels
	amplitude := func(k int) float64 {
		clean := math.Sqrt(float64(re[k]*re[k]) + float64(im[k]*im[k]))
		return float64(min(max(clean, shared.FourierLower*s.size), shared.FourierUpper*s.size) * s.weights[k] *
			r.between(1-s.spread, 1+s.spread))
	}
	sum := 0.0
	for c := range s.shape.Channels {
		plane := s.planes[c*n : (c+1)*n]
		for i := range plane {
			plane[i] = unit[src[i*s.shape.Channels+c]]
		}
		s.plan.Forward(s.workspace, s.spectrum, plane)
		for _, k := range s.pairs {
			a := amplitude(k)
			sin, cos := portable.Sincos(2 * math.Pi * r.uniform())
			re[k], im[k] = float64(a*cos), float64(a*sin)
		}
		for _, k := range s.reals {
			a := amplitude(k)
			if r.uniform() >= 0.5 {
				a = -a
			}
			re[k], im[k] = a, 0
		}
		fourier.Symmetrize(half, s.spectrum)
		s.plan.Inverse(s.workspace, plane, s.spectrum)
		for _, v := range plane {
			sum += float64(v * v)
		}
	}
	return s.planes, math.Sqrt(sum)
}
