package layers

import (
	"go/ast"
	"regexp"
	"strings"
	"testing"
)

// A comment that names package.Name of ours names what the code of a package of that name has: a declaration, field or
// method.
func TestCommentsNameWhatIsThere(t *testing.T) {
	set, files := parsed()
	has := map[string]map[string]bool{} // package → identifiers
	for _, f := range files {
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

// A doc comment begins with the name that it stands over, exported or not; an article may stand before it.
func TestDocCommentsBeginWithTheirNames(t *testing.T) {
	checked := 0
	set, files := parsed()
	check := func(name *ast.Ident, doc *ast.CommentGroup) {
		words := strings.Fields(doc.Text())
		if len(words) == 0 || name.Name == "_" {
			return
		}
		checked++
		if len(words) > 1 && (words[0] == "A" || words[0] == "An" || words[0] == "The") {
			words = words[1:]
		}
		if word := strings.TrimSuffix(strings.TrimRight(words[0], ".,:;'"), "'s"); word != name.Name {
			t.Errorf("%s: the comment of %s begins with %q", set.Position(doc.Pos()), name.Name, words[0])
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				check(d.Name, d.Doc)
			case *ast.GenDecl:
				for _, s := range d.Specs {
					name, doc := documented(s)
					if doc == nil && !d.Lparen.IsValid() {
						doc = d.Doc
					}
					if name != nil {
						check(name, doc)
					}
				}
			}
		}
	}
	if checked < 3000 {
		t.Errorf("%d comments: this test looks in the wrong place", checked)
	}
}

// documented is the one name that a line of a declaration gives, nil of several, and the comment above it.
func documented(s ast.Spec) (*ast.Ident, *ast.CommentGroup) {
	switch s := s.(type) {
	case *ast.TypeSpec:
		return s.Name, s.Doc
	case *ast.ValueSpec:
		if len(s.Names) == 1 {
			return s.Names[0], s.Doc
		}
	}
	return nil, nil
}
