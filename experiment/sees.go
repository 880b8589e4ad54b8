package experiment

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/table"
	"github.com/certspec/certspec/resample"
)

// Sees says which differences between rows a tier can see, by the variances of a pilot.
type Sees struct {
	Table   string  `json:"table"`
	Tier    string  `json:"tier"`
	Against string  `json:"against"`   // title of the row that the others are compared with
	Cap     float64 `json:"cap"`       // the largest radius that the tier's samples can prove, at σ of the rows
	Pilot   float64 `json:"pilot_cap"` // that of the pilot
	Gaps    []Gap   `json:"gaps"`
}

// Gap is the difference of a figure between two rows. Its variance in a run of I images, C cells and S seeds is taken to be
//
//	(V_image + V_cell/C + V_seed·image/S)/I + V_seed/S,
//
// with the parts as the pilot has them; each cell's mean is taken off first, as the cells are chosen, not drawn. A run sees a gap where the interval of
// 95 % excludes 0 in 80 of 100 runs: 1.96 + 0.84 standard errors.
type Gap struct {
	Row    string `json:"row"`
	Figure string `json:"figure"`

	// Of the pilot, whose cells are those of the same name that it has.
	PilotImages int     `json:"pilot_images"`
	PilotCells  int     `json:"pilot_cells"`
	PilotSeeds  int     `json:"pilot_seeds"`
	Found       float64 `json:"found"` // the difference
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
	Needed *int     `json:"needed"` // seeds for it, at the tier's images and cells; nil likewise
}

// seen is how many standard errors a gap is large that is seen: quantiles of 97.5 and of 80 %.
const seen = 1.959964 + 0.841621

// error is the standard error of the difference in a run.
func (g Gap) error(images, cells, seeds int) float64 {
	each := g.Image*g.Image + g.Cell*g.Cell/float64(cells) + g.SeedImage*g.SeedImage/float64(seeds)
	return math.Sqrt(each/float64(images) + g.Seed*g.Seed/float64(seeds))
}

// See plans a run by a pilot: a folder with results of rows of the same recipes, at any tier. Against is the title of the row that others are compared
// with; empty for the table's own.
//
// Errors: an unknown name, a folder without results of two rows of the table.
func See(ctx context.Context, o Options, pilot, against string) (*Sees, error) {
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
	out := &Sees{Table: made.Name, Tier: setup.Tier.Name, Against: against}
	p := planner{setup: setup, manifest: there, folder: pilot, metrics: metrics(made.Measure.Radii, pilotCells), table: made}
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
		return nil, fmt.Errorf("experiment: %s has no two rows of table %s with all cells of a figure", pilot, made.Name)
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

type planner struct {
	setup    *Setup
	manifest *Manifest
	folder   string
	table    Table
	metrics  []Metric // of the pilot
}

// plannedRow is a row of the table with what the pilot has of it.
type plannedRow struct {
	recipe, title, data string
	sigma               float64
	seeds               int               // of the tier
	radii               map[uint64]*Radii // by seed
}

func (p *planner) rows(wanted []string) (rows []plannedRow, err error) {
	for _, row := range p.table.Rows {
		if row.Recipe == "" || len(wanted) > 0 && !slices.Contains(wanted, row.Recipe) {
			continue
		}
		r, err := p.setup.Library.Recipe(row.Recipe)
		if err != nil {
			return nil, err
		}
		one := plannedRow{recipe: row.Recipe, title: r.Title, data: r.Data, seeds: len(p.setup.seeds(r)), radii: map[uint64]*Radii{}}
		for i := range p.manifest.Models {
			m := &p.manifest.Models[i]
			if recipe, _, _ := strings.Cut(m.Name, "@"); recipe != row.Recipe {
				continue
			}
			kept, err := keptOf(p.folder, m)
			if err != nil {
				return nil, err
			}
			one.sigma, one.radii[m.Seed] = m.Noise(), kept.radii
		}
		if len(one.radii) > 0 {
			rows = append(rows, one)
		}
	}
	for _, name := range wanted {
		if !slices.ContainsFunc(p.table.Rows, func(r tableRow) bool { return r.Recipe == name }) {
			return nil, &UnknownError{"row", name, ""}
		}
	}
	if len(rows) < 2 {
		return nil, fmt.Errorf("experiment: %s has results of %d rows of table %s; expected two or more", p.folder, len(rows), p.table.Name)
	}
	return rows, nil
}

// gaps are those of a figure between a row and the others.
func (p *planner) gaps(ctx context.Context, first plannedRow, rows []plannedRow, m Metric) (gaps []Gap, err error) {
	k := slices.IndexFunc(p.metrics, func(o Metric) bool { return o.Name == m.Name })
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
		for _, seed := range slices.Sorted(maps.Keys(r.radii)) {
			if other := first.radii[seed]; other != nil {
				d, err := differencesOf(r.radii[seed], other, p.metrics[k].Cells)
				if err != nil {
					return nil, fmt.Errorf("experiment: %s and %s: %w", r.title, first.title, err)
				}
				if d != nil {
					of = append(of, d)
				}
			}
		}
		if len(of) == 0 {
			continue
		}
		g := Gap{Row: r.title, Figure: m.Name, Images: images, Cells: len(m.Cells), Seeds: min(r.seeds, first.seeds)}
		if v, ok := g.take(of); ok {
			between = append(between, v)
		}
		g.published(p.table, first.title)
		gaps = append(gaps, g)
	}
	pooled := math.Sqrt(max(0, mean(between)))
	for i := range gaps {
		g := &gaps[i]
		g.Seed = pooled
		g.Least = seen * g.error(g.Images, g.Cells, g.Seeds)
		g.need()
	}
	return gaps, nil
}

