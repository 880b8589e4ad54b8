package recipe

import (
	"bytes"
	"cmp"
	"embed"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/textfile"
)

// DataKind is a kind of data set that recipes name.
type DataKind struct {
	Title string `yaml:"title"`
	// At is where it lies, as in cifar10 or folder:PATH; Train and Test are the names of its parts,
	// in which {} stands for At.
	At    string `yaml:"at"`
	Train string `yaml:"train"`
	Test  string `yaml:"test"`
}

// Library holds recipes, tiers and tables by name.
type Library struct {
	data    map[string]DataKind
	recipes map[string]Recipe
	tiers   map[string]Tier
	tables  map[string]Table
	bodies  map[string]*yaml.Node // of recipes, with what they inherit
	files   map[string]string     // of recipes
	homes   map[string]string     // files of tables
	order   map[string][]string   // of the names, by kind
}

// The kinds of things in a library.
const (
	Recipes = "recipes"
	Tiers   = "tiers"
	Tables  = "tables"
)

//go:embed data/*.yaml
var builtIn embed.FS

// Open is the library that is built in, to which files may be added. What lies in it is for reading alone.
func Open() (*Library, error) {
	l, err := read()
	if err != nil {
		return nil, err
	}
	own := Library{
		data: maps.Clone(l.data), recipes: maps.Clone(l.recipes), tiers: maps.Clone(l.tiers), tables: maps.Clone(l.tables),
		bodies: maps.Clone(l.bodies), files: maps.Clone(l.files), homes: maps.Clone(l.homes), order: map[string][]string{},
	}
	for kind, names := range l.order {
		own.order[kind] = slices.Clone(names)
	}
	return &own, nil
}

// read reads the library that is built in, once.
var read = sync.OnceValues(func() (*Library, error) {
	l := &Library{
		data: map[string]DataKind{}, recipes: map[string]Recipe{}, tiers: map[string]Tier{}, tables: map[string]Table{},
		bodies: map[string]*yaml.Node{}, files: map[string]string{}, homes: map[string]string{},
		order: map[string][]string{},
	}
	files, err := fs.Glob(builtIn, "data/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := builtIn.ReadFile(file)
		if err != nil {
			return nil, err
		}
		if _, err := l.add(file, text); err != nil {
			return nil, err
		}
	}
	return l, nil
})

// Add reads a file of further recipes and tables, and returns the rows that it asks to add to
// whatever table is made. Paths of models in it are relative to it.
//
// Errors, as *FileError: a key that is unknown, a value of another kind, a name that is there
// already, a recipe that inherits from none.
func (l *Library) Add(file string) ([]Row, error) {
	text, err := textfile.Read(file)
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	rows, err := l.add(file, text)
	lieBeside(file, rows)
	return rows, err
}

// lieBeside makes the paths of rows relative to the file that has them.
func lieBeside(file string, rows []Row) {
	for i := range rows {
		for _, path := range []*string{&rows[i].Model, &rows[i].Results} {
			if *path != "" && !filepath.IsAbs(*path) {
				*path = filepath.Join(filepath.Dir(file), *path)
			}
		}
	}
}

func (l *Library) add(file string, text []byte) (rows []Row, err error) {
	r := yamlFile{file}
	root, err := r.document(text)
	if err != nil {
		return nil, err
	}
	kinds := []string{"data", Recipes, Tiers, Tables, "rows"}
	err = r.pairs(root, func(key, value *yaml.Node) error {
		switch key.Value {
		case "data":
			return r.pairs(value, func(name, body *yaml.Node) error { return put(l, r, "data", l.data, name, body) })
		case Recipes:
			return r.pairs(value, func(name, body *yaml.Node) error {
				return r.expand(name, body, func(name, body *yaml.Node) error { return l.addRecipe(r, name, body) })
			})
		case Tiers:
			return r.pairs(value, func(name, body *yaml.Node) error {
				err := put(l, r, Tiers, l.tiers, name, body)
				t := l.tiers[name.Value]
				t.Name = name.Value
				l.tiers[name.Value] = t
				return err
			})
		case Tables:
			return r.pairs(value, func(name, body *yaml.Node) error {
				err := put(l, r, Tables, l.tables, name, body)
				t := l.tables[name.Value]
				t.Name = name.Value
				lieBeside(r.file, t.Rows)
				l.tables[name.Value], l.homes[name.Value] = t, r.file
				if err == nil {
					err = r.rows(body, t.Rows)
				}
				return err
			})
		case "rows":
			if err := r.decode(value, &rows); err != nil {
				return err
			}
			return r.rows(value, rows)
		}
		return r.errorf(key, "unknown key %q; the nearest is %q of %s", key.Value, nearest.Of(key.Value, kinds),
			strings.Join(kinds, ", "))
	})
	return rows, err
}

