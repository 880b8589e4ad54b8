package nb

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/ood"
)

// HistogramRows draws, a row for each network and in it a histogram for each measurement, how often the confidence
// lies in each of 50 equal bins between 1/K and 1. It is the confidence itself at ε = 0, else its upper bound, or the
// largest that attacks found. The axis is broken as in Bitterwolf et al. 2020 (tables 5 to 7): shares above 20 % are
// drawn ten times smaller. A dotted line stands at the mean. A value that is no number counts as 1.
func HistogramRows(measurements ...[]*ood.Measurement) *Figure {
	rows := make([][]*histogram, len(measurements))
	var captions []string
	columns := 1
	for i, row := range measurements {
		columns = max(columns, len(row))
		for _, m := range row {
			h, err := newHistogram(m)
			end(err)
			rows[i] = append(rows[i], h)
			captions = append(captions, fmt.Sprintf("%s, mean %.3f", h.title, h.mean))
		}
	}
	width, height := figure.Width, figure.Height*vg.Length(max(len(rows), 1))*0.55
	if columns > 1 {
		width = min(vg.Length(columns)*2.2, 9.7) * vg.Inch // a page wide
	}
	return &Figure{Caption: "histograms of confidences: " + strings.Join(captions, "; "), Width: width, Height: height,
		numbers: func() *Tabular {
			t := Columns("histogram", "from", "to", "share")
			for _, h := range slices.Concat(rows...) {
				for i, share := range h.shares {
					width := (1 - h.low) / histogramBins
					t.Add(h.title, h.low+float64(i)*width, h.low+float64(i+1)*width, share)
				}
			}
			return t
		},
		paint: func(f *Figure, c draw.Canvas) {
			c = figure.Inset(c)
			across, down := (c.Max.X-c.Min.X)/vg.Length(columns), (c.Max.Y-c.Min.Y)/vg.Length(len(rows))
			for i, row := range rows {
				for k, h := range row {
					p := h.plot(i == len(rows)-1)
					if columns > 1 {
						p.Title.Text, p.Title.TextStyle.Font.Size = h.short, 8
					}
					w := f.words("", p.X.Label.Text, p.Y.Label.Text)
					p.X.Label.Text, p.Y.Label.Text = w.X, w.Y
					if i < len(rows)-1 {
						p.X.Label.Text = ""
					}
					if k > 0 {
						p.Y.Label.Text = ""
					}
					p.Draw(draw.Crop(c, across*vg.Length(k), -across*vg.Length(columns-1-k)-4,
						down*vg.Length(len(rows)-1-i), -down*vg.Length(i)))
				}
			}
		}}
}

const histogramBins = 50

// histogram is the shares of images by confidence.
type histogram struct {
	title  string
	short  string // without what is measured
	low    float64
	shares [histogramBins]float64
	mean   float64
}

func newHistogram(m *ood.Measurement) (*histogram, error) {
	if len(m.Lines) == 0 {
		return nil, fmt.Errorf("nb.Histograms: no images in %s", m.Header.Data.Name)
	}
	what := "confidence"
	switch {
	case m.Header.Attack != nil:
		what = fmt.Sprintf("under attack, ε = %v", m.Header.Epsilon)
	case m.Header.Epsilon > 0:
		what = fmt.Sprintf("upper bound, ε = %v", m.Header.Epsilon)
	}
	data := printable.DataName(m.Header.Data.Name)
	set, _, _ := strings.Cut(data, ",")
	h := &histogram{title: fmt.Sprintf("%s on %s: %s", m.Header.Model.Name, data, what), short: m.Header.Model.Name +
		", " + set, low: 1 / float64(m.Header.Model.Classes)}
	for _, l := range m.Lines {
		log := l.Log
		switch {
		case math.IsNaN(log):
			log = 0
		case m.Header.Attack != nil:
			log = l.Attacked
		case m.Header.Epsilon > 0:
			log = l.Upper
		}
		confidence := math.Exp(log)
		bin := int((confidence - h.low) / (1 - h.low) * histogramBins)
		h.shares[min(max(bin, 0), histogramBins-1)] += 1 / float64(len(m.Lines))
		h.mean += confidence / float64(len(m.Lines))
	}
	return h, nil
}

// bent is where a share is drawn.
func bent(share float64) float64 {
	const bend = 0.2
	if share > bend {
		return bend + (share-bend)/10
	}
	return share
}

func (h *histogram) plot(last bool) *plot.Plot {
	label := ""
	if last {
		label = "confidence"
	}
	p := figure.NewPlot(h.title, label, "share")
	width := (1 - h.low) / histogramBins
	for i, s := range h.shares {
		if s == 0 {
			continue
		}
		x, y := h.low+float64(i)*width, bent(s)
		bar, err := plotter.NewPolygon(plotter.XYs{{X: x, Y: 0}, {X: x + width, Y: 0}, {X: x + width, Y: y},
			{X: x, Y: y}})
		end(err)
		bar.Color, bar.LineStyle.Width = figure.Palette[0], 0
		p.Add(bar)
	}
	mean := &plotter.Line{XYs: plotter.XYs{{X: h.mean, Y: 0}, {X: h.mean, Y: bent(1)}}, LineStyle: figure.LineStyle(6)}
	mean.Dashes = []vg.Length{1, 2}
	p.Add(mean)
	p.X.Min, p.X.Max, p.Y.Min, p.Y.Max = h.low, 1, 0, bent(1)
	p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 0.1, Label: "10 %"},
		{Value: 0.2, Label: "20 %"}, {Value: bent(1), Label: "100 %"}}
	return p
}
