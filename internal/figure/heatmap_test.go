package figure

import (
	"image/color"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

func TestNearest(t *testing.T) {
	for _, c := range []struct{ numbers, want []int }{
		{nil, nil}, {[]int{3}, []int{0}}, {[]int{-1, 0, 1}, []int{0, 1, 2}},
		{[]int{-4, -1, 0, 2, 5}, []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 4}},
	} {
		if got := nearest(c.numbers); !slices.Equal(got, c.want) {
			t.Errorf("%d: %d, want %d", c.numbers, got, c.want)
		}
	}
}

// Of the columns 0, 1 and 4 the first two stand for 0, 1 and 2, the third for 3 and 4.
func TestHeatMapIsLinearAndSquare(t *testing.T) {
	m := HeatMap{X: "a name that is wider than the square is", Columns: []int{0, 1, 4}, Rows: []int{0, 1}, High: 1, Values: []float64{0, 0, .5, 0, 0, .5}}
	picture := vgimg.New(4*vg.Inch, 3*vg.Inch)
	m.paintMap(draw.New(picture))
	var black, red, high int
	for x := range picture.Image().Bounds().Dx() {
		column := map[bool]int{}
		for y := range picture.Image().Bounds().Dy() {
			if c := color.NRGBAModel.Convert(picture.Image().At(x, y)).(color.NRGBA); c.G < 150 && (c.R > c.B+60 || c.R < 20) {
				column[c.R > 60]++
			}
		}
		if column[false] > 150 {
			black, high = black+1, column[false]
		} else if column[true] > 150 {
			red++
		}
	}
	if share := float64(black) / float64(black+red); math.Abs(share-.6) > .02 || math.Abs(float64(high-black-red)) > 4 {
		t.Errorf("%d columns of pixels are black and %d red, %d high; expected three to two, and a square", black, red, high)
	}
}

// Angles end where they begin, and are as dark at x as at −x, blue below and red above; other scales have an end.
func TestAnglesHaveACircleOfColours(t *testing.T) {
	of := func(low, high float64) []color.Color {
		return HeatMap{Low: low, High: high}.colours(plane{1, []float64{0}}).Palette.Colors()
	}
	parts := func(c color.Color) (r, b, luma float64) {
		at := color.NRGBAModel.Convert(c).(color.NRGBA)
		return float64(at.R), float64(at.B), .299*float64(at.R) + .587*float64(at.G) + .114*float64(at.B)
	}
	circle := of(-math.Pi, math.Pi)
	for i, last := 0, len(circle)-1; i < len(circle)/2; i++ {
		r, b, luma := parts(circle[i])
		r2, b2, luma2 := parts(circle[last-i])
		if math.Abs(luma-luma2) > 10 || i > 20 && i < 100 && (r > b || r2 < b2) {
			t.Errorf("%d: %v and %v", i, circle[i], circle[last-i])
		}
	}
	_, _, low := parts(of(0, math.Pi)[0])
	if _, _, high := parts(of(0, math.Pi)[254]); high-low < 200 {
		t.Errorf("a scale with ends goes from %v to %v", low, high)
	}
}
