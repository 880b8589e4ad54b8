package raster

import (
	"math"

	"github.com/certspec/certspec/internal/portable"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// Field draws real random fields of given amplitudes: at each pair of frequencies the amplitude
// with a uniform phase φ, and amplitude·cos φ at frequencies that are their own mirror, then
// everything divided by the standard deviation over the image. That is the law of the real part of
// a spectrum of independent phases whose mirrored halves agree.
type Field struct {
	plan      *fourier.Plan[float64]
	workspace *fourier.Workspace[float64]
	spectrum  fourier.Spectrum[float64]
	pairs     []int
	reals     []int
	amplitude []float64 // of each bin of the half spectrum
}

// NewField takes the amplitude of each azimuthal frequency, in periods per shorter side.
func NewField(shape pixel.Shape, amplitude func(frequency float64) float64) *Field {
	plan := MustPlan(shape)
	half := plan.Half()
	f := &Field{plan: plan, workspace: plan.NewWorkspace(), spectrum: fourier.NewSpectrum[float64](half),
		pairs: half.Pairs(), reals: half.Real(), amplitude: make([]float64, half.Len())}
	for k := range f.amplitude {
		f.amplitude[k] = amplitude(half.Radius(k))
	}
	return f
}

// MustPlan makes the transform of a shape that has been checked.
func MustPlan(shape pixel.Shape) *fourier.Plan[float64] {
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		panic("raster: " + err.Error())
	}
	return plan
}

// Draw fills one plane; uniform gives numbers in [0, 1).
func (f *Field) Draw(plane []float64, uniform func() float64) {
	for _, k := range f.pairs {
		sin, cos := portable.Sincos(2 * math.Pi * uniform())
		f.spectrum.Re[k], f.spectrum.Im[k] = float64(f.amplitude[k]*cos), float64(f.amplitude[k]*sin)
	}
	for _, k := range f.reals {
		_, cos := portable.Sincos(2 * math.Pi * uniform())
		f.spectrum.Re[k], f.spectrum.Im[k] = float64(f.amplitude[k]*cos), 0
	}
	fourier.Symmetrize(f.plan.Half(), f.spectrum)
	f.plan.Inverse(f.workspace, plane, f.spectrum)
	_, deviation := Moments(plane)
	for i := range plane {
		plane[i] /= deviation
	}
}

// Moments are the mean and the standard deviation over all values; the latter is at least a tiny positive number.
func Moments(v []float64) (mean, deviation float64) {
	for _, v := range v {
		mean += v
	}
	mean /= float64(len(v))
	sum := 0.0
	for _, v := range v {
		d := v - mean
		sum += float64(d * d)
	}
	return mean, max(math.Sqrt(sum/float64(len(v))), 1e-300)
}
