package layers

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

var update = flag.Bool("update", false, "write docs/cells.md again")

// cell holds the lines that a person types for a task, in Go, in Python and as commands; "" where there is none.
type cell struct{ title, words, golang, python, commands string }

// pythonCells are the texts of the cells that a test of the Python package runs.
var pythonCells = regexp.MustCompile(`(?s)CELLS = '''\n(.*?)\n'''`)

// readCells reads the cells that this test and the Python package's run.
func readCells(t *testing.T) (all []cell) {
	t.Helper()
	for section := range strings.SplitSeq(string(testkit.Read(t, "testdata/cells.md")), "\n## ") {
		section = strings.TrimPrefix(section, "## ")
		c := cell{}
		c.title, section, _ = strings.Cut(section, "\n")
		for i, part := range strings.Split(section, "```") {
			switch kind, code, _ := strings.Cut(part, "\n"); {
			case i == 0:
				c.words = strings.TrimSpace(part)
			case kind == "go":
				c.golang = code
			case kind == "sh":
				c.commands = code
			}
		}
		all = append(all, c)
	}
	if len(all) != 14 {
		t.Fatalf("%d cells; expected fourteen", len(all))
	}
	text, err := os.ReadFile("../../python/tests/test_cells.py")
	if err != nil {
		return all // without a page of Python cells
	}
	found := pythonCells.FindStringSubmatch(string(text))
	if found == nil {
		t.Fatal("python/tests/test_cells.py has no CELLS")
	}
	cells := strings.Split(found[1], "\n\n")
	if len(cells) != len(all) {
		t.Fatalf("%d cells in Python, %d in Go", len(cells), len(all))
	}
	for i := range all {
		all[i].python = cells[i] + "\n"
	}
	return all
}

// The page of cells is made of those that are tested.
func TestCellsPage(t *testing.T) {
	var b strings.Builder
	b.WriteString(`# Fourteen cells

What a person types for a task: in a notebook or program in Go, in Python, and as commands. Tests run those in Go and in
Python as they stand here. In a Go notebook that ` + "`make lab`" + ` opens, imports and
statements stand by themselves. In a program, declarations belong to a package, statements to a function, and the imports are
` + "`github.com/certspec/certspec/nb`" + ` and ` + "`…/model`" + `. Python begins with ` + "`import certspec`" + `.

A cell takes up to 10,000 noise samples an image, the program 100,000: ` + "`nb.Smoothing{N: …}`, `n=…` and `--n`" + ` say it.
Results are kept in the folder ` + "`out`" + ` by model, data and settings: a cell that runs again returns at once.
` + "`nb.Preflight(net, pics, nb.Smoothing{Sigma: 0.25})`" + ` looks a model over before a long run, ` + "`nb.Verify(path)`" + ` checks a
ledger by itself. Programs written against earlier names: [old and new names](names.md).
`)
	for i, c := range readCells(t) {
		fmt.Fprintf(&b, "\n## %d. %s\n\n%s\n", i+1, c.title, c.words)
		b.WriteString(strings.Join(windows(c), ""))
	}
	const page = "../../docs/cells.md"
	if *update {
		testkit.Write(t, []byte(b.String()), page)
	}
	if string(testkit.Read(t, page)) != b.String() {
		t.Error("docs/cells.md is not made of the tested cells: go test ./internal/layers -run TestCellsPage -update")
	}
	readme := string(testkit.Read(t, "../../README.md"))
	for _, window := range windows(readCells(t)[0]) {
		if !strings.Contains(readme, window) {
			t.Errorf("README.md does not show the first cell as it is tested:%s", window)
		}
	}
}

// windows are a cell as a page shows it.
func windows(c cell) (all []string) {
	for _, part := range [][2]string{{"go", c.golang}, {"python", c.python}, {"sh", c.commands}} {
		if part[1] != "" {
			all = append(all, fmt.Sprintf("\n```%s\n%s```\n", part[0], part[1]))
		}
	}
	return all
}

