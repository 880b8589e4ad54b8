package settings

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"hash/crc32"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
)

// startRecipe is the recipe that one starts from: of rounds that the tier leaves out, what these start from.
func (s *Setup) startRecipe(r recipe.Recipe) (string, error) {
	for r.Start != "" {
		from, err := s.Library.Recipe(r.Start)
		if err != nil {
			return "", err
		}
		if recipe.Makes(s.Tier, from) {
			return r.Start, nil
		}
		r = from
	}
	return "", nil
}

// given takes what a training begins with that would begin from random weights: the network that
// was given for its kind of data, with its architecture. One that was trained without crops and
// flips goes on without, as a network that does not pool must. Ok is whether there is one.
func (s *Setup) given(m *recipe.Model, r recipe.Recipe) (ok bool, err error) {
	path := s.Places[m.Data+recipe.StartSuffix]
	if path == "" || r.Start != "" || m.Adapt != nil {
		return false, nil
	}
	card, err := modelfile.ReadCard(path)
	if err != nil {
		return false, fmt.Errorf("the network to begin with (%s%s): %w", m.Data, recipe.StartSuffix, err)
	}
	a := card.Architecture
	m.Network, m.Input, m.Width, m.Bias = a.Name, a.Input, a.Width, a.Bias
	if card.Recipe.Augment == "none" {
		m.Augment = "none"
	}
	m.Begin = &recipe.Begin{File: path, Weights: card.Weights}
	return true, nil
}

// equalRows makes a model take as many rows in a step, and as many in all, as every other one of
// its data: those of views, noises, attacks and second passes are counted. Epochs come from a
// method with one row for each image.
func (s *Setup) equalRows(m *recipe.Model, rows, epochs int) (int, error) {
	step, err := s.Step(m)
	if err != nil {
		return 0, err
	}
	each := step.Rows
	if rows%each != 0 || epochs%each != 0 {
		return 0, fmt.Errorf("tier %s: %d rows in a step and %d epochs of one row for each image; method %s takes "+
			"%d rows for each, which divides one of them with a rest",
			s.Tier.Name, rows, epochs, m.Method, each)
	}
	m.BatchSize = rows / each
	return epochs / each, nil
}

// Step is what a step takes of each image, by a model's method, which may be one of a user's.
func (s *Setup) Step(m *recipe.Model) (step recipe.Step, err error) {
	of := *m
	if of.Options, err = s.limited(of); err != nil {
		return step, err
	}
	made, err := s.Method(of)
	if err != nil {
		return step, err
	}
	n := made.Needs()
	step.Rows, step.Further = n.Rows(), furtherRows(n)
	if n.Adversary != nil {
		step.Norm, step.Epsilon = n.Adversary.Norm, &n.Adversary.Epsilon
	}
	return step, nil
}

func init() {
	recipe.StepOf = func(t recipe.Tier, m *recipe.Model) (recipe.Step, error) { return (&Setup{Tier: t}).Step(m) }
}

func furtherRows(n method.Needs) (rows int) {
	for _, set := range n.Sets {
		rows++
		if set.Attack != nil {
			rows += set.Attack.Steps
		}
		if _, bounded := n.Ramps["epsilon"]; bounded && (set.Attack == nil || set.Clean) {
			rows += 2
		}
	}
	return rows
}

// Sets names the parts of a kind of data.
func (s *Setup) Sets(kind string) (train, test string, err error) {
	d, err := s.Library.Data(kind)
	if err != nil {
		return "", "", err
	}
	at := cmp.Or(s.Tier.Data[kind].At, d.At)
	if place, ok := s.Places[kind]; ok {
		at = place
	} else if instead := s.Tier.Data[kind].At; slices.Contains(s.Library.Names("data"), instead) {
		d, _ = s.Library.Data(instead) // a kind that has parts of its own
		at = d.At
	}
	return recipe.WithDecoder(strings.ReplaceAll(d.Train, "{}", at)),
		recipe.WithDecoder(strings.ReplaceAll(d.Test, "{}", at)), nil
}

// further are a recipe's further sets with the names of their images.
func (s *Setup) further(r recipe.Recipe) (map[string]recipe.ExtraSet, error) {
	var all map[string]recipe.ExtraSet
	for name, f := range r.More {
		learn, _, err := s.Sets(f.Data)
		if err != nil {
			return nil, fmt.Errorf("further set %s: %w", name, err)
		}
		f.Data, f.Prepare = tier.Select(tier.Select(learn, f.Prepare), s.Tier.Data[f.Data].Train), ""
		if all == nil {
			all = map[string]recipe.ExtraSet{}
		}
		all[name] = f
	}
	return all, nil
}

