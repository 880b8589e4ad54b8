package layers

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// Generated files are what their commands make of the files beside them: an edit of one form of a hot loop reaches the others.
func TestGeneratedFilesAreCurrent(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("the commands need sh and sed")
	}
	folders := map[string]bool{} // with commands, and whether something is generated there
	sources := goFiles()
	for path, text := range sources {
		if bytes.Contains(text, []byte("\n//go:generate ")) {
			folders[filepath.Dir(path)] = false
		}
	}
	if len(folders) == 0 {
		t.Fatal("no commands: this test looks for the wrong line")
	}
	for folder := range folders {
		work := t.TempDir()
		for path, text := range sources {
			if filepath.Dir(path) != folder || bytes.HasPrefix(text, []byte("// Code generated")) {
				continue
			}
			testkit.Write(t, text, work, filepath.Base(path))
			if bytes.Contains(text, []byte("\n//go:generate ")) {
				cmd := exec.Command("go", "generate", filepath.Base(path))
				cmd.Dir = work
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s: %v: %s", path, err, out)
				}
			}
		}
		for path, text := range sources {
			if filepath.Dir(path) != folder || !bytes.HasPrefix(text, []byte("// Code generated")) {
				continue
			}
			folders[folder] = true
			if made, err := os.ReadFile(filepath.Join(work, filepath.Base(path))); err != nil || !bytes.Equal(made, text) {
				t.Errorf("%s is not what go generate makes; run go generate %s (%v)", path, folder, err)
			}
		}
		if !folders[folder] {
			t.Errorf("%s has commands that make nothing", folder)
		}
	}
}
