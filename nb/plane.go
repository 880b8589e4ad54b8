package nb

import (
	"cmp"
	"fmt"
	"image"
	"image/color"
	"math"
	"strings"
	"sync"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/noise"
)

// Plane shows a classifier of images of two values. Such an image is a point: its first value is the
// distance to the right, its second the height, both from 0 to 1.
type Plane struct {
	Title string
	Model classifier.Toy
	Sigma float64 // 0: regions of the model; else of the model smoothed with noise of this standard deviation
	Marks []Mark

	painted *image.Paletted // its regions, where they are known
}

// Mark is a point of a Plane, with what is drawn around it.
type Mark struct {
	Image   []uint8
	Name    string
	Radius  float64 // of a circle
	Samples int     // noise samples, each drawn with the class that the model gives it: the first ones of seed 1
	Sigma   float64 // of their noise

	Wrong     bool // drawn as a cross: its certified class is not the true one
	Abstained bool // drawn hollow: it has no certificate
}

// Planes draws planes side by side.
func Planes(planes ...Plane) *Figure {
	if len(planes) == 0 {
		end(fmt.Errorf("nb.Planes: no plane to draw"))
		return nil
	}
	plots := make([]*plot.Plot, len(planes))
	for i, p := range planes {
		drawn, err := p.plot()
		if err != nil {
			end(fmt.Errorf("nb.Planes: plane %d: %w", i+1, err))
			return nil
		}
		plots[i] = drawn
	}
	const width, top = 2.4 * vg.Inch, 0.2 * vg.Inch
	var titles []string
	for _, p := range planes {
		titles = append(titles, p.Title)
	}
	return &Figure{
		Caption: "classes in the plane: " + strings.Join(titles, "; "),
		Width:   vg.Length(len(planes)) * width, Height: width + top,
		numbers: func() *Tabular { return planeNumbers(planes) },
		paint: func(f *Figure, c vgdraw.Canvas) {
			for i, p := range plots {
				again := *p
				w := f.words("", p.X.Label.Text, p.Y.Label.Text)
				again.X.Label.Text, again.Y.Label.Text = w.X, w.Y
				if len(plots) == 1 {
					again.Title.Text = cmp.Or(f.Title, p.Title.Text)
				}
				at := square(&again, vgdraw.Crop(c, vg.Length(i)*width+4, -vg.Length(len(plots)-1-i)*width-10, 2, -4))
				again.Draw(at)
				inside := again.DataCanvas(at)
				x, y := again.Transforms(&inside)
				for k, m := range planes[i].Marks {
					px, py := m.place()
					figure.Hint(at, vg.Point{X: x(px), Y: y(py)}, 5, m.says(k))
				}
			}
		},
	}
}

func (m Mark) place() (x, y float64) {
	return float64(m.Image[0]) / pixel.Steps, float64(m.Image[1]) / pixel.Steps
}

func (m Mark) says(i int) string {
	x, y := m.place()
	s := fmt.Sprintf("%s at (%.2f, %.2f)", cmp.Or(m.Name, fmt.Sprintf("point %d", i)), x, y)
	switch {
	case m.Abstained:
		return s + ": no certificate"
	case m.Wrong:
		return fmt.Sprintf("%s: wrong class, radius %.3f", s, down(m.Radius))
	case m.Radius > 0:
		return fmt.Sprintf("%s: radius %.3f", s, down(m.Radius))
	}
	return s
}

// planeNumbers are the points of planes with their radii.
func planeNumbers(planes []Plane) *Tabular {
	t := Columns("plane", "point", "x", "y", "radius", "wrong", "abstained")
	for _, p := range planes {
		for i, m := range p.Marks {
			x, y := m.place()
			t.Add(p.Title, cmp.Or(m.Name, fmt.Sprint(i)), x, y, m.Radius, m.Wrong, m.Abstained)
		}
	}
	return t
}