func (r yamlFile) rows(n *yaml.Node, rows []Row) error {
	for _, row := range rows {
		if err := row.check(); err != nil {
			return r.errorf(n, "%v", err)
		}
	}
	return nil
}

// put decodes a named body.
func put[T any](l *Library, r yamlFile, kind string, into map[string]T, name, body *yaml.Node) error {
	if _, there := into[name.Value]; there {
		return r.errorf(name, "%s is there already", name.Value)
	}
	var v T
	if err := r.decode(body, &v); err != nil {
		return err
	}
	into[name.Value] = v
	l.order[kind] = append(l.order[kind], name.Value)
	return nil
}

func (l *Library) addRecipe(r yamlFile, name, body *yaml.Node) error {
	if strings.ContainsAny(name.Value, "#@ ") || name.Value == "" {
		return r.errorf(name, "the name %q has a #, an @ or a space, which tell models of a recipe apart", name.Value)
	}
	if err := r.check(body, reflect.TypeFor[Recipe]()); err != nil {
		return err
	}
	var given Recipe
	if err := r.decode(body, &given); err != nil {
		return err
	}
	if given.From != "" {
		parent, ok := l.bodies[StoredName(given.From)]
		if !ok {
			return r.errorf(name, "%s inherits from %q, which stands nowhere before it", name.Value, given.From)
		}
		body = inherit(parent, body)
	}
	if err := put(l, r, Recipes, l.recipes, name, body); err != nil {
		return err
	}
	recipe := l.recipes[name.Value]
	recipe.Name, recipe.Title = name.Value, cmp.Or(recipe.Title, name.Value)
	recipe.Group = cmp.Or(recipe.Group, recipe.Title)
	if len(recipe.Seeds) == 0 {
		recipe.Seeds = []uint64{1}
	}
	for i, seed := range recipe.Seeds {
		if slices.Contains(recipe.Seeds[:i], seed) {
			return r.errorf(name, "%s has the seed %d twice, which would count one network as two", name.Value, seed)
		}
	}
	l.recipes[name.Value], l.bodies[name.Value], l.files[name.Value] = recipe, body, r.file
	return nil
}

// UnknownError is a name that the library does not hold.
type UnknownError struct {
	Kind, Name, Nearest string
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("experiment: there is no %s %q; the nearest is %q, and certspec experiment list shows all",
		strings.TrimSuffix(e.Kind, "s"), e.Name, e.Nearest)
}

func find[T any](l *Library, kind string, in map[string]T, name string) (T, error) {
	v, ok := in[StoredName(name)]
	if !ok {
		return v, &UnknownError{kind, name, Spelled(nearest.Of(StoredName(name), l.Names(kind)))}
	}
	return v, nil
}

// Names lists what there is of a kind, in the order of the files; abstract recipes are left out.
func (l *Library) Names(kind string) []string {
	return slices.DeleteFunc(slices.Clone(l.order[kind]), func(name string) bool {
		return kind == Recipes && l.recipes[name].Abstract
	})
}

// Data finds a kind of data by its name.
func (l *Library) Data(name string) (DataKind, error) { return find(l, "data", l.data, name) }

// File is the file that has a recipe.
func (l *Library) File(recipe string) string { return l.files[recipe] }

// Recipe finds a recipe by its name.
func (l *Library) Recipe(name string) (Recipe, error) {
	r, err := find(l, Recipes, l.recipes, name)
	if err == nil && r.Abstract {
		err = fmt.Errorf("experiment: %s is only to inherit from; certspec experiment list shows what can be trained",
			name)
	}
	return r, err
}

// Tier finds a tier by its name. Its patterns of recipes must match some.
func (l *Library) Tier(name string) (Tier, error) {
	t, err := find(l, Tiers, l.tiers, name)
	t.Data, t.Methods = maps.Clone(t.Data), maps.Clone(t.Methods) // for a caller to change
	for name, limits := range t.Methods {
		t.Methods[name] = maps.Clone(limits)
	}
	for _, pattern := range t.Except {
		matched := func(recipe string) bool { return Matches(pattern, recipe) }
		if err == nil && !slices.ContainsFunc(l.Names(Recipes), matched) {
			err = fmt.Errorf("tier %s: except: %w", name, unmatched(pattern))
		}
	}
	return t, err
}

