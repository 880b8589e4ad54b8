package confidences_test

import (
	"context"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs"
)

// memory is a Source of images that are there already.
type memory struct{ *dataset.Images }

func (m memory) Load(context.Context) (*dataset.Images, error) { return m.Images, nil }

// greys are images of one value, with the ids 10, 11, … and one label.
func greys(label int, values ...uint8) memory {
	im := &dataset.Images{Name: "greys", Shape: oneGrey, Classes: []string{"a", "b"}, Digest: "sha256:greys", Pixels: values}
	for i := range values {
		im.IDs, im.Labels = append(im.IDs, 10+i), append(im.Labels, label)
	}
	return memory{im}
}

func certify(t *testing.T, model classifier.Classifier, data rs.Source, opt rs.Options) *rs.Run {
	t.Helper()
	run, err := rs.Certify(t.Context(), model, data, opt)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// missing has outputs that are not finite far below black.
type missing struct{ classifier.Classifier }

func (m missing) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if err := m.Classifier.Classify(ctx, batch, result); err != nil {
		return err
	}
	for i := range batch.N {
		if batch.Grid != nil && batch.Grid[i] < -60 || batch.Grid == nil && batch.Real[i] < -.25 {
			result.Classes[i] = classifier.Miss
		}
	}
	return nil
}

// mixed is a model with abstentions and misses, and images for it, some without a label.
func mixed(n int) (classifier.Classifier, memory) {
	data := greys(0)
	for i := range n {
		data.IDs, data.Labels, data.Pixels = append(data.IDs, 3*i), append(data.Labels, i%6-1), append(data.Pixels, uint8(i*255/n))
	}
	return missing{classifier.Step{Shape: oneGrey, Thresholds: []float64{.2, .4, .6, .8}}}, data
}
