package experiment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs"
)

// origin says where the results of a model come from: what is left of cards and headers where only results are kept.
type origin struct {
	Weights   string   `json:"weights"` // "sha256:…"; of an adapted network those before
	Trained   string   `json:"trained,omitempty"`
	Seconds   float64  `json:"training_seconds,omitempty"`
	Accuracy  float64  `json:"accuracy,omitempty"`
	Noisy     float64  `json:"noisy_accuracy,omitempty"`
	Certified []string `json:"certified"` // engines
	Samples   int      `json:"copies"`    // in the ledgers of its cells
}

// kept is what a folder holds of a model: its certified radii, and the shares behind them, of the
// cells that were certified since these are kept.
type kept struct {
	radii, shares *Radii
	origin        origin
	added         bool // there is more in it than in the files of results
}

// keptOf is what a folder holds in the files of results, and in closed ledgers that are not in them yet.
func (on *Manifest) keptOf(folder string, m *Model) (kept, error) {
	k := kept{shares: &Radii{}}
	var err error
	if isRecord(m.Results) {
		k.radii = &Radii{} // it has accuracies alone
		return k, nil
	}
	if m.Results != "" {
		k.radii, err = resultsOf(m.Results)
		if errors.Is(err, fs.ErrNotExist) {
			if copied, bad := readRadii(resultPath(folder, m, ".csv")); bad != nil || len(copied.Cells) > 0 {
				k.radii, err = copied, bad
			}
		}
		return k, err
	}
	if k.radii, err = on.radii(folder, m); err != nil {
		return k, err
	}
	if k.shares, err = on.shares(folder, m); err != nil {
		return k, err
	}
	if _, err := readJSON(resultPath(folder, m, ".json"), &k.origin); err != nil {
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
		cell := filepath.Base(file[:len(file)-len(".ledger")])
		if k.radii.Outcomes(cell) != nil {
			continue
		}
		// A ledger whose images are all decided may still lack its claims.
		if closed, err := isClosed(file); err != nil {
			return k, err
		} else if !closed {
			continue
		}
		run, err := rs.Open(file)
		if err != nil {
			return k, err
		}
		of := outcomes(run.Rows, radius)
		if err := on.checkCell(cells, file, m, cell, of); err != nil {
			return k, err
		}
		k.radii.set(cell, of)
		k.shares.set(cell, outcomes(run.Rows, share))
		k.added = true
		id := run.Header.Model.Identity
		if name := fmt.Sprintf("%s %s, %s", id.Engine, id.EngineVersion,
			id.InstructionSet); !slices.Contains(k.origin.Certified, name) {
			k.origin.Certified = append(k.origin.Certified, name)
		}
		k.origin.Samples += run.Passes()
	}
	slices.Sort(k.origin.Certified)
	return k, nil
}

// collectAll brings what was certified and measured of all models into the files of results.
func collectAll(ctx context.Context, e *Experiment, r *Runner) error {
	folder := e.options.Folder
	err := e.Manifest.learnLists(ctx, folder, r.set)
	for i := range e.Manifest.Models {
		err = errors.Join(err, collect(e, &e.Manifest.Models[i]))
	}
	return errors.Join(err, keepAreas(e.Manifest, folder), e.Manifest.keepLists(folder))
}

// collect brings the radii of closed ledgers into the files of results, and a copy of those that
// were given, so that the folder can stand without their file.
func collect(e *Experiment, m *Model) error {
	if isRecord(m.Results) {
		return nil
	}
	folder := e.options.Folder
	k, err := e.Manifest.keptOf(folder, m)
	if err != nil {
		return err
	}
	if m.Results != "" {
		return k.radii.write(resultPath(folder, m, ".csv"), nil)
	}
	source := m
	if m.Adapt != nil {
		source = e.Manifest.Model(m.Start)
	}
	if k.origin.Weights == "" && source.File == "" && trained(folder, source) {
		card, err := modelfile.ReadCard(modelPath(folder, source))
		if err != nil {
			return err
		}
		o := &k.origin
		o.Weights, o.Trained, o.Seconds, o.Accuracy, o.Noisy = card.Weights, card.Backend, card.Seconds, card.Accuracy,
			card.NoisyTest
		k.added = true
	}
	if !k.added {
		return nil
	}
	if err := keepJSON(resultPath(folder, m, ".json"), k.origin); err != nil || len(k.radii.Cells) == 0 {
		return err
	}
	var order []string
	for _, t := range e.Manifest.Tables {
		cells, err := e.Manifest.Tier.Cells(t.Measure.Radii)
		if err != nil {
			return err
		}
		for _, c := range cells {
			if !slices.Contains(order, c.String()) {
				order = append(order, c.String())
			}
		}
	}
	if len(k.shares.Cells) > 0 {
		if err := k.shares.write(resultPath(folder, m, sharesSuffix), order); err != nil {
			return err
		}
	}
	return k.radii.write(resultPath(folder, m, ".csv"), order)
}
