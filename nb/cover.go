package nb

import (
	"fmt"
	"image/color"
	"math"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/noise"
)

// Method is a picture of the whole method: an image, its noise samples with the network's answers, their votes and
// the certificate; beside it, the curve of a run. A run of one image has no curve.
type Method struct {
	Data     rs.Source
	Model    classifier.Classifier
	Run      *rs.Run
	Image    int          // which of the run's rows stands on the left
	Clean    float64      // accuracy of the smoothed classifier without an attack; 0: not drawn
	Attacked [][2]float64 // radius and empirical accuracy; nil: not drawn
}

// Measures of the picture, in points.
const (
	smoothingWidth, smoothingHeight = 9.6 * vg.Inch, 4.05 * vg.Inch
	smoothingLeft                   = 4.1 * vg.Inch
	smoothingGrid                   = 4 // noise samples in a row and in a column
)

// Figure draws it.
func (s Method) Figure() *Figure {
	images, err := s.Data.Load(Context())
	end(err)
	row := s.Run.Rows[s.Image]
	picture := images.Image(images.Index(row.Image))
	samples, answers, err := s.samples(picture, row.Image)
	end(err)
	predicted, err := rs.Predict(Context(), s.Model, picture, rs.PredictOptions{Sigma: s.Run.Header.Sigma,
		Samples: 1000, Seed: 1, Image: row.Image})
	end(err)
	run, cap := s.Run.Curve(), s.Run.RadiusCap()
	curve := figure.Curve{Radii: run.Radii, Accuracy: run.Accuracy, Images: s.Run.ACR().Images, Cap: cap,
		Behind:  behind(s.Run.Rows, run.Radii),
		Samples: s.Run.Header.MaxSamples(), Clean: s.Clean}
	for _, at := range s.Attacked {
		curve.Attacked = append(curve.Attacked, plotter.XY{X: at[0], Y: at[1]})
	}
	name := func(class int) string { return className(images, class) }
	if len(s.Run.Rows) == 1 {
		return &Figure{
			Caption: fmt.Sprintf("an image, noise samples of it with the network's answers, their votes and the certified "+
				"radius; %s", curveTitle([]*rs.Run{s.Run})),
			Width: smoothingLeft + 0.8*vg.Inch, Height: smoothingHeight,
			paint: func(_ *Figure, c draw.Canvas) {
				s.paintSamples(figure.Inset(c), picture, samples, answers, row, predicted, name)
			},
		}
	}
	return &Figure{
		Caption: fmt.Sprintf("left: an image, sixteen noise samples of it with the network's answers, the votes of "+
			"1,000 of them, and the certified radius; "+
			"right: certified accuracy of the smoothed classifier against the radius, with its 95 %% band, clean "+
			"and empirical accuracy and the largest radius of n noise samples; %s", curveTitle([]*rs.Run{s.Run})),
		Width: smoothingWidth, Height: smoothingHeight, numbers: curveNumbers([]string{s.Run.Header.Model.Name},
			[]figure.Curve{curve}),
		paint: func(f *Figure, c draw.Canvas) {
			c = figure.Inset(c)
			left := draw.Crop(c, 0, smoothingLeft-(c.Max.X-c.Min.X), 0, 0)
			s.paintSamples(left, picture, samples, answers, row, predicted, name)
			figure.CertifiedAccuracy(draw.Crop(c, smoothingLeft+16, 0, 0, 0),
				f.words(headline([]*rs.Run{s.Run}), "", ""), curve)
		},
	}
}

