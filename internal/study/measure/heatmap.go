package measure

import (
	"cmp"
	"context"

	"github.com/certspec/certspec/internal/rs/heatmap"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/spectral"
)

func init() { add(40, func() Measure { return &HeatMap{Epsilon: spectral.DefaultEpsilon} }) }

// HeatMap is the average certified radius of images disturbed at one frequency, at each of a grid
// (Sun et al. 2021, figures 3 and 5): a ledger for each frequency in ledgers/MODEL/heatmap/, and of
// all of them results/MODEL.heatmap.json. The tier says which images and frequencies.
type HeatMap struct {
	Epsilon float64 `yaml:"epsilon" json:"epsilon"` // ℓ₂ norm of a disturbance, for each channel

	tier.HeatMap `yaml:",inline"`
}

// HeatMapKey is the key of the measure, and the kind of its jobs. HeatMapFile ends the name of its
// results.
const (
	HeatMapKey  = "heatmap"
	HeatMapFile = ".heatmap.json"
)

func (*HeatMap) Name() string { return HeatMapKey }

// At takes from the tier what the table leaves open.
func (m *HeatMap) At(s Setting) (Measure, error) {
	placed := *m
	placed.Images = cmp.Or(m.Images, s.Tier.Heatmap.Images, s.Tier.Clean)
	if len(m.Frequencies) == 0 {
		placed.Frequencies = s.Tier.Heatmap.Frequencies
	}
	return &placed, nil
}

func (*HeatMap) Jobs(_ Place, m *Model) ([]Job, error) {
	return []Job{{Kind: HeatMapKey, Model: m}}, nil
}

func (m *HeatMap) Done(p Place, j Job) (bool, error) {
	var found heatmap.Result
	ok, err := ReadJSON(p.Result(j.Model, HeatMapFile), &found)
	return ok && found.Map != nil && found.Epsilon == m.Epsilon, err
}

func (m *HeatMap) Cost(c Costs, j Job) error {
	n, err := c.Size(tier.Select(j.Model.Test, m.Images))
	if err != nil {
		return err
	}
	o := m.options(c.Tier(), j.Model)
	half := (len(o.Frequencies)*len(o.Frequencies) + 1) / 2 // the others are mirrored
	return c.Certify(j.Model, n*float64(half), o.Run)
}

func (m *HeatMap) Run(ctx context.Context, t Tools, j Job) error {
	name := tier.Select(j.Model.Test, m.Images)
	images, err := t.Set(name)
	if err != nil {
		return err
	}
	model, err := t.Open(ctx, j.Model, sweep.Cell{})
	if err != nil {
		return err
	}
	o := m.options(t.Tier(), j.Model)
	if ctx, err = t.Look(ctx, model, name, o.Run); err != nil {
		return err
	}
	o.Folder, o.Progress = t.At("ledgers", j.Model.Slug, HeatMapKey), t.Report
	found, err := heatmap.Run(ctx, model, images, o)
	if err != nil {
		return err
	}
	return keepJSON(t, t.Result(j.Model, HeatMapFile), found)
}

func (m *HeatMap) options(t tier.Tier, of *Model) heatmap.Options {
	o := heatmap.Options{Run: t.Certify.Options(of.Sigma), Frequencies: heatmap.Both(m.Frequencies...)}
	if len(o.Frequencies) == 0 {
		o.Frequencies = spectral.Window(15)
	}
	o.Probe.Epsilon = m.Epsilon
	return o
}
