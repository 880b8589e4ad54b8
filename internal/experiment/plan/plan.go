// Package plan lists the jobs of an experiment, what they cost, what is left, and which differences
// they can show.
package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
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
	Manifest *store.Manifest
	Jobs     []Job // of this shard, in their order

	Options Options
	Setup   *settings.Setup
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
	m := &store.Manifest{Format: store.ManifestFormat, Tier: setup.Tier}
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
	if err := checkPublishedImages(m, table); err != nil {
		return nil, err
	}
	e := &Experiment{Options: o, Setup: setup}
	if e.Manifest, err = store.Joined(o.Folder, m); err != nil {
		return nil, err
	}
	made, err := e.Manifest.Table(table.Name)
	if err != nil {
		return nil, err
	}
	if o.Shards > 0 {
		var mine []recipe.Line
		for i, model := range modelsOf(lines) {
			if i%o.Shards == o.Shard {
				mine = append(mine, recipe.Line{Models: []string{model}})
			}
		}
		lines = mine
	}
	e.Jobs, err = jobsOf(e.Manifest, o.Folder, made, lines, false)
	return e, err
}

// sayUnused names the added files whose recipes stand in no row of the table.
func (o Options) sayUnused(l *recipe.Library, table recipe.Table) {
	for _, file := range o.Add {
		if recipe := l.Unused(file, table); recipe != "" {
			o.Progress.Say("table %s has no row of %s; a line %q in that file adds one", table.Name, file,
				"rows: ["+recipe+"]")
		}
	}
}

// modelsOf are the models of lines, the first seeds first.
func modelsOf(lines []recipe.Line) (models []string) {
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
func (o Options) Setup() (*settings.Setup, []recipe.Row, error) {
	l, err := recipe.Open()
	if err != nil {
		return nil, nil, err
	}
	var added []recipe.Row
	for _, file := range o.Add {
		rows, err := l.Add(file)
		if err != nil {
			return nil, nil, err
		}
		added = append(added, rows...)
	}
	wanted, err := l.Tier(o.Tier)
	if err != nil {
		return nil, nil, err
	}
	kinds := l.Names("data")
	for kind := range o.Places {
		if base := recipe.BaseKind(kind); !slices.Contains(kinds, base) {
			return nil, nil, &recipe.UnknownError{Kind: "data", Name: kind, Nearest: nearest.Of(base, kinds)}
		} else if strings.HasSuffix(kind, tier.OfficialSuffix) && tier.CIFAROf(base) == "" && base != tier.ImageNet {
			return nil, nil, fmt.Errorf("experiment: data %s: published corrupted images are read of CIFAR and "+
				"ImageNet alone: cifar10-c, cifar100-c and imagenet-c", kind)
		}
	}
	return &settings.Setup{Library: l, Tier: wanted, Places: o.Places, Methods: o.Methods}, added, nil
}

// take adds a table with its models, and returns the lines of some rows, all where none are named.
func take(m *store.Manifest, s *settings.Setup, table recipe.Table, wanted []string) (lines []recipe.Line, err error) {
	if table.Measure, err = table.Measure.At(s.Setting()); err != nil {
		return nil, fmt.Errorf("table %s: %w", table.Name, err)
	}
	made := store.Table{Table: table}
	var names []string
	first := recipe.Model{}
	used := map[string]bool{}
	for _, row := range table.Rows {
		if r, err := s.Library.Recipe(row.Recipe); err == nil && !recipe.Makes(s.Tier, r) {
			continue
		}
		of, models, err := linesOf(m, s, row, first)
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
			if recipe.Matches(pattern, name) {
				used[pattern], chosen = true, true
			}
		}
		if chosen {
			lines = append(lines, of...)
		}
	}
	for _, pattern := range wanted {
		if !used[pattern] {
			return nil, &recipe.UnknownError{Kind: "row", Name: pattern, Nearest: nearest.Of(pattern, names)}
		}
	}
	made.Rows = nil // the lines say it
	m.Tables = append(m.Tables, made)
	return lines, nil
}

