package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
)

// Setup is a library at a tier, with the places of data and the methods of a user.
type Setup struct {
	Library *recipe.Library
	Tier    recipe.Tier
	Places  map[string]string        // where data lie that lie elsewhere than the library says, by kind
	Methods map[string]method.Method // training methods of one's own, by the name in recipes
}

// Model makes a recipe concrete: a point of its grid, from 1, or 0 where it has none, and a seed.
func (s *Setup) Model(name string, point int, seed uint64) (recipe.Model, error) {
	r, err := s.Library.Recipe(name)
	if err != nil {
		return recipe.Model{}, err
	}
	m, err := s.model(r, point, seed)
	if err != nil {
		return m, fmt.Errorf("experiment: recipe %s (%s): %w", name, s.Library.File(name), err)
	}
	return m, nil
}

func (s *Setup) model(r recipe.Recipe, point int, seed uint64) (recipe.Model, error) {
	m := recipe.Model{
		Name: fmt.Sprintf("%s@%d", r.Name, seed), Title: r.Title, Group: r.Group, Data: r.Data, Recipe: r.Recipe,
		Adapt: r.Adapt,
	}
	m.Seed, m.Options, m.Milestones, m.Ramps = seed, maps.Clone(r.Options), slices.Clone(r.Milestones),
		maps.Clone(r.Ramps)
	if m.Options == nil {
		m.Options = map[string]any{}
	}
	if err := at(&m, r.Name, point, s.grid(r)); err != nil {
		return m, err
	}
	if m.Sigma == nil {
		m.Sigma = new(0.0)
	}
	if m.BySGD() { // all numbers filled in
		d := train.Defaults()
		m.Momentum, m.WeightDecay = cmp.Or(m.Momentum, d.Momentum), cmp.Or(m.WeightDecay, d.WeightDecay)
	}
	start, err := s.startRecipe(r)
	if err != nil {
		return m, err
	}
	if r.Start = start; r.Start != "" {
		if err := s.startOf(&m, r); err != nil {
			return m, err
		}
	}
	part := s.Tier.Data[m.Data]
	if err := nets.CheckName(m.Network, m.Input); err != nil { // also of one that the tier replaces
		return m, err
	}
	given, err := s.given(&m, r)
	if err != nil {
		return m, err
	}
	width, kept := part.Widths[m.Network]
	switch {
	case given:
		kept = false
	case r.Start != "": // the network of its start, which may have been given
	case kept:
		m.Width = width
	case part.Network != "":
		m.Network = part.Network
	}
	if m.More, err = s.further(r); err != nil {
		return m, err
	}
	if m.Train, m.Test, err = s.Sets(m.Data); err != nil {
		return m, err
	}
	m.Train, m.Check = tier.Select(m.Train, part.Train), tier.Select(m.Test, part.Test)
	if m.Adapt != nil {
		if r.Start == "" {
			return m, fmt.Errorf("it adapts no network: start is missing")
		}
		m.Method, m.Options, m.Epochs, m.LearningRate = "", nil, 0, 0
		settings := *m.Adapt
		settings.Sample, m.Adapt = recipe.RandomSample, &settings
		return m, Adaptation(&m).Check()
	}
	if err := s.length(&m, r, part, kept); err != nil {
		return m, err
	}
	if err := s.makePruning(&m, r); err != nil {
		return m, err
	}
	if m.Options, err = s.limited(m); err != nil {
		return m, err
	}
	// of attacks and ramps, in epochs
	for _, key := range []string{"warm_up", "delay", "kappa_start", "kappa_over", "epsilon_start", "epsilon_over"} {
		if v, ok := m.Options[key].(float64); ok {
			m.Options[key] = float64(scaled(int(v), m.Epochs, r.Epochs))
		}
	}
	o, err := s.Options(m)
	if err != nil {
		return m, err
	}
	if o.Own.Method.Needs().Soft {
		m.Soft = s.Places[m.Data+recipe.SoftSuffix]
	}
	return m, o.Check()
}

