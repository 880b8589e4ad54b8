package layers

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Files get their names in one place, which syncs them: a power cut would otherwise leave an empty file under a good name.
func TestFilesAreWrittenByAtomicfile(t *testing.T) {
	forbidden := regexp.MustCompile(`\bos\.(Rename|WriteFile|Create|CreateTemp)\(`)
	const owner = "internal/atomicfile"
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		name := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == owner || strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".."):
			return filepath.SkipDir
		case !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for i, line := range bytes.Split(text, []byte("\n")) {
			if call := forbidden.Find(line); call != nil {
				t.Errorf("%s:%d: %s…): package %s writes files", name, i+1, call, owner)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
