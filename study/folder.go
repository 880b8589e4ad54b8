package study

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

// Folder has one table of a folder: its rows, and the columns of their networks.
type Folder struct {
	Name  string // of the table, as in A/table2
	Title string
	Tier  string // name and title
	Rows  []Row

	path     string
	tier     tier.Tier
	networks map[string]network
	cells    []sweep.Cell
	columns  map[Key]*Column
	read     map[string]bool // files
}

type network struct {
	Name    string   `json:"name"`
	Data    string   `json:"data"`
	Test    string   `json:"test"`
	Network string   `json:"network"`
	Sigma   *float64 `json:"sigma"`
	Seed    uint64   `json:"seed"`
	Start   string   `json:"start"`
	Results string   `json:"results"`
	Begin   *struct {
		Weights string `json:"weights"`
	} `json:"begin"` // file that training began with
}

// fileName is the network's name as files bear it.
func (n network) fileName() string {
	return strings.NewReplacer("/", "-", "#", "-g", "@", "-s", " ", "-", ":", "-", "\\", "-").Replace(n.Name)
}

func (n network) noise() float64 {
	if n.Sigma == nil {
		return 0
	}
	return *n.Sigma
}

// Open opens a table of a folder by its name; the only one for an empty name. Columns are read when
// they are asked for.
//
// Errors: a folder without a manifest, as fs.ErrNotExist; no such table.
func Open(folder, table string) (*Folder, error) {
	path := filepath.Join(folder, "manifest.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("study: %w", err)
	}
	var m struct {
		Tier   tier.Tier `json:"tier"`
		Tables []struct {
			Name    string          `json:"name"`
			Title   string          `json:"title"`
			Measure json.RawMessage `json:"measure"`
			Lines   []struct {
				Title  string   `json:"title"`
				Group  string   `json:"group"`
				Models []string `json:"models"`
			} `json:"lines"`
		} `json:"tables"`
		Models []network `json:"models"`
	}
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, fmt.Errorf("study: %s: %w", path, err)
	}
	var names []string
	for _, t := range m.Tables {
		if names = append(names, t.Name); t.Name != table && (table != "" || len(m.Tables) > 1) {
			continue
		}
		f := &Folder{Name: t.Name, Title: t.Title, Tier: m.Tier.Name + ": " + m.Tier.Title, path: folder, tier: m.Tier,
			networks: map[string]network{}, columns: map[Key]*Column{}, read: map[string]bool{}}
		for _, n := range m.Models {
			f.networks[n.Name] = n
		}
		if f.cells, err = cellsOf(m.Tier, t.Measure); err != nil {
			return nil, fmt.Errorf("study: %s: table %s: %w", path, t.Name, err)
		}
		for _, l := range t.Lines {
			r := Row{Title: l.Title, Group: l.Group}
			for _, name := range l.Models {
				r.Recipe, _, _ = strings.Cut(name, "@")
				r.Starts = append(r.Starts, Start{name, f.networks[name].Seed, f.root(name)})
			}
			slices.SortFunc(r.Starts, func(a, b Start) int { return int(a.Seed) - int(b.Seed) })
			f.Rows = append(f.Rows, r)
		}
		return f, nil
	}
	return nil, fmt.Errorf("study: %s has no table %q; it has %s", folder, table, strings.Join(names, ", "))
}

// cellsOf are the sets of all measures of a table: those of certified radii, whose settings stand
// beside the keys of the others, then those that others name.
func cellsOf(t tier.Tier, measures []byte) ([]sweep.Cell, error) {
	var radii tier.Radius
	var others map[string]json.RawMessage
	if err := errors.Join(json.Unmarshal(measures, &radii), json.Unmarshal(measures, &others)); err != nil {
		return nil, err
	}
	all, err := t.Cells(radii)
	for _, key := range slices.Sorted(maps.Keys(others)) {
		var shifts tier.Shifts
		if json.Unmarshal(others[key], &shifts) != nil || len(shifts.Corrupt) == 0 {
			continue
		}
		cells, err := shifts.Cells(t)
		if err != nil {
			return nil, err
		}
		for _, c := range cells {
			if !slices.Contains(all, c) {
				all = append(all, c)
			}
		}
	}
	return all, err
}

// root is the network that one goes back to, by the digest of a file of weights; itself where it began with random
// ones.
func (f *Folder) root(name string) string {
	for range f.networks { // starts that go in a circle end here
		start, ok := f.networks[f.networks[name].Start]
		if !ok {
			break
		}
		name = start.Name
	}
	if file := f.networks[name].Begin; file != nil {
		return file.Weights
	}
	return name
}

