package layers

import (
	"fmt"
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
	"sync"
	"testing"

	"github.com/certspec/certspec/internal/testkit"
)

type program struct {
	set      *token.FileSet
	packages map[string]*types.Package
}

// load gives the declarations of this module, which are read once.
func load(t *testing.T) *program {
	loading.Do(func() { loadedOnce = read(t) })
	if loadedOnce == nil {
		t.Fatal("the packages could not be read")
	}
	return loadedOnce
}

var (
	loading    sync.Once
	loadedOnce *program
)

// read type-checks the declarations of this module from their sources; of other modules it takes what the compiler
// exported.
func read(t *testing.T) *program {
	var others []string
	var own []pkg
	for _, p := range list(t, nil, "-deps", "./...") { // dependencies first
		if p.Module != nil && p.Module.Path == module {
			own = append(own, p)
		} else if p.ImportPath != "unsafe" {
			others = append(others, p.ImportPath)
		}
	}
	exported := map[string]string{}
	for _, p := range list(t, nil, append([]string{"-export"}, others...)...) {
		exported[p.ImportPath] = p.Export
	}
	loaded := &program{token.NewFileSet(), map[string]*types.Package{}}
	foreign := importer.ForCompiler(loaded.set, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(exported[path])
	})
	check := types.Config{IgnoreFuncBodies: true, FakeImportC: true, Importer: importing(func(path string) (*types.Package, error) {
		if p := loaded.packages[path]; p != nil {
			return p, nil
		}
		return foreign.Import(path)
	})}
	for _, p := range own {
		var files []*ast.File
		for _, name := range append(p.GoFiles, p.CgoFiles...) {
			f, err := parser.ParseFile(loaded.set, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		checked, err := check.Check(p.ImportPath, loaded.set, files, nil)
		if err != nil {
			t.Fatal(err)
		}
		loaded.packages[p.ImportPath] = checked
	}
	return loaded
}

type importing func(path string) (*types.Package, error)

func (f importing) Import(path string) (*types.Package, error) { return f(path) }

// public reports whether another module can import a package of this one.
func public(path string) bool {
	return !slices.ContainsFunc(strings.Split(path, "/"), func(s string) bool { return s == "internal" || s == "cmd" })
}

// names are the exported names of a package, sorted.
func names(p *types.Package) []types.Object {
	var all []types.Object
	for _, name := range p.Scope().Names() {
		if o := p.Scope().Lookup(name); o.Exported() {
			all = append(all, o)
		}
	}
	return all
}

// What is reachable from a public name is public and can be named: whoever gets a value can declare a variable, a
// parameter or a field for it, and finds its fields and methods in the documentation.
func TestReachableFromPublicNamesIsPublic(t *testing.T) {
	loaded := load(t)
	found := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(loaded.packages)) {
		p := loaded.packages[path]
		if !public(path) || p.Name() == "main" {
			continue
		}
		for _, o := range names(p) {
			r := reach{seen: map[types.Type]bool{}, meet: func(n *types.TypeName, at string) {
				if path := n.Pkg().Path(); !public(path) || !n.Exported() {
					found[fmt.Sprintf("%s: %s.%s", at, strings.TrimPrefix(path, module+"/"), n.Name())] = true
				}
			}}
			r.object(o, strings.TrimPrefix(path, module+"/")+"."+o.Name())
		}
	}
	text := testkit.Read(t, "testdata/leaks.txt")
	for leak := range strings.Lines(string(text)) {
		if leak = strings.TrimSpace(leak); strings.HasPrefix(leak, "#") {
			continue
		}
		if !found[leak] {
			t.Errorf("%s is mended: take it off testdata/leaks.txt", leak)
		}
		delete(found, leak)
	}
	for _, leak := range slices.Sorted(maps.Keys(found)) {
		t.Errorf("%s cannot be named: publish the type, take another that is public, or unexport the name", leak)
	}
}

// The public names by package are pinned: a file lists them, and only shrinks. A new name is added there by hand, with the
// change that has a cell, a page, an example or a command for it.
func TestPublicNamesArePinned(t *testing.T) {
	loaded := load(t)
	var found []string
	for path, p := range loaded.packages {
		if !public(path) || p.Name() == "main" || path == module {
			continue
		}
		for _, o := range names(p) {
			found = append(found, strings.TrimPrefix(path, module+"/")+"."+o.Name())
		}
	}
	slices.Sort(found)
	const file = "testdata/names.txt"
	if *update {
		testkit.Write(t, []byte(strings.Join(found, "\n")+"\n"), file)
	}
	text := testkit.Read(t, file)
	listed := strings.Fields(string(text))
	for _, name := range listed {
		if _, there := slices.BinarySearch(found, name); !there {
			t.Errorf("%s is no public name any more: take it off %s", name, file)
		}
	}
	for _, name := range found {
		if !slices.Contains(listed, name) {
			t.Errorf("%s is a new public name: unexport it, or add it to %s and say in the commit who needs it", name, file)
		}
	}
}