// length makes the training of a model as long, and its rate as high, as the tier has it.
func (s *Setup) length(m *recipe.Model, r recipe.Recipe, part recipe.DataPart, kept bool) error {
	if err := slow(&s.Tier, m, part, kept); err != nil {
		return err
	}
	most := cmp.Or(part.Epochs, s.Tier.Epochs)
	if r.Start != "" && !inRounds(m) {
		most = s.Tier.FineTune
	}
	if part.Rows > 0 && !inRounds(m) {
		var err error
		if most, err = s.equalRows(m, part.Rows, most); err != nil {
			return err
		}
	}
	if r.Shorter != 0 {
		if !(r.Shorter >= 1) {
			return fmt.Errorf("shorter is %v; expected at least 1", r.Shorter)
		}
		if most == 0 || most > m.Epochs {
			most = m.Epochs
		}
		most = max(1, int(math.Round(float64(most)/r.Shorter)))
	}
	if err := shorten(m, most); err != nil {
		return err
	}
	if s.Tier.Schedule != "" && m.Schedule == "step" && len(m.ScheduleOptions) == 0 && !inRounds(m) {
		m.Schedule, m.Milestones = s.Tier.Schedule, nil
	}
	return nil
}

// at takes a point of a recipe's grid, from 1, or 0 where it has none.
func at(m *recipe.Model, name string, point int, grid []map[string]float64) error {
	switch {
	case len(grid) == 0 && point > 0:
		return fmt.Errorf("it has no grid, but point %d of it is asked for", point)
	case len(grid) == 0:
		return nil
	case point < 1 || point > len(grid):
		return fmt.Errorf("point %d of its grid; expected 1 to %d, as in %s#1", point, len(grid), name)
	}
	m.Name = fmt.Sprintf("%s#%d@%d", name, point, m.Seed)
	m.Title += fmt.Sprintf(" #%d", point)
	for key, v := range grid[point-1] {
		if option, found := strings.CutPrefix(key, "options."); found {
			m.Options[option] = v
		} else {
			m.LearningRate = v
		}
	}
	return nil
}

// slow limits the learning rate and the images in a step to what the tier has for a kind of data. A
// network that is kept as the recipe has it learns as much from an image in smaller steps.
func slow(t *recipe.Tier, m *recipe.Model, part recipe.DataPart, kept bool) error {
	if !(part.Rate >= 0) {
		return fmt.Errorf("tier %s: data %s: rate %v; expected more than 0", t.Name, m.Data, part.Rate)
	}
	if part.Rate > 0 && !kept {
		m.LearningRate = min(m.LearningRate, part.Rate)
	}
	if kept && part.Batch > 0 && m.BatchSize > part.Batch {
		m.LearningRate *= float64(part.Batch) / float64(m.BatchSize)
		m.BatchSize = part.Batch
	} else if t.Batch > 0 {
		m.BatchSize = min(m.BatchSize, t.Batch)
	}
	return nil
}

// limited are all options of a model's method, defaults included, within the limits of the tier.
func (s *Setup) limited(m recipe.Model) (map[string]any, error) {
	made, err := s.Method(m)
	if err != nil {
		return nil, err
	}
	options, err := method.Options(made)
	for key, limit := range s.Tier.Methods[m.Method] {
		if v, ok := options[key].(float64); ok {
			options[key] = min(v, float64(limit))
		}
	}
	return options, err
}

// shorten leaves at most so many epochs, 0: all.
func shorten(m *recipe.Model, most int) error {
	full := m.Epochs
	if full < 1 {
		return fmt.Errorf("%d epochs; expected at least 1", full)
	}
	if most > 0 {
		m.Epochs = min(full, most)
	}
	for i, e := range m.Milestones {
		m.Milestones[i] = scaled(e, m.Epochs, full)
	}
	for name, r := range m.Ramps {
		r.Start, r.Over = scaled(r.Start, m.Epochs, full), scaled(r.Over, m.Epochs, full)
		m.Ramps[name] = r
	}
	m.WarmUp, m.SigmaWarmUp = scaled(m.WarmUp, m.Epochs, full), scaled(m.SigmaWarmUp, m.Epochs, full)
	return nil
}

func scaled(epochs, now, full int) int {
	return int(math.Round(float64(epochs) * float64(now) / float64(full)))
}

