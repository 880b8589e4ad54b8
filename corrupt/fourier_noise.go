package corrupt

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/spectral/fourier"
)

const (
	fourierName = "fourier"

	// The bounds of the amplitudes, of the unnormalised transform of 32×32 values in [0, 1]; other sizes in proportion to
	// the number of pixels. They stand in the authors' archive, not in the paper.
	fourierLower, fourierUpper = 20.0, 200.0

	fourierSpread = 0.2 // b of U(1−b, 1+b)
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

// fourierNoise adds noise δ around a ring of the spectrum (Sun et al. 2021, §5 and appendix B): at each frequency of azimuth f, per channel,
//
//	|δ| = clip(|X|, 20, 200) / (|f − fc| + 1)^α · U(0.8, 1.2),  arg δ uniform in [0, 2π),
//
// mirrored so that the noise is real (at frequencies that are their own mirror the phase is 0 or π); scaled to an ℓ2 norm of ε over all values of the
// image; the sum is clipped to [0, 1] and rounded to bytes, halves away from 0.
func fourierNoise(j job) func() operator {
	shape := j.shape
	plan := mustPlan(shape)
	half := plan.Half()
	pairs, reals := half.Pairs(), half.Real()
	weights := make([]float64, half.Len())
	for k := range weights {
		weights[k] = 1 / portable.Pow(math.Abs(half.Radius(k)-float64(j.Centre))+1, j.Decay)
	}
	n := shape.Height * shape.Width
	size := float64(n) / (published * published)
	return func() operator {
		workspace, spectrum := plan.NewWorkspace(), fourier.NewSpectrum[float64](half)
		planes := make([]float64, shape.Len())
		// at draws the amplitude of the noise at a bin that still holds the image's spectrum.
		at := func(k int, r *stream) float64 {
			amplitude := math.Sqrt(float64(spectrum.Re[k]*spectrum.Re[k]) + float64(spectrum.Im[k]*spectrum.Im[k]))
			clipped := min(max(amplitude, fourierLower*size), fourierUpper*size)
			return clipped * weights[k] * r.between(1-fourierSpread, 1+fourierSpread)
		}
		return func(dst, src []uint8, r *stream) {
			sum := 0.0
			for c := range shape.Channels {
				plane := planes[c*n : (c+1)*n]
				for i := range plane {
					plane[i] = unit[src[i*shape.Channels+c]]
				}
				plan.Forward(workspace, spectrum, plane)
				for _, k := range pairs {
					a := at(k, r)
					sin, cos := portable.Sincos(2 * math.Pi * r.uniform())
					spectrum.Re[k], spectrum.Im[k] = a*cos, a*sin
				}
				for _, k := range reals {
					a := at(k, r)
					if r.uniform() >= 0.5 {
						a = -a
					}
					spectrum.Re[k], spectrum.Im[k] = a, 0
				}
				fourier.Symmetrize(half, spectrum)
				plan.Inverse(workspace, plane, spectrum)
				for _, v := range plane {
					sum += float64(v * v)
				}
			}
			gain := j.Norm / math.Sqrt(sum)
			for i, b := range src {
				noise := gain * planes[i%shape.Channels*n+i/shape.Channels]
				v := min(max(unit[b]+noise, 0), 1)
				dst[i] = uint8(float64(v*255) + 0.5)
			}
		}
	}
}
