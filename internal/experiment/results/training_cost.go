package results

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

// TrainingCost compares the cost of training a line's networks with what they certify.
type TrainingCost struct {
	Title    string `json:"title"`
	Tier     string `json:"tier"`
	Networks int    `json:"networks"`
	// How often each training image went through the network and back: its views, noises and
	// attack steps counted, and the training of the network that it began with.
	Passes   float64           `json:"passes"`
	Accuracy float64           `json:"certified_accuracy"` // of shifted images, at the radius
	Interval resample.Interval `json:"interval"`
}

// Costs sets the lines of tables side by side: passes of training against certified accuracy at a
// radius, on the images and corruptions that all of them have.
type Costs struct {
	Radius float64        `json:"radius"`
	Cells  []string       `json:"cells"`
	Images int            `json:"images"`
	Lines  []TrainingCost `json:"lines"`
}

// TableAt names a table, and the folder that has it; of a folder with one table the name may be
// empty.
type TableAt struct{ Folder, Name string }

// TrainingCosts reads the tables. Lines without certified images under corruptions are left out.
//
// Errors: those of Fill; no corruption or image in common; the card of a network that training
// began with is not there.
func TrainingCosts(ctx context.Context, of []TableAt, radius float64, o resample.Options) (*Costs, error) {
	out := &Costs{Radius: radius}
	what := fmt.Sprintf("ca %g", radius)
	var rows []shiftedRow
	taken := map[string]bool{} // a line may stand in several tables of a folder
	for _, at := range of {
		f, err := newTableBuilder(ctx, at.Folder, at.Name, o)
		if err != nil {
			return nil, err
		}
		for i, l := range f.Table.Lines {
			if _, err := f.line(i, nil); err != nil {
				return nil, err
			}
			row := f.shifted(i)
			line := f.Folder + "\n" + l.Models[0]
			if len(row.Starts) == 0 || taken[line] {
				continue
			}
			taken[line] = true
			passes, err := passesOfAll(f.Manifest, f.Manifest.Model(l.Models[0]))
			if err != nil {
				return nil, fmt.Errorf("experiment: %s: %s: %w", at.Folder, l.Title, err)
			}
			out.Lines = append(out.Lines, TrainingCost{Title: l.Title, Tier: f.Manifest.Tier.Name,
				Networks: len(row.Starts), Passes: passes})
			rows = append(rows, row)
		}
	}
	for i, r := range rows {
		if i == 0 {
			out.Cells = slices.Clone(r.sets)
		}
		out.Cells = slices.DeleteFunc(out.Cells, func(c string) bool { return !slices.Contains(r.sets, c) })
	}
	if len(out.Cells) == 0 {
		return nil, fmt.Errorf("experiment: the networks of these tables have no corruption in common")
	}
	var samples []*study.Sample
	for _, r := range rows {
		s, err := r.folder.SampleOn(r.Row, what, out.Cells...)
		if err != nil {
			return nil, fmt.Errorf("experiment: %w", err)
		}
		samples = append(samples, s)
	}
	samples, err := study.OnCommonImages(samples...)
	if err != nil {
		return nil, fmt.Errorf("experiment: the networks of these tables: %w", err)
	}
	out.Images = len(samples[0].Images)
	for i, s := range samples {
		found, err := s.Interval(ctx, o)
		if err != nil {
			return nil, err
		}
		l := &out.Lines[i]
		l.Accuracy = found.Value
		l.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: min(1, found.Interval.High)}
	}
	return out, nil
}

// shiftedRow is a row with those of its networks that are certified under corruptions, and the sets that all have.
type shiftedRow struct {
	study.Row
	folder *study.Folder
	sets   []string
}

func (f *TableBuilder) shifted(line int) shiftedRow {
	r := shiftedRow{folder: f.columns}
	for _, start := range f.columns.Rows[line].Starts {
		sets := slices.DeleteFunc(slices.Clone(f.sets[start.Network]), func(set string) bool {
			return set == sweep.Cell{}.String()
		})
		if len(sets) == 0 {
			continue
		}
		if r.Starts = append(r.Starts, start); len(r.Starts) == 1 {
			r.sets = sets
		}
		r.sets = slices.DeleteFunc(r.sets, func(set string) bool { return !slices.Contains(sets, set) })
	}
	return r
}

// passesOfAll are the passes of a model's training, and of the trainings that came before it.
func passesOfAll(m *store.Manifest, model *recipe.Model) (float64, error) {
	step, err := recipe.StepOf(m.Tier, model)
	if err != nil {
		return 0, err
	}
	passes, err := m.Passes(model, step)
	if err != nil {
		return 0, err
	}
	before := m.Model(model.Start)
	switch {
	case before == nil && model.Begin == nil:
		return passes, nil
	case before == nil:
		card, err := modelfile.ReadCard(model.Begin.File)
		if err != nil {
			return 0, err
		}
		before = &recipe.Model{Recipe: card.Recipe}
	}
	more, err := passesOfAll(m, before)
	return passes + more, err
}
