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
	"augment.Chain":                    "one augmentation after the other; augment.New makes it of a name with commas",
	"augment.Flip":                     "the plainest augmentation, for options of training in Go",
	"calib.AdaECEQuantile":             "an estimator of the field, compared with other software",
	"calib.DebiasedECE":                "an estimator of the field; Measure and Intervals use it",
	"calib.MCE":                        "an estimator of the field, compared with other software",
	"calib.SmoothECE":                  "an estimator of the field, compared with other software",
	"calib/confidence.Mean":            "an estimator beside the bounds",
	"calib/confidence.NewDistribution": "an estimator beside the bounds",
	"calib/confidence.OrderStatistics": "an estimator beside the bounds",
	"classifier.Broken":                "for tests of one's own programs",
	"classifier.Constant":              "for tests of one's own programs",
	"classifier.Random":                "for tests of one's own programs",
	"classifier/classifiertest.Run":    "for tests of models of one's own",
	"feedforward.Confidence":           "what Network.Confidence returns",
	"feedforward.Read":                 "reads a network from a file",
	"gomlxmodels/method.Register":      "for methods of one's own that recipes name",
	"gomlxmodels/optimizer.Register":   "for optimizers of one's own that recipes name",
	"gomlxmodels/schedule.Register":    "for schedules of one's own that recipes name",
	"lines.Deming":                     "a fit of the field, compared with other software",
	"lines.Influences":                 "a statistic of the field, compared with other software",
	"study.Find":                       "for measures and pages of tables, which move to package study",
	"study.FormOf":                     "for programs that read files of results",
	"study.Judge":                      "for pages of claims, which move to package study",
	"study.Open":                       "for pages of tables, which move to package study",
	"study.Register":                   "for measures of one's own",
	"study.RegisterMean":               "for measures of one's own",
	"rs.Plan":                          "what Options.Plan returns",
	"spectral.HighFrequencyFraction":   "a number of the field; MeasurePaths gives it of every path",
	"spectral.NewPixel":                "the plain path, beside those in amplitude and phase",
}

// What nobody outside names is no public name: of every exported function, variable and type there is a package, an example, a
// notebook, a page or the signature of another public name that names it. Tests of ours do not count, examples in tests do.
// Constants are the values of a setting: they stand or fall with its type.
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
			if name := d.Name(); name != ".." && strings.HasPrefix(name, ".") || slices.Contains([]string{"out", "bin", "testdata"}, name) ||
				slices.Contains([]string{"notebooks/results", "notebooks/models", "bench/results"}, filepath.ToSlash(rel)) {
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
		if strings.HasSuffix(file, "_test.go") {
			for _, d := range f.Decls { // examples alone
				if d, ok := d.(*ast.FuncDecl); !ok || !strings.HasPrefix(d.Name.Name, "Example") {
					continue
				}
				ast.Inspect(d, func(n ast.Node) bool {
					if s, ok := n.(*ast.SelectorExpr); ok {
						if x, ok := s.X.(*ast.Ident); ok && x.Name == strings.TrimSuffix(f.Name.Name, "_test") {
							named[own+"."+s.Sel.Name] = true
						}
					}
					return true
				})
			}
			return nil
		}
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
		public := f.Name.Name != "main" && !slices.ContainsFunc(strings.Split(own, "/"), func(s string) bool { return s == "internal" || s == "cmd" || s == "bench" || s == "examples" })
		if !public {
			return nil
		}
		signed := func(by string, n ast.Node) {
			ast.Inspect(n, func(n ast.Node) bool {
				if x, ok := n.(*ast.Ident); ok && x.IsExported() && x.Name != by {
					named[own+"."+x.Name] = true
				}
				return true
			})
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil && d.Name.IsExported() {
					all = append(all, own+"."+d.Name.Name)
				}
				if d.Name.IsExported() {
					signed(d.Name.Name, d.Type)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					if v, ok := s.(*ast.TypeSpec); ok && v.Name.IsExported() {
						all = append(all, own+"."+v.Name.Name)
						if fields, ok := v.Type.(*ast.StructType); ok {
							for _, field := range fields.Fields.List {
								if len(field.Names) == 0 || field.Names[0].IsExported() {
									signed(v.Name.Name, field.Type)
								}
							}
						} else {
							signed(v.Name.Name, v.Type)
						}
					}
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
		used := named[name] || words[path.Base(name)] || strings.HasPrefix(last, "Err") || strings.HasSuffix(last, "Error") // which errors.As takes
		if !used && unnamed[name] == "" {
			t.Errorf("%s is exported, and nothing outside its package names it: unexport it, give it an example, or say in unnamed why it stays", name)
		}
	}
}
