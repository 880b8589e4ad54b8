package preflight

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/pixel"
)

// described is a model that says what it does to images.
type described struct{ classifier.Classifier }

func (described) Preprocessing() (string, error) { return "mean [0.5]", nil }

func TestLook(t *testing.T) {
	all, err := colours(t, same).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range []int{1, 7, 100} {
		f, err := Look(t.Context(), model(good), all, Use{Sigma: .1, Block: block})
		if err != nil || f.Labelled != 20 || f.Right != 20 || f.RightNoisy < 19 || len(f.Warnings) != 0 || f.Function.Contradicted() || f.Function.Comparisons < 400 {
			t.Errorf("block %d: %+v, %v", block, f, err)
		}
		if !strings.HasPrefix(f.Preprocessing, "none known") {
			t.Errorf("preprocessing %q", f.Preprocessing)
		}
	}
	if f, err := Look(t.Context(), described{model(good)}, all, Use{Sigma: .1}); err != nil || f.Preprocessing != "mean [0.5]" {
		t.Errorf("%+v, %v", f, err)
	}
	// A forgotten normalisation.
	f, err := Look(t.Context(), model(func(m [3]float64, b float64) []float64 {
		if min(m[0], m[1], m[2]) > 0 {
			return []float64{1, 0, 0}
		}
		return good(m, b)
	}), all, Use{Sigma: .1})
	if err != nil || len(f.Warnings) != 1 || !strings.Contains(f.Warnings[0], "of 20 labelled images") || !strings.Contains(f.Warnings[0], "certspec preflight") {
		t.Errorf("%+v, %v", f, err)
	}
	var contradiction *purity.Error
	if _, err := Look(t.Context(), model(func(m [3]float64, b float64) []float64 { return []float64{5 * (m[0] - b), 0, 5 * (m[2] - b)} }), all, Use{Sigma: .1}); !errors.As(err, &contradiction) {
		t.Errorf("%v", err)
	}
	if _, err := Look(t.Context(), model(func([3]float64, float64) []float64 { return []float64{math.NaN(), 0, 0} }), all, Use{Sigma: .1}); err == nil || !strings.Contains(err.Error(), "no finite output") {
		t.Errorf("%v", err)
	}
	softmax := classifier.Func(shape, 3, func(x []float32) []float32 {
		first, second := math.Exp(float64(x[0])), math.Exp(float64(x[1]))
		sum := 1 + first + second
		return []float32{float32(first / sum), float32(second / sum), float32(1 / sum)}
	})
	if _, err := Look(t.Context(), softmax, all, Use{Sigma: .1}); err == nil || !strings.Contains(err.Error(), "its rows are probabilities") || !strings.Contains(err.Error(), "leave its softmax out") {
		t.Errorf("%v", err)
	}
	if f, err := Look(t.Context(), model(good), all, Use{Sigma: .1, Each: 1}); err != nil || f.Function.Answers > 1000 || f.Missed > 1e-3 || !strings.Contains(f.Note, "missed with a probability") || f.Witness == nil {
		t.Errorf("before a short run: %+v, %v", f, err)
	}
	if _, err := Look(t.Context(), model(good), &dataset.Images{Name: "x", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, IDs: []int{1}, Labels: []int{0}, Pixels: []byte{1}}, Use{Sigma: .1}); err == nil {
		t.Error("another shape: no error")
	}
}
