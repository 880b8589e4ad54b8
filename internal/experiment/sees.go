package experiment

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/certspec/certspec/internal/table"
)

// Powers says which differences between rows a tier can see, by the variances of a pilot.
type Powers struct {
	Table   string  `json:"table"`
	Tier    string  `json:"tier"`
	Against string  `json:"against"`   // title of the row that the others are compared with
	Cap     float64 `json:"cap"`       // the largest radius that the tier's samples can prove, at σ of the rows
	Pilot   float64 `json:"pilot_cap"` // that of the pilot
	Gaps    []Gap   `json:"gaps"`
}

// See plans a run by a pilot: a folder with results of rows of the same recipes, at any tier.
// Against is the title of the row that others are compared with; empty for the table's own.
//
// Errors: an unknown name, a folder without results of two rows of the table.
func Power(ctx context.Context, o Options, pilot, against string) (*Powers, error) {
	setup, _, err := o.Setup()
	if err != nil {
		return nil, err
	}
	made, err := setup.Library.Table(o.Table)
	if err != nil {
		return nil, err
	}
	there, err := ReadManifest(pilot)
	if err != nil {
		return nil, err
	}
	cells, err := setup.Tier.Cells(made.Measure.Radii)
	if err != nil {
		return nil, err
	}
	pilotCells, err := there.Tier.Cells(made.Measure.Radii)
	if err != nil {
		return nil, err
	}
	out := &Powers{Table: made.Name, Tier: setup.Tier.Name, Against: against}
	p := pilotReader{setup: setup, manifest: there, folder: pilot, metrics: metrics(made.Measure.Radii, pilotCells),
		table: made}
	rows, err := p.rows(o.Rows)
	if err != nil {
		return nil, err
	}
	first := rows[0]
	if against == "" {
		against = made.Compare
	}
	if against != "" {
		i := slices.IndexFunc(rows, func(r plannedRow) bool { return r.title == against || r.recipe == against })
		if i < 0 {
			return nil, fmt.Errorf("experiment: table %s has no row %q with results in %s", made.Name, against, pilot)
		}
		first = rows[i]
	}
	out.Against = first.title
	for _, m := range metrics(made.Measure.Radii, cells) {
		if !m.Main || len(m.Cells) == 0 {
			continue
		}
		gaps, err := p.gaps(ctx, first, rows, m)
		if err != nil {
			return nil, err
		}
		out.Gaps = append(out.Gaps, gaps...)
	}
	errors, err := p.calibration(ctx)
	if err != nil {
		return nil, err
	}
	if out.Gaps = append(out.Gaps, errors...); len(out.Gaps) == 0 {
		return nil, fmt.Errorf("experiment: %s has no two rows of table %s with all cells of a figure", pilot,
			made.Name)
	}
	if out.Cap, err = radiusCap(setup.Tier, first.sigma); err == nil {
		out.Pilot, err = radiusCap(there.Tier, first.sigma)
	}
	return out, err
}

// radiusCap is the largest radius that the samples of a tier can prove.
func radiusCap(t Tier, sigma float64) (float64, error) {
	plan, err := t.Certify.Options(sigma).Plan()
	if err != nil {
		return 0, err
	}
	return plan.RadiusCap(), nil
}

// Shown is the plan as a table.
func (s *Powers) Shown() *table.Table {
	t := table.New("figure", "model", "pilot", "its deviation by image", "by cell", "by seed", "tier", "sees",
		"the paper's", "seen", "images for it", "seeds for it")
	t.Title = fmt.Sprintf("Which differences from %s tier %s can see, table %s", s.Against, s.Tier, s.Table)
	count := func(v *int, paper *float64) any {
		switch {
		case paper == nil:
			return table.None
		case v == nil:
			return "no number"
		}
		return *v
	}
	for _, g := range s.Gaps {
		paper, says := any(table.None), table.None
		if g.Paper != nil {
			paper, says = rounded(*g.Paper, 3), "no"
			if math.Abs(*g.Paper) >= g.Least {
				says = "yes"
			}
		}
		t.Add(g.Figure, g.Row, fmt.Sprintf("%+.3f (%d×%d×%d)", g.Found, g.PilotImages, g.PilotCells, g.PilotSeeds),
			rounded(g.Image, 3), rounded(g.Cell, 3), rounded(g.Seed, 4),
			fmt.Sprintf("%d×%d×%d", g.Images, g.Cells, g.Seeds), rounded(g.Least, 3), paper, says,
			count(g.Needs, g.Paper), count(g.Needed, g.Paper))
	}
	t.Notes = []string{
		"Pilot and tier: images × cells × seeds. Deviations are of paired differences of certified radii; that by " +
			"seed is pooled over the rows that the pilot has twice, 0 where it has none.",
		"Power: the smallest difference whose 95 % interval, over images and seeds by Student's t, excludes 0 in " +
			"80 % of runs. With one seed it is between these networks, not between the methods.",
		fmt.Sprintf("Radii end at %.3f at the tier and at %.3f in the pilot: differences in radii above that are "+
			"cut off, and images that are sure spread more with more samples.", s.Cap, s.Pilot),
	}
	return t
}