// square is the part of the canvas on which the plot's data take as much width as height: a ball is round.
func square(p *plot.Plot, c vgdraw.Canvas) vgdraw.Canvas {
	data := p.DataCanvas(c).Size()
	return vgdraw.Crop(c, 0, -max(0, data.X-data.Y), 0, -max(0, data.Y-data.X))
}

func (p Plane) plot() (*plot.Plot, error) {
	regions := p.painted
	if regions == nil {
		var err error
		if regions, err = p.regions(); err != nil {
			return nil, err
		}
	}
	drawn := figure.NewPlot(p.Title, "first pixel", "second pixel")
	drawn.Title.TextStyle.Font.Size = 10
	for _, axis := range []*plot.Axis{&drawn.X, &drawn.Y} {
		axis.Min, axis.Max = 0, 1
		axis.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.5, Label: "0.5"},
			{Value: 1, Label: "1"}}
		axis.Label.TextStyle.Font.Size = 9
	}
	drawn.Add(plotter.NewImage(regions, 0, 0, 1, 1))
	for _, m := range p.Marks {
		if err := m.add(drawn, p.Model); err != nil {
			return nil, err
		}
	}
	drawn.X.Min, drawn.X.Max, drawn.Y.Min, drawn.Y.Max = 0, 1, 0, 1
	return drawn, nil
}

// tints are the colours of regions: they differ in lightness too, for grey print.
var tints = []color.NRGBA{{214, 232, 242, 255}, {245, 197, 160, 255}, {178, 224, 209, 255}, {236, 206, 222, 255}}

// A picture of regions has a pixel for each byte. Of a smoothed model every third byte of a side is computed, and
// the probabilities are interpolated between.
const (
	side   = 256
	coarse = 3
	knots  = (side-1)/coarse + 1
)

// regions is the plane with each point in the tint of its class; a point without a class is white.
func (p Plane) regions() (*image.Paletted, error) {
	info, err := p.Model.Info()
	if err != nil {
		return nil, err
	}
	if info.Shape.Len() != 2 || info.Classes > len(tints) {
		return nil, fmt.Errorf("%s takes images of %v and has %d classes; expected two values and at most %d classes",
			info.Name, info.Shape, info.Classes, len(tints))
	}
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{color.White})
	for _, tint := range tints {
		img.Palette = append(img.Palette, tint)
	}
	paint := func(x, y, class int) { img.Pix[(side-1-y)*img.Stride+x] = uint8(class + 1) }
	if p.Sigma == 0 {
		batch := classifier.Batch{N: side * side}
		for i := range side * side {
			batch.Grid = append(batch.Grid, int16(i%side), int16(i/side))
		}
		result := classifier.Result{Classes: make([]int32, batch.N)}
		if err := p.Model.Classify(Context(), batch, &result); err != nil {
			return nil, err
		}
		for i, class := range result.Classes {
			paint(i%side, i/side, int(class)) // a Miss is white
		}
		return img, nil
	}
	var known [knots][knots][]float64
	var rows sync.WaitGroup
	for y := range knots {
		rows.Go(func() {
			for x := range knots {
				known[y][x] = p.Model.Probabilities([]uint8{uint8(coarse * x), uint8(coarse * y)}, p.Sigma)
			}
		})
	}
	rows.Wait()
	for y := range side {
		for x := range side {
			x0, y0 := min(x/coarse, knots-2), min(y/coarse, knots-2)
			u, v := float64(x)/coarse-float64(x0), float64(y)/coarse-float64(y0)
			for class := range info.Classes {
				share := (1-v)*((1-u)*known[y0][x0][class]+u*known[y0][x0+1][class]) + v*((1-u)*known[y0+1][x0][class]+
					u*known[y0+1][x0+1][class])
				if share > 0.5 {
					paint(x, y, class)
				}
			}
		}
	}
	return img, nil
}

