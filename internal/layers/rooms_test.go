package layers

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// downwards are the files of feedforward from the top down: reading a graph, bounds, values, layers, walks from the
// outputs back to the input, and what all of them use.
var downwards = strings.Fields(`
	onnx onnximages onnxfold onnxops onnxwindows onnxweights onnxreduce onnxarithmetic onnxshape onnxtake onnxinputs
	bounds confidence crown tighten leading bounder tail compare intervals split outputs tuned
	confidencegradients batch lanes results digest convlanes denselanes parts
	posterior window arrange density conv activation product dense scale
	walkrows walklayers walk reach segment logsum linear
	builder box feedforward`)

// knows are files that call more than five others, and how many; the list only shrinks.
var knows = map[string]int{"leading": 6, "onnxarithmetic": 6, "tuned": 6, "walk": 6, "walklayers": 6}

// Whoever reads feedforward from the top meets what is called behind its caller: at most one arrow in ten points up.
func TestFeedforwardReadsDownwards(t *testing.T) {
	place := map[string]int{}
	for i, name := range downwards {
		place[name] = i
	}
	calls, up, all := callsBetweenFiles(t, "feedforward"), []string{}, 0
	for _, from := range slices.Sorted(maps.Keys(calls)) {
		if _, known := place[from]; !known {
			t.Errorf("%s.go is in no room: add it to downwards", from)
		}
		if most := max(knows[from], 5); len(calls[from]) > most {
			t.Errorf("%s.go calls %d others, at most %d: %v", from, len(calls[from]), most,
				slices.Sorted(maps.Keys(calls[from])))
		}
		for to := range calls[from] {
			if all++; place[to] < place[from] {
				up = append(up, from+" → "+to)
			}
		}
	}
	if all < 100 {
		t.Fatalf("%d arrows: the test sees too few", all)
	}
	if slices.Sort(up); 10*len(up) > all {
		t.Errorf("%d of %d arrows point up, at most one in ten:\n%s", len(up), all, strings.Join(up, "\n"))
	}
}

// callsBetweenFiles are the files of a package that functions and methods of each file call, without endings. Calls
// through interfaces are not counted.
func callsBetweenFiles(t *testing.T, folder string) map[string]map[string]bool {
	t.Helper()
	exported := map[string]string{}
	var own pkg
	for _, p := range list(t, nil, "-export", "-deps", "./"+folder) {
		exported[p.ImportPath] = p.Export
		own = p // the last one
	}
	set := token.NewFileSet()
	var files []*ast.File
	for _, name := range own.GoFiles {
		f, err := parser.ParseFile(set, filepath.Join(own.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	check := types.Config{Importer: importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exported[path])
	})}
	if _, err := check.Check(own.ImportPath, set, files, info); err != nil {
		t.Fatal(err)
	}
	at := func(pos token.Pos) string {
		return strings.TrimSuffix(filepath.Base(set.Position(pos).Filename), ".go")
	}
	calls := map[string]map[string]bool{}
	for _, f := range files {
		from := at(f.Pos())
		calls[from] = map[string]bool{}
		ast.Inspect(f, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			called, ok := info.Uses[nameOf(c.Fun)].(*types.Func)
			if !ok || called.Pkg() == nil || called.Pkg().Path() != own.ImportPath {
				return true
			}
			if r := called.Signature().Recv(); r != nil && types.IsInterface(r.Type()) {
				return true
			}
			if to := at(called.Pos()); to != from {
				calls[from][to] = true
			}
			return true
		})
	}
	return calls
}

// nameOf is the name that is called, nil where there is none.
func nameOf(e ast.Expr) *ast.Ident {
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		return e
	case *ast.SelectorExpr:
		return e.Sel
	case *ast.IndexExpr:
		return nameOf(e.X)
	}
	return nil
}
