package store

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/study"
)

// Origin says where the results of a model come from: what is left of cards and headers where only results are kept.
type Origin struct {
	Weights   string   `json:"weights"` // "sha256:…"; of an adapted network those before
	Trained   string   `json:"trained,omitempty"`
	Seconds   float64  `json:"training_seconds,omitempty"`
	Accuracy  float64  `json:"accuracy,omitempty"`
	Noisy     float64  `json:"noisy_accuracy,omitempty"`
	Certified []string `json:"certified"` // engines
	Samples   int      `json:"copies"`    // in the ledgers of its cells
}

// ModelResults has a folder's results of a model: columns of its certified radii, and of the shares behind them, of the
// cells that were certified since these are kept.
type ModelResults struct {
	Radii, Shares []*study.Column
	Origin        Origin
	Added         bool // there is more in it than in the files of results
}

// ResultsOf reads the files of results, and closed ledgers that are not in them yet.
func (on *Manifest) ResultsOf(folder string, m *recipe.Model) (k ModelResults, err error) {
	if measure.IsRecord(m.Results) {
		return k, nil // it has accuracies alone
	}
	if m.Results != "" {
		k.Radii, err = on.GivenRadii(m)
		if errors.Is(err, fs.ErrNotExist) {
			copied, bad := measure.ReadColumns(ResultPath(folder, m, ".csv"), m.Name)
			if bad != nil || copied != nil {
				k.Radii, err = copied, bad
			}
		}
		return k, err
	}
	if k.Radii, err = on.Radii(folder, m); err != nil {
		return k, err
	}
	if k.Shares, err = on.shares(folder, m); err != nil {
		return k, err
	}
	if _, err := measure.ReadJSON(ResultPath(folder, m, ".json"), &k.Origin); err != nil {
		return k, err
	}
	cells, err := on.cells()
	if err != nil {
		return k, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "ledgers", m.Slug(), "*.ledger"))
	if err != nil {
		return k, err
	}
	for _, file := range files {
		set := filepath.Base(file[:len(file)-len(".ledger")])
		if slices.ContainsFunc(k.Radii, func(c *study.Column) bool { return c.Set == set }) {
			continue
		}
		// A ledger whose images are all decided may still lack its claims.
		if closed, err := measure.LedgerClosed(file); err != nil {
			return k, err
		} else if !closed {
			continue
		}
		run, err := rs.Open(file)
		if err != nil {
			return k, err
		}
		c := study.ColumnOf(study.Key{Network: m.Name, Set: set, Name: "radius"}, run.Rows, radius)
		if len(c.Images) == 0 {
			return k, fmt.Errorf("experiment: %s has no labelled images", file)
		}
		if err := on.checkCell(cells, file, m, c); err != nil {
			return k, err
		}
		k.Radii = append(k.Radii, c)
		k.Shares = append(k.Shares, study.ColumnOf(study.Key{Network: m.Name, Set: set, Name: "share"}, run.Rows, share))
		k.Added = true
		id := run.Header.Model.Identity
		if name := fmt.Sprintf("%s %s, %s", id.Engine, id.EngineVersion,
			id.InstructionSet); !slices.Contains(k.Origin.Certified, name) {
			k.Origin.Certified = append(k.Origin.Certified, name)
		}
		k.Origin.Samples += run.Passes()
	}
	slices.Sort(k.Origin.Certified)
	return k, nil
}

// Mean is the arithmetic mean; 0 of no values.
func Mean(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	if len(values) == 0 {
		return 0
	}
	return sum / float64(len(values))
}
