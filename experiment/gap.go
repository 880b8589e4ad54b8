package experiment

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

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

// published takes the difference that the paper has.
func (g *Gap) published(t Table, first string) {
	if a, b := t.Published[g.Row][g.Figure], t.Published[first][g.Figure]; a != 0 && b != 0 {
		gap := a - b
		g.Paper = &gap
	}
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
				within += stat.Variance(column, nil) / float64(images*seeds)
			}
		}
	}
	g.Found = mean(overSeeds)
	single, joint := 0.0, stat.Variance(overSeeds, nil)
	means := make([]float64, seeds)
	for s := range bySeed {
		single += stat.Variance(bySeed[s], nil) / float64(seeds)
		means[s] = mean(bySeed[s])
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
