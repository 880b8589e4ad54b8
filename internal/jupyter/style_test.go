package jupyter

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/certspec/certspec/internal/testkit"
)

// Limits of a cell that is read on a screen, by people who do not know Go.
const (
	longestLine = 100
	longestCell = 25
)

// Every notebook keeps the limits, colours its code as Go, and says of every picture what is to be seen. A table or a link in the prose may be
// longer than a line, as it cannot be broken.
func TestNotebooksReadWell(t *testing.T) {
	files, err := filepath.Glob("../../notebooks/*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no notebooks found (%v)", err)
	}
	for _, file := range files {
		data := testkit.Read(t, file)
		var notebook struct {
			Cells []struct {
				Type    string `json:"cell_type"`
				Source  sourceLines
				Outputs []struct {
					Data     map[string]json.RawMessage
					Metadata map[string]struct{ Alt string }
				}
			}
			Metadata struct {
				Language struct {
					Lexer string `json:"pygments_lexer"`
				} `json:"language_info"`
			}
		}
		if err := json.Unmarshal(data, &notebook); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if notebook.Metadata.Language.Lexer != "go" {
			t.Errorf("%s: pygments_lexer %q, want go: run it with certspec notebook run --save", file, notebook.Metadata.Language.Lexer)
		}
		for i, cell := range notebook.Cells {
			if cell.Type == "code" && len(cell.Source) > longestCell {
				t.Errorf("%s, cell %d has %d lines, at most %d: what is longer is a function of a package", file, i, len(cell.Source), longestCell)
			}
			for _, line := range cell.Source {
				line = strings.TrimSuffix(line, "\n")
				unbreakable := cell.Type == "markdown" && (strings.HasPrefix(line, "|") || strings.Contains(line, "](http") && !strings.Contains(strings.TrimSpace(line), " "))
				if n := utf8.RuneCountInString(line); n > longestLine && !unbreakable {
					t.Errorf("%s, cell %d: a line of %d columns, at most %d: %.60s...", file, i, n, longestLine, line)
				}
			}
			for _, output := range cell.Outputs {
				if _, picture := output.Data["image/png"]; picture && output.Metadata["image/png"].Alt == "" {
					t.Errorf("%s, cell %d: a picture without alternative text", file, i)
				}
				if drawing, ok := output.Data["image/svg+xml"]; ok && !strings.Contains(string(drawing), "aria-label=") {
					t.Errorf("%s, cell %d: a drawing without alternative text", file, i)
				}
				if html := string(output.Data["text/html"]); strings.Count(html, "<img ") != strings.Count(html, "<img alt=") {
					t.Errorf("%s, cell %d: a picture of a widget without alternative text", file, i)
				}
			}
		}
	}
}

// One paper has one address in all notebooks.
func TestOneAddressForAPaper(t *testing.T) {
	files, _ := filepath.Glob("../../notebooks/*.ipynb")
	link := regexp.MustCompile(`\[([^\]]+)\]\((https://(?:arxiv|doi)\.org/[^)]+)\)`)
	addresses := map[string]string{}
	for _, file := range files {
		data := testkit.Read(t, file)
		var notebook struct {
			Cells []struct{ Source sourceLines }
		}
		if err := json.Unmarshal(data, &notebook); err != nil {
			t.Fatal(err)
		}
		for _, cell := range notebook.Cells {
			for _, found := range link.FindAllStringSubmatch(strings.Join(cell.Source, ""), -1) {
				paper := strings.Join(strings.Fields(found[1]), " ")
				if before, known := addresses[paper]; known && before != found[2] {
					t.Errorf("%s: %s is at %s, and at %s elsewhere", file, paper, found[2], before)
				}
				addresses[paper] = found[2]
			}
		}
	}
	if len(addresses) < 5 {
		t.Errorf("%d papers found", len(addresses))
	}
}
