package nb

import (
	"bytes"
	"encoding/xml"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// run is a finished run with the given radii; a negative radius stands for a wrong class.
func run(sigma float64, radii ...float64) *rs.Run {
	r := &rs.Run{Header: ledger.Header{
		Model: classifier.Info{Name: "toy_model"}, Data: ledger.Data{Name: "toy/test", Images: len(radii)},
		Sigma: sigma, Noise: "grid/1", Alpha: 0.001, Selection: 100, Block: 100,
		Rule: ledger.Rule{Name: "fixed", Looks: []ledger.Level{{Samples: 10_000, Alpha: 0.001}}},
	}}
	for i, radius := range radii {
		row := rs.Row{Image: i, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: radius}}
		if radius < 0 {
			row.Class, row.Radius = 0, -radius
		}
		r.Rows = append(r.Rows, row)
	}
	return r
}

func TestRunTable(t *testing.T) {
	table := Table(run(0.25, 0.5, 0.2, -0.7, 0.5))
	// The cap of n = 10,000 at α = 0.001 is 0.79964 (0.25·Φ⁻¹(0.001^(1/10000))): columns up to 0.75.
	if got := strings.Join(table.Columns, "|"); got != "model|data|σ|images|r = 0|r = 0.25|r = 0.5|r = 0.75|ACR|abstained" {
		t.Errorf("columns are %s", got)
	}
	for i, want := range []any{"toy_model", "toy/test", "0.25", 4, 0.75, 0.5, 0.5, 0.0, 0.3, 0} {
		got := table.Rows[0][i]
		if f, ok := got.(float64); ok {
			if d := f - want.(float64); d > 1e-12 || d < -1e-12 {
				t.Errorf("%s is %v, want %v", table.Columns[i], got, want)
			}
		} else if got != want {
			t.Errorf("%s is %v, want %v", table.Columns[i], got, want)
		}
	}
	if !strings.Contains(table.Notes[0], "10,000 noise samples") || !strings.Contains(table.Notes[0], "above 0.7997") {
		t.Errorf("note %q does not name n and the largest radius", table.Notes[0])
	}
}

func TestRunTableWithoutLabels(t *testing.T) {
	r := run(0.25, 0.5, 0.2, -0.7)
	for i := range r.Rows {
		r.Rows[i].Label = -1
	}
	want := []any{"toy_model", "toy/test", "0.25", 3, "no labels", "no labels", "no labels", "no labels", "no labels", 0}
	if got := Table(r).Rows[0]; !slices.Equal(got, want) {
		t.Errorf("row is %v, want %v", got, want)
	}
}

func TestFiguresDecodeAtTheirSize(t *testing.T) {
	dir := t.TempDir()
	figure := Curve(run(0.25, 0.5, 0.2), run(0.5, 0.9, 1.1))
	for _, ext := range []string{".svg", ".png", ".pdf"} {
		first, second := filepath.Join(dir, "a", "f"+ext), filepath.Join(dir, "g"+ext)
		for _, path := range []string{first, second} {
			if err := figure.Save(path); err != nil {
				t.Fatal(err)
			}
		}
		a, _ := os.ReadFile(first)
		b, _ := os.ReadFile(second)
		if !bytes.Equal(a, b) {
			t.Errorf("%s: the same figure gives two different files", ext)
		}
		switch ext {
		case ".png":
			width, height, err := pngSize(a)
			wantW, wantH := int(figure.Width/pngPixel+0.5), int(figure.Height/pngPixel+0.5)
			if err != nil || width != wantW || height != wantH {
				t.Errorf("PNG of %d × %d (%v), want %d × %d", width, height, err, wantW, wantH)
			}
		case ".pdf":
			if !bytes.HasPrefix(a, []byte("%PDF-")) || !bytes.Contains(a, []byte("%%EOF")) {
				t.Errorf("no PDF: %.20q", a)
			}
		case ".svg":
			if text := svgText(t, a); !strings.Contains(text, "σ = 0.5") || !strings.Contains(text, "certified accuracy") {
				t.Errorf("the SVG says %q", text)
			}
		}
	}
	if err := figure.Save(filepath.Join(dir, "f.gif")); err == nil {
		t.Error("unknown extension is no error")
	}
}

