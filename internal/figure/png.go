package figure

import (
	"bytes"
	"image/color"
	"image/png"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

// PNGScale is the number of PNG pixels to one pixel of a page, which has 96 to the inch.
const PNGScale = 2

// PNG is the drawing as a PNG picture on white.
func PNG(width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(96*PNGScale), vgimg.UseBackgroundColor(color.White))
	paint(draw.New(c))
	var b bytes.Buffer
	err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, c.Image())
	return b.Bytes(), err
}
