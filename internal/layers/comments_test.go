package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A comment that names package.Name of ours names what the code of a package of that name has: a declaration, field or
// method.
func TestCommentsNameWhatIsThere(t *testing.T) {
	set := token.NewFileSet()
	has := map[string]map[string]bool{} // package → identifiers
	var files []*ast.File
	err := filepath.WalkDir("../..", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), "_")) {
			return fs.SkipDir
		}
		if err != nil || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		files = append(files, f)
		names := has[f.Name.Name]
		if names == nil {
			names = map[string]bool{}
			has[f.Name.Name] = names
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				names[id.Name] = true
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named, checked := regexp.MustCompile(`\b([a-z]\w*)\.([A-Z]\w*)`), 0
	for _, f := range files {
		for _, group := range f.Comments {
			for _, m := range named.FindAllStringSubmatch(group.Text(), -1) {
				if names, ours := has[m[1]]; ours {
					if checked++; !names[m[2]] {
						t.Errorf("%s: a comment names %s, which is not there", set.Position(group.Pos()), m[0])
					}
				}
			}
		}
	}
	if checked < 100 {
		t.Errorf("%d names in comments", checked)
	}
}
