// Package boxes measures the texts of drawings, for tests: none may be clipped, and no two collide.
package boxes

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/image/font"
	"golang.org/x/image/font/sfnt"
	"golang.org/x/image/math/fixed"
	"gonum.org/v1/plot/vg"

	"github.com/certspec/certspec/internal/figure"
)

// text is the ink of a text in the coordinates of the drawing.
type text struct {
	words                  string
	left, right, low, high float64
}

// matrix is (a c e; b d f), as SVG writes it.
type matrix [6]float64

func (m matrix) times(n matrix) matrix {
	return matrix{m[0]*n[0] + m[2]*n[1], m[1]*n[0] + m[3]*n[1], m[0]*n[2] + m[2]*n[3], m[1]*n[2] + m[3]*n[3],
		m[0]*n[4] + m[2]*n[5] + m[4], m[1]*n[4] + m[3]*n[5] + m[5]}
}

var (
	transform = regexp.MustCompile(`(\w+)\(([^)]*)\)`)
	fontSize  = regexp.MustCompile(`font-size:\s*([\d.]+)`)
)

// Faults are the texts of an SVG document that leave its view, and the pairs that overlap, by the glyphs of the font
// that figures are set in.
func Faults(drawing []byte) (faults []string, err error) {
	texts, view, err := read(drawing)
	if err != nil {
		return nil, err
	}
	const slack = 0.5 // points
	for i, t := range texts {
		if t.left < view[0]-slack || t.right > view[0]+view[2]+slack || t.low < view[1]-slack ||
			t.high > view[1]+view[3]+slack {
			faults = append(faults, fmt.Sprintf("%q is clipped: %.0f to %.0f, %.0f to %.0f", t.words, t.left, t.right,
				t.low, t.high))
		}
		for _, o := range texts[:i] {
			if min(t.right, o.right)-max(t.left, o.left) > slack && min(t.high, o.high)-max(t.low, o.low) > slack {
				faults = append(faults, fmt.Sprintf("%q and %q collide at %.0f, %.0f", o.words, t.words, t.left, t.low))
			}
		}
	}
	return faults, nil
}

// read finds the texts of a drawing and its view: left, top, width, height.
func read(drawing []byte) (texts []text, view [4]float64, err error) {
	dec := xml.NewDecoder(strings.NewReader(string(drawing)))
	dec.Entity = xml.HTMLEntity
	type element struct {
		at    matrix
		name  string
		attrs map[string]string
	}
	stack := []element{{at: matrix{1, 0, 0, 1, 0, 0}}}
	for {
		token, err := dec.Token()
		if errors.Is(err, io.EOF) {
			return texts, view, nil
		}
		if err != nil {
			return nil, view, err
		}
		switch v := token.(type) {
		case xml.StartElement:
			e := element{stack[len(stack)-1].at, v.Name.Local, map[string]string{}}
			for _, a := range v.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			for _, t := range transform.FindAllStringSubmatch(e.attrs["transform"], -1) {
				e.at = e.at.times(parse(t[1], numbers(t[2])))
			}
			if e.name == "svg" && len(stack) == 1 {
				copy(view[:], numbers(e.attrs["viewBox"]))
			}
			stack = append(stack, e)
		case xml.EndElement:
			stack = stack[:len(stack)-1]
		case xml.CharData:
			if e := stack[len(stack)-1]; e.name == "text" && strings.TrimSpace(string(v)) != "" {
				texts = append(texts, ink(string(v), e.at, e.attrs))
			}
		}
	}
}

func parse(name string, by []float64) matrix {
	by = append(by, 0, 0)
	switch name {
	case "translate":
		return matrix{1, 0, 0, 1, by[0], by[1]}
	case "scale":
		if len(by) == 3 {
			by[1] = by[0]
		}
		return matrix{by[0], 0, 0, by[1], 0, 0}
	case "rotate":
		sin, cos := math.Sincos(by[0] * math.Pi / 180)
		return matrix{cos, sin, -sin, cos, 0, 0}
	}
	return matrix{1, 0, 0, 1, 0, 0}
}

func numbers(list string) (all []float64) {
	for _, word := range strings.FieldsFunc(list, func(r rune) bool { return r == ' ' || r == ',' }) {
		v, _ := strconv.ParseFloat(word, 64)
		all = append(all, v)
	}
	return all
}

// ink is the box of the glyphs of a text.
func ink(words string, at matrix, attrs map[string]string) text {
	size := 16. // of a page
	if found := fontSize.FindStringSubmatch(attrs["style"]); found != nil {
		size, _ = strconv.ParseFloat(found[1], 64)
	} else if own, err := strconv.ParseFloat(attrs["font-size"], 64); err == nil {
		size = own
	}
	style := figure.Label(vg.Length(size), nil)
	face := style.Handler.Cache().Lookup(style.Font, style.Font.Size)
	var buffer sfnt.Buffer
	const ppem = 1000
	pen, low, high := 0., 0., 0.
	left, right := math.Inf(1), math.Inf(-1)
	for _, r := range words {
		index, err := face.Face.GlyphIndex(&buffer, r)
		if err != nil {
			continue
		}
		bounds, advance, err := face.Face.GlyphBounds(&buffer, index, fixed.I(ppem), font.HintingNone)
		if err != nil {
			continue
		}
		unit := size / ppem / 64
		if !bounds.Empty() {
			left, right = min(left, pen+float64(bounds.Min.X)*unit), max(right, pen+float64(bounds.Max.X)*unit)
			low, high = min(low, float64(bounds.Min.Y)*unit), max(high, float64(bounds.Max.Y)*unit)
		}
		pen += float64(advance) * unit
	}
	shift := map[string]float64{"middle": -pen / 2, "end": -pen}[attrs["text-anchor"]]
	x, y := 0., 0.
	if of := numbers(attrs["x"]); len(of) > 0 {
		x = of[0]
	}
	if of := numbers(attrs["y"]); len(of) > 0 {
		y = of[0]
	}
	t := text{words, math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)}
	for _, corner := range [4][2]float64{{left, low}, {right, low}, {left, high}, {right, high}} {
		px, py := x+shift+corner[0], y+corner[1]
		cx, cy := at[0]*px+at[2]*py+at[4], at[1]*px+at[3]*py+at[5]
		t.left, t.right, t.low, t.high = min(t.left, cx), max(t.right, cx), min(t.low, cy), max(t.high, cy)
	}
	return t
}
