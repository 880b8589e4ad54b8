package experiment

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

// recordMeasure is the numbers of a model that may predict its accuracy under shift: accuracies,
// Jacobian norm, and HFF and CD along paths; see evaluate.Record. Each model is a line of
// results/MODEL.record.jsonl, and of records.jsonl in the folder, which "certspec lines" reads.
type recordMeasure struct {
	// names, families or groups; at the severities of the tier
	Corrupt []string `yaml:"corrupt,omitempty" json:"corrupt,omitempty"`
	// Accuracy on the test parts of further kinds of data, too: field to kind. Where --data
	// KIND-groups names a file, their labels are groups of the model's classes
	// (evaluate.ReadGroups), else by --data DATA-classes, DATA the models' kind, they are judged
	// among their own classes alone (evaluate.ReadFolders).
	Sets   map[string]string    `yaml:"sets,omitempty" json:"sets,omitempty"`
	Placed map[string]recordSet `yaml:"-" json:"placed,omitempty"` // the same as names of sets
}

// recordSet is a further set with the file that tells its classes.
type recordSet struct {
	Images string `json:"images"`
	Groups string `json:"groups,omitempty"`
}

// Kinds of places that are files of classes.
const (
	groupsSuffix  = "-groups"
	classesSuffix = "-classes"
)

// at fills in the names of the sets.
func (r *recordMeasure) at(s *Setup) (Measure, error) {
	if len(r.Sets) == 0 {
		return r, nil
	}
	placed := *r
	placed.Placed = map[string]recordSet{}
	for field, kind := range r.Sets {
		if s.Library.data[kind].Title == "" || s.Places[kind] == "" && strings.HasPrefix(s.Library.data[kind].At,
			"folder:") {
			continue // of users who do not have it: left out of the records
		}
		_, test, err := s.sets(kind)
		if err != nil {
			return nil, err
		}
		placed.Placed[field] = recordSet{Images: with(test, s.Tier.Images["record"]),
			Groups: s.Places[kind+groupsSuffix]}
	}
	return &placed, nil
}