// Add adds columns, as of networks of one's own.
func (f *Folder) Add(columns ...*Column) {
	if f.columns == nil {
		f.columns = map[Key]*Column{}
	}
	for _, c := range columns {
		f.columns[c.Key] = c
	}
}

// Column is nil where the folder does not have it.
//
// Errors: a file of the network that is not in its form.
func (f *Folder) Column(key Key) (*Column, error) {
	if c := f.columns[key]; c != nil {
		return c, nil
	}
	n, known := f.networks[key.Network]
	for _, form := range forms {
		if _, name := form.Column(form.Heading(key.Set, key.Name)); !known || name != key.Name {
			continue
		}
		file := filepath.Join(f.path, "results", n.fileName()+form.Suffix)
		if f.read[file] {
			continue
		}
		f.read[file] = true
		text, err := os.ReadFile(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("study: %w", err)
		}
		columns, err := form.ReadColumns(text, key.Network)
		if err != nil {
			return nil, fmt.Errorf("study: %s: %w", file, err)
		}
		f.Add(columns...)
	}
	if key.Name == kept && f.columns[key] == nil {
		clean, err1 := f.Column(Key{key.Network, sweep.Cell{}.String(), "radius"})
		other, err2 := f.Column(Key{key.Network, key.Set, "radius"})
		if err := errors.Join(err1, err2); err != nil || clean == nil || other == nil {
			return nil, err
		}
		if c := keptOf(clean, other); c != nil {
			f.Add(c)
		}
	}
	return f.columns[key], nil
}

// Row finds a row by its title, or by its recipe where titles repeat.
//
// Errors: no such row; a title that several have.
func (f *Folder) Row(name string) (Row, error) {
	var found []Row
	var names []string
	for _, r := range f.Rows {
		if names = append(names, r.Title); r.Recipe == name && name != "" {
			return r, nil
		}
		if r.Title == name {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 1:
		return found[0], nil
	case 0:
		return Row{}, fmt.Errorf("study: %s has no row %q%s", f.Name, name, nearest.DidYouMean(name, names))
	}
	return Row{}, fmt.Errorf("study: %s has %d rows %q; name one by its recipe", f.Name, len(found), name)
}

// Sets are the sets that a name stands for: clean; a cell as fog-3; a corruption, over its
// severities; a family, as C or C-bar; a group of one by frequency, as "C Low". A severity stands
// last, as in "C severity 5".
//
// Errors: a name without a cell in the table.
func (f *Folder) Sets(name string) ([]string, error) {
	if name == "" {
		return nil, errors.New("study: a cell without a set; expected one, as in clean or C")
	}
	word, severity, at := strings.Cut(name, " severity ")
	family, group, _ := strings.Cut(word, " ")
	var members, within []string
	if of, err := tier.FamilyNames(family); err == nil {
		members = of
	}
	for _, g := range corrupt.Groups[:3] { // by frequency
		if strings.EqualFold(g.Name, group) {
			within = g.Corruptions
		}
	}
	var sets []string
	for _, c := range f.cells {
		mine := c.String() == word || c.Corruption == word && word != "" || slices.Contains(members, c.Setting.Name)
		if mine && c.Corruption != "" && at {
			mine = fmt.Sprint(c.Severity) == severity
		}
		if mine && (group == "" || slices.Contains(within, c.Corruption)) {
			sets = append(sets, c.String())
		}
	}
	if len(sets) == 0 {
		return nil, fmt.Errorf("study: table %s has no set %q; expected clean, or a corruption, family or group of it "+
			"as fog, C or \"C Low\", also of one severity as \"C severity 5\"", f.Name, name)
	}
	return sets, nil
}

// Context says under which settings the folder has a cell. Network, Images, Sigma and Cap are those
// of its row.
func (f *Folder) Context(c Cell) Context {
	x := Context{What: c.What, Set: c.Set}
	if q, err := Find(c.What); err == nil {
		x.Unit = string(q.Unit)
		defer func() {
			if !q.Capped {
				x.Cap = 0
			}
		}()
	}
	x.Sets, _ = f.Sets(c.Set)
	row, err := f.Row(c.Row)
	if err != nil || len(row.Starts) == 0 {
		return x
	}
	n := f.networks[row.Starts[0].Network]
	x.Network, x.Sigma, x.Data = n.Network, n.noise(), n.Data
	if plan, err := f.tier.Certify.Options(x.Sigma).Plan(); err == nil && x.Sigma > 0 {
		x.Cap = plan.RadiusCap()
	}
	if all, err := f.samples(c); err == nil && len(all) > 0 {
		x.Images = len(all[0].images)
	}
	return x
}
