package nb_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"go/parser"
	"go/token"
	"image/png"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/nb"
)

var update = flag.Bool("update", false, "write docs/gallery/README.md and its pictures again")

// runs are the examples by name. They stand in the order of the file, which TestGallery checks.
var runs = []func(){ExampleCurve, ExampleCompare, ExampleFigure_Paper, ExampleShow_sweep, ExampleShow_data, ExampleNoisy,
	ExampleGallery, ExamplePlanes, ExampleTail, ExampleLines, ExampleReliability, ExamplePlot, ExampleSpectrum,
	ExampleHeatMaps, ExampleHistogramRows, ExampleOnTheLine, ExampleAssignments}

const galleryHead = `# Gallery

Each figure with the lines that make it. They run in a notebook in the folder ` + "`notebooks`" + `, below a line
with ` + "`%%`" + `, after an import of the packages that they name. In a cell ` + "`nb.Help(\"curve\")`" + ` shows the same lines.

Every figure has a caption, a title and names of axes, which can be set: ` + "`figure.Title = \"…\"`" + `.
The menu *save as* below it writes PDF, SVG, PNG, and the numbers behind it as CSV.

`

var numbers = regexp.MustCompile(`-?\d+(\.\d+)?`)

// differs says how a stored picture is another than the one drawn. Places may differ by a tenth of a point, and colours
// by those that the stored picture lacks: it has few, to be small.
func differs(kind string, stored, drawn []byte) string {
	if kind == ".svg" {
		if !bytes.Equal(numbers.ReplaceAll(stored, nil), numbers.ReplaceAll(drawn, nil)) {
			return "by words or forms"
		}
		of := numbers.FindAll(drawn, -1)
		for i, text := range numbers.FindAll(stored, -1) {
			a, _ := strconv.ParseFloat(string(text), 64)
			b, _ := strconv.ParseFloat(string(of[i]), 64)
			if math.Abs(a-b) > 0.1 {
				return fmt.Sprintf("by %g in place of %g", a, b)
			}
		}
		return ""
	}
	a, err := png.Decode(bytes.NewReader(stored))
	b, other := png.Decode(bytes.NewReader(drawn))
	if err != nil || other != nil || a.Bounds() != b.Bounds() {
		return fmt.Sprintf("by its size (%v, %v)", err, other)
	}
	const side = 16 // of blocks, in pixels
	for y := 0; y+side <= a.Bounds().Dy(); y += side {
		for x := 0; x+side <= a.Bounds().Dx(); x += side {
			var sum [3]float64 // of the difference of a block, by colour
			for k := range side * side {
				r, g, bl, _ := a.At(x+k%side, y+k/side).RGBA()
				r2, g2, bl2, _ := b.At(x+k%side, y+k/side).RGBA()
				for c, d := range []float64{float64(r) - float64(r2), float64(g) - float64(g2), float64(bl) - float64(bl2)} {
					sum[c] += d / 257 / side / side
				}
			}
			if most := max(math.Abs(sum[0]), math.Abs(sum[1]), math.Abs(sum[2])); most > mostApart {
				return fmt.Sprintf("by %.0f of 255 around (%d, %d)", most, x, y)
			}
		}
	}
	return ""
}

// mostApart is how much the mean colours of a block of stored and drawn pixels may be apart.
const mostApart = 24

// The page docs/gallery/README.md shows each example of this package with its lines and its picture: as many lines as a reader
// takes in, each picture there, with the caption that it is drawn with now. nb.Help shows the same lines.
func TestGallery(t *testing.T) {
	t.Chdir("../notebooks")
	of := nb.Listed()
	if len(of) != len(runs) {
		t.Fatalf("%d examples, %d are run", len(of), len(runs))
	}
	const folder = "../docs/gallery"
	var page strings.Builder
	page.WriteString(galleryHead)
	kept := map[string]bool{}
	for i, e := range of {
		name, says, code := e[0], e[1], e[2]
		if n := strings.Count(code, "\n"); n > 8 {
			t.Errorf("%s: %d lines", name, n)
		}
		if _, err := parser.ParseFile(token.NewFileSet(), "", "package p\nfunc f() {\n"+code+"}", 0); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		for _, fault := range nb.FaultsOf(t, runs[i]) {
			t.Errorf("%s, %s", name, fault)
		}
		var caption, kind string
		var picture []byte
		for _, data := range nb.Shown(runs[i]) {
			drawing, ok := data[protocol.MIMEImageSVG].(string)
			if pixels, png := data[protocol.MIMEImagePNG].([]byte); ok || png {
				if kind, picture = ".png", pixels; ok {
					kind, picture = ".svg", []byte(drawing)
				}
				caption, _ = data[protocol.MIMETextPlain].(string)
				break
			}
		}
		if picture == nil {
			t.Errorf("%s: no picture", name)
			continue
		}
		file := strings.ReplaceAll(name, " ", "-") + kind
		kept[file] = true
		if *update {
			testkit.Write(t, picture, folder, file)
		}
		stored, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if fault := differs(kind, stored, picture); fault != "" {
			t.Errorf("%s is not what its lines draw, %s: go test ./nb -run Gallery -update", file, fault)
		}
		fmt.Fprintf(&page, "## %s\n\n%s\n\n```go\n%s```\n\n![%s](%s)\n\n", name, says, code, cmp.Or(caption, says), file)
		help := nb.Shown(func() { nb.Help(name) })
		if text, _ := help[0][protocol.MIMETextMarkdown].(string); !strings.Contains(text, code) {
			t.Errorf("nb.Help(%q) shows %q", name, text)
		}
	}
	files, _ := filepath.Glob(folder + "/*.*g")
	for _, file := range files {
		if !kept[filepath.Base(file)] {
			t.Errorf("%s is of no figure", file)
		}
	}
	text := strings.TrimRight(page.String(), "\n") + "\n"
	if *update {
		testkit.Write(t, []byte(text), "../docs/gallery/README.md")
	}
	if now, err := os.ReadFile("../docs/gallery/README.md"); err != nil || string(now) != text {
		t.Errorf("docs/gallery/README.md is not what go test ./nb -run Gallery -update writes (%v)", err)
	}
}