// Networks and data of the cells at the fast tier, with fewer noise samples.
var fast = strings.NewReplacer(`"mnist/test[count=200]"`, `"synthetic/test[channels=grey,resize=28x28,count=4]"`,
	`"cifar10/train[count=5000]"`, `"synthetic/train[count=256]"`, `"cifar10/test[count=100]"`, `"synthetic/test[count=4]"`,
	"N: 1000", "N: 100", "Epochs: 3", "Epochs: 1", "Sigma: 0.25}", "Sigma: 0.25, N: 200}", "Sigma: 0.5}", "Sigma: 0.5, N: 200}",
	"nb.Waves{}", "nb.Waves{Most: 1}", "nb.Waves{Sigma: 0.25, N: 1000}", "nb.Waves{Sigma: 0.25, N: 100, Most: 1}",
	"nb.Ball{Epsilon: 0.01}", "nb.Ball{Epsilon: 0.01, Steps: 3, Attacked: 2}", `}, "C")`, `}, "brightness")`,
	"KeepScores: true", "N: 200, KeepScores: true")

// The cells run as typed, in a module of another path, with a network by its path and a folder of pictures.
func TestCellsOutside(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: links the engine into a program of another module")
	}
	results, err := filepath.Abs("../../notebooks/results")
	if err != nil {
		t.Fatal(err)
	}
	network, err := filepath.Abs("../../notebooks/models/fmnist-cnn-s025")
	if err != nil {
		t.Fatal(err)
	}
	imports := []string{"experiment", "model", "nb", "resample"}
	var declared, body strings.Builder
	for i, c := range readCells(t) {
		code := fast.Replace(strings.NewReplacer(`"net.onnx"`, fmt.Sprintf("%q", network), `"pics"`, `"pics[channels=grey]"`,
			`"pics[only=`, `"pics[channels=grey,only=`, `"results/`, fmt.Sprintf("\"%s/", results)).Replace(c.golang))
		if strings.HasPrefix(code, "var ") {
			var above string
			above, code, _ = strings.Cut(code, "\n\n")
			declared.WriteString(above + "\n")
		}
		fmt.Fprintf(&body, "func cell%d() {\nfmt.Println(\"cell %[1]d\")\n%s}\n\n", i+1, code)
	}
	program := "package main\n\nimport (\n\"fmt\"\n\"image\"\n\"image/color\"\n\"image/png\"\n\"os\"\n"
	for _, name := range imports {
		program += fmt.Sprintf("%q\n", module+"/"+name)
	}
	program += ")\n\nvar _ = drawn()\n" + declared.String() + body.String() + pictures + "func main() {\n"
	for i := range 14 {
		program += fmt.Sprintf("cell%d()\n", i+1)
	}
	program += `for _, name := range []string{"curve.pdf", "table.tex", "corruptions.tex", "table2.tex"} {
		if info, err := os.Stat(name); err == nil && info.Size() > 100 {
			fmt.Println("saved", name)
		}
	}
}
`
	run := foreign(t, map[string]string{"cells/main.go": program})
	out := run("run", "./cells")
	for i, want := range []string{"pics", "My network", "verdict", "mACR", "average certified radius", "first less second",
		"ends of the range", "largest ECE", "coverage", "guaranteed", "small-cnn", "lower", "half space", "published"} {
		_, of, found := strings.Cut(out, fmt.Sprintf("cell %d\n", i+1))
		of, _, _ = strings.Cut(of, fmt.Sprintf("cell %d\n", i+2))
		if !found || !strings.Contains(of, want) {
			t.Errorf("cell %d does not say %q:\n%.3000s", i+1, want, of)
		}
	}
	for _, saved := range []string{"curve.pdf", "table.tex", "corruptions.tex", "table2.tex"} {
		if !strings.Contains(out, "saved "+saved) {
			t.Errorf("%s is not there", saved)
		}
	}
}

// pictures are the pictures of the folder pics, which is there before the first cell: of two classes, 28 × 28
// pixels, grey.
const pictures = `
// drawn draws the folder.
func drawn() bool {
	for i := range 12 {
		class := []string{"cat", "dog"}[i%2]
		os.MkdirAll("pics/"+class, 0o777)
		m := image.NewGray(image.Rect(0, 0, 28, 28))
		for k := range m.Pix {
			x, y := k%28, k/28
			m.SetGray(x, y, color.Gray{uint8(40 + 60*(i%2) + (x*(3+i)+y*(7+2*(i%2)))%90)})
		}
		f, err := os.Create(fmt.Sprintf("pics/%s/%d.png", class, i))
		if err != nil {
			panic(err)
		}
		if err := png.Encode(f, m); err != nil {
			panic(err)
		}
		f.Close()
	}
	return true
}

`
