package experiment

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/rs/sweep"
)

// Job is one piece of an experiment: what is done or not. Jobs of one kind, model, part and further
// models are the same.
type Job struct {
	Kind    string // one word, as in certify
	Model   *Model
	With    []*Model // further models that it needs, which are trained before it
	Part    string   // of what is measured, as in fog-3; may be empty
	cell    sweep.Cell
	measure Measure // nil: training
	// jobs of a later one come after all of those before, where the models that they need are in
	// the run
	stage int
}

const trainJob = "train"

// String is e.g. "certify A/c10/g@1 fog-3".
func (j Job) String() string {
	text := fmt.Sprintf("%s %s", j.Kind, j.Model.Name)
	if j.Part != "" {
		text += " " + j.Part
	}
	for _, m := range j.With {
		text += " with " + m.Name
	}
	return text
}

// Cells are the corruptions of a measure at the strengths of the tier, the clean set first where anything is certified.
func (t Tier) Cells(m radiusMeasure) ([]sweep.Cell, error) {
	var cells []sweep.Cell
	if m.Clean || len(m.Sweeps) > 0 {
		cells = append(cells, sweep.Cell{})
	}
	for _, name := range t.Corrupted.Corruptions {
		if _, err := corrupt.Find(name); err != nil {
			return nil, fmt.Errorf("experiment: tier %s: %w", t.Name, err)
		}
	}
	for _, word := range m.Sweeps {
		names, err := familyNames(word)
		few := t.Corrupted.Corruptions
		if err != nil || word == string(corrupt.F) {
			few = nil
		}
		if err != nil {
			if _, unknown := corrupt.Find(word); unknown != nil {
				return nil, fmt.Errorf("experiment: sweep %q: %w", word, unknown)
			}
			names = []string{word}
		}
		all, err := familyCells(word, names)
		if err != nil {
			return nil, fmt.Errorf("experiment: sweep %q: %w", word, err)
		}
		for _, c := range all {
			if t.has(c) && among(few, c.Setting.Name) && !slices.ContainsFunc(cells,
				func(o sweep.Cell) bool { return o.String() == c.String() }) {
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

// jobs lists what a table needs of some of its lines, the first seeds first, each start before what
// begins with it. Jobs of later stages are left out where they need models of other lines, unless
// alone is set.
func jobsOf(m *Manifest, folder string, table *madeTable, lines []tableLine, alone bool) ([]Job, error) {
	p := &Place{folder, m, table}
	var jobs, last []Job
	seen := map[string]bool{}
	add := func(j Job) {
		if !seen[j.String()] {
			seen[j.String()] = true
			jobs = append(jobs, j)
		}
	}
	var train func(model *Model)
	train = func(model *Model) {
		if model.Start != "" {
			train(m.Model(model.Start))
		}
		if model.File == "" && model.Results == "" && model.Adapt == nil {
			add(Job{Kind: trainJob, Model: model})
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
			model := m.Model(l.Models[k])
			if model.Results != "" {
				continue
			}
			train(model)
			for _, of := range table.Measure.measures() {
				list, err := plannerOf(of).Jobs(p, model)
				if err != nil {
					return nil, err
				}
				for _, j := range list {
					if j.measure = of; j.stage > 0 {
						last = append(last, j)
						continue
					}
					for _, other := range j.With {
						train(other)
					}
					add(j)
				}
			}
		}
	}
	of := modelsOf(lines)
	slices.SortStableFunc(last, func(a, b Job) int { return a.stage - b.stage })
	for _, j := range last {
		if alone || !slices.ContainsFunc(j.With, func(o *Model) bool { return !slices.Contains(of, o.Name) }) {
			add(j)
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

// imagesOf names the images of a cell in the test set, and says how they are corrupted, nil: not,
// or in the files that the name is of.
func (m *Manifest) imagesOf(model *Model, c sweep.Cell) (name string, change *corrupt.Setting) {
	selection := m.Tier.Clean
	switch {
	case c.Setting.Norm > 0:
		selection = m.Tier.Fourier.Images
	case c.Corruption != "":
		selection = m.Tier.Corrupted.Images
	}
	selection = cmp.Or(m.Tier.Data[model.Data].Images, selection)
	if folder := m.Places[model.Data+officialSuffix]; folder != "" && c.Setting.Severity > 0 {
		if model.Data == imagenet {
			return with(imagenetCell(folder, c), selection), nil
		}
		name := fmt.Sprintf("npy:%s,%s,severity=%d", filepath.Join(folder, c.Corruption+".npy"),
			filepath.Join(folder, "labels.npy"), c.Setting.Severity)
		if of := cifarOf(model.Data); of != "" {
			name += ",classes=" + of
		}
		return with(name, selection), nil
	}
	if c.Corruption == "" {
		return with(model.Test, selection), nil
	}
	return with(model.Test, selection), &c.Setting
}

// cifarOf says whose classes a kind of data has: "cifar10" of cifar10 and cifar10-…, "cifar100" likewise; "" of others.
func cifarOf(kind string) string {
	if name, _, _ := strings.Cut(kind, "-"); name == "cifar10" || name == "cifar100" {
		return name
	}
	return ""
}

// officialSuffix makes the kind of the files of corrupted images that others published, as in
// cifar10-c. There are none of CIFAR-F.
const officialSuffix = "-c"

// trained reports whether the network of a model is there.
func trained(folder string, m *Model) bool {
	return m.File != "" || m.Results != "" || modelfile.Exists(modelPath(folder, m))
}