// calibration are the gaps of certified calibration errors between what the methods of a table reach; see Selected. Of each there is one deviation, by
// image, from the interval that the pilot has for the difference.
func (p *planner) calibration(ctx context.Context) (gaps []Gap, err error) {
	if m, ok := p.table.Measure.others["calibration"].(*calibrationMeasure); !ok || m.Within == 0 {
		return nil, nil
	}
	filled, err := Fill(p.folder, p.table.Name, resample.Options{})
	if err != nil {
		return nil, err
	}
	line := filled.Lines[0]
	there := with(p.manifest.Model(line.Models[0]).Test, p.manifest.Tier.Calibration.Images)
	models, err := p.setup.Models(p.table.Rows[0].Recipe)
	if err != nil {
		return nil, err
	}
	here := with(models[0].Test, p.setup.Tier.Calibration.Images)
	var sizes [2]int
	for i, name := range []string{there, here} {
		if sizes[i], err = sizeOf(ctx, name); err != nil {
			return nil, err
		}
	}
	for _, s := range filled.Selected {
		for figure, spread := range map[string]*spread{"CCE": s.CCESpread, "CBS": s.CBSSpread} {
			if spread == nil || spread.Difference == nil {
				continue
			}
			d := spread.Difference
			figure := fmt.Sprintf("%s at %g", figure, s.Radius)
			g := Gap{Row: s.Group, Figure: figure, PilotImages: sizes[0], PilotCells: 1, PilotSeeds: 1, Found: d.Difference, Images: sizes[1], Cells: 1, Seeds: 1}
			g.Image = (d.Interval.High - d.Interval.Low) / (2 * 1.959964) * math.Sqrt(float64(sizes[0]))
			g.Least = seen * g.error(g.Images, 1, 1)
			g.published(p.table, line.Group)
			g.need()
			gaps = append(gaps, g)
		}
	}
	slices.SortStableFunc(gaps, func(a, b Gap) int { return strings.Compare(a.Figure, b.Figure) })
	return gaps, nil
}

// published takes the difference that the paper has.
func (g *Gap) published(t Table, first string) {
	if a, b := t.Published[g.Row][g.Figure], t.Published[first][g.Figure]; a != 0 && b != 0 {
		gap := a - b
		g.Paper = &gap
	}
}

// images is how many of a figure the tier certifies.
func (p *planner) images(ctx context.Context, m Metric) (int, error) {
	for _, row := range p.table.Rows {
		models, err := p.setup.Models(row.Recipe)
		if err != nil {
			return 0, err
		}
		tier := &Manifest{Tier: p.setup.Tier}
		cells, err := p.setup.Tier.Cells(p.table.Measure.Radii)
		if err != nil {
			return 0, err
		}
		for _, c := range cells {
			if c.String() != m.Cells[0] {
				continue
			}
			name, _ := tier.imagesOf(&models[0], c)
			return sizeOf(ctx, name)
		}
	}
	return 0, fmt.Errorf("experiment: table %s has no row with a recipe", p.table.Name)
}

// sizeOf is the number of images of a set.
func sizeOf(ctx context.Context, name string) (int, error) {
	d, err := dataset.Open(name)
	if err != nil {
		return 0, err
	}
	all, err := d.List(ctx)
	if err != nil {
		return 0, err
	}
	return all.Len(), nil
}

