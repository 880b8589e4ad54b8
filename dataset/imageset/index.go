package imageset

import (
	"context"
	"fmt"
	"io"
	"iter"
	"runtime"
	"slices"

	"github.com/certspec/certspec/progress"
)

// Source is a set of images that is loaded when it is needed; a *dataset.Dataset is one. Where it has Index, as that
// has, images are read one by one.
type Source interface {
	Load(ctx context.Context) (*Images, error)
}

// Open gives the index of a source. Images that are loaded for it are all in memory.
func Open(ctx context.Context, data Source, report progress.Reporter) (*Index, error) {
	if d, ok := data.(interface {
		Index(context.Context, progress.Reporter) (*Index, error)
	}); ok {
		x, err := d.Index(ctx, report)
		if err != nil || x.Source == nil || x.Source == any(data) {
			return x, err
		}
	}
	im, err := data.Load(ctx)
	if err != nil {
		return nil, err
	}
	return im.Indexed(), nil
}

// Index is a set of images whose pixels are read one by one, when they are needed: Images without Pixels, Offsets and
// Residues, and Read.
type Index struct {
	Images
	OffGrid bool // images have residues; see Images.Residues

	// Read gives the image at a place, as a set of one. It is safe for concurrent use.
	Read func(ctx context.Context, i int) (*Images, error)

	Source any // what it is of; nil: not said. A type that embeds that and loads other images is another source

	whole *Images
}

// Whole is the images themselves where all are loaded, else nil.
func (x *Index) Whole() *Images { return x.whole }

// Indexed is an index on images that are loaded.
func (im *Images) Indexed() *Index {
	x := &Index{Images: *im, OffGrid: im.Residues != nil, whole: im}
	x.Pixels, x.Offsets, x.Residues = nil, nil, nil
	n := im.Shape.Len()
	x.Read = func(ctx context.Context, i int) (*Images, error) {
		one := *im
		one.IDs, one.Labels, one.Pixels, one.Residues = im.IDs[i:i+1], im.Labels[i:i+1], im.Image(i), im.Residue(i)
		if im.Offsets != nil {
			one.Offsets = im.Offsets[i*n : (i+1)*n]
		}
		return &one, ctx.Err()
	}
	return x
}

// Take is the images at some places, in that order; Images.Index finds images only where it
// ascends. Digest and the rest stay those of x.
func (x *Index) Take(places []int) *Index {
	some := *x
	some.IDs, some.Labels, some.whole = nil, nil, nil
	for _, i := range places {
		some.IDs, some.Labels = append(some.IDs, x.IDs[i]), append(some.Labels, x.Labels[i])
	}
	places = slices.Clone(places)
	some.Read = func(ctx context.Context, i int) (*Images, error) { return x.Read(ctx, places[i]) }
	return &some
}

// Grid is the image at a place in steps of 1/255, HWC, and what it has beyond that; see Images.Grid and
// Images.Residue.
func (x *Index) Grid(ctx context.Context, i int) (grid []int16, residue []float32, err error) {
	one, err := x.Read(ctx, i)
	if err != nil {
		return nil, nil, err
	}
	return one.Grid(0), one.Residue(0), nil
}

// ahead bounds the bytes of pixels that are read before they are asked for.
const ahead = 32 << 20

// Ahead gives the images at the places from one to another, in that order. A few goroutines read them before they are
// asked for: at most 32 MB of pixels, at least one image, and no more images than processors. An error ends it.
func (x *Index) Ahead(ctx context.Context, from, to int) iter.Seq2[*Images, error] {
	return func(yield func(*Images, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		type read struct {
			one *Images
			err error
		}
		queue := make(chan chan read, max(1, min(runtime.GOMAXPROCS(0), ahead/max(1, x.Shape.Len()))-1))
		go func() {
			defer close(queue)
			for i := from; i < to; i++ {
				slot := make(chan read, 1)
				select {
				case queue <- slot:
				case <-ctx.Done():
					return
				}
				go func() {
					one, err := x.Read(ctx, i)
					slot <- read{one, err}
				}()
			}
		}()
		n := 0
		for slot := range queue {
			r := <-slot
			if n++; !yield(r.one, r.err) || r.err != nil {
				return
			}
		}
		if n < to-from {
			yield(nil, context.Cause(ctx))
		}
	}
}

// Load reads the images at some places, in that order.
func (x *Index) Load(ctx context.Context, places []int) (*Images, error) {
	all := x.Images
	all.IDs, all.Labels = nil, nil
	for _, i := range places {
		one, err := x.Read(ctx, i)
		if err != nil {
			return nil, err
		}
		all.IDs, all.Labels = append(all.IDs, x.IDs[i]), append(all.Labels, x.Labels[i])
		all.Pixels, all.Offsets = append(all.Pixels, one.Pixels...), append(all.Offsets, one.Offsets...)
		all.Residues = append(all.Residues, one.Residues...)
	}
	return &all, nil
}

// WriteBytes writes what Images.ContentDigest is the SHA-256 of, for readers of another program.
//
// Errors: images with offsets; those of reading and writing.
func (x *Index) WriteBytes(ctx context.Context, w io.Writer) error {
	if _, err := w.Write(x.head(false, false)); err != nil {
		return err
	}
	for one, err := range x.Ahead(ctx, 0, x.Len()) {
		if err != nil {
			return err
		}
		if one.Offsets != nil || one.Residues != nil {
			return fmt.Errorf("images of %s have values that are no bytes; expected images of bytes", x.Name)
		}
		if _, err := w.Write(one.Pixels); err != nil {
			return err
		}
	}
	return nil
}
