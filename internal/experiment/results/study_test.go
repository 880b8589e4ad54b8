package results

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
)

// Package study gives every mean and every difference of the committed tables of radii to the last bit.
func TestSameBitsInStudy(t *testing.T) {
	o := resample.Options{Resamples: 20}
	manifests, _ := filepath.Glob("../../../notebooks/results/experiments/*/manifest.json")
	means, differences := 0, 0
	for _, path := range manifests {
		folder := filepath.Dir(path)
		m, err := store.ReadManifest(folder)
		if err != nil {
			t.Fatal(err)
		}
		for i := range m.Tables {
			if len(m.Tables[i].Measure.Radii.Sweeps) == 0 {
				continue
			}
			f, err := Fill(t.Context(), folder, m.Tables[i].Name, o)
			if err != nil {
				t.Fatal(err)
			}
			s, err := study.Open(folder, f.Name)
			if err != nil {
				t.Fatal(err)
			}
			a, b := sameBits(t, s, f, o)
			means, differences = means+a, differences+b
		}
	}
	if means != 1572 || differences != 261 {
		t.Errorf("%d means and %d differences", means, differences)
	}
}

func sameBits(t *testing.T, s *study.Folder, f *Filled, o resample.Options) (means, differences int) {
	for k, metric := range f.Metrics {
		set := studyName(metric.Name)
		for i, l := range f.Lines {
			v := l.Values[k]
			if v == nil {
				continue
			}
			means++
			cell := study.Cell{Row: s.Rows[i].Recipe, Set: set, What: "acr"}
			if got, there, err := s.Mean(cell); err != nil || !there || got != v.Mean {
				t.Fatalf("%s, %v: %v, %v; expected %v", f.Name, cell, got, err, v.Mean)
			}
			if v.Difference == nil {
				continue
			}
			differences++
			other := cell
			for at, o := range f.Lines {
				if o.Title == f.Compare && o.Data == l.Data {
					other.Row = s.Rows[at].Recipe
				}
			}
			got, err := s.Difference(t.Context(), cell, other, o)
			if err != nil || !equal(got, v.Difference) {
				t.Fatalf("%s, %v: %+v, %v; expected %+v", f.Name, cell, got, err, v.Difference)
			}
		}
	}
	return means, differences
}

// So it gives the differences of certified calibration errors between the networks that a table selects.
func TestSameBitsOfErrors(t *testing.T) {
	const folder = "../../../notebooks/results/experiments/D-evidence"
	o := resample.Options{Resamples: 8}
	f, err := Fill(t.Context(), folder, "D/table7", o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := study.Open(folder, "D/table7")
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for _, one := range f.Selected {
		at := slices.IndexFunc(f.Selected, func(r Selected) bool {
			return r.Radius == one.Radius && r.Group == f.Reference()
		})
		if one.CCESpread == nil || one.CCESpread.Difference == nil || at < 0 {
			continue
		}
		cell := func(line int) study.Cell {
			return study.Cell{Row: s.Rows[line].Recipe, Set: "confidences", What: fmt.Sprintf("cce %g", one.Radius)}
		}
		got, err := s.Difference(t.Context(), cell(one.cceLine), cell(f.Selected[at].cceLine), o)
		if want := one.CCESpread.Difference; err != nil || got.Interval != want.Interval || got.P != want.P ||
			math.Abs(got.Difference-want.Difference) > 2e-6 { // columns have six decimals
			t.Errorf("%s at %g: %+v, %v; expected %+v", one.Group, one.Radius, got, err, want)
		}
		compared++
	}
	if compared != 16 {
		t.Errorf("%d differences", compared)
	}
}

func studyName(metric string) string {
	if len(metric) > 5 && metric[:5] == "mACR " {
		return metric[5:]
	}
	return metric
}

func equal(a, b *compare.Difference) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.A == b.A && a.B == b.B && a.Difference == b.Difference && a.Interval == b.Interval && a.P == b.P &&
		a.Starts == b.Starts && equal(a.Given, b.Given)
}
