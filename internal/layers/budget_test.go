package layers

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// budget holds what the tree may weigh. Whoever needs more edits a number here and says why in the
// commit; where the tree has become lighter, the number follows it down.
var budget = map[string]int{
	"Go lines without tests":     145_400,
	"Go lines above 120 columns": 0,
	"public names":               950,
	"words of README.md":         475,
	"words of ARCHITECTURE.md":   1_040,
	"words of CHANGELOG.md":      760,
	"words of environment.md":    900,
	"words of docs/results.md":   4_600,
	"words of the pages in docs": 29_200,
}

func TestBudget(t *testing.T) {
	weight := map[string]int{"Go lines above 120 columns": 0}
	weighGo(t, weight)
	pages, _ := filepath.Glob("../../docs/*.md")
	for _, name := range []string{"README.md", "ARCHITECTURE.md", "CHANGELOG.md", "environment.md"} {
		pages = append(pages, "../../"+name)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		words := len(bytes.Fields(text))
		rel, _ := filepath.Rel("../..", page)
		weight["words of "+filepath.ToSlash(rel)] = words
		if filepath.Dir(rel) == "docs" {
			weight["words of the pages in docs"] += words
		}
	}
	for what, most := range budget {
		if got, ok := weight[what]; !ok || got > most {
			t.Errorf("%s: %d, the budget is %d: take something away, or raise the number and say why in the commit",
				what, got, most)
		}
	}
}

// weighGo counts lines, wide lines and exported constants, variables, types and functions. Generated
// files, bench and examples count for nothing; names count where another module can import them.
func weighGo(t *testing.T, weight map[string]int) {
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel("../..", path)
		parts := strings.Split(filepath.ToSlash(rel), "/")
		if d.IsDir() {
			if len(d.Name()) > 2 && d.Name()[0] == '.' ||
				slices.Contains([]string{"testdata", "out", "bin", "bench", "examples"}, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || bytes.Contains(text[:min(len(text), 600)], []byte("// Code generated ")) {
			return err
		}
		for line := range bytes.Lines(text) {
			weight["Go lines without tests"]++
			if utf8.RuneCount(bytes.TrimRight(line, "\n")) > 120 {
				weight["Go lines above 120 columns"]++
			}
		}
		if parts[0] == "cmd" || parts[0] == "notebooks" || slices.Contains(parts, "internal") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		weight["public names"] += exported(file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// exported counts the exported names that a file declares, without methods and fields.
func exported(file *ast.File) (n int) {
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					count(s.Name)
				case *ast.ValueSpec:
					count(s.Names...)
				}
			}
		}
	}
	return n
}
