package nb

import (
	"bytes"
	"cmp"
	"fmt"
	"image"
	"image/png"
	"path/filepath"
	"slices"
	"strings"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/lines/lineplot"
	"github.com/certspec/certspec/lines"
)

// Figure is a picture that shows itself in the page. It saves itself as SVG, PNG or PDF, and the numbers behind it as
// CSV.
type Figure struct {
	Caption       string // what is to be seen, for those who do not see it
	Title, X, Y   string // above it and of its axes; "": those of the figure, or none where each of its parts has some
	Width, Height vg.Length

	paint   func(f *Figure, c draw.Canvas)
	pixels  bool            // made of pixels: shown as PNG only
	numbers func() *Tabular // behind it; nil: none
	letters float64         // how much larger letters and lines are than usual; 0: as usual
	loose   bool            // of other letters: its parts have no fixed places
}

// Paper is the figure as wide as so many columns of a paper, 1 or 2, with letters of 8 points.
func (f *Figure) Paper(columns int) *Figure {
	return f.sized(vg.Length(columns)*3.5*vg.Inch-0.25*vg.Inch, 0.8)
}

// Talk is the figure for a slide, 10 inches wide, with letters of 18 points.
func (f *Figure) Talk() *Figure { return f.sized(10*vg.Inch, 1.8) }

// Poster is the figure 16 inches wide, with letters of 24 points.
func (f *Figure) Poster() *Figure { return f.sized(16*vg.Inch, 2.4) }

// sized is the figure in another width. The letters of one that has several parts grow with the whole.
func (f *Figure) sized(width vg.Length, letters float64) *Figure {
	out := *f
	before := cmp.Or(f.letters, 1)
	if out.loose = f.loose || f.letters == 0 && f.Width == figure.Width; !out.loose {
		letters = before * float64(width/f.Width)
	}
	out.Width, out.Height, out.letters = width, f.Height*width/f.Width, letters
	return &out
}

// words are those above the figure and of its axes, with what stands there where the user says nothing.
func (f *Figure) words(title, x, y string) figure.Words {
	return figure.Words{Title: cmp.Or(f.Title, title), X: cmp.Or(f.X, x), Y: cmp.Or(f.Y, y)}
}

// drawn paints the figure at its size.
func (f *Figure) drawn(c draw.Canvas) {
	if s := cmp.Or(f.letters, 1); s != 1 {
		c.Scale(s, s)
		c.Max.X, c.Max.Y = c.Max.X/vg.Length(s), c.Max.Y/vg.Length(s)
	}
	f.paint(f, c)
}

// Plot makes a figure with a caption of any gonum plot, a *plot.Plot, at the usual size, of the []calib.Bin of a
// reliability diagram, or of the *lines.Result of fitted lines, which have a caption of their own. Our own notebooks
// give it panels and dot plots, too. Another value ends the cell.
func Plot(of any, caption ...string) *Figure {
	words := strings.Join(caption, " ")
	switch v := of.(type) {
	case figure.Grid:
		return gridFigure(v, words)
	case figure.Forest:
		width, height := v.Size()
		return &Figure{Caption: words, Width: width, Height: height,
			numbers: func() *Tabular { return forestNumbers(v) },
			paint: func(f *Figure, c draw.Canvas) {
				w := f.words(v.Title, v.X, "")
				figure.Forest{Title: w.Title, X: w.X, Rows: v.Rows}.Paint(c)
			}}
	case []calib.Bin:
		return reliability(words, v)
	case *lines.Result:
		return gridFigure(lineplot.OfResult(v), cmp.Or(words, lineplot.Caption(v)))
	case *plot.Plot:
		return &Figure{Caption: words, Width: figure.Width, Height: figure.Height,
			paint: func(f *Figure, c draw.Canvas) {
				again := *v
				w := f.words(v.Title.Text, v.X.Label.Text, v.Y.Label.Text)
				again.Title.Text, again.X.Label.Text, again.Y.Label.Text = w.Title, w.X, w.Y
				again.Draw(figure.Inset(c))
			}}
	}
	end(fmt.Errorf("nb: Plot of %T; expected a *plot.Plot, a []calib.Bin or a *lines.Result", of))
	return nil
}

func gridFigure(g figure.Grid, caption string) *Figure {
	width, height := g.Size()
	return &Figure{Caption: caption, Width: width, Height: height, numbers: func() *Tabular { return gridNumbers(g) },
		paint: func(f *Figure, c draw.Canvas) {
			again := g
			again.Title, again.Panels = cmp.Or(f.Title, g.Title), slices.Clone(g.Panels)
			for i, p := range g.Panels {
				again.Panels[i].X, again.Panels[i].Y = cmp.Or(f.X, p.X), cmp.Or(f.Y, p.Y)
			}
			again.Paint(c)
		}}
}

// imageFigure shows an image at its own size, one pixel of it to one of the page.
func imageFigure(img image.Image) *Figure {
	size := img.Bounds().Size()
	return &Figure{
		Caption: fmt.Sprintf("image, %d × %d pixels", size.X, size.Y), pixels: true,
		Width: vg.Length(size.X) * 0.75, Height: vg.Length(size.Y) * 0.75,
		paint: func(_ *Figure, c draw.Canvas) { c.DrawImage(c.Rectangle, img) },
	}
}

// String is the caption.
func (f *Figure) String() string {
	title := strings.ReplaceAll(f.Title, "\n", ", ")
	if title == "" || strings.Contains(f.Caption, title) {
		return f.Caption
	}
	return title + ": " + f.Caption
}

// Save writes the figure in the form that the file's extension names: .svg, .png or .pdf, or the numbers behind it as
// .csv.
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
	case ".csv":
		if f.numbers == nil {
			return fmt.Errorf("figure %s: a picture without numbers; .svg, .png or .pdf expected", path)
		}
		data = []byte(f.numbers().CSV())
	default:
		return fmt.Errorf("figure %s: no form for extension %q; .svg, .png, .pdf or .csv expected", path, ext)
	}
	if err != nil {
		return fmt.Errorf("figure %s: %w", path, err)
	}
	return atomicfile.Write(path, data)
}

func (f *Figure) svg() ([]byte, error) {
	return figure.SVG(f.Width, f.Height, f.String(), f.drawn)
}

func (f *Figure) png() ([]byte, error) { return figure.PNG(f.Width, f.Height, f.drawn) }

func (f *Figure) pdf() ([]byte, error) {
	return figure.PDF(f.Width, f.Height, f.String(), f.drawn)
}

// bundle is the forms that a page may choose from.
func (f *Figure) bundle() (map[protocol.MIMEType]any, error) {
	data := map[protocol.MIMEType]any{protocol.MIMETextPlain: f.String()}
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
