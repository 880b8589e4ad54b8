package experiment

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
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

// By hand: (.12² + .06²/4 + .02²/2)/500 + .004²/2 = 3.900·10⁻⁵, whose root times 2.8016 is .01750.
func TestLeastGap(t *testing.T) {
	paper := 0.02
	g := Gap{Image: 0.12, Cell: 0.06, SeedImage: 0.02, Seed: 0.004, Images: 500, Cells: 4, Seeds: 2, Paper: &paper}
	if v := seen * g.error(500, 4, 2); math.Abs(v-0.01750) > 1e-5 {
		t.Errorf("least gap %.6f", v)
	}
	g.need()
	// With that many images the gap is seen, with one less it is not.
	if g.Needs == nil || seen*g.error(*g.Needs, 4, 2) > paper || seen*g.error(*g.Needs-1, 4, 2) <= paper {
		t.Errorf("images: %v", g.Needs)
	}
	if g.Needed == nil || seen*g.error(500, 4, *g.Needed) > paper || *g.Needed > 1 && seen*g.error(500, 4, *g.Needed-1) <= paper {
		t.Errorf("seeds: %v", g.Needed)
	}
	small := 0.003 // below what seeds alone leave
	g = Gap{Image: 0.12, Seed: 0.004, Images: 500, Cells: 1, Seeds: 2, Paper: &small}
	if g.need(); g.Needs != nil || g.Needed != nil {
		t.Errorf("no number of images or of seeds alone is enough: %v, %v", g.Needs, g.Needed)
	}
}

// The committed pilot shows which of the paper's gaps tier evidence sees: that of FourierMix+HCR above Gaussian+JSD, .021, on CIFAR-10-C among them.
func TestSeeByTheCommittedPilot(t *testing.T) {
	o := Options{Table: "A/table2", Tier: "evidence", Rows: []string{"A/c10/g", "A/c10/g-jsd", "A/c10/fm-hcr"}}
	const pilot = "../notebooks/results/experiments/A"
	plan, err := See(t.Context(), withDrawn(o), pilot, "Gaussian+JSD")
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
	if _, err := See(t.Context(), withDrawn(o), pilot, "Gaussian+JSX"); err == nil || !strings.Contains(err.Error(), `no row "Gaussian+JSX"`) {
		t.Errorf("an unknown row: %v", err)
	}
	if _, err := See(t.Context(), withDrawn(o), "../notebooks/results/experiments/D", ""); err == nil || !strings.Contains(err.Error(), "results of 0 rows") {
		t.Errorf("a pilot of other rows: %v", err)
	}
}

// withDrawn takes drawn images in place of those that have to be fetched: only their number matters.
func withDrawn(o Options) Options {
	o.Places = map[string]string{"cifar10": "synthetic"}
	return o
}