// further is the accuracy on a further set.
func (r recordRunner) further(ctx context.Context, runner *Runner, model *engine.Model, j Job, set recordSet) (right,
	images int, err error) {
	data, err := runner.set(set.Images)
	if err != nil {
		return 0, 0, err
	}
	loaded, err := data.Load(ctx)
	if err != nil {
		return 0, 0, err
	}
	o := evaluate.Options{Cells: []sweep.Cell{{}}, Progress: runner.progress}
	if set.Groups != "" {
		o.Groups, err = evaluate.ReadGroups(set.Groups, loaded.Classes)
	} else if file := runner.Manifest.Places[j.Model.Data+classesSuffix]; file != "" {
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

// recordSettings say how much a tier measures of a record; zero values are as published.
type recordSettings struct {
	Pairs          int `yaml:"pairs,omitempty" json:"pairs,omitempty"`
	PixelPairs     int `yaml:"pixel_pairs,omitempty" json:"pixel_pairs,omitempty"`
	JacobianImages int `yaml:"jacobian_images,omitempty" json:"jacobian_images,omitempty"`
}

const (
	recordFile  = ".record.jsonl"
	recordsFile = "records.jsonl" // of all models
)

func (r recordJobs) Jobs(p *Place, model *Model) ([]Job, error) {
	if model.Adapt != nil || model.Results != "" {
		return nil, nil // it has a network for each corruption, or a record already
	}
	_, err := r.cells(p.Manifest.Tier)
	return []Job{{Kind: "record", Model: model}}, err
}

func (r *recordMeasure) cells(t Tier) ([]sweep.Cell, error) {
	if len(r.Corrupt) == 0 {
		return nil, nil
	}
	cells, err := shifts{Corrupt: r.Corrupt}.cells(t)
	if err != nil {
		return nil, err
	}
	return cells[1:], nil // the set as it is, is measured anyway
}

func (r recordJobs) Done(p *Place, j Job) (bool, error) {
	_, err := os.Stat(p.Result(j.Model, recordFile))
	if os.IsNotExist(err) {
		return false, nil
	}
	return err == nil, err
}

func (r recordRunner) Do(ctx context.Context, runner *Runner, j Job) error {
	model, err := runner.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	data, err := runner.set(runner.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	t := runner.Manifest.Tier
	o := evaluate.RecordOptions{
		Name: j.Model.Name, Labels: j.Model.labels(), Seed: 0, Pairs: t.Record.Pairs, PixelPairs: t.Record.PixelPairs,
		JacobianImages: t.Record.JacobianImages,
		Fourier:        spectral.FourierOptions{Points: 100, Window: 0.2}, Parts: runner.Result(j.Model, recordFile) +
			".parts", Progress: runner.progress,
	}
	if cifarOf(j.Model.Data) == "cifar10" {
		o.Accuracy, o.Fourier.Normalization = "cifar10_acc", spectral.CIFAR10
	}
	if o.Cells, err = r.cells(t); err != nil {
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
	if o.Accuracy == "" && len(r.Sets) > 0 {
		o.Accuracy = idField(j.Model.Data)
	}
	record, err := evaluate.Record(ctx, model, data, o)
	if err != nil {
		return err
	}
	for _, field := range slices.Sorted(maps.Keys(r.Placed)) {
		right, images, err := r.further(ctx, runner, model, j, r.Placed[field])
		if err != nil {
			return fmt.Errorf("experiment: %s: %w", field, err)
		}
		record.Percent[field], record.Images[field] = 100*float64(right)/float64(images), images
	}
	if err := lines.PutRecord(filepath.Join(runner.Folder, recordsFile), record); err != nil {
		return err
	}
	line, err := json.Marshal(record)
	if err != nil {
		return fmt.Errorf("experiment: %w", err)
	}
	if err := runner.Keep(j.Model, recordFile, append(line, '\n')); err != nil {
		return err
	}
	return o.Forget()
}

// joinRecords makes the file of all records of a folder that was merged, in the order of the models.
func joinRecords(m *Manifest, folder string) error {
	var all []byte
	for _, model := range m.Models {
		text, err := os.ReadFile(resultPath(folder, &model, recordFile))
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("experiment: %w", err)
		}
		all = append(all, text...)
	}
	if len(all) == 0 {
		return nil
	}
	return atomicfile.Write(filepath.Join(folder, recordsFile), all)
}

// idField is the field of accuracy without shift: "val" of ImageNet, as the ImageNet testbed has it.
func idField(data string) string {
	if data == "imagenet" {
		return "val"
	}
	return ""
}

// recordOf is the record that a row names as FILE#MODEL: a line of a file of records, or of a CSV
// whose cells say their unit (lines.ReadCSV).
func recordOf(results string) (lines.Model, error) {
	file, name, _ := strings.Cut(results, recordMark)
	var models lines.Models
	var err error
	if filepath.Ext(file) == ".csv" {
		models, err = lines.ReadCSV(file, lines.CSV{})
	} else {
		models, err = lines.ReadRecords(file)
	}
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

func isRecord(results string) bool { return strings.Contains(filepath.Base(results), recordMark) }

// labels tell groups of models apart, by RobustNets' names of the groups.
func (m Model) labels() map[string]string {
	l := map[string]string{"group": m.Group, "seed": fmt.Sprint(m.Seed)}
	name, _, _ := strings.Cut(m.Network, "-")
	if known, ok := map[string]string{"conv8": "Conv8", "resnet18": "ResNet18", "vgg16": "VGG16"}[name]; ok {
		name = known
	}
	l["architecture"], l["augmentation"] = name, "clean"
	if m.Views != "" {
		l["augmentation"], _, _ = strings.Cut(m.Views, "(")
	}
	l["method"], l["layout"], l["sparsity"] = "dense", "globally", "0.0"
	if m.Prune != "" && m.Sparsity != nil {
		l["method"], l["sparsity"] = m.Prune, fmt.Sprint(*m.Sparsity)
		if known, ok := map[string]string{"ft": "FT", "gmp": "GMP"}[m.Prune]; ok {
			l["method"] = known
		}
		if layerwise, _ := m.PruneOptions["layerwise"].(bool); layerwise {
			l["layout"] = "layerwise"
		}
	}
	return l
}

// Cost counts images through the network, and those of gradients as images through training.
func (r recordJobs) Cost(c *Costs, j Job) error {
	cells, err := r.cells(c.Manifest.Tier)
	if err != nil {
		return err
	}
	n, err := c.Size(c.Images(j.Model, "record"))
	if err != nil {
		return err
	}
	t := c.Manifest.Tier.Record
	pairs, pixel, jacobian := float64(t.Pairs), float64(t.PixelPairs), float64(t.JacobianImages)
	if pairs == 0 {
		pairs = min(5000, n/2)
	}
	if pixel == 0 {
		pixel = 200
	}
	if jacobian == 0 {
		jacobian = min(400, n)
	}
	const classes, points, pixelPoints = 10, 100, 50 // the last about so many, by the distance of the images
	images := n*float64(1+len(cells)) + 2*pairs*points + pixel*(classes+classes*(classes-1)/2)*pixelPoints
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
	return c.Training(j.Model, 2*jacobian*classes)
}

// recordColumns are the fields of the printed table, in its order.
var recordColumns = []struct{ field, title string }{
	{"jacobian_norm", "Jacobian"}, {"high_freq_fracs_within", "HFF within"}, {"high_freq_fracs_between", "HFF between"},
	{"high_freq_fracs_amp", "HFF amplitude"}, {"consistent_distances_amp", "CD amplitude"},
	{"high_freq_fracs_phase", "HFF phase"}, {"consistent_distances_phase", "CD phase"},
}

// recorded are means over the seeds of a line.
type recorded struct {
	Percent map[string]float64 `json:"percent"`
	Numbers map[string]float64 `json:"numbers"`
	Seeds   int                `json:"seeds"`
}

func (r recordReader) Fill(f *TableBuilder, out *Filled) ([]string, error) {
	any := false
	for i := range out.Lines {
		l := &out.Lines[i]
		found := &recorded{Percent: map[string]float64{}, Numbers: map[string]float64{}}
		for _, name := range l.Models {
			model := f.Manifest.Model(name)
			if isRecord(model.Results) {
				of, err := recordOf(model.Results)
				if err != nil {
					return nil, err
				}
				record := of.Record()
				add(found.Percent, record.Percent)
				add(found.Numbers, record.Numbers)
				found.Seeds++
				continue
			}
			path := f.Result(model, recordFile)
			if _, err := os.Stat(path); os.IsNotExist(err) {
				continue
			}
			models, err := lines.ReadRecords(path)
			if err != nil {
				return nil, err
			}
			for _, m := range models {
				of := m.Record()
				add(found.Percent, of.Percent)
				add(found.Numbers, of.Numbers)
				found.Seeds++
			}
		}
		if found.Seeds == 0 {
			continue
		}
		for _, of := range []map[string]float64{found.Percent, found.Numbers} {
			for key := range of {
				of[key] /= float64(found.Seeds)
			}
		}
		l.Found["record"] = found
		any = true
	}
	if !any {
		return nil, nil
	}
	notes := []string{fmt.Sprintf("The numbers of all models stand in %s, as certspec lines reads them.", recordsFile)}
	cells, err := r.cells(f.Manifest.Tier)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(cells, func(c sweep.Cell) bool { return c.Corruption == "frost" }) {
		notes = append(notes, corrupt.DrawnFrost)
	}
	for _, field := range slices.Sorted(maps.Keys(r.Sets)) {
		if _, there := r.Placed[field]; !there {
			notes = append(notes, fmt.Sprintf("No %s: --data %s=FOLDER was not given.", field, r.Sets[field]))
		}
	}
	return notes, nil
}

func add(to, values map[string]float64) {
	for key, v := range values {
		to[key] += v
	}
}

func (r recordReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "accuracy, %", "under C, %")}
	for _, c := range recordColumns {
		t.Columns = append(t.Columns, c.title)
	}
	for _, l := range f.Lines {
		of, ok := l.Found["record"].(*recorded)
		if !ok {
			continue
		}
		clean, under := of.Percent["cifar10_acc"]+of.Percent["id_acc"]+of.Percent["val"], 0.
		n := 0.
		for field, v := range of.Percent {
			if field != "cifar10_acc" && field != "id_acc" && field != "val" && field != "cifar10c_acc" {
				under += v
				n++
			}
		}
		row := append(head(l), rounded(clean, 2), rounded(under/max(n, 1), 2))
		for _, c := range recordColumns {
			row = append(row, rounded(of.Numbers[c.field], 4))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		add(t, "numbers that may predict accuracy under shift")
	}
}