// samples are the first noise samples of the picture, clipped for the screen, and the network's answers to them.
func (s Method) samples(picture []uint8, id int) (pictures [][]uint8, answers []int32, err error) {
	grid, err := noise.NewGrid(s.Run.Header.Sigma)
	if err != nil {
		return nil, nil, err
	}
	const count = smoothingGrid * smoothingGrid
	values := make([]int16, len(picture))
	for i, b := range picture {
		values[i] = int16(b)
	}
	block := make([]int16, count*len(picture))
	if _, err := grid.AddTo(block, values, noise.Address{Seed: 1, Image: uint64(id)}, 0, nil); err != nil {
		return nil, nil, err
	}
	result := classifier.Result{Classes: make([]int32, count)}
	if err := s.Model.Classify(Context(), classifier.Batch{N: count, Grid: block}, &result); err != nil {
		return nil, nil, err
	}
	for v := range slices.Chunk(block, len(picture)) {
		shown := make([]uint8, len(picture))
		for i, z := range v {
			shown[i] = uint8(min(max(z, 0), 255))
		}
		pictures = append(pictures, shown)
	}
	return pictures, result.Classes, nil
}

func (s Method) paintSamples(c draw.Canvas, picture []uint8, samples [][]uint8, answers []int32, row rs.Row,
	votes rs.Prediction, name func(int) string) {
	info, err := s.Model.Info()
	end(err)
	text := func(at vg.Point, size vg.Length, ink color.Color, align float64, words string) {
		style := figure.Label(size, ink)
		style.XAlign, style.YAlign = map[float64]draw.XAlignment{0: draw.XLeft, 0.5: draw.XCenter,
			1: draw.XRight}[align], draw.YTop
		c.FillText(style, at, words)
	}
	put := func(x, y, size vg.Length, values []uint8) {
		low := vg.Point{X: c.Min.X + x, Y: c.Max.Y - y - size}
		c.DrawImage(vg.Rectangle{Min: low, Max: vg.Point{X: low.X + size, Y: low.Y + size}},
			enlarged(info.Shape, values, 1))
	}
	place := func(x, y vg.Length) vg.Point { return vg.Point{X: c.Min.X + x, Y: c.Max.Y - y} }

	const big, small, gap, word, top = 92, 41, 6, 11, 16
	text(place(big/2, 0), 10, color.Black, 0.5, "image")
	put(0, top, big, picture)
	text(place(big/2, top+big+2), 9, figure.Grey, 0.5, "label: "+name(row.Label))

	const grid = big + 26
	text(place(grid+2*(small+gap)-gap/2, 0), 10, color.Black, 0.5, fmt.Sprintf("noise samples, σ = %g",
		s.Run.Header.Sigma))
	for i, sample := range samples {
		x, y := vg.Length(i%smoothingGrid)*(small+gap)+grid, vg.Length(i/smoothingGrid)*(small+word+gap)+top
		put(x, y, small, sample)
		ink := color.Color(color.Black)
		if int(answers[i]) != row.Class {
			ink = figure.Palette[1]
		}
		text(place(x+small/2, y+small+1), 7, ink, 0.5, name(int(answers[i])))
	}

	// The votes stand below the image; the certificate below both.
	order := make([]int, len(votes.Counts))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return votes.Counts[b] - votes.Counts[a] })
	const bars = top + big + 30
	text(place(0, bars-2), 9, color.Black, 0, "votes of 1,000")
	for k, class := range order[:min(3, len(order))] {
		if votes.Counts[class] == 0 {
			break
		}
		y := vg.Length(bars + 14 + 24*k)
		width := vg.Length(float64(votes.Counts[class]) / 1000 * big)
		low := place(0, y+22)
		bar := []vg.Point{low, {X: low.X + width, Y: low.Y}, {X: low.X + width, Y: low.Y + 8}, {X: low.X, Y: low.Y + 8}}
		c.FillPolygon(figure.Palette[0], bar)
		text(place(0, y+2), 8, color.Black, 0, name(class)+" "+printable.Count(votes.Counts[class]))
	}
	y := vg.Length(top + smoothingGrid*(small+word+gap) + 8)
	text(place(0, y), 9, color.Black, 0,
		fmt.Sprintf("Top-class count %s of n = %s: p ≥ %.4f (α = %g).", printable.Count(row.K),
			printable.Count(row.N), math.Floor(1e4*row.Lower)/1e4, s.Run.Header.Alpha))
	text(place(0, y+13), 9, color.Black, 0,
		fmt.Sprintf("Proven: within radius %.3f the smoothed classifier answers %s.", down(row.Radius),
			name(row.Class)))
}
