package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

// unnamed are exported names that nothing in the repository names from outside, each with the reason why it stays.
var unnamed = map[string]string{
	"augment.Chain":                    "one augmentation after the other; augment.New makes it of a name with commas",
	"augment.Flip":                     "the plainest augmentation, for options of training in Go",
	"calib.SmoothECE":                  "an estimator of the field, compared with other software",
	"calib/confidence.Mean":            "an estimator beside the bounds",
	"calib/confidence.NewDistribution": "an estimator beside the bounds",
	"calib/confidence.OrderStatistics": "an estimator beside the bounds",
	"classifier.Broken":                "for tests of one's own programs",
	"classifier.Random":                "for tests of one's own programs",
	"classifier/classifiertest.Run":    "for tests of models of one's own",
	"feedforward.Read":                 "reads a network from a file",
	"gomlxmodels/method.Register":      "for methods of one's own that recipes name",
	"gomlxmodels/optimizer.Register":   "for optimizers of one's own that recipes name",
	"gomlxmodels/schedule.Register":    "for schedules of one's own that recipes name",
	"lines.Deming":                     "a fit of the field, compared with other software",
	"lines.Influences":                 "a statistic of the field, compared with other software",
	"spectral.NewPixel":                "the plain path, beside those in amplitude and phase",
}

// What nobody outside names is no public name: of every exported function, variable and type there is a package, an example, a
// notebook, a page or the signature of another public name that names it. Tests of ours do not count, examples in tests do.
// Constants are the values of a setting: they stand or fall with its type.
func TestExportedNamesAreNamed(t *testing.T) {
	loaded := load(t)
	named, words := namesFromOutside(t), wordsOfPages(t)
	found := map[types.Object]bool{} // in signatures, fields and methods of others
	var all []types.Object
	for path, p := range loaded.packages {
		if !public(path) || p.Name() == "main" {
			continue
		}
		for _, o := range names(p) {
			if _, constant := o.(*types.Const); !constant {
				all = append(all, o)
			}
			r := reach{seen: map[types.Type]bool{}, meet: func(n *types.TypeName, _ string) { found[n] = found[n] || n != o }}
			r.object(o, "")
		}
	}
	if len(all) < 300 {
		t.Fatalf("%d names were found: this test looks in the wrong place", len(all))
	}
	for _, o := range all {
		name := strings.TrimPrefix(o.Pkg().Path(), module+"/") + "." + o.Name()
		used := found[o] || named[name] || words[path.Base(name)] ||
			strings.HasPrefix(o.Name(), "Err") || strings.HasSuffix(o.Name(), "Error") // which errors.As takes
		if !used && unnamed[name] == "" {
			t.Errorf("%s is exported, and nothing outside its package names it: unexport it, give it an example, or say in unnamed why it stays", name)
		}
		if used && unnamed[name] != "" {
			t.Errorf("%s is named: take it out of unnamed", name)
		}
	}
}

// namesFromOutside are the names of ours, "path/of/package.Name", that files of other packages and examples write.
func namesFromOutside(t *testing.T) map[string]bool {
	t.Helper()
	named := map[string]bool{}
	for file, text := range goFiles() {
		if strings.Contains(filepath.ToSlash(file), "/testdata/") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		imports := map[string]string{}
		for _, i := range f.Imports {
			if p, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), module+"/"); ours && i.Name != nil {
				imports[i.Name.Name] = p
			} else if ours {
				imports[path.Base(p)] = p
			}
		}
		for _, d := range f.Decls {
			if d, ok := d.(*ast.FuncDecl); strings.HasSuffix(file, "_test.go") && (!ok || !strings.HasPrefix(d.Name.Name, "Example")) {
				continue
			}
			ast.Inspect(d, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok {
					if x, ok := s.X.(*ast.Ident); ok && imports[x.Name] != "" {
						named[imports[x.Name]+"."+s.Sel.Name] = true
					}
				}
				return true
			})
		}
	}
	return named
}

// wordsOfPages are the words of the form package.Name in pages and notebooks.
func wordsOfPages(t *testing.T) map[string]bool {
	t.Helper()
	words, dotted := map[string]bool{}, regexp.MustCompile(`\w+\.[A-Z]\w*`)
	for _, file := range documents(t) {
		if filepath.Base(file) == "CHANGELOG.md" || strings.Contains(filepath.ToSlash(file), "/results/") {
			continue
		}
		text := string(testkit.Read(t, file))
		for _, word := range dotted.FindAllString(strings.NewReplacer(`\t`, " ", `\n`, " ").Replace(text), -1) {
			words[word] = true
		}
	}
	return words
}