// addModel adds a model with what it begins with.
func addModel(m *store.Manifest, s *settings.Setup, model recipe.Model) error {
	if there := m.Model(model.Name); there != nil {
		if store.CompactJSON(*there) != store.CompactJSON(model) {
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

// linesOf makes the lines of a row with their models. A finished model has the data and the noise
// of the first recipe's, unless it says others.
func linesOf(of *store.Manifest, s *settings.Setup, row recipe.Row, first recipe.Model) (lines []recipe.Line,
	models []recipe.Model, err error) {
	if row.Recipe == "" {
		m := recipe.Model{Name: row.Title, Title: row.Title, Group: row.Title, File: row.Model, Results: row.Results,
			ONNX: row.ONNX, Data: first.Data, Test: first.Test}
		if row.Data != "" {
			m.Data = row.Data
			if _, m.Test, err = s.Sets(row.Data); err != nil {
				return nil, nil, err
			}
		}
		if m.Sigma = first.Sigma; row.Sigma > 0 {
			m.Sigma = &row.Sigma
		}
		if m.Data == "" {
			return nil, nil, fmt.Errorf("row %s: no data, and no row with a recipe stands before it", row.Title)
		}
		if measure.IsRecord(m.Results) {
			_, err = measure.RecordOf(m.Results)
		} else if m.Results != "" {
			_, err = of.GivenRadii(&m)
		} else {
			_, err = settings.ONNXCard(&m)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("row %s: %w", row.Title, err)
		}
		return []recipe.Line{{Title: m.Title, Group: m.Group, Models: []string{m.Name}}}, []recipe.Model{m}, nil
	}
	return s.Lines(row)
}

// KindOf is the kind of data that a recipe learns from; see Options.Places.
func (o Options) KindOf(recipe string) (string, error) {
	s, _, err := o.Setup()
	if err != nil {
		return "", err
	}
	models, err := s.Models(strings.Split(recipe, "#")[0])
	if err != nil {
		return "", err
	}
	return models[0].Data, nil
}

// checkStarts refuses models of a tier that begin with finished weights, where none were given.
func checkStarts(m *store.Manifest) error {
	for _, model := range m.Models {
		if m.Tier.Data[model.Data].Given && model.Begin == nil && model.Start == "" && model.File == "" &&
			model.Results == "" {
			return &StartError{m.Tier.Name, model.Name, model.Data}
		}
	}
	return nil
}

// StartError is a network to begin with that a tier wants and nobody gave.
type StartError struct{ Tier, Model, Data string }

func (e *StartError) Error() string {
	return fmt.Sprintf("experiment: at tier %s %s begins with a finished network, and none was given: --data "+
		"%s%s=MODEL, a file in notebooks/models of the repository or from certspec import",
		e.Tier, e.Model, e.Data, recipe.StartSuffix)
}

// checkPublishedImages refuses a table of corrupted pictures of ImageNet whose place was not given.
// A tier that puts other images in the place of ImageNet's makes what it can of them.
func checkPublishedImages(m *store.Manifest, t recipe.Table) error {
	if m.Places[tier.ImageNet+tier.OfficialSuffix] != "" || !slices.ContainsFunc(m.Models,
		func(o recipe.Model) bool { return o.Data == tier.ImageNet }) {
		return nil
	}
	for _, word := range t.Measure.Radii.Sweeps {
		if word == tier.ImageNetCBar || m.Tier.Data[tier.ImageNet].At == "" && m.Places[tier.ImageNet] == "" {
			return fmt.Errorf("experiment: %s: the corrupted images of ImageNet are read, not made: --data "+
				"%s%s=FOLDER, with the pictures of ImageNet-C and ImageNet-C-bar in "+
				"FOLDER/CORRUPTION/SEVERITY/CLASS, as in FOLDER/fog/3/n01440764",
				t.Name, tier.ImageNet, tier.OfficialSuffix)
		}
	}
	return nil
}
