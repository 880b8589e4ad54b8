package fourier

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/portable"
)

// Basis is the Fourier basis image of the frequency (i, j), row-major H×W,
//
//	U[a,b] = κ cos(2π(ia/H + jb/W) + φ),  ‖U‖ = 1
//
// with κ = √(2/(HW)) and, where (i, j) is its own mirror, 1/(√(HW) |cos φ|): the largest value is √2/32 and 1/32
// for 32×32 and φ = 0. The spectrum is zero but at ±(i, j), so that U of −(i, j) is the same image for φ = 0.
// Basis images of φ = 0 are orthogonal unless their frequencies are equal or opposite. Yin et al. (2019)
// corresponds to φ = π/4. Frequencies count modulo the sides.
func Basis(h Half, i, j int, phase float64) ([]float64, error) {
	if _, err := NewHalf(h.Height, h.Width); err != nil {
		return nil, err
	}
	if !(math.Abs(phase) <= 2*math.Pi) {
		return nil, fmt.Errorf("fourier: basis image of phase %v; expected radians from −2π to 2π", phase)
	}
	sinPhase, cosPhase := portable.Sincos(phase)
	n := h.Height * h.Width
	scale := math.Sqrt(2 / float64(n))
	k, _ := h.Bin(i, j)
	if h.Mirror(k) == k {
		if math.Abs(cosPhase) < 1e-8 {
			return nil, fmt.Errorf("fourier: basis image of frequency (%d, %d), which is its own mirror, is zero at "+
				"phase %v", i, j, phase)
		}
		scale = 1 / (math.Sqrt(float64(n)) * math.Abs(cosPhase))
	}
	i, j = modulo(i, h.Height), modulo(j, h.Width)
	image := make([]float64, n)
	for a := range h.Height {
		vertical := i * a % h.Height * h.Width
		for b := range h.Width {
			cos, sin := turn(vertical+j*b%h.Width*h.Height, n)
			image[a*h.Width+b] = scale * (float64(cos*cosPhase) - float64(sin*sinPhase))
		}
	}
	return image, nil
}
