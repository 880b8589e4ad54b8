package lineplot

import (
	"bytes"
	"math"
	"testing"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/lines"
)

// A point is drawn where its accuracies are, with its exact interval, and the line over the points' width with R² as its opacity.
func TestOfResult(t *testing.T) {
	points := []lines.Point{}
	for _, k := range []int{60, 70, 80, 100} {
		x, _ := lines.Count(k, 100)
		y, _ := lines.Count(k-20, 100)
		points = append(points, lines.Point{Model: string(rune('a' + k)), Group: "g", Fits: true, X: x, Y: y})
	}
	r, err := lines.FitPoints(t.Context(), points, lines.Options{X: "clean", Y: "fog", Over: lines.Nothing})
	if err != nil {
		t.Fatal(err)
	}
	g := OfResult(r)
	s := g.Panels[0].Series[0]
	if at := s.Points[1]; math.Abs(at.X-lines.Probit(0.7)) > 1e-12 || math.Abs(at.YLow-lines.Probit(r.Models[1].Y.Interval.Low)) > 1e-12 {
		t.Errorf("%+v", at)
	}
	if at := s.Points[3]; math.IsInf(at.X, 0) || at.X != lines.Probit(1-0.5/100) {
		t.Errorf("an accuracy of 1: %+v", at)
	}
	if f := s.Lines[0]; f.From != s.Points[0].X || f.To != s.Points[3].X || f.R2 != r.Lines[0].R2 {
		t.Errorf("%+v", f)
	}
	width, height := g.Size()
	picture, err := figure.SVG(width, height, Caption(r), g.Paint)
	if err != nil || !bytes.Contains(picture, []byte("fog against clean on probit axes, 4 points")) || !bytes.Contains(picture, []byte(">80<")) {
		t.Errorf("%v, %.300s", err, picture)
	}
}
