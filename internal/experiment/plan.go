package experiment

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/nearest"
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
	lines, err := take(m, setup, table, o.Rows)
	if err != nil {
		return nil, err
	}
	if err := checkStarts(m); err != nil {
		return nil, err
	}
	if err := checkImageNetC(m, table); err != nil {
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
	e.Jobs, err = jobsOf(e.Manifest, o.Folder, made, lines, false)
	return e, err
}

// sayUnused names the added files whose recipes stand in no row of the table.
func (o Options) sayUnused(l *Library, table Table) {
	for _, file := range o.Add {
		if recipe := l.unused(file, table); recipe != "" {
			o.Progress.Say("table %s has no row of %s; a line %q in that file adds one", table.Name, file,
				"rows: ["+recipe+"]")
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
func take(m *Manifest, s *Setup, table Table, wanted []string) (lines []tableLine, err error) {
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
		of, models, err := linesOf(s, row, first)
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", table.Name, err)
		}
		if first.Name == "" && row.Recipe != "" {
			first = models[0]
		}
		made.Lines = append(made.Lines, of...)
		for _, model := range models {
			if err := addModel(m, s, model); err != nil {
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
func addModel(m *Manifest, s *Setup, model Model) error {
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
		if err := addModel(m, s, start); err != nil {
			return err
		}
	}
	m.Models = append(m.Models, model)
	return nil
}

// lines makes the lines of a row with their models. A finished model has the data and the noise of
// the first recipe's, unless it says others.
func linesOf(s *Setup, row tableRow, first Model) (lines []tableLine, models []Model, err error) {
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
	return s.recipeLines(row)
}
