package layers

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/certspec/certspec/internal/testkit"
)

// Nothing compiles Python before it runs, so that a rename across the tree can break it unseen.
func TestPythonCompiles(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3 on the PATH: Python code is not compiled")
	}
	out, err := exec.Command(python, "testdata/compile.py", "../..").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "files compile") {
		t.Errorf("%v\n%s", err, out)
	}
}

// The package stays a door to the program: 3,740 lines, 100 columns, no function above 40 lines.
func TestSizeOfPythonPackage(t *testing.T) {
	files, err := filepath.Glob("../../python/certspec/*.py")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	total := 0
	for _, file := range files {
		text := testkit.Read(t, file)
		lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
		total += len(lines)
		for i, line := range lines {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("%s:%d has more than 100 columns", file, i+1)
			}
		}
	}
	if total > 3740 {
		t.Errorf("python/certspec has %d lines; expected at most 3,740", total)
	}
}
