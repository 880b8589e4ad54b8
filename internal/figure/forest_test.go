package figure

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
)

// box is where a text stands on a page.
type box struct {
	text                     string
	left, right, top, bottom float64
}

var textElement = regexp.MustCompile(`(?s)<text lengthAdjust="spacingAndGlyphs" textLength="([^"]+)" ` +
	`x="([^"]+)" y="([^"]+)" transform="([^"]*)"\s+style="[^"]*font-size:([0-9.]+)px">([^<]*)</text>`)

// boxes are the boxes of the texts of a drawing that are not turned.
func boxes(t *testing.T, drawing []byte) (all []box) {
	t.Helper()
	for _, m := range textElement.FindAllSubmatch(drawing, -1) {
		if string(m[4]) != "scale(1, -1)" {
			continue
		}
		var v [4]float64
		for k, i := range []int{1, 2, 3, 5} {
			var err error
			if v[k], err = strconv.ParseFloat(string(m[i]), 64); err != nil {
				t.Fatal(err)
			}
		}
		all = append(all, box{string(m[6]), v[1], v[1] + v[0], v[2] - 0.7*v[3], v[2]})
	}
	return all
}

// collisions are pairs of texts of which one stands on the other.
func collisions(all []box) (pairs []string) {
	for i, a := range all {
		for _, b := range all[:i] {
			if a.left < b.right-0.5 && b.left < a.right-0.5 && a.top < b.bottom-0.5 && b.top < a.bottom-0.5 {
				pairs = append(pairs, fmt.Sprintf("%q on %q", a.text, b.text))
			}
		}
	}
	return pairs
}

// No name stands on another or on the marks, and none leaves the page, however long names are.
func TestForestKeepsItsNamesApart(t *testing.T) {
	printed := 0.02
	f := Forest{Title: "a title that is rather long for so few rows", X: "difference"}
	for i := range 12 {
		name := fmt.Sprintf("FourierMix+HCR above AutoAugment+JSD on C-bar, row %d", i)
		f.Rows = append(f.Rows, ForestRow{Name: name[:len(name)-3*i], Value: 0.01 * float64(i), Low: 0.01*float64(i) - 0.03,
			High: 0.01*float64(i) + 0.03, Published: &printed, Ink: Palette[i%3]})
	}
	width, height := f.Size()
	drawing, err := SVG(width, height, "caption", f.Paint)
	if err != nil {
		t.Fatal(err)
	}
	all := boxes(t, drawing)
	if len(all) < 12+3 {
		t.Fatalf("%d texts", len(all))
	}
	if pairs := collisions(all); len(pairs) > 0 {
		t.Error(pairs)
	}
	for _, b := range all {
		if b.left < 0 || b.right > width.Points() || b.bottom > 0 || b.top < -height.Points() {
			t.Errorf("off the page of %v × %v: %+v", width, height, b)
		}
	}
	if apart := collisions([]box{{"a", 0, 10, -7, 0}, {"b", 9, 20, -7, 0}}); len(apart) != 1 {
		t.Error("two texts on one place do not collide")
	}
}
