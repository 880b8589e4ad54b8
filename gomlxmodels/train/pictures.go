package train

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
)

// held is how many bytes of pixels of a set stay in memory: 50,000 pictures of 32×32 are 154 MB.
var held int64 = 1 << 30

// pictureSet is a set whose images are read when a batch needs them. Those of a set of at most held
// bytes stay in memory from their first epoch on; those of a larger one are read again in every
// epoch.
type pictureSet struct {
	*imageset.Index
	kept []atomic.Pointer[imageset.Images] // nil: they do not stay
}

func openPictures(ctx context.Context, d *dataset.Dataset, report progress.Reporter) (*pictureSet, error) {
	x, err := d.Index(ctx, report)
	if err != nil {
		return nil, err
	}
	p := &pictureSet{Index: x}
	if x.Whole() == nil && p.bytes() <= held {
		p.kept = make([]atomic.Pointer[imageset.Images], x.Len())
	}
	return p, nil
}

func (p *pictureSet) bytes() int64 { return int64(p.Len()) * int64(p.Shape.Len()) }

// image gives the pixels of an image, whose reading takes milliseconds: so nothing stops it.
func (p *pictureSet) image(i int) ([]uint8, error) {
	if whole := p.Whole(); whole != nil {
		return whole.Image(i), nil
	}
	if p.kept != nil {
		if one := p.kept[i].Load(); one != nil {
			return one.Pixels, nil
		}
	}
	one, err := p.Read(context.Background(), i)
	if err != nil {
		return nil, err
	}
	if p.kept != nil {
		p.kept[i].Store(one)
	}
	return one.Pixels, nil
}

// needsMemory refuses a set of which all pixels are needed at once, where they are more than memory is to hold.
func (p *pictureSet) needsMemory(why string) error {
	if p.bytes() > held {
		return fmt.Errorf("train: %s needs all pixels of %s in memory, %d MB; expected at most %d MB: take fewer "+
			"images, as by [count=%d] behind its name", why, p.Name, p.bytes()>>20, held>>20, held/int64(p.Shape.Len()))
	}
	return nil
}
