package jupyter

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Committed notebooks read on the web as they are: every code cell was run, in order, without an error, and
// nothing of the machine that ran them is left.
func TestCommittedNotebooks(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "notebooks", "*.ipynb"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no notebooks found (%v)", err)
	}
	private := regexp.MustCompile(`(^|[^.\w/])/(tmp|home|root|work|Users|var)/`)
	for _, file := range files {
		data := testkit.Read(t, file)
		var notebook struct {
			Cells []struct {
				Type    string `json:"cell_type"`
				Count   int    `json:"execution_count"`
				Outputs []struct {
					Type string                     `json:"output_type"`
					Name string                     `json:"name"`
					Data map[string]json.RawMessage `json:"data"`
				}
			}
			Metadata struct{ Kernelspec struct{ Name string } }
		}
		if err := json.Unmarshal(data, &notebook); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if notebook.Metadata.Kernelspec.Name != KernelName {
			t.Errorf("%s asks for the kernel %q, want %q", file, notebook.Metadata.Kernelspec.Name, KernelName)
		}
		if cells, err := StandIns(file); err != nil || len(cells) > 0 {
			t.Errorf("%s, cells %v: drawn data stand in for those that it is about (%v): run it where the data are", file, cells, err)
		}
		run, empty := 0, 0
		for i, cell := range notebook.Cells {
			if cell.Type != "code" {
				continue
			}
			if run++; cell.Count != run {
				t.Errorf("%s, cell %d: execution count %d, want %d: run it with certspec notebook run --save", file, i, cell.Count, run)
			}
			for _, output := range cell.Outputs {
				if output.Type == "error" || output.Name == "stderr" {
					t.Errorf("%s, cell %d: an output of type %s %s", file, i, output.Type, output.Name)
				}
				if html, ok := output.Data["text/html"]; ok && (string(html) == "[]" || string(html) == `""`) {
					empty++
				}
			}
		}
		if empty > 0 { // progress leaves one, which is taken out when a notebook is saved
			t.Errorf("%s: %d empty outputs in %d code cells", file, empty, run)
		}
		for line := range strings.Lines(string(data)) {
			if private.MatchString(line) && !strings.Contains(line, "image/png") && !strings.Contains(line, "http") {
				t.Errorf("%s holds a path of one machine: %.120s", file, line)
			}
		}
	}
}
