package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// unnamed are exported names that nothing in the repository names from outside, each with the reason why it stays.
var unnamed = map[string]string{
	"calib.DebiasedECE":              "an estimator of the field; Measure and Intervals use it",
	"dataset.Only":                   "of names of data sets: only=cat+dog",
	"dataset.Random":                 "of names of data sets: random=100:1",
	"gomlxmodels/method.Register":    "for methods of one's own that recipes name",
	"gomlxmodels/optimizer.Register": "for optimizers of one's own that recipes name",
	"gomlxmodels/schedule.Register":  "for schedules of one's own that recipes name",
	"lines.ReadRobustBench":          "a reader beside the others, which Read chooses",
}

// What nobody outside names is no public name: of every exported function and variable there is a package, a test, an example, a notebook or a page that names it. Types and their
// methods are left out, as a value of them is used without its name, and constants, which are the values of a setting.
func TestExportedNamesAreNamed(t *testing.T) {
	root := "../.."
	set := token.NewFileSet()
	named := map[string]bool{} // "path/of/package.Name"
	var all []string
	words := map[string]bool{} // "package.Name" in notebooks and pages
	dotted := regexp.MustCompile(`\w+\.[A-Z]\w*`)
	err := filepath.WalkDir(root, func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, file)
		if d.IsDir() {
			if name := d.Name(); name != ".." && strings.HasPrefix(name, ".") || slices.Contains([]string{"results", "models", "out", "bin", "testdata"}, name) {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(file) {
		case ".md", ".ipynb":
			if d.Name() == "CHANGELOG.md" {
				return nil
			}
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, word := range dotted.FindAllString(strings.NewReplacer(`\t`, " ", `\n`, " ").Replace(string(text)), -1) {
				words[word] = true
			}
			return nil
		case ".go":
		default:
			return nil
		}
		f, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		own := filepath.ToSlash(filepath.Dir(rel))
		imports := map[string]string{}
		for _, i := range f.Imports {
			p, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/")
			if !ours {
				continue
			}
			name := path.Base(p)
			if i.Name != nil {
				name = i.Name.Name
			}
			imports[name] = p
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
					named[imports[x.Name]+"."+s.Sel.Name] = true
				}
			}
			return true
		})
		public := f.Name.Name != "main" && !strings.HasSuffix(file, "_test.go") && !slices.ContainsFunc(strings.Split(own, "/"), func(s string) bool { return s == "internal" || s == "cmd" || s == "bench" || s == "examples" })
		if !public {
			return nil
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					all = append(all, own+"."+d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.ValueSpec); ok && d.Tok == token.VAR {
						for _, name := range v.Names {
							if name.IsExported() {
								all = append(all, own+"."+name.Name)
							}
						}
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 300 {
		t.Fatalf("%d names were found: this test looks in the wrong place", len(all))
	}
	for _, name := range all {
		_, last, _ := strings.Cut(path.Base(name), ".")
		used := named[name] || words[path.Base(name)] || strings.HasPrefix(last, "Err")
		if !used && unnamed[name] == "" {
			t.Errorf("%s is exported, and nothing outside its package names it: unexport it, give it an example, or say in unnamed why it stays", name)
		}
	}
}
