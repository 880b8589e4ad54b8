package pillow

import (
	"fmt"

	"github.com/certspec/certspec/pixel"
)

// Invert is 255 − v. It is ImageOps.invert.
func Invert(dst, src []uint8, shape pixel.Shape) {
	check(dst, src, shape)
	for i, v := range src {
		dst[i] = 255 - v
	}
}

// Posterize keeps the given number of high bits, 0 to 8, of each value. It is ImageOps.posterize.
func Posterize(dst, src []uint8, shape pixel.Shape, bits int) {
	check(dst, src, shape)
	if bits < 0 || bits > 8 {
		panic(fmt.Sprintf("pillow: %d bits", bits))
	}
	mask := uint8(0xff << (8 - bits))
	for i, v := range src {
		dst[i] = v & mask
	}
}

// Solarize inverts the values that are not below the threshold. It is ImageOps.solarize.
func Solarize(dst, src []uint8, shape pixel.Shape, threshold float64) {
	check(dst, src, shape)
	var table [256]uint8
	for v := range table {
		table[v] = uint8(v)
		if !(float64(v) < threshold) {
			table[v] = 255 - uint8(v)
		}
	}
	look(dst, src, 0, 1, &table)
}
