package figure

import (
	"bytes"
	"compress/zlib"
	"image"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// longCurve is that of a run of 10,000 images with as many radii.
func longCurve() Curve {
	c := Curve{Name: "σ = 0.25", Images: 10_000, Cap: 0.9, Samples: 10_000}
	for i := range 9_000 {
		c.Radii, c.Accuracy = append(c.Radii, 0.0001*float64(i+1)), append(c.Accuracy, 1-float64(i)/10_000)
	}
	return c
}

// A paper takes many figures: one curve stays below 40 kB, fonts included.
func TestPDFOfOneCurveIsSmall(t *testing.T) {
	data, err := PDF(Width, Height, "curve", func(c draw.Canvas) {
		CertifiedAccuracy(Inset(c), Words{Title: "test (10,000 images), σ = 0.25"}, longCurve())
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(data) > 40_000 || len(data) < 5_000 {
		t.Errorf("the PDF has %d bytes, at most 40,000 expected", len(data))
	}
	if !bytes.Contains(data, []byte("/FontFile2")) {
		t.Error("no font is embedded")
	}
}

// streams are the inflated streams of a PDF.
func streams(t *testing.T, data []byte) string {
	t.Helper()
	var all strings.Builder
	for _, m := range regexp.MustCompile(`(?s)stream\r?\n(.*?)\r?\nendstream`).FindAllSubmatch(data, -1) {
		r, err := zlib.NewReader(bytes.NewReader(m[1]))
		if err != nil {
			continue
		}
		text, _ := io.ReadAll(r)
		all.Write(text)
		all.WriteByte('\n')
	}
	return all.String()
}

// Places, colours, turns and arcs of the page, by its operators. The page is 100 points high; PDF counts upwards as gonum does.
func TestPDFDrawsWhereItIsTold(t *testing.T) {
	data, err := PDF(200, 100, "", func(c draw.Canvas) {
		c.SetColor(Palette[0])
		c.SetLineWidth(2)
		c.Translate(vg.Point{X: 10, Y: 20})
		c.Push()
		c.Rotate(math.Pi / 2)
		c.Scale(2, 1)
		c.Stroke(vg.Path{{Type: vg.MoveComp}, {Type: vg.LineComp, Pos: vg.Point{X: 5, Y: 3}}}) // (7, 30) after the turn
		c.Pop()
		var circle vg.Path
		circle.Arc(vg.Point{X: 50, Y: 50}, 10, 0, 2*math.Pi)
		circle.Close()
		c.Fill(circle)
		c.DrawImage(vg.Rectangle{Min: vg.Point{X: 1, Y: 1}, Max: vg.Point{X: 3, Y: 4}}, image.NewGray(image.Rect(0, 0, 2, 2)))
	})
	if err != nil {
		t.Fatal(err)
	}
	page := streams(t, data)
	for _, want := range []string{
		"10.00 20.00 m\n7.00 30.00 l",    // the line, turned by a quarter
		"70.00 70.00 m",                  // the circle begins on its right
		"60.00000 80.00000 c",            // and passes its top
		"0.000 0.447 0.698 rg",           // the blue of the palette
		"2.00000 0 0 3.00000 11.00000 2", // the image, 2 × 3 points
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q:\n%s", want, page)
		}
	}
}
