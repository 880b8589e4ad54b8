package figure

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"math"
	"time"

	"codeberg.org/go-pdf/fpdf"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// PDF is the drawing as a PDF document of one page. Of each font it holds the letters that are
// used, Greek ones too; gonum's own writer embeds whole fonts, some 200 kB, and knows Western
// letters only. caption stands in the document's properties. Equal drawings give equal files.
func PDF(width, height vg.Length, caption string, paint func(draw.Canvas)) ([]byte, error) {
	doc := fpdf.NewCustom(&fpdf.InitType{UnitStr: "pt", Size: fpdf.SizeType{Wd: width.Points(), Ht: height.Points()}})
	doc.SetCreationDate(time.Unix(0, 0).UTC())
	doc.SetModificationDate(time.Unix(0, 0).UTC())
	doc.SetCatalogSort(true)
	doc.SetTitle(caption, true)
	doc.SetMargins(0, 0, 0)
	doc.SetAutoPageBreak(false, 0)
	doc.AddPage()
	c := &pdfCanvas{doc: doc, width: width, height: height, fonts: map[string]bool{}}
	c.state = pdfState{xx: 1, yy: 1, ink: color.Black, width: 1}
	paint(draw.New(c))
	var b bytes.Buffer
	if err := doc.Output(&b); err != nil {
		return nil, fmt.Errorf("PDF: %w", err)
	}
	return b.Bytes(), nil
}

// pdfCanvas draws on a page of fpdf. gonum counts y upwards from the lower edge, fpdf downwards from the upper one.
type pdfCanvas struct {
	doc           *fpdf.Fpdf
	width, height vg.Length
	state         pdfState
	stack         []pdfState
	fonts         map[string]bool
	images        int
}

// pdfState is saved by Push. The point (x, y) stands at (xx·x + xy·y + x0, yx·x + yy·y + y0).
type pdfState struct {
	xx, xy, yx, yy, x0, y0 float64
	turned                 float64 // radians, for letters
	ink                    color.Color
	width                  vg.Length
	dashes                 []vg.Length
	offset                 vg.Length
}

// scale of lengths, the same in all directions.
func (s pdfState) scale() float64 { return math.Hypot(s.xx, s.yx) }

func (c *pdfCanvas) Size() (w, h vg.Length) { return c.width, c.height }

func (c *pdfCanvas) SetLineWidth(w vg.Length) { c.state.width = w }

func (c *pdfCanvas) SetLineDash(dashes []vg.Length, offset vg.Length) {
	c.state.dashes, c.state.offset = dashes, offset
}

func (c *pdfCanvas) SetColor(ink color.Color) {
	if ink == nil {
		ink = color.Black
	}
	c.state.ink = ink
}

func (c *pdfCanvas) Rotate(angle float64) {
	s, sin, cos := &c.state, math.Sin(angle), math.Cos(angle)
	s.xx, s.xy = s.xx*cos+s.xy*sin, s.xy*cos-s.xx*sin
	s.yx, s.yy = s.yx*cos+s.yy*sin, s.yy*cos-s.yx*sin
	s.turned += angle
}

func (c *pdfCanvas) Translate(by vg.Point) {
	c.state.x0, c.state.y0 = c.at(by)
}

func (c *pdfCanvas) Scale(x, y float64) {
	s := &c.state
	s.xx, s.yx, s.xy, s.yy = s.xx*x, s.yx*x, s.xy*y, s.yy*y
}

func (c *pdfCanvas) Push() { c.stack = append(c.stack, c.state) }

func (c *pdfCanvas) Pop() {
	c.state, c.stack = c.stack[len(c.stack)-1], c.stack[:len(c.stack)-1]
}

// at is a point in gonum's page coordinates, in points.
func (c *pdfCanvas) at(p vg.Point) (x, y float64) {
	s := c.state
	return s.xx*p.X.Points() + s.xy*p.Y.Points() + s.x0, s.yx*p.X.Points() + s.yy*p.Y.Points() + s.y0
}

// place is a point in fpdf's page coordinates.
func (c *pdfCanvas) place(p vg.Point) (x, y float64) {
	x, y = c.at(p)
	return x, c.height.Points() - y
}

// ink sets the colour of what is drawn next.
func (c *pdfCanvas) ink() {
	v := color.NRGBAModel.Convert(c.state.ink).(color.NRGBA)
	c.doc.SetDrawColor(int(v.R), int(v.G), int(v.B))
	c.doc.SetFillColor(int(v.R), int(v.G), int(v.B))
	c.doc.SetTextColor(int(v.R), int(v.G), int(v.B))
	c.doc.SetAlpha(float64(v.A)/255, "Normal")
}

