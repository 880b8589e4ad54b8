package jupyter

import (
	"html"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	scripts = regexp.MustCompile(`(?s)<script\b.*?</script>`)
	hovers  = regexp.MustCompile(`(?s)<title>.*?</title>`) // names of the points behind, as files have them
	marks   = regexp.MustCompile(`<[^>]*>`)
	sliders = regexp.MustCompile(`<input type="range"[^>]*>`)
	// ungrouped is a count of five digits or more; lines of a file have their numbers before them.
	ungrouped = regexp.MustCompile(`(?:^|[\s(>=])\d{5,}(?:[\s,;.)]|$)`)
	fileLine  = regexp.MustCompile(`(?m)^ *\d+  .*$`)
	rawName   = regexp.MustCompile(`>\s*[A-Za-z0-9]+(?:_[A-Za-z0-9.]+)+\s*<`)
	formulas  = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\$\\$.*?\\$\\$|\\$[^$]+\\$|\\]\\([^)]*\\)")
	symbols   = regexp.MustCompile(`[α-ωΑ-Ω²³⁻¹₀-₉√½]`)
)

// What a reader sees is for people: digits stand in groups, names have no underscores, mathematics is LaTeX, numbers
// have the digits that their intervals support, and JupyterLab leaves the keys of sliders to them.
func TestNotebooksAreForPeople(t *testing.T) {
	files, _ := filepath.Glob("../../notebooks/*.ipynb")
	python, _ := filepath.Glob("../../notebooks/python/*.ipynb")
	if len(files) < 9 || len(python) < 3 {
		t.Fatalf("%d and %d notebooks", len(files), len(python))
	}
	for _, file := range append(files, python...) {
		name := filepath.Base(file)
		for i, cell := range paperCells(t, file) {
			if cell.Type == "markdown" {
				prose := formulas.ReplaceAllString(strings.Join(cell.Source, ""), "")
				for _, found := range symbols.FindAllStringIndex(prose, -1) {
					t.Errorf("%s, cell %d: a symbol outside of $…$: %s", name, i, around(prose, found))
				}
			}
			for _, o := range cell.Outputs {
				page, text := o.seen()
				for _, found := range ungrouped.FindAllStringIndex(text, -1) {
					t.Errorf("%s, cell %d: digits without groups: %s", name, i, around(text, found))
				}
				all := hovers.ReplaceAllString(page+strings.Join(drawings(o), ""), "")
				for _, found := range rawName.FindAllString(all, -1) {
					t.Errorf("%s, cell %d: a name of a program: %s", name, i, found)
				}
				for _, found := range intervals.FindAllStringSubmatch(text, -1) {
					if tooManyDigits(found) {
						t.Errorf("%s, cell %d: %s has digits that its interval does not support", name, i, found[0])
					}
				}
				for _, slider := range sliders.FindAllString(page, -1) {
					if !strings.Contains(slider, ` data-lm-suppress-shortcuts="true"`) {
						t.Errorf("%s, cell %d: JupyterLab takes the keys of %s", name, i, slider)
					}
				}
			}
		}
	}
}

// seen is an output as a page shows it, and its words.
func (o paperOutput) seen() (page, words string) {
	if page = scripts.ReplaceAllString(o.text("text/html"), ""); page != "" {
		return page, html.UnescapeString(marks.ReplaceAllString(page, "\n"))
	}
	if _, picture := o.Data["image/png"]; picture {
		return "", ""
	}
	words = o.text("text/markdown") + strings.Join(o.Text, "")
	if words == "" {
		words = o.text("text/plain")
	}
	return "", fileLine.ReplaceAllString(words, "")
}

// around is a match with what stands beside it.
func around(text string, at []int) string {
	return strings.ToValidUTF8(text[max(0, at[0]-30):min(len(text), at[1]+30)], "")
}