// Table finds a table by its name. A pattern among its rows must match a recipe.
func (l *Library) Table(name string) (Table, error) {
	t, err := find(l, Tables, l.tables, name)
	if err == nil {
		if t.Rows, err = l.matching(t.Rows); err != nil {
			return t, fmt.Errorf("table %s: %w", name, err)
		}
	}
	if err == nil && t.Printed != nil {
		numbers, err := l.Numbers(t)
		if err != nil {
			return t, err
		}
		t.Published = figures(numbers)
	}
	return t, err
}

// Unused is the first recipe of an added file where none of its recipes stands in a row of a table
// that is not its own, as when a user has added a recipe and no row; else it is empty.
func (l *Library) Unused(file string, table Table) string {
	var of []string
	for _, recipe := range l.Names(Recipes) {
		if l.files[recipe] == file {
			of = append(of, recipe)
		}
	}
	if len(of) == 0 || l.homes[table.Name] == file || slices.ContainsFunc(table.Rows,
		func(r Row) bool { return slices.Contains(of, r.Recipe) }) {
		return ""
	}
	return of[0]
}

// Show is a table, a tier or a recipe of a name as YAML, with what it inherits.
func (l *Library) Show(name string) (string, error) {
	name = StoredName(name)
	for kind, of := range map[string]func() any{
		Tables: func() any { return l.tables[name] },
		Tiers:  func() any { return l.tiers[name] },
		Recipes: func() any {
			r := l.recipes[name]
			r.From = "" // it has what that said
			return r
		},
	} {
		for _, known := range l.order[kind] {
			if known != name {
				continue
			}
			var b bytes.Buffer
			e := yaml.NewEncoder(&b)
			e.SetIndent(2)
			if err := e.Encode(map[string]any{kind: map[string]any{Spelled(name): of()}}); err != nil {
				return "", fmt.Errorf("experiment: %s: %w", name, err)
			}
			return b.String(), nil
		}
	}
	var all []string
	for _, kind := range []string{Tables, Tiers, Recipes} {
		all = append(all, l.Names(kind)...)
	}
	return "", &UnknownError{"recipe, tier or table", name, Spelled(nearest.Of(name, all))}
}

// Paper is a paper whose tables are built in.
type Paper struct {
	Key     string `json:"key"` // what the names of its tables and recipes begin with
	Authors string `json:"authors"`
	Title   string `json:"title"`
}

// Papers whose tables are built in.
func Papers() []Paper {
	return []Paper{
		{"sun2021", "Sun et al. 2021", "Certified adversarial defenses meet out-of-distribution corruptions"},
		{"bitterwolf2020", "Bitterwolf et al. 2020",
			"Certifiably adversarially robust detection of out-of-distribution data"},
		{"fridovich2022", "Fridovich-Keil et al. 2022",
			"Models out of line: a Fourier lens on distribution shift robustness"},
		{"emde2025", "Emde et al. 2025", "Towards certification of uncertainty calibration under adversarial attacks"},
	}
}

// letters make the short names of files: those that were committed keep their bytes, and the names
// are part of what tells runs apart.
const letters = "ABCD"

// tierNames are the tiers of notebooks and their neighbours.
var tierNames = map[string]string{"fast": "T0", "small": "T1", "medium": "T2", "paper": "T3"}

// Spelled is a name of a table or recipe as people read it, sun2021/table2 for A/table2.
func Spelled(name string) string {
	if letter, rest, ok := strings.Cut(name, "/"); ok && len(letter) == 1 {
		if i := strings.Index(letters, letter); i >= 0 {
			return Papers()[i].Key + "/" + rest
		}
	}
	return name
}

// SpelledTier is the name of a tier as people read it, fast for T0.
func SpelledTier(name string) string {
	for spelled, tier := range tierNames {
		if name == tier {
			return spelled
		}
	}
	return name
}

// StoredName is a name of a table, recipe or tier as files have it, of either spelling.
func StoredName(name string) string {
	if tier, ok := tierNames[name]; ok {
		return tier
	}
	if key, rest, ok := strings.Cut(name, "/"); ok {
		for i, p := range Papers() {
			if p.Key == key {
				return letters[i:i+1] + "/" + rest
			}
		}
	}
	return name
}
