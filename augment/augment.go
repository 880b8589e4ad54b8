// Package augment makes random views of images: FourierMix (Sun et al. 2021, arXiv 2112.00659), AugMix (Hendrycks et
// al. 2019, arXiv 1912.02781), the CIFAR-10 policy of AutoAugment (Cubuk et al. 2019, arXiv 1805.09501), Gaussian
// noise, crop and flip.
//
// An augmentation is a function of an image and of a random stream. A stream is a function of its address: seed, epoch,
// image, view. So the same views come out for any number of workers and any batches, and on every platform: nothing
// here rounds differently where a compiler fuses operations.
package augment

import (
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// Image is a real image, height × width × channel, with byte/255 as its unit; see package pixel.
// Values may leave [0, 1].
type Image struct {
	Shape  pixel.Shape
	Values []float32 // Shape.Len() of them
}

// Augmentation is a random function of an image. Implementations are plain values, safe for concurrent use; their zero
// value holds the defaults.
type Augmentation interface {
	// Apply replaces the values of an image by those of a view, all of whose chance comes from the
	// stream. After an error the values mean nothing. An image that does not fit is an *ImageError,
	// an option out of its range an *OptionError.
	Apply(im Image, random *Stream) error
	// String is the name with the options that are not at their defaults, as Parse reads it.
	String() string
}

// ImageError is an image that an augmentation cannot take.
type ImageError struct {
	Augmentation string // name
	What         string // e.g. "value 17 is NaN"
	Expected     string
}

func (e *ImageError) Error() string {
	return fmt.Sprintf("augment: %s: %s; expected %s", e.Augmentation, e.What, e.Expected)
}

// check verifies the shape, and that all values are finite.
func (im Image) check(name string) error {
	if !im.Shape.Valid() || len(im.Values) != im.Shape.Len() {
		return &ImageError{name, fmt.Sprintf("%d values for an image of %v", len(im.Values), im.Shape),
			"height × width × channels, at least one each"}
	}
	for i, v := range im.Values {
		if v-v != 0 {
			return &ImageError{name, fmt.Sprintf("value %d is %v", i, v), "finite values"}
		}
	}
	return nil
}

// bytes writes the values times 255 to dst; each must be a whole number from 0 to 255.
func (im Image) bytes(name string, dst []uint8) error {
	if !im.Shape.Valid() || len(im.Values) != im.Shape.Len() {
		return im.check(name)
	}
	if c := im.Shape.Channels; c != 1 && c != 3 {
		return &ImageError{name, fmt.Sprintf("image of %v", im.Shape), "1 channel (grey) or 3 (RGB)"}
	}
	for i, v := range im.Values {
		var b uint8
		if v >= 0 && v <= 1 {
			b = uint8(float32(v*pixel.Steps) + 0.5)
		}
		if unit[b] != v {
			return &ImageError{name, fmt.Sprintf("value %d is %v", i, v), "a byte over 255 (put quantize before it)"}
		}
		dst[i] = b
	}
	return nil
}

// setBytes sets the values to byte/255.
func (im Image) setBytes(src []uint8) {
	for i, b := range src {
		im.Values[i] = unit[b]
	}
}

// unit is byte/255 as float32.
var unit = func() (table [pixel.Steps + 1]float32) {
	for b := range table {
		table[b] = float32(b) / pixel.Steps
	}
	return table
}()

// round is the byte nearest to 255v, halves away from zero; 0 for NaN.
func round(v float32) uint8 {
	scaled := float64(float64(v)*pixel.Steps) + 0.5
	if !(scaled > 0) {
		return 0
	}
	return uint8(math.Min(scaled, pixel.Steps))
}
