package spectral

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// Source is a stream of images, or of differences of images.
type Source struct {
	Shape pixel.Shape
	Len   int // number of images

	// Plane writes a channel of an image, H×W values in units of the full range, to dst. It is called from several
	// goroutines at once.
	Plane func(dst []float64, image, channel int) error

	// IDs of the images, in their order. With them a Spectrum keeps the profile of every image: 8 bytes an image and
	// ring. Nil: it keeps the means alone.
	IDs []int
}

// Bytes is a source of stored images, HWC, one after the other.
func Bytes(shape pixel.Shape, pixels []uint8) Source {
	return Source{Shape: shape, Len: count(shape, len(pixels)), Plane: func(dst []float64, image, channel int) error {
		x := pixels[image*shape.Len():][:shape.Len()]
		for k := range dst {
			dst[k] = unit[x[k*shape.Channels+channel]]
		}
		return nil
	}}
}

// Difference is a source of the differences of stored images, pixels − minus, pair by pair: what a corruption has
// changed.
func Difference(shape pixel.Shape, pixels, minus []uint8) (Source, error) {
	return difference(shape, pixels, minus, pixel.Steps)
}

// Real is a source of real images, HWC, one after the other, in units of the full range, clipped or not.
func Real(shape pixel.Shape, values []float32) Source {
	return Source{Shape: shape, Len: count(shape, len(values)), Plane: func(dst []float64, image, channel int) error {
		x := values[image*shape.Len():][:shape.Len()]
		for k := range dst {
			dst[k] = float64(x[k*shape.Channels+channel])
		}
		return nil
	}}
}

// RealDifference is Difference of real images.
func RealDifference(shape pixel.Shape, values, minus []float32) (Source, error) {
	return difference(shape, values, minus, 1)
}

func difference[T uint8 | float32](shape pixel.Shape, values, minus []T, steps float64) (Source, error) {
	if len(values) != len(minus) {
		return Source{}, fmt.Errorf("spectral: %d images minus %d images of %v; expected as many",
			count(shape, len(values)), count(shape, len(minus)), shape)
	}
	return Source{Shape: shape, Len: count(shape, len(values)), Plane: func(dst []float64, image, channel int) error {
		x, y := values[image*shape.Len():][:shape.Len()], minus[image*shape.Len():][:shape.Len()]
		for k := range dst {
			at := k*shape.Channels + channel
			dst[k] = (float64(x[at]) - float64(y[at])) / steps
		}
		return nil
	}}, nil
}

func count(shape pixel.Shape, values int) int { return values / max(shape.Len(), 1) }

// unit is the real value of each byte.
var unit = func() (u [256]float64) {
	for b := range u {
		u[b] = float64(b) / pixel.Steps
	}
	return u
}()

// unit32 is the real value of each byte, rounded to float32.
var unit32 = func() (u [256]float32) {
	for b := range u {
		u[b] = float32(unit[b])
	}
	return u
}()

// rounding is about 16 times the relative error of a transform.
const rounding = 1. / (1 << 48)

// Spectrum is the mean of |X| and of |X|² over images and channels, for all frequencies. Amplitudes that rounding alone
// explains, below 2^−48 of the root of the summed power of their half spectrum, count as 0.
type Spectrum struct {
	Images    int `json:"images"`
	Channels  int `json:"channels"`
	Amplitude Map `json:"amplitude"`
	Power     Map `json:"power"`

	Name string `json:"-"` // of the images, for people; "": not known
	IDs  []int  `json:"-"` // of the images, where they are known one by one

	rings [][]float64 // mean amplitude of each image, by its place, on each ring
}

// block is the number of images whose sums are added in one go: the result is the same for any number of
// goroutines.
const block = 64

