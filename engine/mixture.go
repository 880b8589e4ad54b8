package engine

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/ood/mixture"
)

// Mixtures are the densities of a network that ccu trained. Errors: other networks.
func (m *Model) Mixtures() (*mixture.Posterior, error) {
	if m.card == nil || m.card.Architecture.Posterior != nets.CCU {
		return nil, fmt.Errorf("engine: %s is not the model file of a network that ccu trained: it has no densities",
			m.path)
	}
	file, err := modelfile.Read(m.path)
	if err != nil {
		return nil, fmt.Errorf("engine: %w", err)
	}
	if n := file.NotFinite(); n > 0 {
		return nil, fmt.Errorf("engine: %s has %d weights that are NaN or infinite", m.path, n)
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
	return mixture.NewPosterior(mat.NewDense(d, d, weights[netparts.Densities+"/transform"]), shift, sides[0], sides[1],
		m.card.Architecture.Classes)
}
