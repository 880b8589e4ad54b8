package imageset

import (
	"context"
	"slices"
)

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
