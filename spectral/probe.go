package spectral

import (
	"crypto/sha256"
	"fmt"
	"math"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// Probe adds a Fourier basis image U of one frequency to images, with a sign for each channel (Yin et al. 2019; Sun et
// al. 2021):
//
//	x + ε (r_1, …, r_C) ⊙ U,  r_c ∈ {−1, +1}
//
// ε is the ℓ2 norm in each channel, so all C channels together have ε√C. Nothing is clipped.
//
// On the grid of 8-bit images, ε U is rounded to multiples of 1/255, halves away from zero. So the norm is near to
// that, and exactly Norm.
type Probe struct {
	Frequency Frequency
	shape     pixel.Shape
	// For each set of signs, HWC; bit c of its number is set where channel c has −1.
	real [][]float32 // ε U
	grid [][]int16   // round(255 ε U)
}

// DefaultEpsilon is the norm per channel of the paper.
const DefaultEpsilon = 4

// maxSigned is the number of channels up to which all signs are laid out.
const maxSigned = 8

// NewProbe makes the probe of a frequency at phase 0, of ℓ2 norm epsilon per channel.
func NewProbe(shape pixel.Shape, f Frequency, epsilon float64) (*Probe, error) {
	half, err := fourier.NewHalf(shape.Height, shape.Width)
	if err != nil {
		return nil, err
	}
	if shape.Channels < 1 || shape.Channels > maxSigned {
		return nil, &InputError{"probe's number of channels", fmt.Sprint(shape.Channels), fmt.Sprintf("1 to %d",
			maxSigned)}
	}
	if !(epsilon > 0 && epsilon*pixel.Steps < math.MaxInt16-pixel.Steps) {
		return nil, &InputError{"probe's norm", fmt.Sprint(epsilon), "more than 0 and less than 127"}
	}
	u, err := fourier.Basis(half, f.U, f.V, 0)
	if err != nil {
		return nil, err
	}
	sets := 1 << shape.Channels
	p := &Probe{Frequency: f, shape: shape, real: make([][]float32, sets), grid: make([][]int16, sets)}
	for signs := range sets {
		for _, v := range u {
			value, step := float32(epsilon*v), int16(math.Round(epsilon*v*pixel.Steps))
			for c := range shape.Channels {
				p.real[signs] = append(p.real[signs], flip(value, signs, c))
				p.grid[signs] = append(p.grid[signs], flip(step, signs, c))
			}
		}
	}
	return p, nil
}

func flip[T int16 | float32](x T, signs, channel int) T {
	if signs>>channel&1 == 1 {
		return -x
	}
	return x
}

// Signs are the signs r of an image under a frequency: bit c is set where channel c has −1. They are the first bits of
// SHA-256("spectral probe|v1|SEED|u=U|v=V|image=IMAGE") of the Canonical frequency, so that f and −f have the same.
func Signs(shape pixel.Shape, f Frequency, seed, image uint64) int {
	f = Canonical(shape, f)
	return int(sha256.Sum256(fmt.Appendf(nil, "spectral probe|v1|%d|u=%d|v=%d|image=%d", seed, f.U, f.V, image))[0])
}

// Shared is the same sign in all channels, the first one's.
func Shared(signs int) int { return -(signs & 1) }

// AddTo writes a stored image with the probe added, in grid steps, to dst. It panics where lengths do not fit.
func (p *Probe) AddTo(dst []int16, image []uint8, signs int) {
	n := p.shape.Len()
	if len(dst) != n || len(image) != n {
		panic(fmt.Sprintf("spectral: %d grid values for an image of %d; %v has %d", len(dst), len(image), p.shape, n))
	}
	addBytes(dst, image, p.grid[signs&(len(p.grid)-1)])
}

// AddRealTo is AddTo without rounding, in units of the full range.
func (p *Probe) AddRealTo(dst []float32, image []uint8, signs int) {
	n := p.shape.Len()
	if len(dst) != n || len(image) != n {
		panic(fmt.Sprintf("spectral: %d real values for an image of %d; %v has %d", len(dst), len(image), p.shape, n))
	}
	addUnits(dst, image, p.real[signs&(len(p.real)-1)])
}

// Norm is the ℓ2 norm, over all channels, of what AddTo adds.
func (p *Probe) Norm() float64 {
	sum := 0
	for _, v := range p.grid[0] {
		sum += int(v) * int(v)
	}
	return math.Sqrt(float64(sum)) / pixel.Steps
}

func addBytesPlain(dst []int16, image []uint8, step []int16) {
	image, step = image[:len(dst)], step[:len(dst)]
	for k := range dst {
		dst[k] = int16(image[k]) + step[k]
	}
}

func addUnitsPlain(dst []float32, image []uint8, step []float32) {
	image, step = image[:len(dst)], step[:len(dst)]
	for k := range dst {
		dst[k] = unit32[image[k]] + step[k]
	}
}
