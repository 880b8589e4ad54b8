package results

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
)

// calibrated writes results by hand: two methods on 40 images, all right and certified at the radius 0.1. Half of the images have the
// lower bound 0.5 under AT, the others 0.9; under ACT all have 0.1 more. At the radius 1, too few are certified.
func calibrated(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	m := &store.Manifest{Format: 1, Tier: recipe.Tier{Name: "hand", Title: "by hand"}}
	made := store.Table{Table: recipe.Table{Name: "x", Title: "X"}}
	measures := `{"calibration": {"radii": [0.1, 1], "within": 0.03}, "ace": {"epsilon": 0.1, "bins": 1}}`
	if err := json.Unmarshal([]byte(measures), &made.Measure); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "results"), 0o777); err != nil {
		t.Fatal(err)
	}
	for k, name := range []string{"AT", "ACT"} {
		m.Models = append(m.Models, recipe.Model{Name: name, Data: "few", Test: "few/test"})
		made.Lines = append(made.Lines, recipe.Line{Title: name, Group: name, Models: []string{name}})
		slug := filepath.Join(folder, "results", m.Models[k].Slug())
		var certified, attacked strings.Builder
		certified.WriteString("image,correct,lower 0.1,upper 0.1,lower 1,upper 1\n")
		attacked.WriteString("image,correct,clean,\"(1,y)\"\n")
		up := float64(k) / 10
		for i := range 40 {
			far := ","
			if i < leastForInterval-1 {
				far = "0.2,1"
			}
			fmt.Fprintf(&certified, "%d,1,%g,1,%s\n", 3*i, .5+.4*float64(i%2)+up, far)
			fmt.Fprintf(&attacked, "%d,1,%g,%g\n", 3*i, .9-up, .9-up-.3*float64(i%2))
		}
		cbs := (math.Pow(.5-up, 2) + math.Pow(.1-up, 2)) / 2
		for what, text := range map[string]string{
			".calibration.csv": certified.String(), ".attacks.csv": attacked.String(),
			".calibration.json": fmt.Sprintf(`{"images": 40, "at": [{"radius": 0.1, "certified": 40, "certified_accuracy": 1, "cce": %g, "acce": 0, "cbs": %g},
				{"radius": 1, "certified": 19, "certified_accuracy": 0.475, "cce": 0.8, "acce": 0, "cbs": 0.64}]}`, .3-up, cbs),
			".attacks.json": fmt.Sprintf(`{"epsilon": 0.1, "images": 40, "accuracy": 1, "bins": 1, "adaece": %g, "attacks": [{"attack": "(1,y)", "adaece": %g}]}`, .1+up, .25+up),
		} {
			testkit.Write(t, []byte(text), slug+what)
		}
	}
	m.Tables = []store.Table{made}
	if err := m.Write(folder); err != nil {
		t.Fatal(err)
	}
	return folder
}

