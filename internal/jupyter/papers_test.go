package jupyter

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Limits of what a reader of a paper's notebook has to scroll through.
const (
	mostOpenRows    = 60
	mostOpenColumns = 8
	widestFigure    = 1000 // pixels of the page
	highestFigure   = 800
)

var (
	folds     = regexp.MustCompile(`(?s)<details><summary>(.*?)</summary>.*?</details>`)
	tableRows = regexp.MustCompile(`(?s)<tr>.*?</tr>`)
	intervals = regexp.MustCompile(`([-−+]? ?\d+(?:\.\d+)?) \(([-−]? ?\d+(?:\.\d+)?) to ([-−]? ?\d+(?:\.\d+)?)\)`)
)

// The notebook of a paper begins with all its tables and figures; what is not a verdict, its figure or a small table is
// folded. No table is wider than a page, and numbers have the digits that their intervals support.
func TestPaperNotebooksAreShort(t *testing.T) {
	for _, name := range []string{"fouriermix", "act", "guaranteed-ood", "out-of-line"} {
		t.Run(name, func(t *testing.T) {
			cells := paperCells(t, "../../notebooks/"+name+".ipynb")
			rows, tables := 0, 0
			for i, cell := range cells {
				for _, o := range cell.Outputs {
					page := o.text("text/html")
					for _, fold := range folds.FindAllStringSubmatch(page, -1) {
						if strings.TrimSpace(fold[1]) == "" {
							t.Errorf("cell %d: a fold that does not say what is in it", i)
						}
					}
					open := folds.ReplaceAllString(page, "")
					of := tableRows.FindAllString(open, -1)
					rows += len(of)
					for k, row := range of {
						if n := strings.Count(row, "<th") + strings.Count(row, "<td"); n > mostOpenColumns {
							t.Errorf("cell %d, row %d: %d columns, at most %d unless folded", i, k, n, mostOpenColumns)
						}
					}
					if len(of) > 5 {
						if tables++; tables == 1 && !strings.Contains(of[0], "what it says") {
							t.Errorf("cell %d: the first table is not that of what the paper says", i)
						}
					}
					if size, ok := o.Metadata["image/png"]; ok && (size.Width > widestFigure || size.Height > highestFigure) {
						t.Errorf("cell %d: a figure of %d × %d pixels", i, size.Width, size.Height)
					}
					for _, found := range intervals.FindAllStringSubmatch(page, -1) {
						if tooManyDigits(found) {
							t.Errorf("cell %d: %s has digits that its interval does not support", i, found[0])
						}
					}
				}
			}
			if tables == 0 || rows > mostOpenRows {
				t.Errorf("%d table rows that are not folded in %d long tables, at most %d rows", rows, tables, mostOpenRows)
			}
		})
	}
}

// tooManyDigits reports whether a number has more than two digits of its interval's half width. From −100 to 100 points
// whole ones are the fewest that there are.
func tooManyDigits(found []string) bool {
	var ends [2]float64
	for k, text := range found[2:] {
		ends[k], _ = strconv.ParseFloat(strings.NewReplacer("−", "-", " ", "").Replace(text), 64)
	}
	_, decimals, _ := strings.Cut(found[1], ".")
	half := math.Abs(ends[1]-ends[0]) / 2
	return half*math.Pow10(len(decimals)) >= 99.5 && (decimals != "" || half > 100)
}

func TestTooManyDigits(t *testing.T) {
	for text, want := range map[string]bool{"−0.026 (−0.036 to −0.016)": false, "-0.0262 (-0.0361 to -0.0159)": true,
		"12.3 (−3.1 to 27.2)": true, "12 (−3 to 27)": false, "0.97 (0.95 to 0.99)": false, "3 (−100 to 100)": false,
		"3.1 (−100.0 to 100.0)": true} {
		if found := intervals.FindStringSubmatch(text); found == nil || tooManyDigits(found) != want {
			t.Errorf("%s: not %v", text, want)
		}
	}
}

type paperCell struct {
	Type    string `json:"cell_type"`
	Source  sourceLines
	Outputs []paperOutput
}

type paperOutput struct {
	Text     sourceLines // of a stream
	Data     map[string]json.RawMessage
	Metadata map[string]struct{ Width, Height int }
}

func (o paperOutput) text(kind string) string {
	var lines sourceLines
	_ = json.Unmarshal(o.Data[kind], &lines)
	return strings.Join(lines, "")
}

func paperCells(t *testing.T, file string) []paperCell {
	t.Helper()
	data := testkit.Read(t, file)
	var notebook struct{ Cells []paperCell }
	if err := json.Unmarshal(data, &notebook); err != nil {
		t.Fatal(err)
	}
	return notebook.Cells
}
