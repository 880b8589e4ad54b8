// Package pillow holds operations on 8-bit images as the Python library Pillow does them, byte
// for byte (compared with Pillow 12): what AugMix and AutoAugment are defined by.
//
// Images are height × width × channel, see package pixel. An operation reads src and writes dst,
// two slices of shape.Len() bytes each that do not overlap, and panics where they have other lengths.
// Operations treat channels independently, but for Color and Contrast, which know grey (1 channel)
// and RGB (3). All arithmetic is rounded step by step, so that a fused multiply-add
// changes no byte.
package pillow

import (
	"fmt"

	"github.com/certspec/certspec/pixel"
)

func check(dst, src []uint8, shape pixel.Shape) {
	if len(dst) != shape.Len() || len(src) != shape.Len() {
		panic(fmt.Sprintf("pillow: buffers of %d and %d bytes for an image of %v", len(dst), len(src), shape))
	}
}

// histogram counts the values of one channel.
func histogram(src []uint8, channel, channels int) (counts [256]int) {
	for i := channel; i < len(src); i += channels {
		counts[src[i]]++
	}
	return counts
}

// look replaces the values of one channel by those of a table.
func look(dst, src []uint8, channel, channels int, table *[256]uint8) {
	for i := channel; i < len(src); i += channels {
		dst[i] = table[src[i]]
	}
}
