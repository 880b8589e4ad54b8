package layers

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Claims are made at radii. Between two of them a figure shows steps, or nothing: a line that joins them
// lies above what is proven. So axes over a radius say Stairs or Points.
func TestCurvesOverARadiusAreStairsOrPoints(t *testing.T) {
	seen := 0
	check := func(name, text string) {
		for _, at := range regexp.MustCompile(`\b(Axes|figure\.Lines)\{`).FindAllStringIndex(text, -1) {
			literal := balanced(text[at[1]-1:])
			over := regexp.MustCompile(`\bX:\s*([^,}]*)`).FindStringSubmatch(literal)
			if over == nil || !regexp.MustCompile(`(?i)^(lesson\.)?"?radius`).MatchString(over[1]) {
				continue
			}
			seen++
			if !regexp.MustCompile(`\b(Stairs|Points):\s*true`).MatchString(literal) {
				t.Errorf("%s: axes over a radius say neither Stairs nor Points: %.120s", name, literal)
			}
		}
	}
	for _, pattern := range []string{"../../notebooks/*.ipynb", "../../notebooks/*/*.go", "../../nb/*.go",
		"../../cmd/certspec/*/*.go", "../../internal/*/*/*.go", "../../docs/picture/*.go", "../../examples/*/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			data := testkit.Read(t, file)
			if filepath.Ext(file) == ".go" {
				check(file, string(data))
				continue
			}
			var book struct {
				Cells []struct {
					Source []string `json:"source"`
				} `json:"cells"`
			}
			if err := json.Unmarshal(data, &book); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for _, cell := range book.Cells {
				check(file, strings.Join(cell.Source, ""))
			}
		}
	}
	if seen < 5 {
		t.Errorf("%d axes over a radius found; expected those of the lessons on calibration", seen)
	}
}

// balanced is text up to the bracket that closes its first one.
func balanced(text string) string {
	depth := 0
	for i, c := range text {
		switch c {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return text[:i+1]
			}
		}
	}
	return text
}
