//go:build external && !noxla

package external

import (
	"context"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/jupyter"
	"github.com/certspec/certspec/internal/testkit"
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
		data := testkit.Read(t, file)
		copied := testkit.Write(t, data, t.TempDir(), filepath.Base(file))
		made, err := jupyter.Page(context.Background(), copied, progress.Messages(t.Logf))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		page := testkit.Read(t, made)
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

// The three lectures of docs/teaching.md as slides: each has its parts, a slide for each cell, sliders, and no plumbing.
func TestSlidesOfTheLectures(t *testing.T) {
	data := testkit.Read(t, "../../notebooks/certification.ipynb")
	copied := testkit.Write(t, data, t.TempDir(), "certification.ipynb")
	for parts, want := range map[string]struct {
		slides   int
		in, none string
	}{
		"1-2": {8, "1. A classifier that can be drawn", "3. How the radius is proven"},
		"3":   {8, "data-certspec-widget", "4. What noise samples buy"},
		"4-6": {12, "6. A ledger, checked before your eyes", "930 of 1,000"},
	} {
		made, err := jupyter.Slides(context.Background(), copied, parts, progress.Messages(t.Logf))
		if err != nil {
			t.Fatal(err)
		}
		page := testkit.Read(t, made)
		text := string(page)
		if n := strings.Count(text, "<section"); n < want.slides {
			t.Errorf("parts %s: %d slides, want at least %d", parts, n, want.slides)
		}
		for _, slide := range strings.Split(text, "<section")[1:] {
			if strings.Contains(slide, `class="jp-InputArea `) && strings.Contains(slide, `class="jp-OutputArea-child`) {
				t.Errorf("parts %s: code above what it shows, on one slide", parts)
			}
		}
		if !strings.Contains(text, want.in) || strings.Contains(text, want.none) || strings.Contains(text, "nb.Tier(") {
			t.Errorf("parts %s: %q missing, or %q or plumbing there", parts, want.in, want.none)
		}
	}
	if _, err := jupyter.Slides(context.Background(), copied, "8", progress.Messages(t.Logf)); err == nil ||
		!strings.Contains(err.Error(), "no part 8") {
		t.Errorf("a part that is not there: %v", err)
	}
}
