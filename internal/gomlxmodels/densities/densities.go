// Package densities reads the mixtures of a network that ccu trained.
package densities

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/ood/mixture"
)

// Read reads a model file, with its card. Errors: other networks.
func Read(path string) (*mixture.Posterior, *modelfile.Card, error) {
	if !modelfile.Exists(path) {
		return nil, nil, none(path)
	}
	file, err := modelfile.Read(path)
	if err != nil {
		return nil, nil, fmt.Errorf("densities: %w", err)
	}
	if file.Card.Architecture.Posterior != nets.CCU {
		return nil, nil, none(path)
	}
	if n := file.NotFinite(); n > 0 {
		return nil, nil, fmt.Errorf("densities: %s has %d weights that are NaN or infinite", path, n)
	}
	weights := map[string][]float64{}
	for _, t := range file.Weights {
		wide := make([]float64, len(t.Values))
		for i, v := range t.Values {
			wide[i] = float64(v)
		}
		weights[t.Name] = wide
	}
	shift := weights[netparts.Densities+"/shift"]
	d := len(shift)
	var sides [2]*mixture.Mixture
	for i, side := range []string{"/in", "/out"} {
		at := netparts.Densities + side
		of := &mixture.Mixture{LogVariances: weights[at+"/log-variances"], LogWeights: weights[at+"/log-weights"]}
		for k := range of.LogVariances {
			of.Means = append(of.Means, weights[at+"/means"][k*d:][:d])
		}
		sides[i] = of
	}
	p, err := mixture.NewPosterior(mat.NewDense(d, d, weights[netparts.Densities+"/transform"]), shift, sides[0],
		sides[1], file.Card.Architecture.Classes)
	return p, &file.Card, err
}

func none(path string) error {
	return fmt.Errorf("densities: %s is not the model file of a network that ccu trained: it has no densities", path)
}