// Where all predictions are right, CCE is the mean of 1 − l and CBS the mean of its square, so that their
// intervals are intervals of means.
func TestSpreadByHand(t *testing.T) {
	o := resample.Options{Resamples: 500, Seed: 3}
	f, err := Fill(t.Context(), calibrated(t), "", o)
	if err != nil {
		t.Fatal(err)
	}
	interval := func(even, odd float64) resample.Interval {
		rows := make([]float64, 40)
		for i := range rows {
			rows[i] = []float64{even, odd}[i%2]
		}
		found, err := (&study.Sample{Values: [][]float64{rows}}).Interval(t.Context(), o)
		in := found.Interval
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	near := func(a, b resample.Interval) bool {
		return math.Abs(a.Low-b.Low) < 1e-9 && math.Abs(a.High-b.High) < 1e-9
	}
	at, act, far := f.Selected[0], f.Selected[1], f.Selected[2]
	if want := interval(.5, .1); !near(at.CCESpread.Interval, want) || !(want.High-want.Low > .05) {
		t.Errorf("CCE of AT in %v, want %v", at.CCESpread.Interval, want)
	}
	if want := interval(.16, 0); !near(act.CBSSpread.Interval, want) {
		t.Errorf("CBS of ACT in %v, want %v", act.CBSSpread.Interval, want)
	}
	// 1 − l differs by 0.1 in every image, its square by 0.09 or 0.01.
	if d := act.CCESpread.Difference; math.Abs(d.Difference+.1) > 1e-9 || !near(d.Interval, resample.Interval{Low: -.1, High: -.1}) {
		t.Errorf("CCE of ACT − AT: %+v", d)
	}
	squares := interval(.09, .01)
	if d := act.CBSSpread.Difference; math.Abs(d.Difference+.05) > 1e-9 || !near(d.Interval, resample.Interval{Low: -squares.High, High: -squares.Low}) {
		t.Errorf("CBS of ACT − AT: %+v, want %v", d, squares)
	}
	if at.CCESpread.Difference != nil || far.Radius != 1 || far.Models == 0 || far.CCESpread != nil {
		t.Errorf("AT has a difference from itself, or few images an interval: %+v, %+v", at.CCESpread, far)
	}
	// In one bin the error is 1 − the mean confidence; the attack adds 0.3 to every other image.
	raised := interval(0, .3)
	if d := f.Lines[1].Raised["(1,y)"]; math.Abs(d.Difference-.15) > 1e-9 || !near(d.Interval, raised) {
		t.Errorf("raised: %+v, want %v", d, raised)
	}
	text := ""
	for _, table := range f.Tables() {
		text += table.CSV()
	}
	for _, line := range []string{"0.1,AT,CCE,0.3,0.2", "0.1,AT,CBS,0.13,", ",–,–,–\n0.1,ACT,CCE,", "1,ACT,CBS,0.64,–,–,–,–,–,–\n", "\nAT,\"(1,y)\",0.15,0.1"} {
		if !strings.Contains(text, line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}

// Damaged confidences are said, not skipped; without the file there is no interval.
func TestDamagedConfidences(t *testing.T) {
	for text, want := range map[string]string{
		"image,label,lower 0.1,upper 0.1\n":          "first line",
		"image,correct,lower 0.1\n0,2,0.5\n":         "0 or 1",
		"image,correct,lower 0.1\n3,1,0.5\n3,1,.5\n": "ascending",
		"image,correct,lower 0.1\n3,1,NaN\n":         "from 0 to 1",
		"image,correct,lower 0.1\n3,1,1.5\n":         "from 0 to 1",
		"image,correct,lower 0.1\n3,1\n":             "wrong number of fields",
	} {
		folder := calibrated(t)
		testkit.Write(t, []byte(text), folder, "results", "AT.calibration.csv")
		if _, err := Fill(t.Context(), folder, "", resample.Options{Resamples: 10}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "AT.calibration.csv") {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
	folder := calibrated(t)
	for _, name := range []string{"AT.calibration.csv", "ACT.attacks.csv"} {
		if err := os.Remove(filepath.Join(folder, "results", name)); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Fill(t.Context(), folder, "", resample.Options{Resamples: 10})
	if err != nil || f.Selected[0].CCESpread != nil || f.Selected[1].CCESpread == nil || f.Selected[1].CCESpread.Difference != nil || f.Lines[1].Raised != nil || f.Lines[0].Raised == nil {
		t.Errorf("%v: %+v", err, f)
	}
}

// The attacks of a network that was tried: the interval of percentiles, .0815 to .1544, excluded the .1584 that it belonged to.
func TestRaisedErrorsLieInTheirIntervals(t *testing.T) {
	f, err := Fill(t.Context(), "../../../notebooks/results/experiments/D", "D/table1", resample.Options{Resamples: 2000})
	if err != nil {
		t.Fatal(err)
	}
	if said := strings.Join(f.Notes, "\n"); !strings.Contains(said, "AT (L2): trained against attacks in the Euclidean norm, ε = 0.25.") || strings.Contains(said, "ST: trained") {
		t.Errorf("%s", said)
	}
	raised := 0
	for _, l := range f.Lines {
		for name, d := range l.Raised {
			raised++
			if d.Interval.Low >= d.Difference || d.Interval.High <= d.Difference {
				t.Errorf("%s, %s: %v in %v", l.Title, name, d.Difference, d.Interval)
			}
		}
	}
	if raised < 8 {
		t.Errorf("%d differences", raised)
	}
}

// Two starts that differ by much more than images do: the interval over images and starts is Student's with one
// degree of freedom, that over images alone is not. Starts that go back to one network are paired, others stand
// apart.
func TestStartsAreALevel(t *testing.T) {
	rows := func(radius float64) (r []float64) {
		for i := range 100 {
			r = append(r, radius+.01*float64(i%2))
		}
		return r
	}
	b := resample.Options{Resamples: 1000}
	near := func(i resample.Interval, value, half float64) bool {
		return math.Abs(i.Low-value+half) < .01 && math.Abs(i.High-value-half) < .01
	}
	const one, two = 12.7062, 4.3027 // Student's quantiles
	if i, err := (&study.Sample{Values: [][]float64{rows(.2), rows(.6)}}).Interval(t.Context(), b); err != nil || !near(i.Interval,
		.405, one*.2) {
		t.Errorf("%v, %v; want .405 ± %v", i, err, one*.2)
	}
	if i, err := (&study.Sample{Values: [][]float64{rows(.2)}}).Interval(t.Context(), b); err != nil || i.Interval.Low < .2 || i.Interval.High > .21 {
		t.Errorf("one start: %v, %v", i, err)
	}
	value := func(root string, at ...float64) *study.Sample {
		s := &study.Sample{}
		for k, radius := range at {
			s.Values = append(s.Values, rows(radius))
			s.Networks = append(s.Networks, study.Start{Seed: uint64(k), Root: fmt.Sprint(root, k)})
		}
		for i := range s.Values[0] {
			s.Images = append(s.Images, 3*i)
		}
		return s
	}
	minus := func(a, b *study.Sample) *compare.Difference {
		t.Helper()
		d, err := a.Minus(t.Context(), b, resample.Options{Resamples: 1000})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	if d := minus(value("a", .2, .6), value("a", .1, .5)); !near(d.Interval, .1, 0) || d.Starts != 2 ||
		d.Given == nil || !near(d.Given.Interval, .1, 0) {
		t.Errorf("paired by start: %+v; want .1", d)
	}
	if d := minus(value("a", .2, .6), value("a", .1, .1)); !near(d.Interval, .3, one*.2) {
		t.Errorf("differences of .1 and .5: %+v; want .3 ± %v", d, one*.2)
	}
	// Variances .04 and .04 of the two means, with one degree of freedom each: two together, by Satterthwaite.
	if d := minus(value("a", .2, .6), value("b", .1, .5)); !near(d.Interval, .1, two*math.Sqrt(.08)) ||
		!near(d.Given.Interval, .1, 0) {
		t.Errorf("apart: %+v; want .1 ± %v", d, two*math.Sqrt(.08))
	}
	// All of three and two starts, where they stand apart; of one, its seed alone.
	if d := minus(value("a", .2, .6, .7), value("b", .1, .5)); math.Abs(d.Difference-.2) > 1e-9 || d.Starts != 2 {
		t.Errorf("three starts less two: %+v; want .2", d)
	}
	if d := minus(value("a", .2, .6, .7), value("b", .1)); math.Abs(d.Difference-.1) > 1e-9 || d.Starts != 1 ||
		d.Given != nil || !near(d.Interval, .1, 0) {
		t.Errorf("three starts less one: %+v; want .1 of the first", d)
	}
	if d := minus(value("a", .2, .6, .7), value("b", .1, .5, .9)); d.Starts != 3 || d.Given != nil {
		t.Errorf("three starts: %+v", d)
	}
}

// The errors of starts that differ by much more than images do: Student's interval of two and three, that of one
// start is over images. A line of fewer starts than another keeps its own.
func TestStartsAreALevelOfErrors(t *testing.T) {
	of := func(confidence float64) *measure.PerImage {
		p := &measure.PerImage{}
		for i := range 60 {
			p.Images, p.Correct = append(p.Images, i), append(p.Correct, true)
		}
		for i := range p.AddColumn("lower 0.1") {
			p.Values[0][i] = confidence + .01*float64(i%2)
		}
		for i := range p.AddColumn("upper 0.1") {
			p.Values[1][i] = 1
		}
		return p
	}
	f := &TableBuilder{ctx: t.Context(), bootstrap: resample.Options{Resamples: 400}, Place: store.Place{Table: &store.Table{}}}
	for starts, half := range map[int]float64{1: 0, 2: 12.7062 * .2, 3: 4.3027 * math.Sqrt(.07/3)} {
		models, fewer := []*measure.PerImage{of(.2), of(.6), of(.1)}[:starts], []*measure.PerImage{of(.2), of(.6)}[:max(1, starts-1)]
		found, err := f.intervals(append(models, fewer...), [][2]int{{starts, 1}, {len(fewer), 1}}, func(drawn,
			at []int, values []float64) (err error) {
			if values[0], err = errorOver(startsOf(models, at), .1, drawn, study.CCE); err == nil {
				values[1], err = errorOver(startsOf(fewer, at), .1, drawn, study.CCE)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		other := 0.
		if starts == 3 {
			other = 12.7062 * .2
		}
		for k, half := range []float64{half, other} {
			if i := found[k].Interval; math.Abs((i.High-i.Low)/2-half) > .01 {
				t.Errorf("%d starts, line %d: %v; want ± %v", starts, k, i, half)
			}
		}
	}
}

// Intervals of certified errors hold the population's nearly as often as they say: of 150 images whose confidences are certified tightly, 89 to 91 % of
// the intervals of 95 % do, for CCE; as intervals widen, all do.
func TestCoverageOfCertifiedErrors(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of coverage")
	}
	random := rand.New(rand.NewPCG(5, 6))
	draw := func(n int, width, gap float64) *measure.PerImage {
		p := &measure.PerImage{}
		for i := range n {
			p.Images = append(p.Images, i)
		}
		lower, upper := p.AddColumn("lower 0.1"), p.AddColumn("upper 0.1")
		for i := range n {
			z := 1 - .6*math.Pow(random.Float64(), 2)
			p.Correct = append(p.Correct, random.Float64() < z-gap)
			lower[i], upper[i] = z-width*random.Float64(), min(1, z+width*random.Float64())
		}
		return p
	}
	all := func(n int) []int {
		at := make([]int, n)
		for i := range at {
			at[i] = i
		}
		return at
	}
	f := &TableBuilder{ctx: t.Context(), bootstrap: resample.Options{Resamples: 150}, Place: store.Place{Table: &store.Table{}}}
	const trials, images = 100, 150
	for _, c := range []struct{ width, gap float64 }{{.02, 0}, {.02, .15}, {.2, .05}} {
		population := []*measure.PerImage{draw(100_000, c.width, c.gap)}
		truth, held := [2]float64{}, [2]int{}
		for e, find := range []func(correct []bool, lower, upper []float64) (float64, error){study.CCE, study.CBS} {
			var err error
			if truth[e], err = errorOver(population, .1, all(100_000), find); err != nil {
				t.Fatal(err)
			}
		}
		for range trials {
			of := []*measure.PerImage{draw(images, c.width, c.gap)}
			found, err := f.intervals(of, [][2]int{{1, 1}, {1, 1}}, func(drawn, _ []int, values []float64) error {
				var first, second error
				values[0], first = errorOver(of, .1, drawn, study.CCE)
				values[1], second = errorOver(of, .1, drawn, study.CBS)
				return errors.Join(first, second)
			})
			if err != nil {
				t.Fatal(err)
			}
			for e := range truth {
				if found[e].Interval.Contains(truth[e]) {
					held[e]++
				}
			}
		}
		for e, name := range []string{"CCE", "CBS"} {
			share := float64(held[e]) / trials
			t.Logf("%s %.3f, width %v, gap %v: %.3f", name, truth[e], c.width, c.gap, share)
			if share < .84 { // three standard errors below
				t.Errorf("%s, width %v, gap %v: %.3f of the intervals hold %v", name, c.width, c.gap, share, truth[e])
			}
		}
	}
}

// Holm 1979 by hand: .005, .01, .03, .04 times 4, 3, 2, 1, then running maxima. What is not there does not count.
func TestTogether(t *testing.T) {
	d := []*compare.Difference{{P: .01}, nil, {P: .04}, {P: .03}, {P: .005}}
	corrected, notes := holmCorrection(.95, d)
	for i, want := range map[int]float64{0: .03, 2: .06, 3: .06, 4: .02} {
		if got := corrected[d[i]]; math.Abs(got-want) > 1e-12 || *d[i].Holm != got {
			t.Errorf("p of %v: %v, want %v", d[i].P, got, want)
		}
	}
	if len(notes) != 1 || !strings.Contains(notes[0], "the 4 differences") || !strings.Contains(notes[0], "at most 0.05 may") || !strings.Contains(notes[0], "smallest is 0.0125") {
		t.Errorf("%q", notes)
	}
	if one, notes := holmCorrection(.95, d[:2]); len(notes) != 0 || one[d[0]] != .01 {
		t.Errorf("one difference: %v, %q", one, notes)
	}
	// The table of differences shows them: B − A of each metric, with p of two images that agree in sign at ½ (two of four resamples take one image
	// twice, and none has the other sign).
	f, err := Fill(t.Context(), handmade(t), "", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(f); err != nil || !strings.Contains(string(text), `"p_holm":`) {
		t.Errorf("no corrected p-value in the JSON: %v", err)
	}
	table := f.Tables()[1]
	if last := len(table.Columns) - 1; table.Columns[last] != "p" || len(table.Rows) == 0 || !strings.Contains(strings.Join(table.Notes, " "), "corrected by Holm") {
		t.Errorf("%s", table)
	}
}
