package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// Every package compiles for other systems without C. Types are checked from the sources, since to compile all that is
// imported for a system anew takes minutes; a function without a body must have an assembly file beside it.
func TestCompilesForOtherSystems(t *testing.T) {
	for _, env := range [][]string{
		{"GOOS=darwin", "GOARCH=arm64", "GOEXPERIMENT=", "CGO_ENABLED=0"},
		{"GOOS=windows", "GOARCH=amd64", "GOEXPERIMENT=simd", "CGO_ENABLED=0"},
	} {
		t.Run(strings.Join(env[:2], ","), func(t *testing.T) {
			t.Parallel()
			_, arch, _ := strings.Cut(env[1], "=")
			set, known, ours := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}, 0
			for _, p := range list(t, env, "-tags", "noxla", "-deps", "./...", "./bench/...", "./cmd/certcheck/...", "./examples/...",
				"./notebooks/...") { // dependencies first
				if p.ImportPath == "unsafe" {
					continue
				}
				own := p.Module != nil && strings.HasPrefix(p.Module.Path, module)
				if own {
					ours++
				}
				var files []*ast.File
				for _, name := range p.GoFiles {
					f, err := parser.ParseFile(set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range f.Decls {
						if d, ok := d.(*ast.FuncDecl); ok && own && d.Body == nil && len(p.SFiles) == 0 {
							t.Errorf("%s: %s has neither a body nor an assembly file", set.Position(d.Pos()), d.Name.Name)
						}
					}
					files = append(files, f)
				}
				check := types.Config{IgnoreFuncBodies: !own, Sizes: types.SizesFor("gc", arch),
					Importer: importing(func(path string) (*types.Package, error) {
						if vendored := p.ImportMap[path]; vendored != "" {
							path = vendored
						}
						return known[path], nil
					})}
				var err error
				if known[p.ImportPath], err = check.Check(p.ImportPath, set, files, nil); err != nil {
					t.Error(err)
				}
			}
			if ours < 150 {
				t.Errorf("%d packages: this test looks in the wrong place", ours)
			}
		})
	}
}
