package augment

import (
	"slices"
	"sync"

	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral/fourier"
)

// room is the plan of transforms of images of one shape, and the room to work in.
type room struct {
	half fourier.Half
	plan *fourier.Plan[float64]
	work *fourier.Workspace[float64]
	pool *sync.Pool

	drawn     FourierMixDraw
	weight    []float64
	word      []byte
	plane     []float64                   // one channel
	sum       [][]float64                 // the augmented part, [channel][pixel]
	image     [][]float64                 // the image, and then the view
	chain     [][]float64                 // the spectral part of one chain
	spectrum  []fourier.Spectrum[float64] // of each channel of the image
	factor    fourier.Spectrum[float64]
	other     fourier.Spectrum[float64]
	whole     fourier.Spectrum[float64]
	wholeX    fourier.Spectrum[float64]
	imaginary []float64
}

// rooms holds a pool of rooms for each shape.
var rooms sync.Map // pixel.Shape to *sync.Pool

func roomFor(shape pixel.Shape) (*room, error) {
	pool, found := rooms.Load(shape)
	if !found {
		first, err := newRoom(shape)
		if err != nil {
			return nil, err
		}
		made := &sync.Pool{}
		made.New = func() any {
			another := *first
			another.allocate(shape)
			another.pool = made
			return &another
		}
		pool, _ = rooms.LoadOrStore(shape, made)
	}
	return pool.(*sync.Pool).Get().(*room), nil
}

func (r *room) release() { r.pool.Put(r) }

func newRoom(shape pixel.Shape) (*room, error) {
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		return nil, err
	}
	r := &room{half: plan.Half(), plan: plan}
	return r, nil
}

// allocate makes the room; a draw alone needs none of it.
func (r *room) allocate(shape pixel.Shape) {
	n := shape.Height * shape.Width
	r.work = r.plan.NewWorkspace()
	r.sum, r.image, r.chain = planes(shape.Channels, n), planes(shape.Channels, n), planes(shape.Channels, n)
	r.spectrum = make([]fourier.Spectrum[float64], shape.Channels)
	for i := range r.spectrum {
		r.spectrum[i] = fourier.NewSpectrum[float64](r.half)
	}
	r.factor, r.other = fourier.NewSpectrum[float64](r.half), fourier.NewSpectrum[float64](r.half)
}

// wholes makes room for whole spectra, which only some modes need.
func (r *room) wholes() {
	if n := r.half.Height * r.half.Width; len(r.whole.Re) != n {
		r.whole = fourier.Spectrum[float64]{Re: make([]float64, n), Im: make([]float64, n)}
		r.imaginary = make([]float64, n)
		r.wholeX = fourier.Spectrum[float64]{Re: make([]float64, n), Im: make([]float64, n)}
	}
}

func (r *room) weights(n int) []float64 {
	r.weight = slices.Grow(r.weight[:0], n)[:n]
	return r.weight
}

func (r *room) words(n int) []byte {
	r.word = slices.Grow(r.word[:0], n)[:n]
	return r.word
}
