package experiment

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs"
)

// Origin says where the results of a model come from: what is left of cards and headers where only results are kept.
type Origin struct {
	Weights   string   `json:"weights"` // "sha256:…"; of an adapted network those before
	Trained   string   `json:"trained,omitempty"`
	Seconds   float64  `json:"training_seconds,omitempty"`
	Accuracy  float64  `json:"accuracy,omitempty"`
	Noisy     float64  `json:"noisy_accuracy,omitempty"`
	Certified []string `json:"certified"` // engines
	Copies    int      `json:"copies"`    // in the ledgers of its cells
}

// collect brings the radii of closed ledgers into the files of results.
func (e *Experiment) collect(m *Model) error {
	path := resultPath(e.options.Folder, m, ".csv")
	radii, err := readRadii(path)
	if err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(e.options.Folder, "ledgers", m.Slug(), "*.ledger"))
	if err != nil {
		return err
	}
	var o Origin
	if _, err := readJSON(resultPath(e.options.Folder, m, ".json"), &o); err != nil {
		return err
	}
	added := false
	for _, file := range files {
		cell := filepath.Base(file[:len(file)-len(".ledger")])
		if radii.Rows(cell) != nil {
			continue
		}
		run, err := rs.Open(file)
		if err != nil || !run.Complete() {
			continue
		}
		radii.set(cell, run.Rows)
		added = true
		id := run.Header.Model.Identity
		if name := fmt.Sprintf("%s %s, %s", id.Engine, id.EngineVersion, id.InstructionSet); !slices.Contains(o.Certified, name) {
			o.Certified = append(o.Certified, name)
		}
		o.Copies += run.Passes()
	}
	source := m
	if m.Adapt != nil {
		source = e.Manifest.model(m.Start)
	}
	if o.Weights == "" && source.File == "" && trained(e.options.Folder, source) {
		card, err := modelfile.ReadCard(modelPath(e.options.Folder, source))
		if err != nil {
			return err
		}
		o.Weights, o.Trained, o.Seconds, o.Accuracy, o.Noisy = card.Weights, card.Backend, card.Seconds, card.Accuracy, card.NoisyTest
		added = true
	}
	if !added {
		return nil
	}
	slices.Sort(o.Certified)
	if err := writeJSON(resultPath(e.options.Folder, m, ".json"), o); err != nil || len(radii.Cells) == 0 {
		return err
	}
	var order []string
	for _, j := range e.Jobs {
		if j.Kind == CertifyJob && !slices.Contains(order, j.Cell.String()) {
			order = append(order, j.Cell.String())
		}
	}
	return radii.write(path, order)
}
