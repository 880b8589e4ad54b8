//go:build external && !noxla

package external

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/progress"
)

// The page of every notebook needs no network: formulas are MathML, code is coloured as Go, every picture says what is to be seen.
func TestPagesNeedNoNetwork(t *testing.T) {
	files, err := filepath.Glob("../../notebooks/*.ipynb")
	if err != nil || len(files) == 0 {
		t.Fatalf("no notebooks found (%v)", err)
	}
	formulas := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		copied := filepath.Join(t.TempDir(), filepath.Base(file))
		if err := os.WriteFile(copied, data, 0o644); err != nil {
			t.Fatal(err)
		}
		made, err := jupyter.Page(context.Background(), copied, progress.Messages(t.Logf))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		page, err := os.ReadFile(made)
		if err != nil {
			t.Fatal(err)
		}
		text := string(page)
		formulas += strings.Count(text, "<math ")
		if got := regexp.MustCompile(`<(script|link|img|iframe)\b[^>]*\b(src|href)="https?:[^"]*"`).FindString(text); got != "" {
			t.Errorf("%s loads %s", file, got)
		}
		if strings.Contains(text, "import(\"http") || strings.Contains(text, "No description has been provided") || strings.Contains(text, `alt=""`) {
			t.Errorf("%s: a script from the network, or a picture without alternative text", file)
		}
		if !strings.Contains(text, `<span class="kn">import</span>`) && !strings.Contains(text, `<span class="kd">var</span>`) {
			t.Errorf("%s: the code is not coloured as Go", file)
		}
		for _, name := range []string{`\frac`, `\Phi`, `\mathcal`, `\underline`} {
			if i := strings.Index(text, name); i >= 0 {
				t.Errorf("%s: a formula is left as text: %.80s", file, text[i:])
			}
		}
	}
	if formulas < 50 {
		t.Errorf("%d formulas in all pages", formulas)
	}
}
