// Package evaluate asks a classifier, not smoothed, for its classes of a set and of its
// corruptions, and keeps the answers: plain accuracies for package lines, and predictions for
// agreement.
package evaluate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/sweep"
)

// Options say what is evaluated.
type Options struct {
	Cells []sweep.Cell // the zero Cell is the set as it is
	Seed  uint64       // of the corruptions
	Batch int          // images in one call of the model; default 100
	Name  string       // of the model's files; default the model's own name
	// keeps predictions, Folder/clean or Folder/fog/3: what is there is not done again; "": nothing
	// is kept
	Folder string
	// Groups are, for each label of the data, the classes of the model that stand for it: the
	// answer is the label whose classes hold the largest logit. nil: labels are classes.
	Groups   [][]int
	Progress progress.Reporter // may be nil
}

// Cell holds the answers of a model to one cell.
type Cell struct {
	Cell    sweep.Cell
	Right   int
	Images  int // with a label
	Misses  int // outputs that are not finite, which count as wrong
	Classes []int
}

// Run evaluates the cells one after the other. A cell whose predictions are in the folder is read,
// where their card names the same model and images; that of another is an error.
//
// Errors: images of another shape, labels beyond the model's classes, images without labels, groups
// with a model that gives no logits; those of the model, of reading images and of writing
// predictions; that of ctx.
func Run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, o Options) ([]Cell, error) {
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("evaluate: %w", err)
	}
	if o.Name == "" {
		o.Name = info.Name
	}
	o.Batch = cmp.Or(o.Batch, 100)
	if o.Batch < 1 {
		return nil, fmt.Errorf("evaluate: batches of %d images, want at least 1", o.Batch)
	}
	if o.Groups != nil && !info.Logits {
		return nil, fmt.Errorf("evaluate: %s gives no logits, which are needed where classes of the data are groups "+
			"of the model's", info.Name)
	}
	e := evaluation{Options: o, model: model, info: info}
	base, err := data.Index(ctx, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := e.fits(base); err != nil {
		return nil, err
	}
	m := &meter{report: o.Progress, task: "evaluate " + o.Name, total: base.Len() * len(o.Cells), start: time.Now()}
	defer func() { m.say(true) }()
	var out []Cell
	for _, cell := range o.Cells {
		done, err := e.kept(cell, &base.Images)
		if err != nil {
			return out, err
		}
		if done != nil {
			out = append(out, *done)
			m.add(base.Len(), false)
			continue
		}
		images := base
		if cell.Corruption != "" {
			key := corrupt.Key{Data: corrupt.SetName(data.String()), Seed: o.Seed}
			if images, err = corrupted(base, cell.Setting, key); err != nil {
				return out, fmt.Errorf("evaluate: %v: %w", cell, err)
			}
		}
		classes, err := e.classes(ctx, images, m)
		if err != nil {
			return out, fmt.Errorf("evaluate: %v: %w", cell, err)
		}
		c := count(cell, classes, base.Labels)
		if err := e.keep(c, &base.Images); err != nil {
			return out, err
		}
		out = append(out, c)
	}
	return out, nil
}

type evaluation struct {
	Options
	model classifier.Classifier
	info  classifier.Info
}

// fits refuses images that the model cannot be asked about.
func (e *evaluation) fits(images *imageset.Index) error {
	if images.Len() == 0 || images.Shape != e.info.Shape {
		return fmt.Errorf("evaluate: model %s takes images of %v, data %s has %d of %v", e.info.Name, e.info.Shape,
			images.Name, images.Len(), images.Shape)
	}
	if images.OffGrid {
		return fmt.Errorf("evaluate: data %s has images off the grid of multiples of 1/255", images.Name)
	}
	most, labels := e.info.Classes, 0
	if e.Groups != nil {
		most = len(e.Groups)
	}
	for i, label := range images.Labels {
		if label >= most {
			return fmt.Errorf("evaluate: image %d of %s has the label %d, and there are %d classes", images.IDs[i],
				images.Name, label, most)
		}
		if label >= 0 {
			labels++
		}
	}
	if labels == 0 {
		return fmt.Errorf("evaluate: data %s has no labels", images.Name)
	}
	for label, group := range e.Groups {
		for _, class := range group {
			if class < 0 || class >= e.info.Classes {
				return fmt.Errorf("evaluate: class %d stands for the label %d, and %s has %d classes", class, label,
					e.info.Name, e.info.Classes)
			}
		}
	}
	return nil
}

// corrupted are the images behind a corruption, each when it is read: nobody needs the digest of all.
func corrupted(base *imageset.Index, s corrupt.Setting, key corrupt.Key) (*imageset.Index, error) {
	c, err := corrupt.New(s, base.Shape, key)
	if err != nil {
		return nil, err
	}
	x := *base
	x.Read = func(ctx context.Context, i int) (*dataset.Images, error) {
		im, err := base.Read(ctx, i)
		if err != nil {
			return nil, err
		}
		if im.Offsets != nil {
			return nil, fmt.Errorf("data %s leaves the range of bytes; expected images to corrupt within it", base.Name)
		}
		one := *im
		one.Pixels = make([]uint8, len(im.Pixels))
		c.Apply(one.Pixels, im.Pixels, im.IDs[0])
		return &one, nil
	}
	return &x, nil
}

