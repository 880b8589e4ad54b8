package figure

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Paths of one opaque style become one, in their order; others stay.
func TestJoined(t *testing.T) {
	a, b := `style="fill:#000000"`, `style="stroke-opacity:0.5"`
	line := func(d, style string) string { return `<path d="` + d + `" ` + style + " />\n" }
	got := string(joined([]byte("<g>\n" + line("M1,1Z", a) + line("M2,2Z", a) + "<text/>\n" + line("M3,3Z", a) + line("M4,4", b) + line("M5,5", b) + "</g>\n")))
	if want := "<g>\n" + line("M1,1ZM2,2Z", a) + "<text/>\n" + line("M3,3Z", a) + line("M4,4", b) + line("M5,5", b) + "</g>\n"; got != want {
		t.Errorf("%s", got)
	}
}

// A drawing gets a palette, in which no pixel is farther from its own colour than 16; a picture without a background keeps its colours.
func TestIndexed(t *testing.T) {
	g := Grid{Columns: 2}
	for k := range 2 {
		s := Series{Name: string(rune('a' + k))}
		for i := range 60 {
			x := float64(i%13) / 5
			s.Points = append(s.Points, Spot{X: x, Y: float64(i), XLow: x - 0.3, XHigh: x + 0.3, YLow: float64(i) - 4, YHigh: math.NaN()})
		}
		s.Lines = []Fit{{Slope: 3, Intercept: 5, R2: 0.7, To: 2}}
		g.Panels = append(g.Panels, Panel{Title: "panel", X: "x", Y: "y", Series: []Series{s, s}})
	}
	width, height := g.Size()
	data, err := PNG(width, height, g.Paint)
	if err != nil {
		t.Fatal(err)
	}
	got, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	paletted, ok := got.(*image.Paletted)
	if !ok {
		t.Fatalf("%T", got)
	}
	exact := drawn(width, height, g.Paint)
	for y := range got.Bounds().Dy() {
		for x := range got.Bounds().Dx() {
			a, b := color.RGBAModel.Convert(paletted.At(x, y)).(color.RGBA), color.RGBAModel.Convert(exact.At(x, y)).(color.RGBA)
			for _, d := range [3]int{int(a.R) - int(b.R), int(a.G) - int(b.G), int(a.B) - int(b.B)} {
				if d > 16 || d < -16 {
					t.Fatalf("pixel %d, %d is %v; drawn %v", x, y, a, b)
				}
			}
		}
	}
	photograph := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for i := range 64 * 64 {
		photograph.Set(i%64, i/64, color.RGBA{uint8(4 * (i % 64)), uint8(4 * (i / 64)), uint8(i), 255})
	}
	if indexed(photograph) != image.Image(photograph) {
		t.Error("a photograph was given a palette")
	}
}

// Bars are where intervals end, and the axes hold them.
func TestBars(t *testing.T) {
	b := bars{of: []Spot{{X: 1, Y: 2, XLow: 0.5, XHigh: 1.5, YLow: math.NaN(), YHigh: 3}, {X: 4, Y: 5, XLow: math.NaN(), XHigh: math.NaN(), YLow: 4.5, YHigh: 6}}}
	if a, b, c, d := b.DataRange(); [4]float64{a, b, c, d} != [4]float64{0.5, 4, 2, 6} {
		t.Errorf("range %v", []float64{a, b, c, d})
	}
	p := Panel{Series: []Series{{Points: b.of}}}
	data, err := SVG(200, 200, "bars", func(c draw.Canvas) { p.plot(vg.Length(2)).Draw(c) })
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if strings.Contains(line, "stroke-opacity:0.35") && strings.Count(line, "M") == 2 {
			return
		}
	}
	t.Errorf("no path with two bars in\n%s", data)
}
