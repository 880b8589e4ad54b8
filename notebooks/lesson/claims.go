package lesson

import (
	"encoding/json"
	"fmt"
	"math"
	"os"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/calib/recalibration"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/conformal"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
)

// slide is a slider over the radii with a table each; static follows it.
func slide(caption string, radii []float64, tables []*nb.Tabular, static ...any) *nb.Widget {
	slider := nb.Slider{Name: "radius R"}
	for _, r := range radii {
		slider.Values = append(slider.Values, fmt.Sprint(r))
	}
	return &nb.Widget{Caption: caption, Sliders: []nb.Slider{slider}, Static: static,
		Frame: func(at []int) []string { return []string{tables[at[0]].HTML()} }}
}

// Claims states the calibration error of a set with 15 bins as it holds for whom: where all
// intervals hold, for all images at once with probability 1 − delta, on average over the noise, and
// for the population with probability 1 − 2·delta. The second value is the joint error by radius.
func Claims(s Scored, delta float64, radii ...float64) (*nb.Widget, []float64) {
	h := nb.Must(rs.Open(s.Ledger)).Header
	lines := []nb.Line{{Name: "population"}, {Name: "all images at once"}, {Name: "on average"},
		{Name: "where all hold"}}
	var tables []*nb.Tabular
	var together []float64
	all := nb.Columns("R", "images", "where all hold", "on average", "all at once", "population")
	all.Title = s.Name
	for _, c := range s.Certified(confidence.MethodCDF, radii...) {
		n := len(c.Correct)
		fails := confidence.Spending("paper").Fails(h.Alpha)
		claim := nb.Must(calib.Claim(c.Correct, c.Lower, c.Upper, Bins(15), c.Of, fails, delta))
		t := nb.Columns("what is claimed", "calibration error at most", "holds", "assumes")
		t.Title = fmt.Sprintf("%s: %s of %s images certified at R = %g", s.Name, printable.Count(n),
			printable.Count(c.Of), c.Radius)
		t.Add("where every interval holds", claim.CCE,
			fmt.Sprintf("radius and interval of an image each with probability %g", 1-h.Alpha),
			"noise independent of the model")
		t.Add("on average over the noise", claim.Expected, "as a mean, of no single run", "the same")
		t.Add("all images at once", claim.Joint, fmt.Sprintf("with probability %g: at most %d of %s images fail",
			1-delta, claim.Failures, printable.Count(c.Of)), "and independent between images; one run")
		t.Add("the population", claim.Population, fmt.Sprintf("with probability %g", 1-2*delta),
			"and images drawn independently, bins fixed before")
		tables, together = append(tables, t), append(together, claim.Joint)
		all.Add(fmt.Sprint(c.Radius), n, claim.CCE, claim.Expected, claim.Joint, claim.Population)
		for i, y := range []float64{claim.Population, claim.Joint, claim.Expected, claim.CCE} {
			lines[i].X, lines[i].Y = append(lines[i].X, c.Radius), append(lines[i].Y, y)
		}
	}
	all.Notes = []string{fmt.Sprintf("15 bins, CDF certificate; α = %g for the radius of an image and again for its "+
		"interval; δ = %g. All are about the images certified at R.", h.Alpha, delta)}
	caption := fmt.Sprintf("%s: certified calibration error, one claim each; δ = %g", s.About(), delta)
	figure := nb.Lines(nb.Axes{Title: "The more a claim covers, the larger the error\n" + s.About(), X: Radius,
		Y: "calibration error at most", Points: true, Caption: caption}, lines...)
	return slide(caption, radii, tables, figure, all), together
}

// third is a number to the third decimal.
func third(v float64) float64 { return math.Round(1e3*v) / 1e3 }