// add draws the noise samples, the circle, the point and its name, in this order.
func (m Mark) add(p *plot.Plot, model classifier.Classifier) error {
	if len(m.Image) != 2 {
		return fmt.Errorf("a mark with %d values; a point of the plane has two", len(m.Image))
	}
	x, y := m.place()
	at := plotter.XY{X: x, Y: y}
	if m.Samples > 0 {
		points, err := m.votes(model)
		if err != nil {
			return err
		}
		for class, xys := range points {
			if len(xys) == 0 {
				continue
			}
			scatter, err := plotter.NewScatter(xys)
			if err != nil {
				return err
			}
			scatter.GlyphStyle = vgdraw.GlyphStyle{Color: figure.Palette[class%len(figure.Palette)], Radius: 1.5,
				Shape: shapes[class%len(shapes)]}
			p.Add(scatter)
		}
	}
	if m.Radius > 0 {
		const corners = 180
		ring := make(plotter.XYs, corners+1)
		for i := range ring {
			sin, cos := math.Sincos(2 * math.Pi * float64(i) / corners)
			ring[i] = plotter.XY{X: at.X + m.Radius*cos, Y: at.Y + m.Radius*sin}
		}
		line, err := plotter.NewLine(ring)
		if err != nil {
			return err
		}
		line.Color, line.Width = color.Black, 1.2
		p.Add(line)
	}
	point, err := plotter.NewScatter(plotter.XYs{at})
	if err != nil {
		return err
	}
	point.GlyphStyle = vgdraw.GlyphStyle{Color: color.Black, Radius: 3, Shape: vgdraw.CircleGlyph{}}
	switch {
	case m.Abstained:
		point.GlyphStyle.Shape = vgdraw.RingGlyph{}
	case m.Wrong:
		point.GlyphStyle.Shape = vgdraw.CrossGlyph{}
	}
	p.Add(point)
	if m.Name == "" {
		return nil
	}
	label, err := plotter.NewLabels(plotter.XYLabels{XYs: plotter.XYs{at}, Labels: []string{m.Name}})
	if err != nil {
		return err
	}
	label.TextStyle[0] = figure.Label(10, color.Black)
	label.TextStyle[0].XAlign, label.TextStyle[0].YAlign = vgdraw.XLeft, vgdraw.YBottom
	label.Offset = vg.Point{X: 4, Y: 3}
	p.Add(label)
	return nil
}

// shapes differ as well as colours, for grey print.
var shapes = []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.SquareGlyph{},
	vgdraw.CrossGlyph{}}

// voteBlock is the number of samples in a block, that of a prediction.
const voteBlock = 100

// votes are the noise samples inside the picture, by class. They are those that rs.Predict draws with seed 1.
func (m Mark) votes(model classifier.Classifier) ([]plotter.XYs, error) {
	samples, classes, err := m.classified(model)
	if err != nil {
		return nil, err
	}
	points := make([]plotter.XYs, len(tints))
	for i, class := range classes {
		xy := plotter.XY{X: float64(samples[2*i]) / pixel.Steps, Y: float64(samples[2*i+1]) / pixel.Steps}
		if class != classifier.Miss && xy.X >= 0 && xy.X <= 1 && xy.Y >= 0 && xy.Y <= 1 {
			points[class] = append(points[class], xy)
		}
	}
	return points, nil
}

func (m Mark) classified(model classifier.Classifier) (samples []int16, classes []int32, err error) {
	grid, err := noise.NewGrid(m.Sigma)
	if err != nil {
		return nil, nil, err
	}
	values := []int16{int16(m.Image[0]), int16(m.Image[1])}
	for first := 0; first < m.Samples; first += voteBlock {
		block := make([]int16, 2*min(voteBlock, m.Samples-first))
		failed, err := grid.AddTo(block, values, noise.Address{Seed: 1, Block: uint64(first / voteBlock)}, 0, nil)
		if err != nil {
			return nil, nil, err
		}
		result := classifier.Result{Classes: make([]int32, len(block)/2)}
		if err := model.Classify(Context(), classifier.Batch{N: len(block) / 2, Grid: block}, &result); err != nil {
			return nil, nil, err
		}
		for _, i := range failed {
			result.Classes[i] = classifier.Miss
		}
		samples, classes = append(samples, block...), append(classes, result.Classes...)
	}
	return samples, classes, nil
}
