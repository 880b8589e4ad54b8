package jupyter

import (
	"html"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	scripts = regexp.MustCompile(`(?s)<script\b.*?</script>`)
	hovers  = regexp.MustCompile(`(?s)<title>.*?</title>`) // names of the points behind, as files have them
	marks   = regexp.MustCompile(`<[^>]*>`)
	heads   = regexp.MustCompile(`<th\b[^>]*>.*?</th>`)
	sliders = regexp.MustCompile(`<input type="range"[^>]*>`)
	// ungrouped is a count of five digits or more; lines of a file have their numbers before them.
	ungrouped = regexp.MustCompile(`(?:^|[\s(>=])\d{5,}(?:[\s,;.)]|$)`)
	fileLine  = regexp.MustCompile(`(?m)^ *\d+  .*$`)
	rawName   = regexp.MustCompile(`>\s*[A-Za-z0-9]+(?:_[A-Za-z0-9.]+)+\s*<|(?:alt|aria-label)="[^"]*[a-z0-9]_[a-z0-9][^"]*"`)
	formulas  = regexp.MustCompile("(?s)```.*?```|`[^`]*`|\\$\\$.*?\\$\\$|\\$[^$]+\\$|\\]\\([^)]*\\)")
	markdown  = regexp.MustCompile("\\]\\([^)\\s]+\\)|\\*\\*\\w|`\\w[^`]*`")
	symbols   = regexp.MustCompile(`[α-ωΑ-Ω²³⁻¹₀-₉√½]`)
)

// What a reader sees is for people: digits stand in groups, names have no underscores, mathematics is LaTeX, links
// are links, numbers have the digits that their intervals support, and JupyterLab leaves the keys of sliders to them.
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
				for _, found := range goValues.FindAllStringIndex(text, -1) {
					t.Errorf("%s, cell %d: a value as Go prints it: %s", name, i, around(text, found))
				}
				for _, found := range ungrouped.FindAllStringIndex(text, -1) {
					t.Errorf("%s, cell %d: digits without groups: %s", name, i, around(text, found))
				}
				if page != "" {
					for _, found := range markdown.FindAllStringIndex(text, -1) {
						t.Errorf("%s, cell %d: Markdown that nobody renders: %s", name, i, around(text, found))
					}
				}
				all := hovers.ReplaceAllString(page+strings.Join(drawings(o), ""), "")
				if slices.Contains(python, file) {
					all = heads.ReplaceAllString(all, "") // keys of rows, which a person types
				}
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

// goValues are structs, addresses and nothing in the words of Go.
var goValues = regexp.MustCompile(`&\{|\b0x[0-9a-f]{8,}\b|<nil>`)

var (
	certifies = regexp.MustCompile(`(?i)certified|\bm?ACR\b|\bradi(us|i)\b|calibration error|Brier score`)
	samples   = regexp.MustCompile(`\bn (=|≤) [\d,]+|noise samples (n|in all)\b`)
	failure   = regexp.MustCompile(`α = (0\.\d+|10)`)
	sample    = regexp.MustCompile(`\d (images|networks|models|points)\b`)
	texts     = regexp.MustCompile(`(?s)aria-label="[^"]*"|<text\b[^>]*>.*?</text>`)
)

// exactFigures show what follows from a known probability without a noise sample, or have n and α as sliders, by
// notebook and cell.
var exactFigures = map[string][]int{"certification.ipynb": {13, 21}, "fouriermix.ipynb": {29}}

// The words of each figure, those above it or those for who does not see it, say by how many noise samples n and at which
// α what it shows is certified. An interval says of how many images it is.
func TestFiguresSayTheirSettings(t *testing.T) {
	files, _ := filepath.Glob("../../notebooks/*.ipynb")
	certified := 0
	for _, file := range files {
		name := filepath.Base(file)
		for i, cell := range paperCells(t, file) {
			for _, o := range cell.Outputs {
				all := drawings(o)
				if _, picture := o.Data["image/png"]; picture && len(all) == 0 {
					all = []string{"<text>" + o.text("text/plain") + "</text>"}
				}
				for _, drawing := range all {
					words := strings.Join(texts.FindAllString(drawing, -1), " ")
					words = html.UnescapeString(marks.ReplaceAllString(words, " "))
					if certifies.MatchString(words) && !slices.Contains(exactFigures[name], i) {
						if certified++; !samples.MatchString(words) || !failure.MatchString(words) {
							t.Errorf("%s, cell %d: a figure without n or α: %.200s", name, i, words)
						}
					}
					if strings.Contains(words, "95 %") && !sample.MatchString(words) {
						t.Errorf("%s, cell %d: an interval over how many images? %.200s", name, i, words)
					}
				}
			}
		}
	}
	if certified < 40 {
		t.Errorf("%d figures of what is certified", certified)
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
