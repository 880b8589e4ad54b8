package experiment

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/resample"
)

// agreementMeasure is how often a model answers as the one that the table compares with does, on
// clean images without noise: the predictions of both, image by image, in
// results/MODEL.predictions.csv. A job needs both models.
type agreementMeasure bool

// agreement of two models, in the mean over the seeds.
type agreement struct {
	Agree    float64           `json:"agree"`    // share of images with the same class
	Interval resample.Interval `json:"interval"` // of that, by the bootstrap over the images
	Accuracy float64           `json:"accuracy"` // of the line's own models
	Images   int               `json:"images"`
}

func (agreementJobs) Jobs(p *Place, model *Model) ([]Job, error) {
	other := p.Reference(model)
	if other == nil || other.Results != "" || other.Test != model.Test { // the last: of other data
		return nil, nil
	}
	return []Job{{Kind: "agree", Model: model, With: []*Model{other}}}, nil
}

func (agreementJobs) Done(p *Place, j Job) (bool, error) {
	for _, m := range append([]*Model{j.Model}, j.With...) {
		if of, err := readPredictions(p.Result(m, predictionsFile)); of == nil || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (agreementRunner) Do(ctx context.Context, r *Runner, j Job) error {
	for _, m := range append([]*Model{j.Model}, j.With...) {
		if p, err := readPredictions(r.Result(m, predictionsFile)); p != nil || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		p, err := r.predict(ctx, m)
		if err != nil {
			return err
		}
		if err := r.Keep(m, predictionsFile, p.encode()); err != nil {
			return err
		}
	}
	return nil
}

func (agreementJobs) Cost(c *Costs, j Job) error {
	n, err := c.Size(c.Images(j.Model, "agreement"))
	if err != nil {
		return err
	}
	return c.Samples(j.Model, n, n)
}

func (agreementReader) Fill(f *TableBuilder, out *Filled) ([]string, error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		var all []vector // whether the two agree, by seed
		accuracy := 0.0
		for _, name := range l.Models {
			model := f.Manifest.Model(name)
			other := f.Reference(model)
			if other == nil {
				continue
			}
			mine, err := readPredictions(f.Result(model, predictionsFile))
			if err != nil {
				return nil, err
			}
			theirs, err := readPredictions(f.Result(other, predictionsFile))
			if err != nil {
				return nil, err
			}
			if mine == nil || theirs == nil || !slices.Equal(mine.images, theirs.images) {
				continue
			}
			v := vector{mine.images, make([]float64, len(mine.images))}
			right := 0
			for k, class := range mine.classes {
				if class == theirs.classes[k] && class != int(classifier.Miss) {
					v.values[k] = 1
				}
				if class == mine.labels[k] {
					right++
				}
			}
			all = append(all, v)
			accuracy += float64(right) / float64(len(mine.classes))
		}
		if len(all) == 0 {
			continue
		}
		agree, err := meanVector(all)
		if err != nil {
			return nil, err
		}
		found := &agreement{Agree: mean(agree.values), Accuracy: accuracy / float64(len(all)),
			Images: len(agree.values)}
		if found.Interval, err = f.Interval([][]float64{agree.values}); err != nil {
			return nil, err
		}
		l.Found["agreement"] = found
	}
	return nil, nil
}

func (agreementReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	t := &table.Table{Columns: append(slices.Clone(columns), "images", "accuracy", "agreement", "low", "high")}
	for _, l := range f.Lines {
		if a, ok := l.Found["agreement"].(*agreement); ok {
			t.Rows = append(t.Rows, append(head(l), a.Images, rounded(a.Accuracy, 4), rounded(a.Agree, 4),
				rounded(a.Interval.Low, 4), rounded(a.Interval.High, 4)))
		}
	}
	if len(t.Rows) > 0 {
		add(t, "how often a model answers as "+f.Compare+" does, without noise")
	}
}

// predictions are the classes that a model answers to images, or classifier.Miss.
type predictions struct{ images, labels, classes []int }

const predictionsFile = ".predictions.csv"

// predict asks a model about the clean images.
func (r *Runner) predict(ctx context.Context, m *Model) (*predictions, error) {
	model, err := r.Open(ctx, m)
	if err != nil {
		return nil, err
	}
	images, err := r.Load(ctx, r.Images(m, "agreement"))
	if err != nil {
		return nil, err
	}
	p := &predictions{images: images.IDs, labels: images.Labels}
	const most = 100
	size := min(most, images.Len())
	result := classifier.Result{Classes: make([]int32, size)}
	for start := 0; start < images.Len(); start += size {
		var grid []int16
		for k := range size { // the last batch repeats its last image
			grid = append(grid, images.Grid(min(start+k, images.Len()-1))...)
		}
		if err := model.Classify(ctx, classifier.Batch{N: size, Grid: grid}, &result); err != nil {
			return nil, err
		}
		for k := range min(size, images.Len()-start) {
			p.classes = append(p.classes, int(result.Classes[k]))
		}
	}
	return p, nil
}

func (p *predictions) encode() []byte {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.Write([]string{"image", "label", "class"})
	for i, image := range p.images {
		w.Write([]string{strconv.Itoa(image), strconv.Itoa(p.labels[i]), strconv.Itoa(p.classes[i])})
	}
	w.Flush()
	return b.Bytes()
}

// readPredictions returns nil for a file that is not there.
func readPredictions(path string) (*predictions, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	records, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err == nil && (len(records) == 0 || !slices.Equal(records[0], []string{"image", "label", "class"})) {
		err = errors.New("its first line is not image,label,class")
	}
	p := &predictions{}
	for n := 1; err == nil && n < len(records); n++ {
		var of [3]int
		for k, text := range records[n] {
			if of[k], err = strconv.Atoi(text); err != nil {
				err = fmt.Errorf("line %d: %q; expected a whole number", n+1, text)
				break
			}
		}
		p.images, p.labels, p.classes = append(p.images, of[0]), append(p.labels, of[1]), append(p.classes, of[2])
	}
	if err == nil && len(p.images) == 0 {
		err = errors.New("it has no images")
	}
	if err != nil {
		return nil, fmt.Errorf("experiment: %s: %w", path, err)
	}
	return p, nil
}
