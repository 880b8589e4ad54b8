package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/jacobian"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/spectral"
)

// slope are the gradients of brightness: f_c = −(10·m − c − ½)², m the mean of the red channel.
type slope struct{}

func (slope) VectorJacobian(_ context.Context, images, v, gradient []float32) error {
	size := shape.Len()
	for i := range len(v) / 10 {
		mean := 0.0
		for k := 0; k < size; k += 3 {
			mean += float64(images[i*size+k]) / float64(size/3)
		}
		g := 0.0
		for c := range 10 {
			g += float64(v[i*10+c]) * -2 * (10*mean - float64(c) - 0.5) * 10 / float64(size/3)
		}
		for k := range size {
			gradient[i*size+k] = 0
			if k%3 == 0 {
				gradient[i*size+k] = float32(g)
			}
		}
	}
	return nil
}

// The numbers of a record equal their own measurements, and a run that was stopped ends with the same record.
func TestRecord(t *testing.T) {
	data, err := dataset.Open("synthetic/test[count=40]")
	if err != nil {
		t.Fatal(err)
	}
	o := RecordOptions{Name: "m", Cells: cells(t)[1:], Fourier: spectral.FourierOptions{Window: 0.2, Points: 20, Normalization: spectral.CIFAR10}, Pairs: 6, PixelPairs: 1,
		Gradients: slope{}, GradientEngine: "test", JacobianImages: 20}
	whole, err := Record(t.Context(), brightness(), data, o)
	if err != nil {
		t.Fatal(err)
	}
	images, err := data.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths, err := spectral.PathSets(spectral.PathKind("phase"), images, 6, o.Fourier)
	if err != nil {
		t.Fatal(err)
	}
	m, err := paths[0].Measure(t.Context(), brightness(), images.Indexed(), spectral.PathOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if whole.Numbers["consistent_distances_phase"] != m.CD.Mean || whole.Deviations["high_freq_fracs_phase"] != m.HFF.Deviation || whole.Counts["high_freq_fracs_phase"] != 6 {
		t.Errorf("%+v; expected %+v", whole, m)
	}
	// All energy of this gradient is at frequency 0 of one channel.
	if math.Abs(whole.Numbers["gradient_low"]-1) > 1e-9 || whole.Counts["jacobian_norm"] != 20 || whole.Settings["jacobian_mode"] != jacobian.Exact {
		t.Errorf("%+v", whole)
	}
	if len(whole.Percent) != 3 || whole.Images["contrast"] != 80 || whole.Images["id_acc"] != 40 {
		t.Errorf("%+v", whole.Percent)
	}
	o.Parts = filepath.Join(t.TempDir(), "parts")
	for stop := 1; ; stop += 2 { // each run gets a little further
		model := brightness()
		model.stop = stop
		r, err := Record(t.Context(), model, data, o)
		if err != nil {
			if stop > 60 {
				t.Fatal(err)
			}
			continue
		}
		if text, _ := os.ReadFile(o.Parts); len(text) == 0 {
			t.Error("no parts are kept")
		}
		a, _ := json.Marshal(r)
		b, _ := json.Marshal(whole)
		if !bytes.Equal(a, b) {
			t.Errorf("%+v; expected %+v", r, whole)
		}
		break
	}
	other := o
	other.Pairs = 5
	if _, err := Record(t.Context(), brightness(), data, other); err == nil || !strings.Contains(err.Error(), "pairs is 6 there and 5 here") {
		t.Errorf("other settings: %v", err)
	}
	if err := o.Forget(); err != nil {
		t.Fatal(err)
	}
	o.Parts, o.Gradients = "", nil
	o.Projections = 200
	r, err := Record(t.Context(), brightness(), data, o)
	if err != nil || r.Settings["jacobian_mode"] != jacobian.Differences || math.Abs(r.Numbers["jacobian_norm"]/whole.Numbers["jacobian_norm"]-1) > 0.2 {
		t.Errorf("%v, %v; expected about %v, %v", r.Settings["jacobian_mode"], r.Numbers["jacobian_norm"], whole.Numbers["jacobian_norm"], err)
	}
	file := filepath.Join(t.TempDir(), "r.jsonl")
	if err := lines.PutRecord(file, whole); err != nil {
		t.Fatal(err)
	}
	models, err := lines.Read(file, lines.CSV{})
	if err != nil || models[0].Numbers["jacobian_norm"] != whole.Numbers["jacobian_norm"] {
		t.Errorf("%+v, %v", models, err)
	}
}

var _ classifier.Differentiable = slope{}
