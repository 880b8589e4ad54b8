package plan

import (
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
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
		var radii []*study.Column
		for _, j := range e.Jobs {
			if j.Kind != "certify" || j.Model.Name != e.Manifest.Models[i].Name {
				continue
			}
			c := &study.Column{Key: study.Key{Set: j.Cell.String(), Name: "radius"}, Marks: make([]string, 100)}
			for image := range 100 {
				c.Images, c.Labels = append(c.Images, image), append(c.Labels, image%10)
				c.Values = append(c.Values, random.Float64())
			}
			radii = append(radii, c)
		}
		if err := store.KeepColumns(folder, &e.Manifest.Models[i], ".csv", radii, nil); err != nil {
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
