package plan

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

// Powers says which differences between rows a tier can see, by the variances of a pilot.
type Powers struct {
	Table   string  `json:"table"`
	Tier    string  `json:"tier"`
	Against string  `json:"against"`   // title of the row that the others are compared with
	Cap     float64 `json:"cap"`       // the largest radius that the tier's samples can prove, at σ of the rows
	Pilot   float64 `json:"pilot_cap"` // cap of the pilot
	Gaps    []Gap   `json:"gaps"`
}

// Power finds the minimum detectable differences of a tier from a pilot: a folder with results of
// rows of the same recipes, at any tier.
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
	there, err := store.ReadManifest(pilot)
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
	p := pilotReader{setup: setup, manifest: there, folder: pilot,
		metrics: tier.Means(made.Measure.Radii, pilotCells),
		table:   made}
	rows, err := p.rows(o.Rows)
	if err != nil {
		return nil, err
	}
	first := rows[0]
	if against = cmp.Or(against, made.Compare); against != "" {
		i := slices.IndexFunc(rows, func(r plannedRow) bool { return r.title == against || r.recipe == against })
		if i < 0 {
			return nil, fmt.Errorf("experiment: table %s has no row %q with results in %s", made.Name, against, pilot)
		}
		first = rows[i]
	}
	out.Against = first.title
	for _, m := range tier.Means(made.Measure.Radii, cells) {
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
func radiusCap(t recipe.Tier, sigma float64) (float64, error) {
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
			paper, says = results.Rounded(*g.Paper, 3), "no"
			if math.Abs(*g.Paper) >= g.Least {
				says = "yes"
			}
		}
		t.Add(g.Figure, g.Row, fmt.Sprintf("%+.3f (%d×%d×%d)", g.Found, g.PilotImages, g.PilotCells, g.PilotSeeds),
			results.Rounded(g.Image, 3), results.Rounded(g.Cell, 3), results.Rounded(g.Seed, 4),
			fmt.Sprintf("%d×%d×%d", g.Images, g.Cells, g.Seeds), results.Rounded(g.Least, 3), paper, says,
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

// Gap is the difference of a figure between two rows. Its variance in a run of I images, C cells
// and S seeds is taken to be
//
//	(V_image + V_cell/C)/I + (V_seed + V_seed·image/I)/S,
//
// with the parts as the pilot has them; each cell's mean is taken off first, as the cells are chosen, not drawn. A
// run sees a gap where the interval of 95 %, that of Value.Minus, excludes 0 in 80 of 100 runs: the second part is
// known to the starts of the run alone, and Student's t pays for it. A run of one start sees a gap between these
// starts: V_seed is no part of it.
type Gap struct {
	Row    string `json:"row"`
	Figure string `json:"figure"`

	// Of the pilot, cells of the same name, where it has them.
	PilotImages int     `json:"pilot_images"`
	PilotCells  int     `json:"pilot_cells"`
	PilotSeeds  int     `json:"pilot_seeds"`
	Paired      bool    `json:"paired"` // starts of equal seeds go back to one network
	Found       float64 `json:"found"`  // the difference
	Image       float64 `json:"image_deviation"`
	Cell        float64 `json:"cell_deviation"`       // of an image, from cell to cell
	SeedImage   float64 `json:"seed_image_deviation"` // of an image, from seed to seed
	Seed        float64 `json:"seed_deviation"`       // of the mean, from seed to seed; pooled over the rows

	// Of the tier.
	Images int     `json:"images"`
	Cells  int     `json:"cells"`
	Seeds  int     `json:"seeds"`
	Least  float64 `json:"least"` // the smallest gap that it sees

	Paper  *float64 `json:"paper"`  // the published difference
	Needs  *int     `json:"needs"`  // images for it, at the tier's cells and seeds; nil where no number is enough
	Needed *int     `json:"needed"` // seeds for it, two or more, at the tier's images and cells; nil likewise
}

// minimumDifference is the smallest gap that a run sees.
func (g Gap) minimumDifference(images, cells, seeds int) float64 {
	n := float64(images)
	common, own := (g.Image*g.Image+g.Cell*g.Cell/float64(cells))/n,
		(g.Seed*g.Seed+g.SeedImage*g.SeedImage/n)/float64(seeds)
	if seeds == 1 {
		return (resample.Normal95 + power80) * math.Sqrt(common+g.SeedImage*g.SeedImage/n)
	}
	if g.Paired {
		return detectable(common, []float64{own}, float64(seeds-1))
	}
	return detectable(common, []float64{own / 2, own / 2}, float64(seeds-1)) // two sets of starts that spread alike
}

// power80 is Φ⁻¹(0.8).
const power80 = 0.841621

// detectable is the mean of a normal difference whose interval of 95 % excludes 0 with probability 0.8. Of its
// variance the interval knows one part, common. It estimates the others, one or two, by sets of starts of so many
// degrees of freedom each; see resample.Run.
func detectable(common float64, own []float64, freedom float64) float64 {
	total := common
	for _, v := range own {
		total += v
	}
	if total == common {
		return (resample.Normal95 + power80) * math.Sqrt(common)
	}
	estimates := make([]float64, 256) // equally likely
	if len(own) > 1 {
		estimates = estimates[:16] // of each set
	}
	for i := range estimates {
		estimates[i] = distuv.ChiSquared{K: freedom}.Quantile((float64(i)+0.5)/float64(len(estimates))) / freedom
	}
	var halves []float64
	half := func(parts ...float64) {
		sum, squares := 0., 0.
		for _, v := range parts {
			sum, squares = sum+v, squares+v*v
		}
		t := distuv.StudentsT{Sigma: 1, Nu: freedom * sum * sum / squares}.Quantile(0.975)
		halves = append(halves, math.Sqrt(resample.Normal95*resample.Normal95*common+t*t*sum))
	}
	for _, a := range estimates {
		if len(own) == 1 {
			half(own[0] * a)
			continue
		}
		for _, b := range estimates {
			half(own[0]*a, own[1]*b)
		}
	}
	deviation := math.Sqrt(total)
	low, high := 0., 1000*deviation
	for range 40 {
		mean, power := (low+high)/2, 0.
		for _, half := range halves {
			power += math.Erfc((half-mean)/deviation/math.Sqrt2) / 2 / float64(len(halves))
		}
		if power < 0.8 {
			low = mean
		} else {
			high = mean
		}
	}
	return high
}

// published takes the difference that the paper has.
func (g *Gap) published(t recipe.Table, first string) {
	if a, b := t.Published[g.Row][g.Figure], t.Published[first][g.Figure]; a != 0 && b != 0 {
		gap := a - b
		g.Paper = &gap
	}
}

// take finds the parts of the variance of differences by seed, cell and image, and the variance
// between the means of the seeds, where there are several.
func (g *Gap) take(of [][][]float64) (between float64, several bool) {
	seeds, cells, images := len(of), len(of[0]), len(of[0][0])
	g.PilotSeeds, g.PilotCells, g.PilotImages = seeds, cells, images
	bySeed := make([][]float64, seeds) // mean over the cells, by image
	overSeeds := make([]float64, images)
	var within float64 // variance of an image over the cells
	for s := range of {
		bySeed[s] = make([]float64, images)
		for c := range of[s] {
			m := store.Mean(of[s][c])
			for i, v := range of[s][c] {
				bySeed[s][i] += v / float64(cells)
				overSeeds[i] += v / float64(cells*seeds)
				of[s][c][i] = v - m
			}
		}
		if cells > 1 {
			for i := range images {
				column := make([]float64, cells)
				for c := range column {
					column[c] = of[s][c][i]
				}
				within += stat.Variance(column, nil) / float64(images*seeds)
			}
		}
	}
	g.Found = store.Mean(overSeeds)
	single, joint := 0.0, stat.Variance(overSeeds, nil)
	means := make([]float64, seeds)
	for s := range bySeed {
		single += stat.Variance(bySeed[s], nil) / float64(seeds)
		means[s] = store.Mean(bySeed[s])
	}
	seedImage := 0.0
	if seeds > 1 {
		seedImage = max(0, (single-joint)*float64(seeds)/float64(seeds-1))
	}
	image := single - seedImage - within/float64(cells)
	g.Image, g.Cell, g.SeedImage = math.Sqrt(max(0, image)), math.Sqrt(within), math.Sqrt(seedImage)
	return stat.Variance(means, nil) - seedImage/float64(images), seeds > 1
}

// need finds what it takes to see the published difference.
func (g *Gap) need() {
	if g.Paper == nil || *g.Paper == 0 {
		return
	}
	least := func(first, most int, at func(n int) float64) *int {
		n := first + sort.Search(most, func(n int) bool { return at(first+n) <= math.Abs(*g.Paper) })
		if n >= first+most {
			return nil
		}
		return &n
	}
	g.Needs = least(1, mostImages, func(images int) float64 { return g.minimumDifference(images, g.Cells, g.Seeds) })
	g.Needed = least(2, mostSeeds, func(seeds int) float64 { return g.minimumDifference(g.Images, g.Cells, seeds) })
}

// Numbers above which no number is enough.
const (
	mostImages = 1_000_000_000
	mostSeeds  = 1000
)
