package experiment

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// tierPruning says which pruned networks a tier makes.
type tierPruning struct {
	// Sparsities that are made, and those of the rounds of pruning in rounds, which then start from
	// each other; default all, with rounds as the recipes say. Recipes of others are left out of
	// tables.
	Sparsities []float64 `yaml:"sparsities,omitempty" json:"sparsities,omitempty"`
	Global     bool      `yaml:"global,omitempty" json:"global,omitempty"` // none by layer
}

// has reports whether a tier makes a recipe.
func (t Tier) makes(r Recipe) bool {
	if slices.ContainsFunc(t.Except, func(pattern string) bool { return matches(pattern, r.Name) }) {
		return false
	}
	if r.Prune == "" {
		return true
	}
	layerwise, _ := r.PruneOptions["layerwise"].(bool)
	return !(layerwise && t.Pruning.Global) && (r.Sparsity == nil || among(t.Pruning.Sparsities, *r.Sparsity))
}

// startRecipe is the recipe that one starts from: of rounds that the tier leaves out, what these start from.
func (s *Setup) startRecipe(r Recipe) (string, error) {
	for r.Start != "" {
		from, err := s.Library.Recipe(r.Start)
		if err != nil {
			return "", err
		}
		if s.Tier.makes(from) {
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

// trainedEpochs are those of all trainings of a model.
func trainedEpochs(m *Manifest, model *Model) (float64, error) {
	if model.Prune == "" || model.Sparsity == nil {
		return float64(model.Epochs), nil
	}
	made, err := prune.With(model.Prune, model.PruneOptions)
	if err != nil {
		return 0, err
	}
	from := 0.
	if start := m.Model(model.Start); start != nil && start.Sparsity != nil {
		from = *start.Sparsity
	}
	phases, err := prune.Phases(prune.Complete(made, model.Epochs, model.LearningRate, model.Start != ""),
		*model.Sparsity, model.Epochs, model.LearningRate, model.Start != "", from)
	epochs := 0
	for _, p := range phases {
		epochs += p.Epochs
	}
	return float64(epochs), err
}
