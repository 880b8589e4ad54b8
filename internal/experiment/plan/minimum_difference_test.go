package plan

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// The parts of a variance are found again from differences that are drawn with them: of images .1, of images from cell to cell .2, from seed to
// seed .05.
func TestPartsOfTheVariance(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	const seeds, cells, images = 4, 6, 4000
	of := make([][][]float64, seeds)
	image, cell := make([]float64, images), make([][]float64, cells)
	for i := range image {
		image[i] = 0.1 * random.NormFloat64()
	}
	for c := range cell {
		cell[c] = make([]float64, images)
		for i := range images {
			cell[c][i] = 0.2 * random.NormFloat64()
		}
	}
	for s := range of {
		own := make([]float64, images)
		for i := range own {
			own[i] = 0.05 * random.NormFloat64()
		}
		of[s] = make([][]float64, cells)
		for c := range of[s] {
			of[s][c] = make([]float64, images)
			for i := range images {
				of[s][c][i] = 0.03 + float64(c) + image[i] + cell[c][i] + own[i] // the mean of a cell is taken off
			}
		}
	}
	var g Gap
	if _, several := g.take(of); !several {
		t.Error("four seeds are not several")
	}
	for name, v := range map[string][2]float64{"image": {g.Image, 0.1}, "cell": {g.Cell, 0.2}, "seed and image": {g.SeedImage, 0.05}, "difference": {g.Found, 2.53}} {
		if math.Abs(v[0]-v[1]) > 0.01 {
			t.Errorf("%s: %.4f, want %.4f", name, v[0], v[1])
		}
	}
}

// One start by hand: 2.8016 √((.12² + .06²/4 + .02²)/500) = .01570. Of starts alone by hand: with one degree of
// freedom a difference δ is seen where |N(0,1)| of the estimated deviation is below δ/12.706, in 80 % at δ = 12.706
// · 1.28155; with two where χ²/2 is below (δ/4.303)², of probability 1 − exp(−(δ/4.303)²). The noise of the
// difference itself adds little.
func TestLeastGap(t *testing.T) {
	paper := 0.02
	g := Gap{Image: 0.12, Cell: 0.06, SeedImage: 0.02, Seed: 0.001, Images: 500, Cells: 4, Seeds: 2, Paper: &paper}
	if v := g.minimumDifference(500, 4, 1); math.Abs(v-0.01570) > 1e-5 {
		t.Errorf("least gap of one start %.6f", v)
	}
	for freedom, want := range map[float64]float64{1: 12.7062 * 1.28155, 2: 4.30265 * math.Sqrt(math.Log(5))} {
		if v := detectable(0, []float64{1}, freedom); v < want*.98 || v > want*1.05 {
			t.Errorf("%v degrees of freedom: %v, want about %v", freedom, v, want)
		}
	}
	if v := detectable(1, []float64{1e-12}, 1); math.Abs(v-2.8016) > 1e-3 {
		t.Errorf("without a spread of starts %v", v)
	}
	g.need()
	// With that many images or starts the gap is seen, with one less it is not.
	if g.Needs == nil || g.minimumDifference(*g.Needs, 4, 2) > paper || g.minimumDifference(*g.Needs-1, 4, 2) <= paper {
		t.Errorf("images: %v", g.Needs)
	}
	if g.Needed == nil || g.minimumDifference(500, 4, *g.Needed) > paper || *g.Needed > 2 && g.minimumDifference(500, 4, *g.Needed-1) <= paper {
		t.Errorf("seeds: %v", g.Needed)
	}
	small := 0.003 // below what seeds alone leave
	g = Gap{Image: 0.12, Seed: 0.004, Images: 500, Cells: 1, Seeds: 2, Paper: &small}
	if g.need(); g.Needs != nil || g.Needed != nil {
		t.Errorf("no number of images or of seeds alone is enough: %v, %v", g.Needs, g.Needed)
	}
}

