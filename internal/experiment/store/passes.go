package store

import (
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
)

// Passes is how often a training takes each image through the network and back: its views, noises and
// attack steps counted, further sets as those of the images, and all phases of pruning. What the
// training begins with is not counted.
func (m *Manifest) Passes(model *recipe.Model, step recipe.Step) (float64, error) {
	epochs, err := trainedEpochs(m, model)
	return epochs * float64(step.Rows+step.Further), err
}

func trainedEpochs(m *Manifest, model *recipe.Model) (float64, error) {
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
