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
	var each [][]*store.Radii
	var common map[int]bool
	taken := map[string]bool{} // a line may stand in several tables of a folder
	for _, at := range of {
		f, err := newTableBuilder(ctx, at.Folder, at.Name, o)
		if err != nil {
			return nil, err
		}
		for _, l := range f.Table.Lines {
			var networks []*store.Radii
			for _, name := range l.Models {
				k, err := f.Manifest.ResultsOf(f.Folder, f.Manifest.Model(name))
				if err != nil {
					return nil, err
				}
				if k.Radii != nil && len(k.Radii.Cells) > 1 {
					networks = append(networks, k.Radii)
				}
			}
			if line := f.Folder + "\n" + l.Models[0]; networks == nil || taken[line] {
				continue
			} else {
				taken[line] = true
			}
			passes, err := trainingPasses(f.Manifest, f.Manifest.Model(l.Models[0]))
			if err != nil {
				return nil, fmt.Errorf("experiment: %s: %s: %w", at.Folder, l.Title, err)
			}
			out.Lines = append(out.Lines, TrainingCost{Title: l.Title, Tier: f.Manifest.Tier.Name,
				Networks: len(networks), Passes: passes})
			each = append(each, networks)
			for _, r := range networks {
				out.Cells, common = inCommon(r, out.Cells, common)
			}
		}
	}
	out.Images = len(common)
	if len(out.Cells) == 0 || out.Images == 0 {
		return nil, fmt.Errorf("experiment: the networks have %d corruptions and %d images in common; expected "+
			"one or more of each", len(out.Cells), out.Images)
	}
	for i, networks := range each {
		var starts [][]float64
		for _, r := range networks {
			starts = append(starts, certifiedShares(r, out.Cells, common, radius))
		}
		found, err := meanInterval(ctx, starts, o)
		if err != nil {
			return nil, err
		}
		l := &out.Lines[i]
		l.Accuracy = found.Value
		l.Interval = resample.Interval{Low: max(0, found.Interval.Low), High: min(1, found.Interval.High)}
	}
	return out, nil
}

// inCommon keeps of corruptions and images those that a network has, too; all for the first one.
func inCommon(r *store.Radii, cells []string, images map[int]bool) ([]string, map[int]bool) {
	has := map[int]bool{}
	for _, one := range r.Outcomes(r.Cells[0]) {
		if images == nil || images[one.Image] {
			has[one.Image] = true
		}
	}
	if images == nil {
		cells = slices.DeleteFunc(slices.Clone(r.Cells), func(c string) bool { return c == sweep.Cell{}.String() })
	}
	return slices.DeleteFunc(cells, func(c string) bool { return !slices.Contains(r.Cells, c) }), has
}

// certifiedShares are the shares of cells in which each of the images is certified at the radius.
func certifiedShares(r *store.Radii, cells []string, images map[int]bool, radius float64) []float64 {
	var shares []float64
	for c, cell := range cells {
		at := 0
		for _, one := range r.Outcomes(cell) {
			if !images[one.Image] {
				continue
			}
			if c == 0 {
				shares = append(shares, 0)
			}
			if one.Verdict == store.Right && one.Radius >= radius {
				shares[at] += 1 / float64(len(cells))
			}
			at++
		}
	}
	return shares
}

// trainingPasses is how often each image goes through a model and back in its training, and in that
// of what it began with.
func trainingPasses(m *store.Manifest, model *recipe.Model) (float64, error) {
	made, err := (&recipe.Setup{}).Method(*model)
	if err != nil {
		return 0, err
	}
	passes := float64(model.Epochs * made.Needs().Rows())
	switch start := m.Model(model.Start); {
	case start != nil:
		before, err := trainingPasses(m, start)
		return passes + before, err
	case model.Begin != nil:
		card, err := modelfile.ReadCard(model.Begin.File)
		if err != nil {
			return 0, err
		}
		before, err := trainingPasses(m, &recipe.Model{Recipe: card.Recipe})
		return passes + before, err
	}
	return passes, nil
}
