package experiment

import (
	"fmt"
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

// radiiOf are the radii that a folder holds of a model: those of the file of results, and of closed ledgers that are not in it yet.
// They come with what is to be known of these ledgers.
func radiiOf(folder string, m *Model) (radii *Radii, origin origin, added bool, err error) {
	if m.Results != "" {
		radii, err = resultsOf(m.Results)
		return radii, origin, false, err
	}
	if radii, err = readRadii(resultPath(folder, m, ".csv")); err != nil {
		return nil, origin, false, err
	}
	if _, err := readJSON(resultPath(folder, m, ".json"), &origin); err != nil {
		return nil, origin, false, err
	}
	files, err := filepath.Glob(filepath.Join(folder, "ledgers", m.Slug(), "*.ledger"))
	if err != nil {
		return nil, origin, false, err
	}
	for _, file := range files {
		cell := filepath.Base(file[:len(file)-len(".ledger")])
		if radii.Outcomes(cell) != nil {
			continue
		}
		// A ledger whose images are all decided may still lack its claims.
		if closed, err := isClosed(file); err != nil {
			return nil, origin, false, err
		} else if !closed {
			continue
		}
		run, err := rs.Open(file)
		if err != nil {
			return nil, origin, false, err
		}
		radii.set(cell, outcomes(run.Rows))
		added = true
		id := run.Header.Model.Identity
		if name := fmt.Sprintf("%s %s, %s", id.Engine, id.EngineVersion, id.InstructionSet); !slices.Contains(origin.Certified, name) {
			origin.Certified = append(origin.Certified, name)
		}
		origin.Samples += run.Passes()
	}
	slices.Sort(origin.Certified)
	return radii, origin, added, nil
}

// collect brings the radii of closed ledgers into the files of results.
func (e *Experiment) collect(m *Model) error {
	if m.Results != "" {
		return nil
	}
	folder := e.options.Folder
	radii, o, added, err := radiiOf(folder, m)
	if err != nil {
		return err
	}
	source := m
	if m.Adapt != nil {
		source = e.Manifest.Model(m.Start)
	}
	if o.Weights == "" && source.File == "" && trained(folder, source) {
		card, err := modelfile.ReadCard(modelPath(folder, source))
		if err != nil {
			return err
		}
		o.Weights, o.Trained, o.Seconds, o.Accuracy, o.Noisy = card.Weights, card.Backend, card.Seconds, card.Accuracy, card.NoisyTest
		added = true
	}
	if !added {
		return nil
	}
	if err := writeJSON(resultPath(folder, m, ".json"), o); err != nil || len(radii.Cells) == 0 {
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
	return radii.write(resultPath(folder, m, ".csv"), order)
}