// MeanSpectrum is the mean amplitude and power spectrum of a source. It keeps a few images at a time. A value that is
// not finite is an error that says where it is.
func MeanSpectrum(ctx context.Context, s Source, report progress.Reporter) (*Spectrum, error) {
	if !s.Shape.Valid() || s.Len < 1 {
		return nil, fmt.Errorf("spectral: spectrum of %d images of %v; expected at least one image and positive sides",
			s.Len, s.Shape)
	}
	plan, err := fourier.NewPlan[float64](s.Shape.Height, s.Shape.Width)
	if err != nil {
		return nil, err
	}
	if s.IDs != nil && len(s.IDs) != s.Len {
		return nil, fmt.Errorf("spectral: %d ids of %d images", len(s.IDs), s.Len)
	}
	half := plan.Half()
	var rings *ringMeter
	if s.IDs != nil {
		rings = newRingMeter(half, s.Len)
	}
	workers := make([]*meter, min(runtime.GOMAXPROCS(0), (s.Len+block-1)/block))
	for i := range workers {
		workers[i] = newMeter(plan, rings)
	}
	amplitude, power := make([]float64, half.Len()), make([]float64, half.Len())
	start, shown := time.Now(), time.Time{}
	for first := 0; first < s.Len; {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var group sync.WaitGroup
		used := 0
		for ; used < len(workers) && first < s.Len; used++ {
			w, from, to := workers[used], first, min(first+block, s.Len)
			group.Go(func() { w.err = w.add(s, from, to) })
			first = to
		}
		group.Wait()
		for _, w := range workers[:used] {
			if w.err != nil {
				return nil, w.err
			}
			for k := range amplitude {
				amplitude[k] += w.amplitude[k]
				power[k] += w.power[k]
			}
		}
		if now := time.Now(); report != nil && (now.Sub(shown) > 200*time.Millisecond || first == s.Len) {
			shown = now
			rate := float64(first) / now.Sub(start).Seconds()
			report(progress.State{Task: "spectrum", Done: float64(first), Total: float64(s.Len), Unit: "images",
				Rate: rate,
				Left: time.Duration(float64(s.Len-first) / rate * float64(time.Second)), Final: first == s.Len})
		}
	}
	planes := float64(s.Len * s.Shape.Channels)
	for k := range amplitude {
		amplitude[k] /= planes
		power[k] /= planes
	}
	of := &Spectrum{Images: s.Len, Channels: s.Shape.Channels, Amplitude: fromHalf(half, amplitude),
		Power: fromHalf(half, power), IDs: s.IDs}
	if rings != nil {
		of.rings = rings.of
	}
	return of, nil
}

// meter sums the spectra of a block.
type meter struct {
	plan             *fourier.Plan[float64]
	work             *fourier.Workspace[float64]
	spectrum         fourier.Spectrum[float64]
	plane, one       []float64
	amplitude, power []float64
	rings            *ringMeter // of all meters; nil: profiles are not kept
	err              error
}

func newMeter(plan *fourier.Plan[float64], rings *ringMeter) *meter {
	h := plan.Half()
	return &meter{plan: plan, work: plan.NewWorkspace(), spectrum: fourier.NewSpectrum[float64](h),
		plane: make([]float64, h.Height*h.Width), rings: rings,
		one: make([]float64, h.Len()), amplitude: make([]float64, h.Len()), power: make([]float64, h.Len())}
}

// ringMeter keeps the profile of each image.
type ringMeter struct {
	places  []int       // of each bin of the half spectrum: its ring among those that have one
	weights []float64   // of each bin: its share of its ring
	count   int         // of rings
	of      [][]float64 // by image and ring
}

func newRingMeter(h fourier.Half, images int) *ringMeter {
	flat := fromHalf(h, make([]float64, h.Len()))
	rings := flat.Profile()
	m := &ringMeter{count: len(rings), of: make([][]float64, images)}
	for k := range h.Len() {
		f := int(math.Round(h.Radius(k)))
		at := slices.IndexFunc(rings, func(r Ring) bool { return r.Frequency == f })
		m.places = append(m.places, at)
		m.weights = append(m.weights, float64(h.Multiplicity(k))/float64(rings[at].Bins))
	}
	return m
}

// add sums the spectra of some images.
func (m *meter) add(s Source, from, to int) error {
	clear(m.amplitude)
	clear(m.power)
	for image := from; image < to; image++ {
		var profile []float64
		if m.rings != nil {
			profile = make([]float64, m.rings.count)
			m.rings.of[image] = profile
		}
		for channel := range s.Shape.Channels {
			if err := s.Plane(m.plane, image, channel); err != nil {
				return err
			}
			m.plan.Forward(m.work, m.spectrum, m.plane)
			m.plan.Amplitude(m.one, m.spectrum)
			total := 0.0
			for _, a := range m.one {
				total += float64(a * a)
			}
			noise := math.Sqrt(total) * rounding
			for k, a := range m.one {
				if a < noise {
					a = 0
				}
				if profile != nil {
					profile[m.rings.places[k]] += float64(a*m.rings.weights[k]) / float64(s.Shape.Channels)
				}
				m.amplitude[k] += a
				m.power[k] += float64(a * a)
			}
			// A value that is not finite reaches every bin.
			if dc := m.one[0]; math.IsNaN(dc) || math.IsInf(dc, 0) {
				return notFinite(m.plane, s.Shape, image, channel)
			}
		}
	}
	return nil
}

func notFinite(plane []float64, shape pixel.Shape, image, channel int) error {
	for k, v := range plane {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("spectral: image %d has the value %v at row %d, column %d, channel %d; expected "+
				"finite values",
				image, v, k/shape.Width, k%shape.Width, channel)
		}
	}
	return fmt.Errorf("spectral: the spectrum of channel %d of image %d overflows", channel, image)
}