// OpenMore opens the further sets of a model.
func OpenMore(m *recipe.Model) (map[string]train.Set, error) {
	var all map[string]train.Set
	for name, f := range m.More {
		d, err := recipe.OpenSet(f.Data)
		if err != nil {
			return nil, fmt.Errorf("experiment: %s: the set %s: %w", m.Name, name, err)
		}
		if all == nil {
			all = map[string]train.Set{}
		}
		all[name] = train.Set{Data: d, Batch: f.Batch, Augment: f.Augment, Views: f.Views, Sigma: f.Sigma}
	}
	return all, nil
}

// inRounds reports whether a pruning has rounds, each a whole training.
func inRounds(m *recipe.Model) bool { return m.Prune == "lth" || m.Prune == "lrr" }

// makePruning fills in the options of a model's pruning, at the tier.
func (s *Setup) makePruning(m *recipe.Model, r recipe.Recipe) error {
	if m.Prune == "" {
		return nil
	}
	m.PruneOptions = maps.Clone(m.PruneOptions)
	if m.PruneOptions == nil {
		m.PruneOptions = map[string]any{}
	}
	if list := s.Tier.Pruning.Sparsities; inRounds(m) && len(list) > 0 {
		var words []string
		for _, v := range slices.Sorted(slices.Values(list)) {
			words = append(words, strconv.FormatFloat(v, 'g', -1, 64))
		}
		m.PruneOptions["levels"] = strings.Join(words, "/")
	}
	for _, key := range []string{"ramp", "epochs"} {
		if v, ok := m.PruneOptions[key].(int); ok {
			m.PruneOptions[key] = scaled(v, m.Epochs, r.Epochs)
		}
	}
	made, err := prune.With(m.Prune, m.PruneOptions)
	if err != nil {
		return err
	}
	m.PruneOptions, err = prune.Options(made)
	return err
}

// grid lists the points of a recipe's grid, with the values of the tier where it has some.
func (s *Setup) grid(r recipe.Recipe) []map[string]float64 {
	if len(r.Grid) == 0 {
		return nil
	}
	points := []map[string]float64{{}}
	for _, key := range slices.Sorted(maps.Keys(r.Grid)) {
		values := r.Grid[key]
		if few, ok := s.Tier.Grid[key]; ok {
			values = few
		}
		var next []map[string]float64
		for _, p := range points {
			for _, v := range values {
				one := maps.Clone(p)
				one[key] = v
				next = append(next, one)
			}
		}
		points = next
	}
	if r.Draws > 0 && len(points) > r.Draws {
		drawn := rand.New(rand.NewPCG(1, 0)).Perm(len(points))[:r.Draws]
		slices.Sort(drawn)
		var few []map[string]float64
		for _, i := range drawn {
			few = append(few, points[i])
		}
		points = few
	}
	return points
}

// adaptImages is how many images a network adapts to (Sun et al. 2021, appendix G).
const adaptImages = 500

// Adaptation are the options of adapting a network to a corruption, but for the engine.
func Adaptation(m *recipe.Model) adapt.Options {
	a := m.Adapt
	return adapt.Options{
		Method: a.Method, Sigma: m.Noise(), Images: cmp.Or(a.Images, adaptImages), Steps: a.Steps, BatchSize: a.Batch,
		Rate: a.Rate, Momentum: a.Momentum, Seed: m.Seed,
	}
}

// AdaptedTo is the selection of images that a network adapts to: drawn at random for each cell,
// without their labels (Sun et al. 2021, appendix G); class-balanced in a folder that was begun so.
func AdaptedTo(m *recipe.Model, c sweep.Cell) string {
	o := Adaptation(m)
	if m.Adapt.Sample != recipe.RandomSample {
		return fmt.Sprintf("count=%d", o.Images)
	}
	return fmt.Sprintf("random=%d:%d", o.Images, crc32.ChecksumIEEE(fmt.Appendf(nil, "%d %s", o.Seed, c)))
}

// ONNXCard is the part of a row on an ONNX file.
func ONNXCard(m *recipe.Model) (onnx.Card, error) {
	var c onnx.Card
	if m.ONNX == nil {
		return c, nil
	}
	if !onnxfile.IsName(m.File) {
		return c, fmt.Errorf("onnx is for an ONNX file, and %s is none", m.File)
	}
	text, err := json.Marshal(m.ONNX)
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.DisallowUnknownFields()
		err = decoder.Decode(&c)
	}
	if err != nil {
		err = fmt.Errorf("onnx: %w", err)
	}
	return c, err
}
