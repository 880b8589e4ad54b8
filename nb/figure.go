package nb

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/lines/lineplot"
	"github.com/certspec/certspec/lines"
)

// Figure is a picture that shows itself in the page and saves itself as SVG, PNG or PDF.
type Figure struct {
	Caption       string // what is to be seen, for those who do not see it
	Width, Height vg.Length

	paint  func(c draw.Canvas)
	pixels bool // made of pixels: shown as PNG only
}

// Plot makes a figure with a caption of any gonum plot, at the usual size, of panels, or of a dot plot. Fitted lines
// have a caption of their own.
func Plot[T *plot.Plot | *lines.Result | figure.Grid | figure.Forest](of T, caption ...string) *Figure {
	words := strings.Join(caption, " ")
	switch v := any(of).(type) {
	case figure.Grid:
		return gridFigure(v, words)
	case figure.Forest:
		return gridFigure(v, words)
	case *lines.Result:
		return gridFigure(lineplot.OfResult(v), cmp.Or(words, v.Caption()))
	case *plot.Plot:
		return &Figure{Caption: words, Width: figure.Width, Height: figure.Height,
			paint: func(c draw.Canvas) { v.Draw(figure.Inset(c)) }}
	}
	return nil
}

func gridFigure(g painter, caption string) *Figure {
	width, height := g.Size()
	return &Figure{Caption: caption, Width: width, Height: height, paint: g.Paint}
}

// painter is a drawing that knows its size.
type painter interface {
	Size() (width, height vg.Length)
	Paint(draw.Canvas)
}

// imageFigure shows an image at its own size, one pixel of it to one of the page.
func imageFigure(img image.Image) *Figure {
	size := img.Bounds().Size()
	return &Figure{
		Caption: fmt.Sprintf("image, %d × %d pixels", size.X, size.Y), pixels: true,
		Width: vg.Length(size.X) * 0.75, Height: vg.Length(size.Y) * 0.75,
		paint: func(c draw.Canvas) { c.DrawImage(c.Rectangle, img) },
	}
}

// String is the caption.
func (f *Figure) String() string { return f.Caption }

// Save writes the figure in the form that the file's extension names: .svg, .png or .pdf.
func (f *Figure) Save(path string) error {
	var data []byte
	var err error
	switch ext := strings.ToLower(filepath.Ext(path)); ext {
	case ".svg":
		data, err = f.svg()
	case ".png":
		data, err = f.png()
	case ".pdf":
		data, err = f.pdf()
	default:
		return fmt.Errorf("figure %s: no form for extension %q; .svg, .png or .pdf expected", path, ext)
	}
	if err != nil {
		return fmt.Errorf("figure %s: %w", path, err)
	}
	return atomicfile.Write(path, data)
}

func (f *Figure) svg() ([]byte, error) {
	return figure.SVG(f.Width, f.Height, f.Caption, f.paint)
}

func (f *Figure) png() ([]byte, error) { return figure.PNG(f.Width, f.Height, f.paint) }

func (f *Figure) pdf() ([]byte, error) {
	return figure.PDF(f.Width, f.Height, f.Caption, f.paint)
}

// bundle is the forms that a page may choose from.
func (f *Figure) bundle() (map[protocol.MIMEType]any, error) {
	data := map[protocol.MIMEType]any{protocol.MIMETextPlain: f.Caption}
	picture, err := f.png()
	if err != nil {
		return nil, err
	}
	data[protocol.MIMEImagePNG] = picture
	if !f.pixels {
		drawing, err := f.svg()
		if err != nil {
			return nil, err
		}
		if len(drawing) <= mostDrawing {
			data[protocol.MIMEImageSVG] = string(drawing)
		}
	}
	return data, nil
}

// mostDrawing is the longest drawing that a page gets beside the picture of the same: one of
// thousands of points loads slowly, and looks no better.
const mostDrawing = 128 << 10

func pngSize(data []byte) (width, height int, err error) {
	config, err := png.DecodeConfig(bytes.NewReader(data))
	return config.Width, config.Height, err
}
