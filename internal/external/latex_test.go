//go:build external

package external

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/table"
)

// A report and a table, also of a ledger whose names try to leave their place, are set by pdflatex to their last line.
func TestExternalLaTeX(t *testing.T) {
	program, err := exec.LookPath("pdflatex")
	if err != nil {
		t.Skip("no pdflatex: install texlive-latex-recommended, or MacTeX, or MiKTeX")
	}
	const hostile = "a_b%c&d#e~f^g\\h{i}$j\r\\end{document}\rk [x]* 图 é\ttab"
	h := ledger.Header{
		Format: ledger.Format, Version: ledger.VersionOf(noise.LawGrid), Model: classifier.Info{Name: hostile, Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 2},
		Data: ledger.Data{Name: hostile, Digest: "sha256:" + strings.Repeat("0a", 32), Images: 2}, Sigma: .25, Noise: "grid/1", Alpha: .001, Selection: 100, Block: 100,
		Rule: ledger.Rule{Name: "fixed", Looks: []ledger.Level{{Samples: 1000, Alpha: .001}}, Budget: hostile},
	}
	path := filepath.Join(t.TempDir(), "a_b% &#~^.ledger")
	err = ledgerio.Create(path, h, func(e *ledgerio.Encoder) error {
		e.Look(ledger.Look{Label: 1, To: 1, Counts: []ledger.Count{{Class: 1, N: 100}}})
		e.Look(ledger.Look{Label: 1, From: 1, To: 11, Counts: []ledger.Count{{Class: 1, N: 999}}, Misses: 1})
		return e.Flush()
	})
	if err != nil {
		t.Fatal(err)
	}
	documents := map[string]string{}
	for name, file := range map[string]string{"hostile": path, "quickstart": "../../notebooks/results/quickstart.ledger"} {
		r, err := report.New(t.Context(), file, report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		documents[name] = r.LaTeX()
	}
	nasty := &table.Table{Title: hostile, Columns: []string{hostile, "ACR"}, Rows: [][]any{{hostile, 0.5}}, Notes: []string{hostile}}
	const end = "\\end{document}\n"
	documents["table"] = "\\documentclass{article}\n\\usepackage[T1]{fontenc}\\usepackage[utf8]{inputenc}\\usepackage{booktabs}\n\\begin{document}\n" + nasty.LaTeX() + end
	for name, text := range documents {
		dir := t.TempDir()
		// What stands behind the end is not read: the mark shows that the end is the one of the document.
		text = strings.TrimSuffix(text, end) + "\\typeout{to the last line}\n" + end
		testkit.Write(t, []byte(text), dir, "x.tex")
		cmd := exec.CommandContext(context.Background(), program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "x.tex")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if said := string(out); err != nil || !strings.Contains(said, "to the last line") || name != "table" && strings.Contains(said, "Overfull") || strings.Contains(said, "Missing character") {
			t.Errorf("%s: %v\n%s", name, err, said)
		}
	}
}
