package experiment

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs/sweep"
)

// jobKind of a job.
type jobKind string

// The kinds.
const (
	trainJob     jobKind = "train"
	certifyJob   jobKind = "certify"   // a cell; an adapted network is adapted first
	calibrateJob jobKind = "calibrate" // certify with scores, and bound the calibration error
	attackJob    jobKind = "attack"    // on confidences
	agreeJob     jobKind = "agree"     // predictions of several models
)

// job is one piece of an experiment: what is done or not.
type job struct {
	Kind  jobKind
	Model *Model
	With  []*Model   // further models that it needs
	Cell  sweep.Cell // of CertifyJob
	table *madeTable
	of    measure // nil: training
}

// String is e.g. "certify A/c10/g@1 fog-3".
func (j job) String() string {
	text := fmt.Sprintf("%s %s", j.Kind, j.Model.Name)
	if j.Kind == certifyJob {
		return fmt.Sprintf("%s %v", text, j.Cell)
	}
	for _, m := range j.With {
		text += " with " + m.Name
	}
	return text
}

// key is equal for jobs that do the same.
func (j job) key() string { return j.String() }

// Cells are the corruptions of a measure at the strengths of the tier, the clean set first where anything is certified.
func (t Tier) Cells(m asked) ([]sweep.Cell, error) {
	var cells []sweep.Cell
	if m.Clean || len(m.Sweeps) > 0 {
		cells = append(cells, sweep.Cell{})
	}
	for _, word := range m.Sweeps {
		names, err := corrupt.Names([]string{word})
		if err != nil {
			if _, unknown := corrupt.Find(word); unknown != nil {
				return nil, fmt.Errorf("experiment: sweep %q: %w", word, unknown)
			}
			names = []string{word}
		}
		all, err := sweep.Cells(names, corrupt.Setting{}, nil)
		if err != nil {
			return nil, fmt.Errorf("experiment: sweep %q: %w", word, err)
		}
		for _, c := range all {
			if t.has(c) && !slices.ContainsFunc(cells, func(o sweep.Cell) bool { return o.String() == c.String() }) {
				cells = append(cells, c)
			}
		}
	}
	return cells, nil
}

func (t Tier) has(c sweep.Cell) bool {
	s := c.Setting
	if s.Norm > 0 {
		f := t.Fourier
		return among(f.Centres, s.Centre) && among(f.Decays, s.Decay) && among(f.Norms, s.Norm)
	}
	return among(t.Corrupted.Severities, s.Severity)
}

// among reports whether a list, of all values where it is empty, has a value.
func among[T comparable](list []T, v T) bool { return len(list) == 0 || slices.Contains(list, v) }

// jobs lists what a table needs of some of its lines, the first seeds first, each start before what begins with it.
func (m *Manifest) jobs(table *madeTable, lines []tableLine) ([]job, error) {
	var jobs []job
	seen := map[string]bool{}
	add := func(j job) {
		if !seen[j.key()] {
			seen[j.key()] = true
			jobs = append(jobs, j)
		}
	}
	var train func(model *Model)
	train = func(model *Model) {
		if model.Start != "" {
			train(m.model(model.Start))
		}
		if model.File == "" && model.Results == "" && model.Adapt == nil {
			add(job{Kind: trainJob, Model: model})
		}
	}
	most := 0
	for _, l := range lines {
		most = max(most, len(l.Models))
	}
	for k := range most {
		for _, l := range lines {
			if k >= len(l.Models) {
				continue
			}
			model := m.model(l.Models[k])
			if model.Results != "" {
				continue
			}
			train(model)
			for _, of := range measures {
				list, err := of.jobs(m, table, model)
				if err != nil {
					return nil, err
				}
				for _, j := range list {
					for _, other := range j.With {
						train(other)
					}
					j.Kind, j.table, j.of = of.kind(), table, of
					add(j)
				}
			}
		}
	}
	return jobs, nil
}

// Paths inside a folder.
func modelPath(folder string, m *Model) string {
	if m.File != "" {
		return m.File
	}
	return filepath.Join(folder, "models", m.Slug())
}

func adaptedPath(folder string, m *Model, c sweep.Cell) string {
	return filepath.Join(folder, "adapted", m.Slug(), c.String())
}

func ledgerPath(folder string, m *Model, c sweep.Cell) string {
	return filepath.Join(folder, "ledgers", m.Slug(), c.String()+".ledger")
}

func calibrationPath(folder string, m *Model) string {
	return filepath.Join(folder, "calibration", m.Slug()+".ledger")
}

func resultPath(folder string, m *Model, what string) string {
	return filepath.Join(folder, "results", m.Slug()+what)
}

// imagesOf names the images of a cell in the test set, and says how they are corrupted, nil: not, or in the files that the name is of.
func (m *Manifest) imagesOf(model *Model, c sweep.Cell) (name string, change *corrupt.Setting) {
	selection := m.Tier.Clean
	switch {
	case c.Setting.Norm > 0:
		selection = m.Tier.Fourier.Images
	case c.Corruption != "":
		selection = m.Tier.Corrupted.Images
	}
	if folder := m.Places[model.Data+officialSuffix]; folder != "" && c.Setting.Severity > 0 {
		name := fmt.Sprintf("npy:%s,%s,severity=%d", filepath.Join(folder, c.Corruption+".npy"), filepath.Join(folder, "labels.npy"), c.Setting.Severity)
		if strings.HasPrefix(model.Data, "cifar") {
			name += ",classes=" + model.Data
		}
		return with(name, selection), nil
	}
	if c.Corruption == "" {
		return with(model.Test, selection), nil
	}
	return with(model.Test, selection), &c.Setting
}

// officialSuffix makes the kind of the files of corrupted images that others published, as in cifar10-c. There are none of CIFAR-F.
const officialSuffix = "-c"

// trained reports whether the network of a model is there.
func trained(folder string, m *Model) bool {
	return m.File != "" || m.Results != "" || modelfile.Exists(modelPath(folder, m))
}
