package figure

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Width and Height are the size of a plot.
const (
	Width  = 5.6 * vg.Inch
	Height = 3.6 * vg.Inch
)

// Margin is the free space on each of a figure's four sides.
const Margin = 8

// Inset is the part of the picture within its margins.
func Inset(c draw.Canvas) draw.Canvas { return draw.Crop(c, Margin, -Margin, Margin, -Margin) }

// SVG is the drawing as an SVG document, with the caption for those who do not see it.
func SVG(width, height vg.Length, caption string, paint func(draw.Canvas)) ([]byte, error) {
	c := &measured{Canvas: vgsvg.New(width, height)}
	c.scale, c.height = 1, height
	paint(draw.New(c))
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return nil, err
	}
	if n := bytes.Count(b.Bytes(), []byte("<text ")); n != len(c.widths) {
		return nil, fmt.Errorf("figure: %d texts in a drawing of %d", n, len(c.widths))
	}
	var label bytes.Buffer
	if err := xml.EscapeText(&label, []byte(caption)); err != nil {
		return nil, err
	}
	data := bytes.Replace(b.Bytes(), []byte("<svg "), fmt.Appendf(nil, "<svg role=\"img\" aria-label=\"%s\" ",
		label.Bytes()), 1)
	for _, w := range c.widths {
		data = bytes.Replace(data, []byte("<text x"), fmt.Appendf(nil, "<text textLength=\"%.5g\" x", w.Points()), 1)
	}
	data = bytes.ReplaceAll(data, []byte("<text textLength"),
		[]byte("<text lengthAdjust=\"spacingAndGlyphs\" textLength"))
	data = bytes.ReplaceAll(data, []byte("<image "), []byte("<image preserveAspectRatio=\"none\" "))
	// Where the font is not installed, a browser shall not fall back to a serif one.
	data = bytes.ReplaceAll(joined(data), []byte("font-family:Liberation Sans;"),
		[]byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
	return c.addHints(data), nil
}

// measured keeps the widths of texts: with another font a browser sets them as wide as they were planned, so that
// nothing collides.
type measured struct {
	*vgsvg.Canvas
	widths []vg.Length
	height vg.Length
	scale  float64 // of the whole drawing, set before anything is drawn
	hints  []hint
}

// hint is shown to a reader who points at a place of the drawing.
type hint struct {
	x, y, radius float64
	text         string
}

// mostHints are as many as a drawing has; of more, every second, third, … is kept.
const mostHints = 150

// Hint names what stands at a point, such as the image behind it, for a reader who points there. Only SVG shows it.
func Hint(c draw.Canvas, at vg.Point, radius vg.Length, text string) {
	for part, ok := c.Canvas.(draw.Canvas); ok; part, ok = c.Canvas.(draw.Canvas) { // a canvas is cropped by wrapping it
		c = part
	}
	if m, ok := c.Canvas.(*measured); ok && text != "" {
		m.hints = append(m.hints, hint{m.scale * at.X.Points(), m.height.Points() - m.scale*at.Y.Points(),
			m.scale * radius.Points(), text})
	}
}

// Scale scales what is drawn next.
func (c *measured) Scale(x, y float64) {
	c.scale *= x
	c.Canvas.Scale(x, y)
}

// addHints puts invisible discs over the drawing.
func (c *measured) addHints(data []byte) []byte {
	if len(c.hints) == 0 {
		return data
	}
	var b bytes.Buffer
	b.WriteString("<g fill-opacity=\"0\">\n")
	for i := 0; i < len(c.hints); i += (len(c.hints) + mostHints - 1) / mostHints {
		h := c.hints[i]
		fmt.Fprintf(&b, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>", h.x, h.y, h.radius)
		_ = xml.EscapeText(&b, []byte(h.text)) // a bytes.Buffer takes everything
		b.WriteString("</title></circle>\n")
	}
	b.WriteString("</g>\n</svg>")
	return bytes.Replace(data, []byte("</svg>"), b.Bytes(), 1)
}

func (c *measured) FillString(f font.Face, at vg.Point, text string) {
	c.widths = append(c.widths, f.Width(text))
	c.Canvas.FillString(f, at, text)
}

// path is a line of the canvas that draws one.
var path = regexp.MustCompile(`^<path d="([^"]*)" (style="[^"]*") />\n$`)

// joined has one path in the place of several of one opaque style that follow each other: the
// shapes of a thousand points repeat their style no more.
func joined(data []byte) []byte {
	var out bytes.Buffer
	var shape, style []byte // of the path that waits for more
	flush := func() {
		if style != nil {
			fmt.Fprintf(&out, "<path d=\"%s\" %s />\n", shape, style)
		}
		shape, style = nil, nil
	}
	for line := range bytes.Lines(data) {
		m := path.FindSubmatch(line)
		switch {
		case m == nil || bytes.Contains(m[2], []byte("opacity")):
			flush()
			out.Write(line)
		case bytes.Equal(m[2], style):
			shape = append(shape, m[1]...)
		default:
			flush()
			shape, style = bytes.Clone(m[1]), m[2]
		}
	}
	flush()
	return out.Bytes()
}
