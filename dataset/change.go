package dataset

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/pixel"
)

// Change makes other images of those of a set, one by one: what becomes of an image depends on its pixels and
// its id alone, so that a subset of changed images holds the same bytes as the changed whole.
type Change struct {
	Name string // in the canonical name of the changed set, as "corrupt=fog:3"

	// Apply gives the new pixels of the images of some ids, all of one shape, which stays. It does
	// not write to pixels. Nil: they stay.
	Apply func(ctx context.Context, shape pixel.Shape, ids []int, pixels []uint8) ([]uint8, error)

	// Offset gives what is added to the pixels without clipping, in steps of 1/255: see
	// Images.Offsets. It is the last change of a set. Nil: nothing.
	Offset func(shape pixel.Shape, ids []int) ([]int16, error)

	// Residue gives what is added beyond Offset, which must be there: see Images.Residues. Nil: nothing.
	Residue func(shape pixel.Shape, ids []int) ([]float32, error)
}

// Changed is the handle on the images of this subset after one more change, which Load makes. Ids, labels and
// classes stay. Open does not read the name of a changed set: it says what the images are, and the program that
// made the handle can make it again.
func (d *Dataset) Changed(c Change) *Dataset {
	return newDataset(d.base, d.selections, append(slices.Clone(d.changes), c))
}

// change makes all changes of the loaded images.
func (d *Dataset) change(ctx context.Context, im *Images) error {
	for _, c := range d.changes {
		if im.Offsets != nil {
			return fmt.Errorf("dataset: %s: %s after a change that leaves the range of bytes; expected it before", d,
				c.Name)
		}
		if c.Offset != nil {
			offsets, err := c.Offset(im.Shape, im.IDs)
			if err != nil {
				return fmt.Errorf("dataset: %s: %w", d, err)
			}
			if len(offsets) != len(im.Pixels) {
				return fmt.Errorf("dataset: %s: %s gives %d offsets; expected %d", d, c.Name, len(offsets),
					len(im.Pixels))
			}
			im.Offsets = offsets
		}
		if c.Residue != nil {
			residues, err := c.Residue(im.Shape, im.IDs)
			if err != nil {
				return fmt.Errorf("dataset: %s: %w", d, err)
			}
			if len(residues) != len(im.Offsets) {
				return fmt.Errorf("dataset: %s: %s gives %d residues and %d offsets; expected as many", d, c.Name,
					len(residues), len(im.Offsets))
			}
			im.Residues = residues
		}
		if c.Apply == nil {
			continue
		}
		pixels, err := c.Apply(ctx, im.Shape, im.IDs, im.Pixels)
		if err != nil {
			return fmt.Errorf("dataset: %s: %w", d, err)
		}
		if len(pixels) != len(im.Pixels) {
			return fmt.Errorf("dataset: %s: %s gives %d bytes; expected %d", d, c.Name, len(pixels), len(im.Pixels))
		}
		im.Pixels = pixels
	}
	return nil
}
