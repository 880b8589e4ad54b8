package experiment

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/progress"
)

// Options say what to make and where.
type Options struct {
	Folder string
	Table  string   // by name
	Tier   string   // by name
	Add    []string // files of further recipes, tables and rows; see Library.Add
	// recipes, also as patterns such as C/conv8/*/*, or titles of added models, of the table that
	// are made; empty: all
	Rows []string

	// Shard is one of Shards parts, counted from 0, each in a folder of its own, which Merge joins.
	// A shard has whole models.
	Shard, Shards int

	// where data lie, by kind; "cifar10-c" is the folder of the published files of CIFAR-10-C and
	// C-bar
	Places  map[string]string
	Methods map[string]method.Method // training methods of one's own, by the name in recipes

	Engine   string // what certifies, as engine.Backend takes it
	Training string // what trains, as backend.Open takes it

	Program  string                // version of the program, for cards
	Command  string                // command line, for cards
	Progress progress.Reporter     // also told what a user should know; may be nil
	Diagnose func(train.Diagnosis) // of TrainRecipe; see train.Options
}

// Experiment is a folder with what is to be made in it.
type Experiment struct {
	Manifest *Manifest
	Jobs     []Job // of this shard, in their order

	options Options
	setup   *Setup
}

// Plan resolves a table, and compares it with what the folder is for. It writes nothing.
//
// Errors: an unknown name, as *UnknownError; what is wrong with a file, as *FileError, and with a
// recipe; a folder that is for something else, as *MismatchError.
func Plan(o Options) (*Experiment, error) {
	if o.Folder == "" {
		return nil, fmt.Errorf("experiment: no folder to work in")
	}
	if o.Shards < 0 || o.Shard < 0 || o.Shards > 0 && o.Shard >= o.Shards || o.Shards == 0 && o.Shard > 0 {
		return nil, fmt.Errorf("experiment: shard %d of %d, counted from 0", o.Shard, o.Shards)
	}
	setup, added, err := o.Setup()
	if err != nil {
		return nil, err
	}
	table, err := setup.Library.Table(o.Table)
	if err != nil {
		return nil, err
	}
	table.Rows = append(slices.Clone(table.Rows), added...)
	o.sayUnused(setup.Library, table)
	m := &Manifest{Format: manifestFormat, Tier: setup.Tier}
	if len(o.Places) > 0 {
		m.Places = o.Places
	}
	lines, err := m.take(setup, table, o.Rows)
	if err != nil {
		return nil, err
	}
	if err := m.needed(); err != nil {
		return nil, err
	}
	if err := m.published(table); err != nil {
		return nil, err
	}
	e := &Experiment{options: o, setup: setup}
	if e.Manifest, err = joined(o.Folder, m); err != nil {
		return nil, err
	}
	made, err := e.Manifest.Made(table.Name)
	if err != nil {
		return nil, err
	}
	if o.Shards > 0 {
		var mine []tableLine
		for i, model := range modelsOf(lines) {
			if i%o.Shards == o.Shard {
				mine = append(mine, tableLine{Models: []string{model}})
			}
		}
		lines = mine
	}
	e.Jobs, err = e.Manifest.jobs(o.Folder, made, lines, false)
	return e, err
}

// sayUnused names the added files whose recipes stand in no row of a table that is not their own,
// as when a user has added a recipe and no row.
func (o Options) sayUnused(l *Library, table Table) {
	for _, file := range o.Add {
		if l.homes[table.Name] == file {
			continue
		}
		var of []string
		for _, recipe := range l.Names(Recipes) {
			if l.files[recipe] == file {
				of = append(of, recipe)
			}
		}
		used := slices.ContainsFunc(table.Rows, func(r tableRow) bool { return slices.Contains(of, r.Recipe) })
		if len(of) > 0 && !used {
			o.Progress.Say("table %s has no row of %s; a line %q in that file adds one", table.Name, file,
				"rows: ["+of[0]+"]")
		}
	}
}

// modelsOf are the models of lines, the first seeds first.
func modelsOf(lines []tableLine) (models []string) {
	for k, more := 0, true; more; k++ {
		more = false
		for _, l := range lines {
			if k < len(l.Models) {
				models, more = append(models, l.Models[k]), true
			}
		}
	}
	return models
}

// Setup opens the library with the added files, whose rows it returns, too.
func (o Options) Setup() (*Setup, []tableRow, error) {
	l, err := Open()
	if err != nil {
		return nil, nil, err
	}
	var added []tableRow
	for _, file := range o.Add {
		rows, err := l.Add(file)
		if err != nil {
			return nil, nil, err
		}
		added = append(added, rows...)
	}
	tier, err := l.Tier(o.Tier)
	if err != nil {
		return nil, nil, err
	}
	kinds := l.Names("data")
	for kind := range o.Places {
		if base := kindOf(kind); !slices.Contains(kinds, base) {
			return nil, nil, &UnknownError{"data", kind, nearest.Of(base, kinds)}
		} else if strings.HasSuffix(kind, officialSuffix) && cifarOf(base) == "" && base != imagenet {
			return nil, nil, fmt.Errorf("experiment: data %s: published corrupted images are read of CIFAR and "+
				"ImageNet alone: cifar10-c, cifar100-c and imagenet-c", kind)
		}
	}
	return &Setup{Library: l, Tier: tier, Places: o.Places, Methods: o.Methods}, added, nil
}

