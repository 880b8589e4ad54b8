package augment

import (
	"fmt"
	"slices"
)

// defaultPad is the padding of CIFAR training.
const defaultPad = 4

// crop pads the image with zeros on each side and cuts out a window of the image's size. Row and
// column of the window, drawn in this order, are uniform over all places.
type crop struct {
	Pad int // pixels; 0 means 4
}

func (c crop) Apply(im Image, random *Stream) error {
	if err := im.check("crop"); err != nil {
		return err
	}
	if err := c.check(); err != nil {
		return err
	}
	pad := orDefault(c.Pad, defaultPad)
	down, right := random.IntN(2*pad+1)-pad, random.IntN(2*pad+1)-pad
	h, w, ch := im.Shape.Height, im.Shape.Width, im.Shape.Channels
	old := slices.Clone(im.Values)
	clear(im.Values)
	first, last := max(0, -right), min(w, w-right)
	for i := range h {
		if y := i + down; y >= 0 && y < h && first < last {
			copy(im.Values[(i*w+first)*ch:(i*w+last)*ch], old[(y*w+first+right)*ch:])
		}
	}
	return nil
}

func (c crop) check() error {
	if c.Pad < 0 || c.Pad > 1<<20 {
		return &OptionError{"crop", fmt.Sprintf("pad is %d", c.Pad), "pixels, 1 to 2²⁰"}
	}
	return nil
}

func (c crop) String() string { return describe("crop", c.fields(), (&crop{}).fields()) }

func (c *crop) fields() []field {
	return []field{integer("pad", "pixels of padding on each side", &c.Pad, defaultPad)}
}

func (c *crop) value() Augmentation { return *c }
