package plan

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs/sweep"
)

// Job is one piece of an experiment: what is done or not. Jobs of one kind, model, part and further
// models are the same.
type Job struct {
	Kind    string // one word, as in certify
	Model   *recipe.Model
	With    []*recipe.Model // further models that it needs, which are trained before it
	Part    string          // of what is measured, as in fog-3; may be empty
	Cell    sweep.Cell
	Measure measure.Measure // nil: training
	// jobs of a later one come after all of those before, where the models that they need are in
	// the run
	stage int
}

const trainJob = "train"

// jobOf is a job of a measure.
func jobOf(m *store.Manifest, of measure.Measure, j measure.Job) Job {
	out := Job{Kind: j.Kind, Model: m.Model(j.Model.Name), Part: j.Part, Cell: j.Cell, Measure: of, stage: j.Stage}
	for _, other := range j.With {
		out.With = append(out.With, m.Model(other.Name))
	}
	return out
}

// Measured is the job as its measure knows it.
func (j Job) Measured() measure.Job {
	out := measure.Job{Kind: j.Kind, Model: j.Model.Measured(), Part: j.Part, Cell: j.Cell, Stage: j.stage}
	for _, m := range j.With {
		out.With = append(out.With, m.Measured())
	}
	return out
}

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

// jobsOf lists what a table needs of some of its lines, the first seeds first, each start before what
// begins with it. Jobs of later stages are left out where they need models of other lines, unless
// alone is set.
func jobsOf(m *store.Manifest, folder string, table *store.Table, lines []recipe.Line, alone bool) ([]Job, error) {
	p := &store.Place{Folder: folder, Manifest: m, Table: table}
	var jobs, last []Job
	seen := map[string]bool{}
	add := func(j Job) {
		if !seen[j.String()] {
			seen[j.String()] = true
			jobs = append(jobs, j)
		}
	}
	var train func(model *recipe.Model)
	train = func(model *recipe.Model) {
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
			for _, of := range table.Measure.All() {
				list, err := of.Jobs(p.Measured(), model.Measured())
				if err != nil {
					return nil, err
				}
				for _, what := range list {
					j := jobOf(m, of, what)
					if j.stage > 0 {
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
		if alone || !slices.ContainsFunc(j.With, func(o *recipe.Model) bool { return !slices.Contains(of, o.Name) }) {
			add(j)
		}
	}
	return jobs, nil
}

// Cause of the failure of one of a job's models, or of one that it begins with.
func (j Job) Cause(failed map[string]error) error {
	for _, m := range append([]*recipe.Model{j.Model}, j.With...) {
		for _, name := range []string{m.Name, m.Start} {
			if err := failed[name]; err != nil {
				return err
			}
		}
	}
	return nil
}

// Left reports of each job whether it is to be done. A network that no measurement is left for is
// not trained: what results say of it stays.
func (e *Experiment) Left() ([]bool, error) {
	left := make([]bool, len(e.Jobs))
	measured, wanted := map[string]bool{}, map[string]bool{}
	for i, j := range slices.Backward(e.Jobs) {
		done, err := Done(e.Manifest, e.Options.Folder, j)
		if err != nil {
			return nil, err
		}
		left[i] = !done
		name, start := j.Model.Name, j.Model.Start
		if j.Measure == nil {
			left[i] = !done && (wanted[name] || !measured[name])
			measured[start], wanted[start] = true, wanted[start] || left[i]
			continue
		}
		for _, m := range append([]*recipe.Model{j.Model}, j.With...) {
			for _, name := range []string{m.Name, m.Start} {
				measured[name], wanted[name] = true, wanted[name] || !done
			}
		}
	}
	return left, nil
}

// Done reports whether a job is done in a folder.
func Done(m *store.Manifest, folder string, j Job) (bool, error) {
	if j.Measure == nil {
		return store.Trained(folder, j.Model), nil
	}
	return j.Measure.Done((&store.Place{Folder: folder, Manifest: m}).Measured(), j.Measured())
}

// Progress is how much of a table is done.
type Progress struct {
	Table string         `json:"table"`
	Done  int            `json:"done"`
	Jobs  int            `json:"jobs"`
	Lines []lineProgress `json:"lines"`
	// Failed are models of the table that cannot be made.
	Failed []store.Failure `json:"failed,omitempty"`
}

type lineProgress struct {
	Title   string `json:"title"`
	Models  int    `json:"models"`
	ToTrain int    `json:"to_train"` // of the models; the others are adapted to each cell, or were made elsewhere
	Trained int    `json:"trained"`
	Done    int    `json:"done"` // of what is measured
	Jobs    int    `json:"jobs"`
}

// Status says what is done of all tables of a folder.
func Status(folder string) (*store.Manifest, []Progress, error) {
	m, err := store.ReadManifest(folder)
	if err != nil {
		return nil, nil, err
	}
	failures, err := m.Failures(folder)
	if err != nil {
		return nil, nil, err
	}
	var all []Progress
	for i := range m.Tables {
		t := &m.Tables[i]
		p := Progress{Table: t.Name, Lines: []lineProgress{}}
		for _, l := range t.Lines {
			jobs, err := jobsOf(m, folder, t, []recipe.Line{l}, true)
			if err != nil {
				return nil, nil, err
			}
			for _, f := range failures {
				if slices.Contains(l.Models, f.Model) {
					p.Failed = append(p.Failed, f)
				}
			}
			line := lineProgress{Title: l.Title, Models: len(l.Models)}
			for _, j := range jobs {
				done, err := Done(m, folder, j)
				if err != nil {
					return nil, nil, err
				}
				if j.Kind == trainJob {
					if slices.Contains(l.Models, j.Model.Name) {
						line.ToTrain++
						if done {
							line.Trained++
						}
					}
					continue
				}
				line.Jobs++
				if done {
					line.Done++
				}
			}
			p.Done, p.Jobs = p.Done+line.Done, p.Jobs+line.Jobs
			p.Lines = append(p.Lines, line)
		}
		all = append(all, p)
	}
	return m, all, nil
}
