package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// goFiles are the Go files of the repository, by their paths from here, read once.
var goFiles = sync.OnceValue(func() map[string][]byte {
	files := map[string][]byte{}
	err := filepath.WalkDir("../..", func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && strings.ContainsAny(entry.Name()[:1], "._") && entry.Name() != "..": // _: of other modules
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go"):
			return nil
		}
		files[path], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		panic(err)
	}
	return files
})

// parsed are the Go files beside tests and testdata with their comments, read once, and their positions.
var parsed = sync.OnceValues(func() (*token.FileSet, map[string]*ast.File) {
	set, files := token.NewFileSet(), map[string]*ast.File{}
	for path, text := range goFiles() {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), "/testdata/") {
			continue
		}
		f, err := parser.ParseFile(set, path, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			panic(err)
		}
		files[path] = f
	}
	return set, files
})

// Files get their names in one place, which syncs them: a power cut would otherwise leave an empty file under a good name.
func TestFilesAreWrittenByAtomicfile(t *testing.T) {
	forbidden := regexp.MustCompile(`\bos\.(Rename|WriteFile|Create|CreateTemp)\(`)
	const owner = "internal/atomicfile"
	for path, text := range goFiles() {
		if strings.HasSuffix(path, "_test.go") || strings.Contains(filepath.ToSlash(path), owner) ||
			strings.Contains(filepath.ToSlash(path), "internal/testkit/") ||
			strings.HasPrefix(filepath.ToSlash(path), "../../examples/") {
			continue
		}
		for i, line := range bytes.Split(text, []byte("\n")) {
			if call := forbidden.Find(line); call != nil {
				t.Errorf("%s:%d: %s…): package %s writes files", path, i+1, call, owner)
			}
		}
	}
}

// A result that names a folder of the machine that made it cannot be made again elsewhere by the command beside it.
func TestResultsNameNoAbsolutePath(t *testing.T) {
	absolute := regexp.MustCompile(`"(/[a-z]+/|[A-Z]:\\\\)[^"]*"`)
	for _, folder := range []string{"../../notebooks/results", "../../bench/results"} {
		err := filepath.WalkDir(folder, func(path string, entry os.DirEntry, err error) error {
			if err != nil || entry.IsDir() || !strings.HasPrefix(filepath.Ext(path), ".json") {
				return err
			}
			text, err := os.ReadFile(path)
			if found := absolute.Find(text); found != nil {
				t.Errorf("%s: an absolute path, %s", path, found)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}