func (c *pdfCanvas) Stroke(path vg.Path) {
	if c.state.width <= 0 {
		return
	}
	c.ink()
	scale := c.state.scale()
	c.doc.SetLineWidth(scale * c.state.width.Points())
	dashes := make([]float64, len(c.state.dashes))
	for i, d := range c.state.dashes {
		dashes[i] = scale * d.Points()
	}
	c.doc.SetDashPattern(dashes, scale*c.state.offset.Points())
	c.trace(path)
	c.doc.DrawPath("D")
}

func (c *pdfCanvas) Fill(path vg.Path) {
	c.ink()
	c.trace(path)
	c.doc.DrawPath("F")
}

func (c *pdfCanvas) trace(path vg.Path) {
	var last vg.Point
	for i, step := range path {
		x, y := c.place(step.Pos)
		switch step.Type {
		case vg.MoveComp:
			c.doc.MoveTo(x, y)
		case vg.LineComp:
			c.doc.LineTo(x, y)
		case vg.CurveComp:
			first, second := step.Control[0], step.Control[0]
			if len(step.Control) > 1 {
				second = step.Control[1]
			} else { // a quadratic curve, as a cubic one
				first, second = between(last, first, 2./3), between(step.Pos, second, 2./3)
			}
			x1, y1 := c.place(first)
			x2, y2 := c.place(second)
			c.doc.CurveBezierCubicTo(x1, y1, x2, y2, x, y)
		case vg.ArcComp:
			last = c.arc(step, i == 0)
			continue
		case vg.CloseComp:
			c.doc.ClosePath()
			continue
		}
		last = step.Pos
	}
}

// arc draws an arc of a circle as cubic curves over at most a quarter each, and returns its end.
// The distance of the control points, 4/3·tan(angle/4) of the radius, is the usual one; its error
// is below 0.03 % of the radius.
func (c *pdfCanvas) arc(arc vg.PathComp, first bool) vg.Point {
	on := func(angle, out, along float64) vg.Point {
		sin, cos := math.Sincos(angle)
		r := arc.Radius.Points()
		return vg.Point{X: arc.Pos.X + vg.Length(r*(out*cos-along*sin)), Y: arc.Pos.Y +
			vg.Length(r*(out*sin+along*cos))}
	}
	x, y := c.place(on(arc.Start, 1, 0))
	if first {
		c.doc.MoveTo(x, y)
	} else {
		c.doc.LineTo(x, y)
	}
	parts := max(1, int(math.Ceil(math.Abs(arc.Angle)/(math.Pi/2)-1e-9)))
	step := arc.Angle / float64(parts)
	reach := 4. / 3 * math.Tan(step/4)
	for i := range parts {
		from, to := arc.Start+float64(i)*step, arc.Start+float64(i+1)*step
		x1, y1 := c.place(on(from, 1, reach))
		x2, y2 := c.place(on(to, 1, -reach))
		x, y := c.place(on(to, 1, 0))
		c.doc.CurveBezierCubicTo(x1, y1, x2, y2, x, y)
	}
	return on(arc.Start+arc.Angle, 1, 0)
}

// between is the point at a share of the way from a to b.
func between(a, b vg.Point, share float64) vg.Point {
	return vg.Point{X: a.X + vg.Length(share)*(b.X-a.X), Y: a.Y + vg.Length(share)*(b.Y-a.Y)}
}

func (c *pdfCanvas) FillString(f font.Face, at vg.Point, text string) {
	if f.Font.Size == 0 || text == "" {
		return
	}
	name := f.Name()
	if !c.fonts[name] {
		var source bytes.Buffer
		if _, err := f.Face.WriteSourceTo(nil, &source); err != nil {
			c.doc.SetError(fmt.Errorf("font %s: %w", name, err))
			return
		}
		c.doc.AddUTF8FontFromBytes(name, "", source.Bytes())
		c.fonts[name] = true
	}
	c.ink()
	c.doc.SetFont(name, "", c.state.scale()*f.Font.Size.Points())
	x, y := c.place(at)
	if c.state.turned == 0 {
		c.doc.Text(x, y, text)
		return
	}
	c.doc.TransformBegin()
	c.doc.TransformRotate(c.state.turned*180/math.Pi, x, y)
	c.doc.Text(x, y, text)
	c.doc.TransformEnd()
}

func (c *pdfCanvas) DrawImage(frame vg.Rectangle, img image.Image) {
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		c.doc.SetError(err)
		return
	}
	c.images++
	name, options := fmt.Sprintf("image%d", c.images), fpdf.ImageOptions{ImageType: "PNG"}
	c.doc.RegisterImageOptionsReader(name, options, &b)
	left, top := c.place(vg.Point{X: frame.Min.X, Y: frame.Max.Y})
	right, bottom := c.place(vg.Point{X: frame.Max.X, Y: frame.Min.Y})
	c.doc.ImageOptions(name, left, top, right-left, bottom-top, false, options, 0, "")
}
