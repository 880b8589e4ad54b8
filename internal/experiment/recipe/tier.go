package recipe

import (
	"slices"

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