func svgText(t *testing.T, data []byte) string {
	t.Helper()
	dec := xml.NewDecoder(bytes.NewReader(data))
	var text strings.Builder
	for {
		token, err := dec.Token()
		if err == io.EOF {
			return text.String()
		}
		if err != nil {
			t.Fatalf("SVG is not well-formed: %v", err)
		}
		if c, ok := token.(xml.CharData); ok {
			text.Write(c)
		}
	}
}

// A 2 × 2 image must come out as four crisp squares of its colours, in place.
func TestMosaicIsCrisp(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 3}
	values := []uint8{255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 20, 30}
	f := mosaic("", shape, [][]tile{{{image: values}}}, nil)
	data, err := f.png()
	if err != nil {
		t.Fatal(err)
	}
	img, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	scale := (tileSize + 1) / 2
	for i, want := range []color.NRGBA{{255, 0, 0, 255}, {0, 255, 0, 255}, {0, 0, 255, 255}, {10, 20, 30, 255}} {
		x0, y0 := margin+i%2*scale, margin+i/2*scale
		for _, p := range [][2]int{{x0 + 1, y0 + 1}, {x0 + scale - 2, y0 + scale - 2}, {x0 + scale/2, y0 + scale/2}} {
			if got := color.NRGBAModel.Convert(img.At(p[0], p[1])); got != want {
				t.Errorf("square %d at %v is %v, want %v", i, p, got, want)
			}
		}
	}
	if f.Width != vg.Length(2*scale+2*margin)*pngPixel {
		t.Errorf("width %v", f.Width)
	}
}

func TestMosaicBreaksLongRows(t *testing.T) {
	shape := pixel.Shape{Height: 1, Width: 1, Channels: 1}
	row := make([]tile, perRow+1)
	for i := range row {
		row[i].image = []uint8{7}
	}
	one, two := mosaic("", shape, [][]tile{row[:perRow]}, nil), mosaic("", shape, [][]tile{row}, nil)
	if two.Width != one.Width || two.Height < 1.9*one.Height {
		t.Errorf("%d images take %v × %v, %d take %v × %v", perRow, one.Width, one.Height, perRow+1, two.Width, two.Height)
	}
}

// What cannot be drawn ends the cell, which says what can be.
func TestPlotOfAnother(t *testing.T) {
	code, said := stopped(t, func() { Plot(7) })
	if want := "Plot of int; expected a *plot.Plot"; code != 1 || !strings.Contains(said, want) {
		t.Errorf("exit %d, %q; want it to say %q", code, said, want)
	}
}

// A figure of thousands of points comes as a picture alone, a small one as a drawing, too.
func TestPanelsAreAFigure(t *testing.T) {
	grid := figure.Grid{Columns: 2, Panels: []figure.Panel{
		{Title: "left", Series: []figure.Series{{Name: "a", Points: []figure.Spot{{X: 1, Y: 2}}}}},
		{Title: "right", Series: []figure.Series{{Name: "a", Points: []figure.Spot{{X: 2, Y: 1}}}}},
	}}
	f := Plot(grid, "two", "panels")
	width, height := grid.Size()
	if f.Caption != "two panels" || f.Width != width || f.Height != height {
		t.Errorf("figure %q of %v × %v, want %q of %v × %v", f.Caption, f.Width, f.Height, "two panels", width, height)
	}
	drawing, err := f.svg()
	if err != nil {
		t.Fatal(err)
	}
	for _, title := range []string{">left<", ">right<"} {
		if !strings.Contains(string(drawing), title) {
			t.Errorf("no panel %s", title)
		}
	}
}

func TestLargeDrawings(t *testing.T) {
	for lines, want := range map[int]bool{1: true, 400: false} {
		f := &Figure{Caption: "lines", Width: 100, Height: 100, paint: func(_ *Figure, c draw.Canvas) {
			for i := range lines {
				for j := range 20 { // colours take turns, so that no two lines are one path
					c.StrokeLine2(draw.LineStyle{Color: color.Gray{uint8(40 * (j % 2))}, Width: 1}, 0, vg.Length(i)/4, 100, vg.Length(j))
				}
			}
		}}
		data, err := f.bundle()
		if err != nil {
			t.Fatal(err)
		}
		if _, drawn := data[protocol.MIMEImageSVG]; drawn != want || data[protocol.MIMEImagePNG] == nil {
			t.Errorf("%d lines: a drawing %v; expected %v", 20*lines, drawn, want)
		}
	}
}
