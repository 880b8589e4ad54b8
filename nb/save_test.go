package nb

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"
	"gonum.org/v1/plot/vg"

	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/sweep"
)

var (
	filesOfMenu = regexp.MustCompile(`const files = (\{.*\}), name`)
	optionKinds = regexp.MustCompile(`<option value="(\w+)">`)
)

// unpacked are the files that a menu holds.
func unpacked(t *testing.T, menu string) map[string]string {
	t.Helper()
	found := filesOfMenu.FindStringSubmatch(menu)
	if found == nil {
		t.Fatalf("no files in the menu:\n%.500s", menu)
	}
	var packed map[string]string
	if err := json.Unmarshal([]byte(found[1]), &packed); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for kind, text := range packed {
		data, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			t.Fatal(err)
		}
		r, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[kind] = string(all)
	}
	return files
}

// Below a figure stands a menu with what Save would write, and with the numbers behind it; in a table one with LaTeX and
// CSV. Both are there in folds, too.
func TestPagesSaveTheirFiguresAndTables(t *testing.T) {
	sent := page(t)
	curve, table := Curve(run(0.25, 0.5, 0.2, 0.2)), nastyTable()
	Show(curve, table, Fold("more", curve, table))
	if len(*sent) != 4 {
		t.Fatalf("%d outputs, want figure, menu, table, fold", len(*sent))
	}
	dir := t.TempDir()
	saved := func(name string) string {
		if err := curve.Save(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		data, _ := os.ReadFile(filepath.Join(dir, name))
		return string(data)
	}
	menu := (*sent)[1].Data[protocol.MIMETextHTML].(string)
	files := unpacked(t, menu)
	if files["pdf"] != saved("f.pdf") || files["csv"] != saved("f.csv") {
		t.Error("the menu has other files than Save writes")
	}
	want := "run,radius,certified accuracy,low,high,images\n,0.2,1,"
	if !strings.HasPrefix(files["csv"], strings.TrimPrefix(want, "\n")) && !strings.Contains(files["csv"], ",0.2,1,") {
		t.Errorf("the numbers are\n%s", files["csv"])
	}
	if !strings.Contains(files["csv"], `"1, 2"`) {
		t.Errorf("the numbers do not name the images:\n%s", files["csv"])
	}
	var kinds []string
	for _, found := range optionKinds.FindAllStringSubmatch(menu, -1) {
		kinds = append(kinds, found[1])
	}
	if strings.Join(kinds, " ") != "pdf svg png csv" {
		t.Errorf("the menu offers %q", kinds)
	}
	of := (*sent)[2].Data[protocol.MIMETextHTML].(string)
	if files := unpacked(t, of); files["tex"] != table.LaTeX() || files["csv"] != table.CSV() {
		t.Error("the table saves something else")
	}
	if !strings.Contains(tablePage(Facts("σ", 1)), `name = "table"`) {
		t.Error("a table whose columns have no names is saved without a name")
	}
	if n := strings.Count((*sent)[3].Data[protocol.MIMETextHTML].(string), "<select data-certspec-save="); n != 2 {
		t.Errorf("%d menus in a fold of a figure and a table", n)
	}
	if err := mosaic("", testShape, [][]tile{{{image: make([]uint8, testShape.Len())}}}, nil).Save(filepath.Join(dir, "x.csv")); err == nil {
		t.Error("a picture without numbers was saved as CSV")
	}
}

// Words of a figure can be set, and its letters have the size of a column, a slide or a poster.
func TestStylesAndWords(t *testing.T) {
	f := Curve(run(0.25, 0.5, 0.2))
	f.Title, f.X, f.Y = "my title", "my x", "my y"
	for name, c := range map[string]struct {
		of      *Figure
		width   vg.Length
		letters float64
	}{
		"as it is": {f, figure.Width, 1}, "column": {f.Paper(1), 3.25 * vg.Inch, 0.8}, "two columns": {f.Paper(2), 6.75 * vg.Inch, 0.8},
		"talk": {f.Talk(), 10 * vg.Inch, 1.8}, "poster": {f.Talk().Poster(), 16 * vg.Inch, 2.4},
	} {
		drawing := string(must2(c.of.svg())(t))
		if d := c.of.Width - c.width; d > 0.01 || d < -0.01 {
			t.Errorf("%s: width %v, want %v", name, c.of.Width, c.width)
		}
		for _, words := range []string{">my title<", ">my x<", ">my y<"} {
			if !strings.Contains(drawing, words) {
				t.Errorf("%s: no %s", name, words)
			}
		}
		size := regexp.MustCompile(`scale\(([\d.]+),`).FindStringSubmatch(drawing)
		for _, all := range regexp.MustCompile(`scale\(([\d.]+),`).FindAllStringSubmatch(drawing, -1) {
			if all[1] != "1" {
				size = all
			}
		}
		if want := figureNumber(c.letters); size == nil || size[1] != want {
			t.Errorf("%s: letters are scaled by %q, want %s", name, size, want)
		}
		if _, err := c.of.pdf(); err != nil {
			t.Error(err)
		}
	}
	planes := Planes(Plane{Title: "plane", Model: half(0.5)})
	if small := planes.Paper(1); small.letters > 1.4 || small.Width != 3.25*vg.Inch {
		t.Errorf("a plane in a column: %+v", small)
	}
}

func figureNumber(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func number(t *testing.T, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Who points at a step of a curve, or a point of a plane, reads which image it is.
func TestFiguresNameTheImages(t *testing.T) {
	drawing := string(must2(Curve(run(0.25, 0.5, 0.2, 0.2)).svg())(t))
	for _, want := range []string{"<title>image 0: radius 0.500</title>", "<title>image 1, 2: radius 0.200</title>"} {
		if !strings.Contains(drawing, want) {
			t.Errorf("the curve has no %s", want)
		}
	}
	plane := Plane{Model: half(0.5), Marks: []Mark{{Image: []uint8{51, 204}, Name: "A", Radius: 0.1}}}
	f := Planes(plane)
	drawing = string(must2(f.svg())(t))
	if !strings.Contains(drawing, "<title>A at (0.20, 0.80): radius 0.100</title>") {
		t.Errorf("the plane does not name its point:\n%s", drawing)
	}
	// In another size the names stand where the points do.
	at := func(drawing string) string {
		return regexp.MustCompile(`<circle cx="([\d.]+)"`).FindStringSubmatch(drawing)[1]
	}
	one, two := at(drawing), at(string(must2(f.sized(2*f.Width, 1).svg())(t)))
	if a, b := number(t, one), number(t, two); b-2*a > 0.2 || b-2*a < -0.2 {
		t.Errorf("the point stands at %s, and at %s in a figure of twice the size", one, two)
	}
}

func TestShowOfASweep(t *testing.T) {
	sent := page(t)
	s := &sweep.Sweep{Header: run(0.25, 0.5).Header, Clean: run(0.25, 0.5, 0.3)}
	for i, name := range []string{"fog", "pixelate"} {
		r := run(0.25, 0.2+0.1*float64(i), 0.1)
		s.Corrupted = append(s.Corrupted, sweep.Corrupted{Corruption: name, Severity: 1, Rows: r.Rows})
	}
	Show(s)
	text := (*sent)[len(*sent)-1].Data[protocol.MIMETextPlain].(string)
	if drawing, _ := (*sent)[0].Data[protocol.MIMEImageSVG].(string); !strings.Contains(drawing, ">pixelate (high)<") {
		t.Error("the figure names no corruption")
	}
	// Means of (.2, .1) and (.3, .1) are .15 and .2; clean .4.
	for _, want := range []string{"0.175", "clean", "0.400"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The difference of two runs is taken of their rows, image by image; what differs stands first, and both curves
// are drawn.
func TestCompare(t *testing.T) {
	sent := page(t)
	a, b := run(0.25, 0.5, 0.2, 0.3, 0.4), run(0.25, 0.6, 0.3, 0.4, 0.5)
	c := Compare(a, b, 0, 0.25)
	if d := c.ACR.Difference; math.Abs(d-0.1) > 1e-12 || len(c.CertifiedAccuracy) != 2 || len(c.Verdicts) != 3 {
		t.Errorf("difference %v, %d radii, verdicts %v", d, len(c.CertifiedAccuracy), c.Verdicts)
	}
	if len(Compare(a, b).CertifiedAccuracy) < 2 {
		t.Error("no radii by default")
	}
	Show(c)
	var drawn []string
	text := ""
	for _, out := range *sent {
		if drawing, ok := out.Data[protocol.MIMEImageSVG].(string); ok {
			drawn = append(drawn, drawing)
		}
		text += fmt.Sprint(out.Data[protocol.MIMETextPlain])
	}
	if len(drawn) != 2 || !strings.Contains(drawn[1], ">b − a<") {
		t.Errorf("%d figures; expected both curves and their difference", len(drawn))
	}
	if !strings.Contains(text, "verdict") || !strings.Contains(text, "0.350") {
		t.Errorf("no table: %s", text)
	}
}

var testShape = pixel.Shape{Height: 1, Width: 1, Channels: 1}

func must2[T any](v T, err error) func(t *testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
