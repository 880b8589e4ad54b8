package evaluate

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/sweep"
)

var shape = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// bright is a model of ten classes whose answer is the tenth that the mean of the red channel falls in.
type bright struct {
	classifier.Classifier
	calls *int
	stop  int // an error after so many calls; 0: none
}

func brightness() bright {
	model := classifier.Func(shape, 10, func(x []float32) []float32 {
		mean := float32(0)
		for i := 0; i < len(x); i += 3 {
			mean += x[i] / float32(len(x)/3)
		}
		logits := make([]float32, 10)
		for c := range logits {
			d := mean*10 - float32(c) - 0.5
			logits[c] = -d * d
		}
		return logits
	})
	model.Name = "bright"
	return bright{model, new(int), 0}
}

func (b bright) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if *b.calls++; b.stop > 0 && *b.calls > b.stop {
		return errors.New("stopped")
	}
	return b.Classifier.Classify(ctx, batch, result)
}

func cells(t *testing.T) []sweep.Cell {
	t.Helper()
	all, err := sweep.Cells([]string{"brightness", "contrast"}, corrupt.Setting{}, []int{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	return append([]sweep.Cell{{}}, all...)
}

// Counts equal those of a loop that knows nothing of batches; a run that was stopped ends with the same files,
// and asks nothing again.
func TestRunResumes(t *testing.T) {
	data, err := dataset.Open("synthetic/test[count=57]")
	if err != nil {
		t.Fatal(err)
	}
	whole, broken := t.TempDir(), t.TempDir()
	model := brightness()
	o := Options{Cells: cells(t), Batch: 10, Folder: whole}
	out, err := Run(t.Context(), model, data, o)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range out {
		images, err := data.Load(t.Context())
		if c.Cell.Corruption != "" {
			changed, errC := corrupt.Dataset(data, c.Cell.Setting, 0)
			if errC != nil {
				t.Fatal(errC)
			}
			images, err = changed.Load(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		right := 0
		for k := range images.Len() {
			sum := 0.0
			for j := 0; j < shape.Len(); j += 3 {
				sum += float64(images.Image(k)[j]) / 255
			}
			class := min(int(10*sum/(32*32)), 9)
			if class != c.Classes[k] {
				t.Fatalf("%v, image %d: %d; expected %d", c.Cell, k, c.Classes[k], class)
			}
			if class == images.Labels[k] {
				right++
			}
		}
		if c.Right != right || c.Images != 57 || i > 0 && slices.Equal(c.Classes, out[0].Classes) {
			t.Errorf("%v: %d of %d; expected %d", c.Cell, c.Right, c.Images, right)
		}
	}
	stopped := brightness()
	stopped.stop = 14 // in the third cell
	o.Folder = broken
	if _, err := Run(t.Context(), stopped, data, o); err == nil {
		t.Fatal("no error")
	}
	again := brightness()
	if _, err := Run(t.Context(), again, data, o); err != nil || *again.calls != 3*6 {
		t.Fatalf("%d calls, %v", *again.calls, err)
	}
	err = filepath.WalkDir(whole, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(whole, path)
		a, _ := os.ReadFile(path)
		b, err := os.ReadFile(filepath.Join(broken, name))
		if err != nil || !slices.Equal(a, b) {
			t.Errorf("%s differs, %v", name, err)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if p, err := lines.ReadPredictions(filepath.Join(whole, "contrast")); err != nil || len(p) != 1 || len(p[0].Classes) != 2*57 {
		t.Errorf("%v, %v", p, err)
	}
	fewer := data.Subset(dataset.Count(30))
	if _, err := Run(t.Context(), again, fewer, o); err == nil || !strings.Contains(err.Error(), "is of another run: its images is") {
		t.Errorf("other images: %v", err)
	}
}

func TestRestrict(t *testing.T) {
	logits := []float32{5, 1, 3, 4, -2}
	for _, c := range []struct {
		groups [][]int
		want   int
	}{{[][]int{{1}, {2}, {4}}, 1}, {[][]int{{1, 4}, {2, 3}}, 1}, {[][]int{{4}}, 0}, {[][]int{{2}, {2}}, 0}, {nil, -1}} {
		if got := restrict(logits, c.groups); got != c.want {
			t.Errorf("%v: %d; expected %d", c.groups, got, c.want)
		}
	}
}

func TestRunRefuses(t *testing.T) {
	data, err := dataset.Open("synthetic/test[count=5]")
	if err != nil {
		t.Fatal(err)
	}
	model := brightness()
	noLogits := classifier.Random{Shape: shape, Classes: 10}
	for want, f := range map[string]func() error{
		"gives no logits": func() error {
			_, err := Run(t.Context(), withoutLogits{noLogits}, data, Options{Groups: [][]int{{1}}})
			return err
		},
		"label": func() error {
			_, err := Run(t.Context(), model, data, Options{Groups: [][]int{{0}}})
			return err
		},
		"has 10 classes": func() error {
			_, err := Run(t.Context(), model, data, Options{Groups: [][]int{{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}, {8}, {10}}})
			return err
		},
		"takes images of": func() error {
			_, err := Run(t.Context(), classifier.Constant{Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 10}, data, Options{})
			return err
		},
		"batches of -1": func() error { _, err := Run(t.Context(), model, data, Options{Batch: -1}); return err },
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

type withoutLogits struct{ classifier.Classifier }

func (m withoutLogits) Info() (classifier.Info, error) {
	info, err := m.Classifier.Info()
	info.Logits = false
	return info, err
}
