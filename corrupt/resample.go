package corrupt

import (
	"math"

	"github.com/certspec/certspec/pixel"
)

// bilinear fills out, of one value per channel, with the image at the point (y, x), in pixels from the centre of
// the first one. Border says where coordinates outside stand; with nil, pixels outside are 0.
func bilinear(out, image []float64, shape pixel.Shape, y, x float64, border func(i, n int) int) {
	fy, fx := math.Floor(y), math.Floor(x)
	top, left := int(fy), int(fx)
	fy, fx = y-fy, x-fx
	clear(out)
	for i, wy := range [2]float64{1 - fy, fy} {
		for k, wx := range [2]float64{1 - fx, fx} {
			row, column := top+i, left+k
			if border != nil {
				row, column = border(row, shape.Height), border(column, shape.Width)
			} else if uint(row) >= uint(shape.Height) || uint(column) >= uint(shape.Width) {
				continue
			}
			weight := float64(wy * wx)
			from := image[(row*shape.Width+column)*shape.Channels:]
			for c := range out {
				out[c] += float64(weight * from[c])
			}
		}
	}
}
