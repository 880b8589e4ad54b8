package corrupt

import (
	"context"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

// Dataset returns the images of d, corrupted when they are loaded, with the bytes of the files that Make writes. The
// index of an image is its id in the base set, so the same image is the same in every subset. Errors of the setting
// come at once, those that depend on the shape of the images from Load.
func Dataset(d *dataset.Dataset, s Setting, seed uint64) (*dataset.Dataset, error) {
	e, err := find(s.Name)
	if err != nil {
		return nil, err
	}
	if err := e.check(s, pixel.Shape{Height: published, Width: published, Channels: 3}); err != nil {
		return nil, err
	}
	key := Key{SetName(d.String()), seed}
	return d.Changed(dataset.Change{
		Name: "corrupt=" + s.String() + ",seed=" + formatSeed(seed),
		Apply: func(ctx context.Context, shape pixel.Shape, ids []int, pixels []uint8) ([]uint8, error) {
			c, err := New(s, shape, key)
			if err != nil {
				return nil, err
			}
			out := make([]uint8, len(pixels))
			return out, c.Images(ctx, out, pixels, ids, 0, nil)
		},
	}), nil
}

// SetName returns the name of a base set in the keys of random streams. It is CIFAR-10 for cifar10 and its copies,
// CIFAR-100, else the name up to a slash or bracket; "images" for a path.
func SetName(name string) string {
	set, _, _ := strings.Cut(name, "[")
	set, _, _ = strings.Cut(set, "/")
	switch {
	case set == "cifar10" || set == "cifar10-jpeg":
		return "CIFAR-10"
	case set == "cifar100":
		return "CIFAR-100"
	case set == "" || strings.ContainsAny(name, ":"):
		return defaultSet
	}
	return set
}
