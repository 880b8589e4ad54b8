package augment

import (
	"slices"
	"sync"

	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
)

// workspace is the plan of transforms of images of one shape, and the memory to work in.
type workspace struct {
	half fourier.Half
	plan *fourier.Plan[float64]
	work *fourier.Workspace[float64]
	pool *sync.Pool

	drawn     FourierMixDraw
	weight    []float64
	word      []byte
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

// workspaces holds a pool of workspaces for each shape.
var workspaces sync.Map // pixel.Shape to *sync.Pool

func workspaceFor(shape pixel.Shape) (*workspace, error) {
	pool, found := workspaces.Load(shape)
	if !found {
		first, err := newWorkspace(shape)
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
		pool, _ = workspaces.LoadOrStore(shape, made)
	}
	return pool.(*sync.Pool).Get().(*workspace), nil
}

func (r *workspace) release() { r.pool.Put(r) }

func newWorkspace(shape pixel.Shape) (*workspace, error) {
	plan, err := fourier.NewPlan[float64](shape.Height, shape.Width)
	if err != nil {
		return nil, err
	}
	r := &workspace{half: plan.Half(), plan: plan}
	return r, nil
}

// allocate allocates it; a draw alone needs none of it.
func (r *workspace) allocate(shape pixel.Shape) {
	n := shape.Height * shape.Width
	r.work = r.plan.NewWorkspace()
	r.sum, r.image, r.chain = planes(shape.Channels, n), planes(shape.Channels, n), planes(shape.Channels, n)
	r.spectrum = make([]fourier.Spectrum[float64], shape.Channels)
	for i := range r.spectrum {
		r.spectrum[i] = fourier.NewSpectrum[float64](r.half)
	}
	r.factor, r.other = fourier.NewSpectrum[float64](r.half), fourier.NewSpectrum[float64](r.half)
}

// wholes makes memory for whole spectra, which only some modes need.
func (r *workspace) wholes() {
	if n := r.half.Height * r.half.Width; len(r.whole.Re) != n {
		r.whole = fourier.Spectrum[float64]{Re: make([]float64, n), Im: make([]float64, n)}
		r.imaginary = make([]float64, n)
		r.wholeX = fourier.Spectrum[float64]{Re: make([]float64, n), Im: make([]float64, n)}
	}
}

func (r *workspace) weights(n int) []float64 {
	r.weight = slices.Grow(r.weight[:0], n)[:n]
	return r.weight
}

func (r *workspace) words(n int) []byte {
	r.word = slices.Grow(r.word[:0], n)[:n]
	return r.word
}