// Recalibrated fits a map at each radius on the images at even places, by the certified Brier
// score, and judges it on the others, beside the confidences as they are and a constant one. The
// second value says at which radii the map is no better than the constant.
func Recalibrated(s Scored, method calib.Method, delta float64, radii ...float64) (*nb.Widget, []bool) {
	run := nb.Must(rs.Open(s.Ledger))
	place, odd := map[int]int{}, 0
	for i, row := range run.Rows {
		place[row.Image] = i
		odd += i % 2
	}
	k := nb.Must(calib.FailuresAtMost(odd, confidence.Spending("paper").Fails(run.Header.Alpha), delta))
	lines := []nb.Line{{Name: "as they are"}, {Name: "recalibrated"}, {Name: "constant"}}
	var tables []*nb.Tabular
	var none []bool
	all := nb.Columns("R", "map", "confidences", "resolution", "CCE", "all at once", "CBS")
	all.Title = s.Name
	for _, c := range s.Certified(confidence.MethodCDF, radii...) {
		var group []int
		for _, image := range c.Images {
			group = append(group, place[image])
		}
		fit, judged := (&calib.Table{Correct: c.Correct, Confidence: c.Confidence, Lower: c.Lower,
			Upper: c.Upper}).Halves(group)
		g := nb.Must(calib.FitRecalibration(method, calib.CertifiedBrierLoss, fit.Correct, fit.Confidence, fit.Lower,
			fit.Upper))
		rows, useless, err := recalibration.Judge(g, nb.Must(calib.Accuracy(fit.Correct)), judged, Bins(15), k)
		nb.Check(err)
		t := nb.Columns("confidences", "ECE", "resolution", "CCE", "all at once", "CBS")
		t.Title = fmt.Sprintf("%s at R = %g", s.Name, c.Radius)
		for i, row := range rows {
			t.Add(row.Confidences, third(*row.ECE), *row.Resolution, third(*row.CCE), *row.Joint, *row.CBS)
			all.Add(fmt.Sprint(c.Radius), g.String(), row.Confidences, *row.Resolution, *row.CCE, *row.Joint, *row.CBS)
			lines[i].X, lines[i].Y = append(lines[i].X, c.Radius), append(lines[i].Y, *row.CBS)
		}
		if useless {
			t.Notes = []string{"no better than a constant confidence"}
		}
		tables, none = append(tables, t), append(none, useless)
	}
	all.Notes = []string{fmt.Sprintf("Fitted on the images at even places, judged on the %d others that were "+
		"attempted. α = %g for the radius of an image and again for its interval; all at once: with probability %g, "+
		"at most %d of them fail. Of the images certified at R.", odd, run.Header.Alpha, 1-delta, k)}
	figure := nb.Lines(nb.Axes{Title: s.About(), X: Radius, Y: "certified Brier score", Points: true, Caption: s.Name +
		": certified Brier score of confidences as they are, recalibrated, and constant, images not fitted on"},
		lines...)
	return slide(s.Name+": recalibration by radius", radii, tables, figure, all), none
}

// Sets shows the prediction sets that "certspec calib sets" made of a network: a slider over the
// radius, and a table of all. clean and attacked are its files, the second of attacked images. The
// last value is the least coverage.
func Sets(name, clean, attacked string) (*nb.Widget, float64) {
	var files [2]conformal.Sets
	for i, file := range []string{clean, attacked} {
		nb.Check(json.Unmarshal(nb.Must(os.ReadFile(file)), &files[i]))
	}
	var radii []float64
	var tables []*nb.Tabular
	least := 1.0
	all := nb.Columns("R", "level β", "images needed", "clean: mean size", "coverage", "95 % range",
		"attacked: mean size", "coverage", "95 % interval")
	all.Title = name
	span := func(r [2]float64) string { return fmt.Sprintf("%.3f to %.3f", r[0], r[1]) }
	for i, row := range files[0].Radii {
		t := nb.Columns("images", "number", "mean size of a set", "coverage", "95 % range")
		t.Title = fmt.Sprintf("%s: sets that hold the label within R = %g with probability %g", name, row.Radius,
			1-files[0].Miscoverage)
		t.Add("clean", files[0].Test, row.Clean.Size, row.Clean.Coverage, span(row.Clean.Range))
		cells := []any{fmt.Sprint(row.Radius), row.Level, row.Needed, row.Clean.Size, row.Clean.Coverage,
			span(row.Clean.Range), "–", "–", "–"}
		least = min(least, row.Clean.Coverage)
		if a := files[1].Radii[i].Attacked; a != nil {
			t.Add("attacked", files[1].Test, a.Size, a.Coverage, span(a.Range))
			cells = append(cells[:6], a.Size, a.Coverage, span(a.Range))
			least = min(least, a.Coverage)
		}
		all.Add(cells...)
		radii, tables = append(radii, row.Radius), append(tables, t)
	}
	all.Notes = []string{fmt.Sprintf("%s, σ = %g, one noise sample an image. Probability %g over calibration "+
		"images, test image and the noise of both: marginal, not for one image. %s images calibrate and %s are "+
		"tested; under attack %s and %s. Clean: range of the coverage of exchangeable images (beta-binomial).",
		files[0].Data, files[0].Sigma, 1-files[0].Miscoverage, printable.Count(files[0].Calibration),
		printable.Count(files[0].Test), printable.Count(files[1].Calibration), printable.Count(files[1].Test))}
	return slide(name+": prediction sets by radius", radii, tables, all), least
}
