package golden

import (
	"bytes"
	"context"
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

var shape = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// corner looks at the first value of an image alone, in Go.
var corner = classifier.Step{Shape: shape, Thresholds: []float64{.3, .5, .7}}

func shapes(t *testing.T) *dataset.Dataset {
	t.Helper()
	images, err := dataset.Open("synthetic/test[max_index=4]")
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// A heat map: a ledger for each frequency, and the map of their average radii.
func TestHeatMap(t *testing.T) {
	figures(t)
	shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
	corners := corner
	list := spectral.Window(1)
	var ledgers bytes.Buffer
	m, err := spectral.HeatMap(t.Context(), shape, list, list, func(ctx context.Context, f spectral.Frequency) (float64, error) {
		path := filepath.Join(t.TempDir(), "ledger")
		run, err := rs.Certify(ctx, labelled{corners}, spectral.Probed(shapes(t), f, spectral.ProbeOptions{}), rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 100, Ledger: path, Seed: 5})
		if err != nil {
			return 0, err
		}
		ledgers.Write(comparable(testkit.Read(t, path)))
		return run.ACR().Value, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	rsBook.check(t, "heat map", text)
	rsBook.check(t, "ledgers of a heat map", ledgers.Bytes())
}

// labelled gives a model the ten classes of the images.
type labelled struct{ classifier.Step }

func (l labelled) Info() (classifier.Info, error) {
	info, err := l.Step.Info()
	info.Classes = 10
	return info, err
}

func (l labelled) Classify(ctx context.Context, b classifier.Batch, r *classifier.Result) error {
	return l.Step.Classify(ctx, b, &classifier.Result{Classes: r.Classes})
}

// A sweep: a ledger for each corruption.
func TestSweep(t *testing.T) {
	cells, err := sweep.Cells([]string{"contrast", "fog"}, corrupt.Setting{}, []int{1, 5})
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	o := sweep.Options{Sigma: .25, MaxSamples: 400, Folder: folder, CorruptSeed: 1}
	if err := sweep.Run(t.Context(), labelled{corner}, shapes(t), append([]sweep.Cell{{}}, cells...), o); err != nil {
		t.Fatal(err)
	}
	for _, c := range append([]sweep.Cell{{}}, cells...) {
		rsBook.check(t, "sweep, "+c.String(), comparable(testkit.Read(t, filepath.Join(folder, c.String()+".ledger"))))
	}
}

// Metrics of paths between images.
func TestPaths(t *testing.T) {
	figures(t)
	images, err := shapes(t).Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	paths := map[string]func() (spectral.Path, error){
		"amplitude": func() (spectral.Path, error) { return spectral.NewAmplitude(shape, spectral.FourierOptions{}) },
		"phase":     func() (spectral.Path, error) { return spectral.NewPhase(shape, spectral.FourierOptions{}) },
		"pixel":     func() (spectral.Path, error) { return spectral.NewPixel(shape, spectral.Normalization{}) },
	}
	for name, open := range paths {
		path, err := open()
		if err != nil {
			t.Fatal(err)
		}
		m, err := spectral.MeasurePaths(t.Context(), corner, path, images.Image, []spectral.Pair{{0, 1}, {2, 3}, {3, 1}}, spectral.PathOptions{})
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		rsBook.check(t, "path, "+name, text)
	}
}