// A difference as large as a plan says is seen by four fifths of runs: the interval of two methods of so many
// starts leaves out 0.
func TestPlanHoldsInRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	const runs, images = 300, 40
	random := rand.New(rand.NewPCG(8, 9))
	for _, starts := range []int{2, 3, 4} {
		g := Gap{Image: 0.1, SeedImage: 0.05, Seed: 0.02}
		least, seen := g.minimumDifference(images, 1, starts), 0
		for run := range runs {
			all := [2][][]float64{make([][]float64, starts), make([][]float64, starts)}
			own := make([]float64, images)
			for i := range own {
				own[i] = g.Image * random.NormFloat64()
			}
			for side := range all { // half of each variance is of either method
				for m := range all[side] {
					mean := g.Seed / math.Sqrt2 * random.NormFloat64()
					for i := range own {
						all[side][m] = append(all[side][m], mean+g.SeedImage/math.Sqrt2*random.NormFloat64())
						if side == 0 {
							all[side][m][i] += least + own[i]
						}
					}
				}
			}
			found, err := (&study.Sample{Values: all[0]}).Apart(t.Context(), &study.Sample{Values: all[1]},
				resample.Options{Resamples: 200, Seed: uint64(run)})
			if err != nil {
				t.Fatal(err)
			}
			if found.Interval.Low > 0 {
				seen++
			}
		}
		// 80 % of 300 have a standard error of 2.3 %
		if share := float64(seen) / runs; share < .71 || share > .91 {
			t.Errorf("%d starts: %.3f is seen in %.2f of runs", starts, least, share)
		}
	}
}

// The committed pilot shows which of the paper's gaps tier evidence sees: that of FourierMix+HCR above Gaussian+JSD, .021, on CIFAR-10-C among them.
func TestSeeByTheCommittedPilot(t *testing.T) {
	o := Options{Table: "A/table2", Tier: "evidence", Rows: []string{"A/c10/g", "A/c10/g-jsd", "A/c10/fm-hcr"}}
	const pilot = "../../../notebooks/results/experiments/A"
	plan, err := Power(t.Context(), withDrawn(o), pilot, "Gaussian+JSD")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, g := range plan.Gaps {
		if g.Row == "FourierMix+HCR" && g.Figure == "mACR C" {
			found = true
			if g.PilotImages != 100 || g.PilotCells != 45 || g.PilotSeeds != 2 || g.Cells != 3 || g.Seeds != 2 || g.Paper == nil || math.Abs(*g.Paper-0.021) > 1e-9 || !(g.Least > 0) {
				t.Errorf("%+v", g)
			}
		}
	}
	if !found || plan.Against != "Gaussian+JSD" || !(plan.Cap > plan.Pilot) || !strings.Contains(plan.Shown().String(), "FourierMix+HCR") {
		t.Errorf("%+v", plan)
	}
	// Rows that name their own starts are planned with those.
	starts := Options{Table: "A/scratch-starts", Tier: "scratch"}
	plan, err = Power(t.Context(), withDrawn(starts), "../../../notebooks/results/experiments/A-scratch", "Gaussian+JSD")
	if err != nil || len(plan.Gaps) == 0 {
		t.Fatalf("%d gaps, %v", len(plan.Gaps), err)
	}
	for _, g := range plan.Gaps {
		if g.Seeds != 4 || g.Cells > 5 || g.Images != 300 {
			t.Errorf("four starts: %+v", g)
		}
	}
	if _, err := Power(t.Context(), withDrawn(o), pilot, "Gaussian+JSX"); err == nil || !strings.Contains(err.Error(), `no row "Gaussian+JSX"`) {
		t.Errorf("an unknown row: %v", err)
	}
	if _, err := Power(t.Context(), withDrawn(o), "../../../notebooks/results/experiments/D", ""); err == nil || !strings.Contains(err.Error(), "results of 0 rows") {
		t.Errorf("a pilot of other rows: %v", err)
	}
}

// withDrawn takes drawn images in place of those that have to be fetched: only their number matters.
func withDrawn(o Options) Options {
	o.Places = map[string]string{"cifar10": "synthetic"}
	return o
}
