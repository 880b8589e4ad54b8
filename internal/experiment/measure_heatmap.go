package experiment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"

	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/spectral"
)

// heatmapMeasure is the average certified radius of images disturbed at one frequency, at each of a
// grid (Sun et al. 2021, figures 3 and 5): a ledger for each frequency in ledgers/MODEL/heatmap/,
// and of all of them results/MODEL.heatmap.json. The tier says which images and frequencies.
type heatmapMeasure struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // ℓ₂ norm of a disturbance, for each channel

	heatmapSettings `yaml:",inline"`
}

// at takes from the tier what the table leaves open.
func (m *heatmapMeasure) at(s *Setup) (Measure, error) {
	placed := *m
	placed.Images = cmp.Or(m.Images, s.Tier.Heatmap.Images, s.Tier.Clean)
	if len(m.Frequencies) == 0 {
		placed.Frequencies = s.Tier.Heatmap.Frequencies
	}
	return &placed, nil
}

const (
	heatmapKey  = "heatmap"
	heatmapFile = ".heatmap.json"
)

func (heatMapJobs) Jobs(_ *Place, model *Model) ([]Job, error) {
	return []Job{{Kind: heatmapKey, Model: model}}, nil
}

func (m heatMapJobs) Done(p *Place, j Job) (bool, error) {
	var found heatmap.Result
	ok, err := readJSON(p.Result(j.Model, heatmapFile), &found)
	return ok && found.Map != nil && found.Epsilon == m.Epsilon, err
}

// options are those of its run.
func (m *heatmapMeasure) options(t Tier, model *Model) heatmap.Options {
	o := heatmap.Options{Run: t.Certify.Options(model.Noise()),
		Frequencies: heatmap.Both(m.Frequencies...)}
	if len(o.Frequencies) == 0 {
		o.Frequencies = spectral.Window(15)
	}
	o.Probe.Epsilon = m.Epsilon
	return o
}

func (m heatMapJobs) Cost(c *Costs, j Job) error {
	n, err := c.Size(with(j.Model.Test, m.Images))
	if err != nil {
		return err
	}
	o := m.options(c.Manifest.Tier, j.Model)
	half := (len(o.Frequencies)*len(o.Frequencies) + 1) / 2 // the others are mirrored
	return c.Certify(j.Model, n*float64(half), o.Run)
}

func (m heatMapRunner) Do(ctx context.Context, r *Runner, j Job) error {
	name := with(j.Model.Test, m.Images)
	images, err := r.set(name)
	if err != nil {
		return err
	}
	model, err := r.Open(ctx, j.Model)
	if err != nil {
		return err
	}
	o := m.options(r.Manifest.Tier, j.Model)
	if o.Run.Witness, err = r.look(ctx, model, name, o.Run); err != nil {
		return err
	}
	o.Folder, o.Progress = filepath.Join(r.Folder, "ledgers", j.Model.Slug(), heatmapKey), r.progress
	found, err := heatmap.Run(ctx, model, images, o)
	if err != nil {
		return err
	}
	return keepJSON(r.Result(j.Model, heatmapFile), found)
}

// HeatMap is the average certified radius at each frequency, the mean over the seeds; nil where there is none.
func (l FilledLine) HeatMap() *spectral.Map {
	m, _ := l.Found[heatmapKey].(*spectral.Map)
	return m
}

func (m heatMapReader) Fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	for i := range out.Lines {
		l := &out.Lines[i]
		var maps []*spectral.Map
		for _, name := range l.Models {
			found := &heatmap.Result{}
			if ok, err := readJSON(f.Result(f.Manifest.Model(name), heatmapFile), found); err != nil {
				return nil, err
			} else if !ok || found.Map == nil {
				continue
			}
			if len(maps) > 0 && len(maps[0].Values) != len(found.Values) {
				return nil, fmt.Errorf("experiment: %s: its maps have %d and %d frequencies", l.Title,
					len(maps[0].Values), len(found.Values))
			}
			if maps = append(maps, found.Map); notes == nil {
				notes = append(notes, fmt.Sprintf("Images disturbed at one frequency by a norm of %g in each "+
					"channel, %d at each of %d frequencies: the mean over those of a ring, by periods over an image.",
					found.Epsilon, found.Images, len(found.Values)))
			}
		}
		if len(maps) == 0 {
			continue
		}
		mean := *maps[0]
		mean.Values = make([]float64, len(maps[0].Values))
		for _, one := range maps {
			for k, v := range one.Values {
				mean.Values[k] += v / float64(len(maps))
			}
		}
		l.Found[heatmapKey] = &mean
	}
	return notes, nil
}

func (heatMapReader) Tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	rings := [...]struct {
		name string
		to   int // the first ring beyond
	}{{"0 to 2", 3}, {"3 to 6", 7}, {"7 to 11", 12}, {"12 to 16", 17}, {"above", 1 << 30}}
	t := &table.Table{Columns: append([]string{}, columns...)}
	for _, r := range rings {
		t.Columns = append(t.Columns, r.name)
	}
	for _, l := range f.Lines {
		m := l.HeatMap()
		if m == nil {
			continue
		}
		row, from := head(l), 0
		for _, r := range rings {
			sum, count := 0.0, 0
			for _, at := range m.Profile() {
				if at.Frequency >= from && at.Frequency < r.to {
					sum, count = sum+at.Mean*float64(at.Bins), count+at.Bins
				}
			}
			if from = r.to; count == 0 {
				row = append(row, table.None)
			} else {
				row = append(row, rounded(sum/float64(count), 3))
			}
		}
		t.Rows = append(t.Rows, row)
	}
	if len(t.Rows) > 0 {
		add(t, "average certified radius by frequency")
	}
}
