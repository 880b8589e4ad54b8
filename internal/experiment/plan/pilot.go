package plan

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/study"
)

type pilotReader struct {
	setup    *settings.Setup
	manifest *store.Manifest
	folder   string
	table    recipe.Table
	metrics  []results.Metric // of the pilot
	columns  study.Folder
}

// plannedRow is a row of the table with what the pilot has of it.
type plannedRow struct {
	recipe, title, data string
	sigma               float64
	seeds               int // of the tier
	starts              []study.Start
}

func (p *pilotReader) rows(wanted []string) (rows []plannedRow, err error) {
	for _, row := range p.table.Rows {
		if row.Recipe == "" || len(wanted) > 0 && !slices.Contains(wanted, row.Recipe) {
			continue
		}
		r, err := p.setup.Recipe(row)
		if err != nil {
			return nil, err
		}
		one := plannedRow{recipe: row.Recipe, title: r.Title, data: r.Data, seeds: len(p.setup.Seeds(r))}
		for i := range p.manifest.Models {
			m := &p.manifest.Models[i]
			if recipe, _, _ := strings.Cut(m.Name, "@"); recipe != row.Recipe {
				continue
			}
			kept, err := p.manifest.ResultsOf(p.folder, m)
			if err != nil {
				return nil, err
			}
			p.columns.Add(kept.Radii...)
			one.sigma = m.Noise()
			one.starts = append(one.starts, study.Start{Network: m.Name, Seed: m.Seed, Root: p.manifest.Root(m)})
		}
		if len(one.starts) > 0 {
			slices.SortFunc(one.starts, func(a, b study.Start) int { return cmp.Compare(a.Seed, b.Seed) })
			rows = append(rows, one)
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(p.table.Rows, func(r recipe.Row) bool { return r.Recipe == name }) {
			return nil, &recipe.UnknownError{Kind: "row", Name: name, Nearest: ""}
		}
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("experiment: %s has results of %d rows of table %s; expected two or more", p.folder,
			len(rows), p.table.Name)
	}
	return rows, nil
}

func (p *pilotReader) gaps(ctx context.Context, first plannedRow, rows []plannedRow,
	m results.Metric) (gaps []Gap, err error) {
	k := slices.IndexFunc(p.metrics, func(o results.Metric) bool { return o.Name == m.Name })
	if k < 0 {
		return nil, nil
	}
	images, err := p.images(ctx, m)
	if err != nil {
		return nil, err
	}
	var between []float64 // variances of the mean from seed to seed
	for _, r := range rows {
		if r.recipe == first.recipe || r.data != first.data {
			continue
		}
		var of [][][]float64 // by seed, cell and image
		paired := true
		for _, start := range r.starts {
			at := slices.IndexFunc(first.starts, func(o study.Start) bool { return o.Seed == start.Seed })
			if at < 0 {
				continue
			}
			d, err := p.differencesOf(start, first.starts[at], p.metrics[k].Cells)
			if err != nil {
				return nil, fmt.Errorf("experiment: %s and %s: %w", r.title, first.title, err)
			}
			if d != nil {
				of, paired = append(of, d), paired && start.Root == first.starts[at].Root
			}
		}
		if len(of) == 0 {
			continue
		}
		g := Gap{Row: r.title, Figure: m.Name, Images: images, Cells: len(m.Cells), Seeds: min(r.seeds,
			first.seeds), Paired: paired}
		if v, ok := g.take(of); ok {
			between = append(between, v)
		}
		g.published(p.table, first.title)
		gaps = append(gaps, g)
	}
	pooled := math.Sqrt(max(0, store.Mean(between)))
	for i := range gaps {
		g := &gaps[i]
		g.Seed = pooled
		g.Least = g.minimumDifference(g.Images, g.Cells, g.Seeds)
		g.need()
	}
	return gaps, nil
}

// calibration are the gaps of certified calibration errors between what the methods of a table
// reach; see Selected. Of each there is one deviation, by image, from the interval that the pilot
// has for the difference.
func (p *pilotReader) calibration(ctx context.Context) (gaps []Gap, err error) {
	if m := p.table.Measure.Calibration(); m == nil || m.Within == 0 {
		return nil, nil
	}
	filled, err := results.Fill(ctx, p.folder, p.table.Name, resample.Options{})
	if err != nil {
		return nil, err
	}
	line := filled.Lines[0]
	there := tier.Select(p.manifest.Model(line.Models[0]).Test, p.manifest.Tier.Calibration.Images)
	models, err := p.setup.Models(p.table.Rows[0].Recipe)
	if err != nil {
		return nil, err
	}
	here := tier.Select(models[0].Test, p.setup.Tier.Calibration.Images)
	var sizes [2]int
	for i, name := range []string{there, here} {
		if sizes[i], err = SizeOf(ctx, name); err != nil {
			return nil, err
		}
	}
	for _, s := range filled.Selected {
		for figure, spread := range map[string]*results.ErrorSpread{"CCE": s.CCESpread, "CBS": s.CBSSpread} {
			if spread == nil || spread.Difference == nil {
				continue
			}
			d := spread.Difference
			figure := fmt.Sprintf("%s at %g", figure, s.Radius)
			g := Gap{Row: s.Group, Figure: figure, PilotImages: sizes[0], PilotCells: 1, PilotSeeds: 1,
				Found: d.Difference, Images: sizes[1], Cells: 1, Seeds: 1}
			g.Image = (d.Interval.High - d.Interval.Low) / (2 * resample.Normal95) * math.Sqrt(float64(sizes[0]))
			g.Least = g.minimumDifference(g.Images, 1, 1)
			g.published(p.table, line.Group)
			g.need()
			gaps = append(gaps, g)
		}
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int { return strings.Compare(a.Figure, b.Figure) })
	return gaps, nil
}

// images is how many of a figure the tier certifies.
func (p *pilotReader) images(ctx context.Context, m results.Metric) (int, error) {
	for _, row := range p.table.Rows {
		models, err := p.setup.Models(row.Recipe)
		if err != nil {
			return 0, err
		}
		tier := &store.Manifest{Tier: p.setup.Tier}
		cells, err := p.setup.Tier.Cells(p.table.Measure.Radii)
		if err != nil {
			return 0, err
		}
		if i := slices.IndexFunc(cells, func(c sweep.Cell) bool { return c.String() == m.Cells[0] }); i >= 0 {
			name, _ := tier.ImagesOf(&models[0], cells[i])
			return SizeOf(ctx, name)
		}
	}
	return 0, fmt.Errorf("experiment: table %s has no row with a recipe", p.table.Name)
}

// SizeOf is the number of images of a set.
func SizeOf(ctx context.Context, name string) (int, error) {
	d, err := recipe.OpenSet(name)
	if err != nil {
		return 0, err
	}
	all, err := d.List(ctx)
	if err != nil {
		return 0, err
	}
	return all.Len(), nil
}

// differencesOf are the differences of the radii of two networks, by cell and image; nil where one lacks a cell.
func (p *pilotReader) differencesOf(a, b study.Start, cells []string) ([][]float64, error) {
	row := func(start study.Start, cell string) (*study.Sample, error) {
		return p.columns.SampleOn(study.Row{Starts: []study.Start{start}}, "acr", cell)
	}
	var all [][]float64
	for _, cell := range cells {
		x, err1 := row(a, cell)
		y, err2 := row(b, cell)
		if err := errors.Join(err1, err2); x == nil || y == nil || err != nil {
			return nil, err
		}
		if !slices.Equal(x.Images, y.Images) {
			return nil, fmt.Errorf("%s: the two are of different images", cell)
		}
		if len(x.Images) < 2 {
			return nil, fmt.Errorf("%s has %d images; a variance needs two", cell, len(x.Images))
		}
		d := make([]float64, len(x.Images))
		for i, v := range x.Values[0] {
			d[i] = v - y.Values[0][i]
		}
		if len(all) > 0 && len(d) != len(all[0]) {
			return nil, fmt.Errorf("%s has %d images, other cells %d", cell, len(d), len(all[0]))
		}
		all = append(all, d)
	}
	return all, nil
}
