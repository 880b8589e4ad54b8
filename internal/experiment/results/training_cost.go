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

// TrainingCost is what the training of a line's networks took, and what they certify.
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
	var lines [][]*store.Radii
	taken := map[string]bool{} // a line may stand in several tables of a folder
	for _, at := range of {
		f, err := newTableBuilder(ctx, at.Folder, at.Name, o)
		if err != nil {
			return nil, err
		}
		for _, l := range f.Table.Lines {
			networks, err := f.shifted(l)
			if err != nil {
				return nil, err
			}
			line := f.Folder + "\n" + l.Models[0]
			if networks == nil || taken[line] {
				continue
			}
			taken[line] = true
			passes, err := passesOfAll(f.Manifest, f.Manifest.Model(l.Models[0]))
			if err != nil {
				return nil, fmt.Errorf("experiment: %s: %s: %w", at.Folder, l.Title, err)
			}
			out.Lines = append(out.Lines, TrainingCost{Title: l.Title, Tier: f.Manifest.Tier.Name,
				Networks: len(networks), Passes: passes})
			lines = append(lines, networks)
		}
	}
	out.Cells = shiftedInCommon(lines)
	if len(out.Cells) == 0 {
		return nil, fmt.Errorf("experiment: the networks of these tables have no corruption in common")
	}
	values, images, err := certifiedInCommon(lines, out.Cells, radius)
	if err != nil {
		return nil, err
	}
	out.Images = images
	for i, starts := range values {
		found, err := (&study.Sample{Values: starts}).Interval(ctx, o)
		if err != nil {
			return nil, err
		}
		l := &out.Lines[i]
		l.Accuracy = found.Value
		l.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: min(1, found.Interval.High)}
	}
	return out, nil
}

// shifted are the radii of those networks of a line that are certified under corruptions.
func (f *TableBuilder) shifted(l recipe.Line) (networks []*store.Radii, err error) {
	for _, name := range l.Models {
		k, err := f.Manifest.ResultsOf(f.Folder, f.Manifest.Model(name))
		if err != nil {
			return nil, err
		}
		if k.Radii != nil && len(k.Radii.Cells) > 1 {
			networks = append(networks, k.Radii)
		}
	}
	return networks, nil
}

// shiftedInCommon are the cells of corruptions that all networks have.
func shiftedInCommon(lines [][]*store.Radii) (cells []string) {
	for i, r := range slices.Concat(lines...) {
		if i == 0 {
			cells = slices.Clone(r.Cells)
		}
		cells = slices.DeleteFunc(cells, func(c string) bool {
			return c == sweep.Cell{}.String() || !slices.Contains(r.Cells, c)
		})
	}
	return cells
}

// certifiedInCommon is, by line, network and image, the share of the cells in which an image is certified at the
// radius, of the images that all networks have there; and their number.
func certifiedInCommon(lines [][]*store.Radii, cells []string, radius float64) (values [][][]float64, images int,
	err error) {
	var all []store.Vector
	had := map[int]int{} // networks that have an image
	for _, r := range slices.Concat(lines...) {
		var each []store.Vector
		for _, cell := range cells {
			v := r.Outcomes(cell).Vector() // the radius of a right answer, else 0
			for i, one := range r.Outcomes(cell) {
				v.Values[i] = 0
				if one.Verdict == store.Right && one.Radius >= radius {
					v.Values[i] = 1
				}
			}
			each = append(each, v)
		}
		v, err := meanVector(each)
		if err != nil {
			return nil, 0, fmt.Errorf("experiment: %w", err)
		}
		for _, image := range v.Images {
			had[image]++
		}
		all = append(all, v)
	}
	networks := len(all)
	for _, line := range lines {
		var starts [][]float64
		for range line {
			var kept []float64
			for i, image := range all[0].Images {
				if had[image] == networks {
					kept = append(kept, all[0].Values[i])
				}
			}
			starts, all = append(starts, kept), all[1:]
			images = len(kept)
		}
		values = append(values, starts)
	}
	if images == 0 {
		return nil, 0, fmt.Errorf("experiment: the networks of these tables have no image in common")
	}
	return values, images, nil
}

// passesOfAll are those of a model's training, and of the trainings that came before it.
func passesOfAll(m *store.Manifest, model *recipe.Model) (float64, error) {
	passes, err := m.Passes(&recipe.Setup{Tier: m.Tier}, model)
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