// take adds a table with its models, and returns the lines of some rows, all where none are named.
func (m *Manifest) take(s *Setup, table Table, wanted []string) (lines []tableLine, err error) {
	if table.Measure, err = table.Measure.at(s); err != nil {
		return nil, fmt.Errorf("table %s: %w", table.Name, err)
	}
	made := madeTable{Table: table}
	var names []string
	first := Model{}
	used := map[string]bool{}
	for _, row := range table.Rows {
		if r, err := s.Library.Recipe(row.Recipe); err == nil && !s.Tier.makes(r) {
			continue
		}
		of, models, err := s.lines(row, first)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
		if first.Name == "" && row.Recipe != "" {
			first = models[0]
		}
		made.Lines = append(made.Lines, of...)
		for _, model := range models {
			if err := m.add(s, model); err != nil {
				return nil, fmt.Errorf("table %s: %w", table.Name, err)
			}
		}
		name := row.Recipe + row.Model
		if row.Recipe == "" {
			name = row.Title
		}
		names = append(names, name)
		chosen := len(wanted) == 0
		for _, pattern := range wanted {
			if matches(pattern, name) {
				used[pattern], chosen = true, true
			}
		}
		if chosen {
			lines = append(lines, of...)
		}
	}
	for _, pattern := range wanted {
		if !used[pattern] {
			return nil, &UnknownError{"row", pattern, nearest.Of(pattern, names)}
		}
	}
	made.Rows = nil // the lines say it
	m.Tables = append(m.Tables, made)
	return lines, nil
}

// add adds a model with what it begins with.
func (m *Manifest) add(s *Setup, model Model) error {
	if there := m.Model(model.Name); there != nil {
		if compact(*there) != compact(model) {
			return fmt.Errorf("experiment: two models are named %s", model.Name)
		}
		return nil
	}
	if model.Start != "" {
		recipe, seed, _ := strings.Cut(model.Start, "@")
		var n uint64
		if _, err := fmt.Sscan(seed, &n); err != nil {
			return fmt.Errorf("experiment: start %s: %w", model.Start, err)
		}
		start, err := s.Model(recipe, 0, n)
		if err != nil {
			return err
		}
		if err := m.add(s, start); err != nil {
			return err
		}
	}
	m.Models = append(m.Models, model)
	return nil
}

// lines makes the lines of a row with their models. A finished model has the data and the noise of
// the first recipe's, unless it says others.
func (s *Setup) lines(row tableRow, first Model) (lines []tableLine, models []Model, err error) {
	if row.Recipe == "" {
		m := Model{Name: row.Title, Title: row.Title, Group: row.Title, File: row.Model, Results: row.Results,
			ONNX: row.ONNX, Data: first.Data, Test: first.Test}
		if row.Data != "" {
			m.Data = row.Data
			if _, m.Test, err = s.sets(row.Data); err != nil {
				return nil, nil, err
			}
		}
		if m.Sigma = first.Sigma; row.Sigma > 0 {
			m.Sigma = &row.Sigma
		}
		if m.Data == "" {
			return nil, nil, fmt.Errorf("row %s: no data, and no row with a recipe stands before it", row.Title)
		}
		if isRecord(m.Results) {
			_, err = recordOf(m.Results)
		} else if m.Results != "" {
			_, err = resultsOf(m.Results)
		} else {
			_, err = m.card()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("row %s: %w", row.Title, err)
		}
		return []tableLine{{m.Title, m.Group, []string{m.Name}}}, []Model{m}, nil
	}
	r, err := s.Library.Recipe(row.Recipe)
	if err != nil {
		return nil, nil, err
	}
	points := max(1, len(s.grid(r)))
	for p := range points {
		point := p + 1
		if len(r.Grid) == 0 {
			point = 0
		}
		var line tableLine
		if len(row.Seeds) > 0 {
			r.Seeds = row.Seeds
		}
		for _, seed := range s.seeds(r) {
			m, err := s.Model(row.Recipe, point, seed)
			if err != nil {
				return nil, nil, err
			}
			line.Title, line.Group, line.Models = m.Title, m.Group, append(line.Models, m.Name)
			models = append(models, m)
		}
		if row.Title != "" {
			line.Title = row.Title
			if points > 1 {
				line.Title += fmt.Sprintf(" #%d", point)
			}
		}
		lines = append(lines, line)
	}
	return lines, models, nil
}

// card is what a row says of an ONNX file.
func (m Model) card() (onnx.Card, error) {
	var c onnx.Card
	if m.ONNX == nil {
		return c, nil
	}
	if !onnxfile.IsName(m.File) {
		return c, fmt.Errorf("onnx is for an ONNX file, and %s is none", m.File)
	}
	decoder := json.NewDecoder(strings.NewReader(compact(m.ONNX)))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&c)
	if err != nil {
		err = fmt.Errorf("onnx: %w", err)
	}
	return c, err
}
