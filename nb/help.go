package nb

import (
	_ "embed"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
)

// examples are the figures of the gallery, with the lines that make them.
//
//go:embed example_test.go
var examples string

// example is a figure of the gallery.
type example struct{ name, says, code string }

// Help shows the lines that make a figure, by its name, such as curve; without one, the names. The gallery,
// docs/gallery/README.md, shows the same lines with their pictures.
func Help(name ...string) {
	of := gallery()
	var names []string
	for _, e := range of {
		names = append(names, e.name)
		if len(name) > 0 && strings.EqualFold(e.name, strings.Join(name, " ")) {
			Show(Markdown(fmt.Sprintf("%s\n\n```go\n%%%%\n%s```\n", e.says, e.code)))
			return
		}
	}
	if len(name) > 0 {
		end(fmt.Errorf("nb.Help: no figure %q; there are %s", strings.Join(name, " "), strings.Join(names, ", ")))
		return
	}
	Show(Markdown("Figures: " + strings.Join(names, ", ") + ". `nb.Help(\"curve\")` shows the lines of one."))
}

// gallery reads the examples, in their order.
func gallery() (all []example) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "example_test.go", examples, parser.ParseComments)
	end(err)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		at := func(p token.Pos) int { return files.Position(p).Offset }
		code := strings.Trim(examples[at(f.Body.Lbrace)+1:at(f.Body.Rbrace)], "\n")
		_, name, _ := strings.Cut(f.Name.Name, "Example")
		name = strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(name, "Figure_"), "_", " "))
		all = append(all, example{name, strings.TrimSpace(f.Doc.Text()),
			strings.ReplaceAll("\n"+code, "\n\t", "\n")[1:] + "\n"})
	}
	return all
}