// reach walks what a public name leads to.
type reach struct {
	seen map[types.Type]bool
	meet func(named *types.TypeName, at string) // types of this module, at a place of the declaration
}

// object looks at what a public name is.
func (r *reach) object(o types.Object, at string) {
	if named, ok := o.Type().(*types.Named); ok && named.Obj() == o {
		r.declared(named, at)
		return
	}
	r.walk(o.Type(), at)
}

// walk looks at a type that stands at a place of a declaration.
func (r *reach) walk(t types.Type, at string) {
	if r.seen[t] {
		return
	}
	r.seen[t] = true
	if alias, ok := t.(*types.Alias); ok {
		if ours(alias.Obj()) {
			r.meet(alias.Obj(), at)
		}
		r.walk(types.Unalias(t), at)
		return
	}
	switch t := t.(type) {
	case *types.Named:
		o := t.Obj()
		for arg := range t.TypeArgs().Types() {
			r.walk(arg, at)
		}
		if ours(o) {
			r.meet(o, at)
		}
	case *types.Pointer:
		r.walk(t.Elem(), at)
	case *types.Slice:
		r.walk(t.Elem(), at)
	case *types.Array:
		r.walk(t.Elem(), at)
	case *types.Chan:
		r.walk(t.Elem(), at)
	case *types.Map:
		r.walk(t.Key(), at)
		r.walk(t.Elem(), at)
	case *types.Signature:
		for v := range t.Params().Variables() {
			r.walk(v.Type(), at)
		}
		for v := range t.Results().Variables() {
			r.walk(v.Type(), at)
		}
		for p := range t.TypeParams().TypeParams() {
			r.walk(p.Constraint(), at)
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				r.walk(f.Type(), at+"."+f.Name())
			} else if named, ok := types.Unalias(f.Type()).(*types.Named); ok && f.Embedded() { // it lends what it has
				r.declared(named, at)
			}
		}
	case *types.Interface:
		for m := range t.ExplicitMethods() {
			if m.Exported() {
				r.walk(m.Type(), at+"."+m.Name())
			}
		}
		for e := range t.EmbeddedTypes() {
			r.walk(e, at)
		}
	case *types.Union:
		for term := range t.Terms() {
			r.walk(term.Type(), at)
		}
	}
}

// ours reports whether a type is of this module.
func ours(o *types.TypeName) bool {
	return o.Pkg() != nil && strings.HasPrefix(o.Pkg().Path()+"/", module+"/")
}

// declared looks at what a type has: its fields or elements, and its methods.
func (r *reach) declared(t *types.Named, at string) {
	r.seen[t] = true
	r.walk(t.Underlying(), at)
	for m := range t.Methods() {
		if m.Exported() {
			r.walk(m.Type(), at+"."+m.Name())
		}
	}
}

// nested are fields of options that are structs of options, for now.
var nested = []string{"engine/onnx.Options.Card"}

// Every option is settable in one literal: a struct of options is flat, so that Options{Sigma: .25} compiles and a reader
// finds each field in one place.
func TestOptionsAreFlat(t *testing.T) {
	loaded := load(t)
	seen := 0
	for _, path := range slices.Sorted(maps.Keys(loaded.packages)) {
		if !public(path) {
			continue
		}
		for _, o := range names(loaded.packages[path]) {
			named, ok := types.Unalias(o.Type()).(*types.Named)
			if _, isType := o.(*types.TypeName); !isType || !ok || !isOptions(o.Name()) {
				continue
			}
			fields, ok := named.Underlying().(*types.Struct)
			if !ok {
				continue
			}
			seen++
			for f := range fields.Fields() {
				inner := types.Unalias(f.Type())
				if p, ok := inner.(*types.Pointer); ok {
					inner = types.Unalias(p.Elem())
				}
				within, ok := inner.(*types.Named)
				at := strings.TrimPrefix(path, module+"/") + "." + o.Name() + "." + f.Name()
				if (f.Embedded() || ok && isOptions(within.Obj().Name())) != slices.Contains(nested, at) {
					t.Errorf("%s is a %v: expected the fields of that struct themselves, and none listed that is not there",
						at, f.Type())
				}
			}
		}
	}
	if seen < 10 {
		t.Errorf("%d structs of options: this test looks in the wrong place", seen)
	}
}

// isOptions reports whether a struct of this name holds options.
func isOptions(name string) bool {
	return slices.ContainsFunc([]string{"Options", "Settings", "Recipe"}, func(s string) bool { return strings.HasSuffix(name, s) })
}
