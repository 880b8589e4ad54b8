package measure

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

func init() { add(80, func() Measure { return &Record{} }) }

// Record is the numbers of a model that may predict its accuracy under shift: accuracies, Jacobian
// norm, and HFF and CD along paths; see evaluate.Record. Each model is a line of
// results/MODEL.record.jsonl, and of records.jsonl in the folder, which "certspec lines" reads.
type Record struct {
	// names, families or groups; at the severities of the tier
	Corrupt []string `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	// Accuracy on the test parts of further kinds of data, too: field to kind. Where --data
	// KIND-groups names a file, their labels are groups of the model's classes
	// (evaluate.ReadGroups), else by --data DATA-classes, DATA the models' kind, they are judged
	// among their own classes alone (evaluate.ReadFolders).
	Sets   map[string]string    `yaml:"sets,omitempty" json:"sets,omitempty"`
	Placed map[string]RecordSet `yaml:"-" json:"placed,omitempty"` // the same as names of sets
}

// RecordSet is a further set with the file that tells its classes.
type RecordSet struct {
	Images string `json:"images"`
	Groups string `json:"groups,omitempty"`
}

// RecordFile ends the name of its results; RecordsFile has those of all models.
const (
	RecordFile  = ".record.jsonl"
	RecordsFile = "records.jsonl"
)

func (*Record) Name() string { return "record" }

// At fills in the names of the sets.
func (r *Record) At(s Setting) (Measure, error) {
	if len(r.Sets) == 0 {
		return r, nil
	}
	placed := *r
	placed.Placed = map[string]RecordSet{}
	for field, kind := range r.Sets {
		if !s.Here(kind) {
			continue // of users who do not have it: left out of the records
		}
		_, test, err := s.Sets(kind)
		if err != nil {
			return nil, err
		}
		placed.Placed[field] = RecordSet{Images: tier.Select(test, s.Tier.Images["record"]),
			Groups: s.Places[kind+tier.GroupsSuffix]}
	}
	return &placed, nil
}

// Cells are the corruptions of the record at the strengths of a tier.
func (r *Record) Cells(t tier.Tier) ([]sweep.Cell, error) {
	if len(r.Corrupt) == 0 {
		return nil, nil
	}
	cells, err := tier.Shifts{Corrupt: r.Corrupt}.Cells(t)
	if err != nil {
		return nil, err
	}
	return cells[1:], nil // the set as it is, is measured anyway
}

func (r *Record) Jobs(p Place, m *Model) ([]Job, error) {
	if m.Adapted {
		return nil, nil // it has a network for each corruption
	}
	_, err := r.Cells(p.Tier())
	return []Job{{Kind: "record", Model: m}}, err
}

func (r *Record) Done(p Place, j Job) (bool, error) {
	_, err := os.Stat(p.Result(j.Model, RecordFile))
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}

// Cost counts images through the network, and those of gradients as images through training.
func (r *Record) Cost(c Costs, j Job) error {
	cells, err := r.Cells(c.Tier())
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	t := c.Tier().Record
	pairs := cmp.Or(float64(t.Pairs), min(5000, n/2))
	pixel, jacobian := cmp.Or(float64(t.PixelPairs), 200), cmp.Or(float64(t.JacobianImages), min(400, n))
	const points, pixelPoints = 100, 50 // the last about so many, by the distance of the images
	images := n*float64(1+len(cells)) + 2*pairs*points +
		pixel*(mostClasses+mostClasses*(mostClasses-1)/2)*pixelPoints
	for _, set := range r.Placed {
		n, err := c.Size(set.Images)
		if err != nil {
			return err
		}
		images += n
	}
	if err := c.Samples(j.Model, images, images); err != nil {
		return err
	}
	return c.Training(j.Model, 2*jacobian*mostClasses)
}

func (r *Record) Run(ctx context.Context, t Tools, j Job) error {
	model, err := t.Open(ctx, j.Model, sweep.Cell{})
	if err != nil {
		return err
	}
	data, err := t.Set(t.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	s, path := t.Tier().Record, t.Result(j.Model, RecordFile)
	o := evaluate.RecordOptions{
		Name: j.Model.Name, Labels: j.Model.Labels, Seed: 0, Pairs: s.Pairs, PixelPairs: s.PixelPairs,
		JacobianImages: s.JacobianImages, Fourier: spectral.FourierOptions{Points: 100, Window: 0.2},
		Parts: path + ".parts", Progress: t.Report,
	}
	switch {
	case tier.CIFAROf(j.Model.Data) == "cifar10":
		o.Accuracy, o.Fourier.Normalization = "cifar10_acc", spectral.CIFAR10
	case len(r.Sets) > 0 && j.Model.Data == tier.ImageNet:
		o.Accuracy = "val" // as the ImageNet testbed has it
	}
	if o.Cells, err = r.Cells(t.Tier()); err != nil {
		return err
	}
	gradients, how, end, err := model.Gradients(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil { // else central differences, as the record says
		defer end()
		o.Gradients, o.GradientEngine = gradients, how
	}
	found, err := evaluate.Record(ctx, model, data, o)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(r.Placed)) {
		right, images, err := further(ctx, t, model, j, r.Placed[field])
		if err != nil {
			return fmt.Errorf("experiment: %s: %w", field, err)
		}
		found.Percent[field], found.Images[field] = 100*float64(right)/float64(images), images
	}
	if err := lines.PutRecord(t.At(RecordsFile), found); err != nil {
		return err
	}
	line, err := json.Marshal(found)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := t.Keep(path, append(line, '\n')); err != nil {
		return err
	}
	return o.Forget()
}

// further is the accuracy on a further set.
func further(ctx context.Context, t Tools, model Network, j Job, set RecordSet) (right, images int,
	err error) {
	data, err := t.Set(set.Images)
	if err != nil {
		return 0, 0, err
	}
	loaded, err := data.Load(ctx)
	if err != nil {
		return 0, 0, err
	}
	o := evaluate.Options{Cells: []sweep.Cell{{}}, Progress: t.Report}
	if set.Groups != "" {
		o.Groups, err = evaluate.ReadGroups(set.Groups, loaded.Classes)
	} else if file := t.DataAt(j.Model.Data + tier.ClassesSuffix); file != "" {
		o.Groups, err = evaluate.ReadFolders(file, loaded.Classes)
	}
	if err != nil {
		return 0, 0, err
	}
	cells, err := evaluate.Run(ctx, model, data, o)
	if err != nil {
		return 0, 0, err
	}
	return cells[0].Right, cells[0].Images, nil
}

// mostClasses are as many as most sets have.
const mostClasses = 10

// RecordOf is the record that a row names as FILE#MODEL: a line of a file of records, or of a CSV
// whose cells say their unit (lines.Read).
func RecordOf(results string) (lines.Model, error) {
	file, name, _ := strings.Cut(results, recordMark)
	models, err := lines.Read(file, lines.CSV{})
	if err != nil {
		return lines.Model{}, err
	}
	var names []string
	for _, m := range models {
		if m.Name == name {
			return m, nil
		}
		names = append(names, m.Name)
	}
	return lines.Model{}, fmt.Errorf("experiment: %s has no model %q%s", file, name, nearest.DidYouMean(name, names))
}

const recordMark = "#"

// IsRecord reports whether the results of a row are a line of a file, as in FILE#MODEL.
func IsRecord(results string) bool { return strings.Contains(filepath.Base(results), recordMark) }
