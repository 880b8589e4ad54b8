package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Width and Height are the size of a plot.
const (
	Width  = 5.6 * vg.Inch
	Height = 3.6 * vg.Inch
)

// Margin is what a figure keeps free on each of its four sides.
const Margin = 8

// Inset is the part of the picture within its margins.
func Inset(c draw.Canvas) draw.Canvas { return draw.Crop(c, Margin, -Margin, Margin, -Margin) }

// SVG is the drawing as an SVG document, with the caption for those who do not see it.
func SVG(width, height vg.Length, caption string, paint func(draw.Canvas)) ([]byte, error) {
	c := vgsvg.New(width, height)
	paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	var label bytes.Buffer
	if err := xml.EscapeText(&label, []byte(caption)); err != nil {
		return nil, err
	}
	data := bytes.Replace(b.Bytes(), []byte("<svg "), fmt.Appendf(nil, "<svg role=\"img\" aria-label=\"%s\" ", label.Bytes()), 1)
	// Where the font is not installed, a browser shall not fall back to a serif one.
	return bytes.ReplaceAll(data, []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;")), nil
}