// startOf takes from the network that it begins with what it must have in common.
func (s *Setup) startOf(m *recipe.Model, r recipe.Recipe) error {
	start, err := s.Library.Recipe(r.Start)
	if err != nil {
		return err
	}
	seeds := s.Seeds(start)
	seed := seeds[0]
	if slices.Contains(seeds, m.Seed) {
		seed = m.Seed
	}
	from, err := s.Model(r.Start, 0, seed)
	if err != nil {
		return err
	}
	m.Start, m.Network, m.Input, m.Width, m.Bias, m.Data = from.Name, from.Network, from.Input, from.Width, from.Bias,
		from.Data
	if r.Sigma == nil {
		m.Sigma = from.Sigma
	}
	if from.Augment == "none" {
		m.Augment = from.Augment
	}
	for _, key := range []string{"noises", "epsilon"} {
		if _, said := m.Options[key]; !said && from.Options[key] != nil && knows(m.Method, key) {
			m.Options[key] = from.Options[key]
		}
	}
	return nil
}

func knows(name, option string) bool {
	made, err := method.New(name)
	if err != nil {
		return false
	}
	options, err := method.Options(made)
	return err == nil && options[option] != nil
}

// Method makes the method of a model, one of a user's first.
func (s *Setup) Method(m recipe.Model) (method.Method, error) {
	if mine, ok := s.Methods[m.Method]; ok {
		return withOptions(mine, m.Options)
	}
	return method.With(m.Method, m.Options)
}

// withOptions is a copy of a method of a user's with some of its fields set, by their JSON names.
func withOptions(m method.Method, options map[string]any) (method.Method, error) {
	text, err := json.Marshal(options)
	if err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	if reflect.TypeOf(m).Kind() != reflect.Struct {
		return nil, fmt.Errorf("method %s is a %T; expected a struct of plain fields", m.Name(), m)
	}
	copied := reflect.New(reflect.TypeOf(m))
	copied.Elem().Set(reflect.ValueOf(m))
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(copied.Interface()); err != nil {
		return nil, fmt.Errorf("method %s: %w", m.Name(), err)
	}
	made := copied.Elem().Interface().(method.Method)
	return made, method.Check(made)
}

// Recipe is the recipe of a row, with the row's seeds where it has its own.
func (s *Setup) Recipe(row recipe.Row) (recipe.Recipe, error) {
	r, err := s.Library.Recipe(row.Recipe)
	if len(row.Seeds) > 0 {
		r.Seeds = row.Seeds
	}
	return r, err
}

// Seeds are the seeds of a recipe that the tier takes.
func (s *Setup) Seeds(r recipe.Recipe) []uint64 {
	if s.Tier.Seeds > 0 {
		return r.Seeds[:min(len(r.Seeds), s.Tier.Seeds)]
	}
	return r.Seeds
}

// Models are all of a recipe, the points of its grid one after the other with the seeds of each.
func (s *Setup) Models(name string) ([]recipe.Model, error) {
	_, models, err := s.Lines(recipe.Row{Recipe: name})
	return models, err
}

// Lines makes the lines of a row of a recipe with their models.
func (s *Setup) Lines(row recipe.Row) (lines []recipe.Line, models []recipe.Model, err error) {
	r, err := s.Recipe(row)
	if err != nil {
		return nil, nil, err
	}
	points := max(1, len(s.grid(r)))
	for p := range points {
		point := p + 1
		if len(r.Grid) == 0 {
			point = 0
		}
		var line recipe.Line
		for _, seed := range s.Seeds(r) {
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

// Options are the options of training, but for images, paths and engine.
func (s *Setup) Options(m recipe.Model) (o train.Options, err error) {
	if m.Adapt != nil {
		return o, fmt.Errorf("experiment: %s is not trained: %s adapts to each corruption; certspec experiment run "+
			"does that, and certspec adapt for one", m.Name, m.Adapt.Method)
	}
	if err := o.SetRecipe(m.Recipe); err != nil {
		return o, err
	}
	o.Soft = m.Soft
	if o.Own.Method, err = s.Method(m); err != nil {
		err = fmt.Errorf("experiment: %s: %w", m.Name, err)
	}
	return o, err
}

// Setting is what the measures of a table are placed in.
func (s *Setup) Setting() measure.Setting {
	return measure.Setting{Tier: s.Tier, Places: s.Places, Sets: s.Sets, Here: func(kind string) bool {
		d, _ := s.Library.Data(kind)
		return d.Title != "" && (s.Places[kind] != "" || !strings.HasPrefix(d.At, "folder:"))
	}}
}
