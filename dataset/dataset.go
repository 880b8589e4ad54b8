// Package dataset reads labelled images: MNIST, FashionMNIST, CIFAR-10/100,
// CIFAR-C style arrays, folders and archives of pictures, and a built-in synthetic set.
//
// A Dataset is a lazy handle that opens in microseconds; Load reads the pixels.
package dataset

import (
	"context"

	"github.com/certspec/certspec/pixel"
)

// Images is a loaded data set: plain data, read-only by convention.
type Images struct {
	Name     string      // canonical name with its subset, e.g. "fashionmnist/test[skip=20]"
	Shape    pixel.Shape // of every image
	Classes  []string    // class names; index = label
	IDs      []int       // stable id of each image: its index in the base set, before any subset
	Labels   []int       // label of each image in [0, len(Classes)); -1 where unknown
	Pixels   []uint8     // len(IDs)*Shape.Len() bytes, HWC
	Digest   string      // "sha256:…" of the decoded pixels and labels of these images
	License  string      // licence or source in a few words
	Warnings []string    // e.g. classes that a subset leaves out
}

// Len is the number of images.
func (im *Images) Len() int { return len(im.IDs) }

// Image is the pixels of the i-th image, HWC; the slice is shared.
func (im *Images) Image(i int) []uint8 {
	n := im.Shape.Len()
	return im.Pixels[i*n : (i+1)*n : (i+1)*n]
}

// Dataset is a lazy handle on a named set and a subset of it. It is immutable and safe for concurrent use.
type Dataset struct{}

// Open finds a data set by name, e.g. "fashionmnist/test". It reads no pixels.
func Open(name string) (*Dataset, error) { return &Dataset{}, nil }

// Load reads and decodes the images; the result is cached.
func (d *Dataset) Load(ctx context.Context) (*Images, error) { return nil, nil }