// classes are the model's answers, −1 for an output that is not finite.
func (e *evaluation) classes(ctx context.Context, images *imageset.Index, m *meter) ([]int, error) {
	size := e.info.Shape.Len()
	// the last batch is filled up with what was there: every call has one arrangement
	grid := make([]int16, e.Batch*size)
	result := classifier.Result{Classes: make([]int32, e.Batch)}
	if e.Groups != nil {
		result.Logits = make([]float32, e.Batch*e.info.Classes)
	}
	classes := make([]int, images.Len())
	next, stop := iter.Pull2(images.Ahead(ctx, 0, len(classes)))
	defer stop()
	for start := 0; start < len(classes); start += e.Batch {
		end := min(start+e.Batch, len(classes))
		for i := start; i < end; i++ {
			one, err, _ := next()
			if err != nil {
				return nil, err
			}
			copy(grid[(i-start)*size:], one.Grid(0))
		}
		if err := e.model.Classify(ctx, classifier.Batch{N: e.Batch, Grid: grid}, &result); err != nil {
			return nil, err
		}
		for i := start; i < end; i++ {
			classes[i] = int(result.Classes[i-start])
			if e.Groups != nil && result.Classes[i-start] != classifier.Miss {
				classes[i] = restrict(result.Logits[(i-start)*e.info.Classes:(i-start+1)*e.info.Classes], e.Groups)
			}
		}
		m.add(end-start, true)
	}
	return classes, nil
}

// restrict is the group whose classes hold the largest logit, the first where several do; −1 where
// no group has a class.
func restrict(logits []float32, groups [][]int) int {
	best, largest := -1, float32(math.Inf(-1))
	for label, group := range groups {
		for _, class := range group {
			if v := logits[class]; best < 0 || v > largest {
				best, largest = label, v
			}
		}
	}
	return best
}

func count(cell sweep.Cell, classes, labels []int) Cell {
	c := Cell{Cell: cell, Classes: classes}
	for i, class := range classes {
		if class < 0 {
			c.Misses++
		}
		if labels[i] >= 0 {
			c.Images++
			if class == labels[i] {
				c.Right++
			}
		}
	}
	return c
}

// folder is where the predictions of a cell lie.
func (e *evaluation) folder(cell sweep.Cell) string {
	if cell.Corruption == "" {
		return filepath.Join(e.Folder, cell.String())
	}
	return filepath.Join(e.Folder, cell.Corruption, strconv.Itoa(cell.Severity))
}

// card describes the predictions of a cell; its digest is of the images before the
// corruption, which Data and seed name.
func (e *evaluation) card(cell sweep.Cell, base *dataset.Images) lines.PredictionCard {
	data := base.Name
	if cell.Corruption != "" {
		data += fmt.Sprintf(", %v, seed %d", cell.Setting, e.Seed)
	}
	id := e.info.Identity
	return lines.PredictionCard{Model: e.Name, Weights: id.Weights, Engine: fmt.Sprintf("%s %s, %s", id.Engine,
		id.EngineVersion, id.InstructionSet), Data: data, Digest: base.Digest, IDs: classfile.FormatIDs(base.IDs),
		Groups: len(e.Groups)}
}

// keep writes the predictions and, beside them, the labels.
func (e *evaluation) keep(c Cell, base *dataset.Images) error {
	if e.Folder == "" {
		return nil
	}
	card := e.card(c.Cell, base)
	card.Right, card.Images = c.Right, c.Images
	folder := e.folder(c.Cell)
	if err := classfile.Write(filepath.Join(folder, classfile.Labels), base.Labels); err != nil {
		return err
	}
	return lines.Predictions{Model: e.Name, Classes: c.Classes, Card: &card}.Write(folder)
}

// kept is the cell as the folder has it; nil: it has none.
func (e *evaluation) kept(cell sweep.Cell, base *dataset.Images) (*Cell, error) {
	if e.Folder == "" {
		return nil, nil
	}
	folder := e.folder(cell)
	file := filepath.Join(folder, e.Name+".npy")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	classes, err := classfile.Read(file)
	if err != nil {
		return nil, err
	}
	card, err := lines.ReadPredictionCard(filepath.Join(folder, e.Name+".json"))
	if err != nil {
		return nil, err
	}
	want := e.card(cell, base)
	if card == nil {
		return nil, fmt.Errorf("evaluate: %s has no card beside it, which says what its predictions are of", file)
	}
	for _, d := range []struct{ what, there, here string }{
		{"model", card.Model, want.Model}, {"weights", card.Weights, want.Weights}, {"engine", card.Engine,
			want.Engine}, {"images", card.Data, want.Data},
		{"digest of the images", card.Digest, want.Digest}, {"groups of classes", strconv.Itoa(card.Groups),
			strconv.Itoa(want.Groups)}, {"number of predictions", strconv.Itoa(len(classes)), strconv.Itoa(base.Len())},
	} {
		if d.there != d.here {
			return nil, fmt.Errorf("evaluate: %s is of another run: its %s is %s, here %s; choose another folder, "+
				"or another name for the model", file, d.what, d.there, d.here)
		}
	}
	c := count(cell, classes, base.Labels)
	return &c, nil
}
