package figure

import (
	"bytes"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Width and Height are the size of a plot in the house style.
const (
	Width  = 5.6 * vg.Inch
	Height = 3.6 * vg.Inch
)

// Inset keeps the outermost tick labels and lines inside the picture.
func Inset(c draw.Canvas) draw.Canvas { return draw.Crop(c, 4, -10, 4, -8) }

// SVG is the drawing as an SVG document.
func SVG(width, height vg.Length, paint func(draw.Canvas)) ([]byte, error) {
	c := vgsvg.New(width, height)
	paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	// Where the font is not installed, a browser shall not fall back to a serif one.
	return bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}
