package recipe

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/internal/study/tier"
)

// Tier says how much of an experiment is done. It is part of every result.
type Tier = tier.Tier

// DataPart says which part of a data set a tier takes, and which network it trains on it.
type DataPart = tier.DataPart

// Radius asks for the certified radii of clean and corrupted images.
type Radius = tier.Radius

// Makes reports whether a tier makes a recipe.
func Makes(t Tier, r Recipe) bool {
	if slices.ContainsFunc(t.Except, func(pattern string) bool { return Matches(pattern, r.Name) }) {
		return false
	}
	if r.Prune == "" {
		return true
	}
	layerwise, _ := r.PruneOptions["layerwise"].(bool)
	return !(layerwise && t.Pruning.Global) && (r.Sparsity == nil || tier.Among(t.Pruning.Sparsities, *r.Sparsity))
}

// startRecipe is the recipe that one starts from: of rounds that the tier leaves out, what these start from.
func (s *Setup) startRecipe(r Recipe) (string, error) {
	for r.Start != "" {
		from, err := s.Library.Recipe(r.Start)
		if err != nil {
			return "", err
		}
		if Makes(s.Tier, from) {
			return r.Start, nil
		}
		r = from
	}
	return "", nil
}

// inRounds reports whether a pruning has rounds, each a whole training.
func inRounds(m *Model) bool { return m.Prune == "lth" || m.Prune == "lrr" }

// makePruning fills in the options of a model's pruning, at the tier.
func (s *Setup) makePruning(m *Model, r Recipe) error {
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
func (s *Setup) grid(r Recipe) []map[string]float64 {
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
