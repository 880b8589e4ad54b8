package plan

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/resample"
)

// BenchmarkFill fills table 2 at tier cpu: 15 networks, 46 cells of 100 images, 10,000 resamples.
func BenchmarkFill(b *testing.B) {
	folder := b.TempDir()
	e, err := Plan(Options{Folder: filepath.Join(folder, "none"), Table: "A/table2", Tier: "cpu"})
	if err != nil {
		b.Fatal(err)
	}
	if err := e.Manifest.Write(folder); err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for i := range e.Manifest.Models {
		var r store.Radii
		for _, j := range e.Jobs {
			if j.Kind != "certify" || j.Model.Name != e.Manifest.Models[i].Name {
				continue
			}
			var rows store.Outcomes
			for image := range 100 {
				rows = append(rows, store.Outcome{Image: image, Label: image % 10, Radius: random.Float64()})
			}
			r.Set(j.Cell.String(), rows)
		}
		if err := r.Write(store.ResultPath(folder, &e.Manifest.Models[i], ".csv"), nil); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if _, err := results.Fill(b.Context(), folder, "A/table2", resample.Options{}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(e.Manifest.Models)), "networks")
}