// take finds the parts of the variance of differences by seed, cell and image, and the variance between the means of the seeds, where there are several.
func (g *Gap) take(of [][][]float64) (between float64, several bool) {
	seeds, cells, images := len(of), len(of[0]), len(of[0][0])
	g.PilotSeeds, g.PilotCells, g.PilotImages = seeds, cells, images
	bySeed := make([][]float64, seeds) // mean over the cells, by image
	overSeeds := make([]float64, images)
	var within float64 // variance of an image over the cells
	for s := range of {
		bySeed[s] = make([]float64, images)
		for c := range of[s] {
			m := mean(of[s][c])
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
				within += variance(column) / float64(images*seeds)
			}
		}
	}
	g.Found = mean(overSeeds)
	single, joint := 0.0, variance(overSeeds)
	means := make([]float64, seeds)
	for s := range bySeed {
		single += variance(bySeed[s]) / float64(seeds)
		means[s] = mean(bySeed[s])
	}
	seedImage := 0.0
	if seeds > 1 {
		seedImage = max(0, (single-joint)*float64(seeds)/float64(seeds-1))
	}
	image := single - seedImage - within/float64(cells)
	g.Image, g.Cell, g.SeedImage = math.Sqrt(max(0, image)), math.Sqrt(within), math.Sqrt(seedImage)
	return variance(means) - seedImage/float64(images), seeds > 1
}

func variance(values []float64) float64 {
	m, sum := mean(values), 0.0
	for _, v := range values {
		sum += (v - m) * (v - m)
	}
	return sum / float64(max(1, len(values)-1))
}

// differencesOf are those of the radii of two models, by cell and image; nil where one lacks a cell.
func differencesOf(a, b *Radii, cells []string) ([][]float64, error) {
	var all [][]float64
	for _, cell := range cells {
		x, y := a.Outcomes(cell), b.Outcomes(cell)
		if x == nil || y == nil {
			return nil, nil
		}
		if !slices.EqualFunc(x, y, func(p, q Outcome) bool { return p.Image == q.Image }) {
			return nil, fmt.Errorf("%s: the two are of different images", cell)
		}
		row := make([]float64, len(x))
		for i := range x {
			row[i] = x[i].Radius - y[i].Radius
		}
		if len(all) > 0 && len(row) != len(all[0]) {
			return nil, fmt.Errorf("%s has %d images, other cells %d", cell, len(row), len(all[0]))
		}
		all = append(all, row)
	}
	return all, nil
}

// need finds what it takes to see the published difference.
func (g *Gap) need() {
	if g.Paper == nil || *g.Paper == 0 {
		return
	}
	goal := math.Abs(*g.Paper) / seen
	goal *= goal
	if rest := goal - g.Seed*g.Seed/float64(g.Seeds); rest > 0 {
		at := g.error(1, g.Cells, g.Seeds)
		images := int(math.Ceil((at*at - g.Seed*g.Seed/float64(g.Seeds)) / rest))
		g.Needs = &images
	}
	fixed := (g.Image*g.Image + g.Cell*g.Cell/float64(g.Cells)) / float64(g.Images)
	if rest := goal - fixed; rest > 0 {
		seeds := max(1, int(math.Ceil((g.SeedImage*g.SeedImage/float64(g.Images)+g.Seed*g.Seed)/rest)))
		g.Needed = &seeds
	}
}

// Shown is the plan as a table.
func (s *Sees) Shown() *table.Table {
	t := table.New("figure", "model", "pilot", "its deviation by image", "by cell", "by seed", "tier", "sees", "the paper's", "seen", "images for it", "seeds for it")
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
		t.Add(g.Figure, g.Row, fmt.Sprintf("%+.3f (%d×%d×%d)", g.Found, g.PilotImages, g.PilotCells, g.PilotSeeds), rounded(g.Image, 3), rounded(g.Cell, 3), rounded(g.Seed, 4),
			fmt.Sprintf("%d×%d×%d", g.Images, g.Cells, g.Seeds), rounded(g.Least, 3), paper, says, count(g.Needs, g.Paper), count(g.Needed, g.Paper))
	}
	t.Notes = []string{
		"Pilot and tier: images × cells × seeds. Deviations are of paired differences of certified radii; that by seed is pooled over the rows that the pilot has twice, 0 where it has none.",
		"Sees: the smallest difference whose 95 % interval excludes 0 in 80 % of runs.",
		fmt.Sprintf("Radii end at %.3f at the tier and at %.3f in the pilot: differences in radii above that are cut off, and images that are sure spread more with more samples.", s.Cap, s.Pilot),
	}
	return t
}
