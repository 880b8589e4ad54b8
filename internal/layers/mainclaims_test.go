package layers

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// mainClaims are, for each notebook of a paper, what is put into the cell of its main claim in the place of what stands
// there, and the verdicts that follow.
var mainClaims = map[string][]struct{ old, new, verdicts string }{
	"fouriermix": {
		{"", "", "opposite opposite opposite opposite opposite opposite"},
		{"what = 0.05", "what = 1e-9", "open open open open open open"},
		{"0.05, 4,", "0.05, 1,", "opposite opposite opposite"}, // nothing over starts
		{`"acr"`, `"ca 0.5"`, "opposite open opposite open opposite opposite"},
		{`"FourierMix+HCR"`, `"Gaussian+JSD"`, "open open open open open open"},
	},
	"act": {
		{"", "", "shows"},
		{"from ε=0.25 #3", "#1", "open"}, // which began with another network
	},
	"guaranteed-ood": {
		{"", "", "opposite opposite opposite opposite"},
		{`ball = ""`, `ball = "-02"`, "opposite opposite open open"},
		{`"fmnist-oe"`, `"fmnist-plain"`, "opposite shows shows shows"},
	},
	"out-of-line": {
		{"", "", "shows shows shows"},
		{"0.5, 0.05", "0.75, 0.05", "shows open open"},
		{"0.5, 0.05", "0.999, 0.05", "open open opposite"},
	},
}

// The main claim of a paper is computed in a visible cell of its notebook, of ten lines at most, from files of the
// repository and by public packages; with another value in the cell, another verdict follows.
func TestMainClaimsFollowTheirCell(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: links the packages of cells into a program of another module")
	}
	t.Setenv("CERTSPEC_TIER", "fast")
	t.Setenv("CERTSPEC_DATA", "")
	files := map[string]string{}
	imports, calls := "", ""
	for name, changes := range mainClaims {
		id := strings.ReplaceAll(name, "-", "")
		source, cell := mainCell(t, name)
		var all []string
		for i, c := range changes {
			if strings.Count(cell, c.old) != 1 && c.old != "" {
				t.Fatalf("%s: %q is not once in its cell:\n%s", name, c.old, cell)
			}
			all = append(all, strings.Replace(cell, c.old, c.new, 1))
			calls += fmt.Sprintf("\tfmt.Println(\"== %s %d\")\n\t%s.Show%d()\n", name, i, id, i)
		}
		files[id+"/cell.go"] = source.program(t, id, all)
		imports += fmt.Sprintf("\t\"example.org/service/%s\"\n", id)
	}
	files["all/main.go"] = "package main\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\n" + imports +
		")\n\nfunc main() {\n\tif err := os.Chdir(os.Args[1]); err != nil {\n\t\tpanic(err)\n\t}\n" + calls + "}\n"
	notebooks, err := filepath.Abs("../../notebooks")
	if err != nil {
		t.Fatal(err)
	}
	out := foreign(t, files)("run", "./all", notebooks)
	found := map[string]string{}
	for part := range strings.SplitSeq(out, "== ") {
		heading, text, _ := strings.Cut(part, "\n")
		text, _, _ = strings.Cut(text, "Shows: the interval")
		found[heading] = strings.Join(regexp.MustCompile(`\b(shows|opposite|open)\b`).FindAllString(text, -1), " ")
	}
	for name, changes := range mainClaims {
		for i, c := range changes {
			got := found[fmt.Sprintf("%s %d", name, i)]
			if got != c.verdicts {
				t.Errorf("%s with %q: %s; expected %s", name, c.new, got, c.verdicts)
			}
			if i > 0 && got == found[name+" 0"] {
				t.Errorf("%s with %q for %q: the same verdicts", name, c.new, c.old)
			}
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// declared are the imports and declarations of a notebook, by their names.
type declared struct {
	imports []string
	of      map[string]ast.Node
	text    map[string]string
}

// mainCell is the cell of the main claim of a notebook, with what the others declare.
func mainCell(t *testing.T, name string) (d declared, cell string) {
	t.Helper()
	var notebook struct {
		Cells []struct {
			Type     string `json:"cell_type"`
			Source   []string
			Metadata struct {
				Jupyter struct {
					Hidden bool `json:"source_hidden"`
				}
			}
		}
	}
	if err := json.Unmarshal(testkit.Read(t, "../../notebooks", name+".ipynb"), &notebook); err != nil {
		t.Fatal(err)
	}
	d.of, d.text = map[string]ast.Node{}, map[string]string{}
	announced := false
	for _, c := range notebook.Cells {
		text := strings.Join(c.Source, "")
		if c.Type != "code" {
			announced = announced || strings.Contains(text, "The main claim, computed here")
			continue
		}
		before, body, ok := strings.Cut("\n"+text, "\n%%\n")
		if d.add(t, before); announced && cell == "" && ok {
			if cell = body; c.Metadata.Jupyter.Hidden || len(c.Source) > 10 {
				t.Errorf("%s: the cell of the main claim is hidden, or has %d lines; at most 10", name, len(c.Source))
			}
		}
	}
	if cell == "" {
		t.Fatalf("%s: no cell of the main claim", name)
	}
	return d, cell
}

// add takes the declarations of a cell.
func (d *declared) add(t *testing.T, text string) {
	t.Helper()
	text = "package p\n" + text
	file, err := parser.ParseFile(token.NewFileSet(), "", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range file.Imports {
		d.imports = append(d.imports, i.Path.Value)
	}
	for _, decl := range file.Decls {
		var names []*ast.Ident
		switch decl := decl.(type) {
		case *ast.FuncDecl:
			names = append(names, decl.Name)
		case *ast.GenDecl:
			for _, s := range decl.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					names = append(names, v.Names...)
				}
			}
		}
		for _, n := range names {
			d.of[n.Name], d.text[n.Name] = decl, text[decl.Pos()-1:decl.End()-1]
		}
	}
}

// program is a package of cells with the imports and declarations that they name.
func (d *declared) program(t *testing.T, name string, cells []string) string {
	t.Helper()
	var shown strings.Builder
	for i, cell := range cells {
		fmt.Fprintf(&shown, "\nfunc Show%d() {\n%s\n}\n", i, cell)
	}
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+shown.String(), 0)
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	var declarations []string
	var visit func(ast.Node) bool
	visit = func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && !named[id.Name] {
			named[id.Name] = true
			if text := d.text[id.Name]; text != "" && !slices.Contains(declarations, text) {
				declarations = append(declarations, text)
				ast.Inspect(d.of[id.Name], visit)
			}
		}
		return true
	}
	ast.Inspect(file, visit)
	text := "package " + name + "\n"
	for _, path := range d.imports {
		if named[strings.Trim(path[strings.LastIndex(path, "/")+1:], `"`)] {
			text += "\nimport " + path
		}
	}
	return text + "\n\n" + strings.Join(declarations, "\n\n") + "\n" + shown.String()
}
