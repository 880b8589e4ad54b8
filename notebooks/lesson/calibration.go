// Package lesson holds the longer steps of the notebooks in the folder above: what a cell would
// need more than a screen for. Like a cell, its functions end the program with a message where
// something fails. The steps that need trained networks and experiments are in package papers.
package lesson

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

// Radius is the name of an axis of ℓ₂ radii.
const Radius = "radius R (ℓ₂; full range of a pixel value = 1)"

// Scored is a certified data set: its name in figures, its ledger with scores, and the file with what ADMM found of it.
type Scored struct{ Name, Ledger, ADMM, DECE string }

// Certified are the confidences with their intervals, for the images that are certified at each radius.
func (s Scored) Certified(method confidence.Method, radii ...float64) []confidences.Certified {
	return nb.Must(confidences.Certify(nb.Context(), s.Ledger, radii, confidences.Options{Method: method}))
}

// About is the name of the set with the settings of its certificates.
func (s Scored) About() string {
	h := nb.Must(rs.Open(s.Ledger)).Header
	return s.Name + ", " + h.Settings()
}

// Bins are count bins of equal width, closed on the left.
func Bins(count int) *calib.Bins { return nb.Must(calib.Uniform(count, calib.LeftClosed)) }

// About is a table of what the sets were certified with.
func About(sets ...Scored) *nb.Tabular {
	t := nb.Columns("set", "data", "images", "model", "σ", "rule", "noise samples n, at most",
		"engine of the stored scores")
	for _, s := range sets {
		h := nb.Must(rs.Open(s.Ledger)).Header
		t.Add(s.Name, h.Data.Name, h.Data.Images, h.Model.Name, fmt.Sprint(h.Sigma), h.Rule.Name,
			h.MaxSamples(), h.Model.Identity.Engine)
	}
	return t
}

// Width is the mean width of the certified intervals at each radius, up to the first at which no image is certified.
func Width(s Scored, method confidence.Method, radii ...float64) nb.Line {
	line := nb.Line{Name: strings.Replace(string(method), "cdf", "CDF", 1)}
	for _, c := range s.Certified(method, radii...) {
		if len(c.Lower) == 0 {
			break
		}
		width := 0.0
		for i := range c.Lower {
			width += (c.Upper[i] - c.Lower[i]) / float64(len(c.Lower))
		}
		line.X, line.Y = append(line.X, c.Radius), append(line.Y, width)
	}
	return line
}

// Pair is two samples with intervals [Lower[i], Upper[i]] for their confidences.
type Pair struct{ Lower, Upper, Clean []float64 }

// Worst compares, for given correctness, the clean confidences, the Brier confidences and the worst
// case of the ECE in the bins.
func (p Pair) Worst(correct []bool, bins *calib.Bins) (t *nb.Tabular, clean, brier, worst float64) {
	t = nb.Columns("confidences", "z₁", "its bin", "z₂", "its bin", "ECE")
	at := make([]float64, 2)
	calib.BrierConfidences(at, correct, p.Lower, p.Upper)
	clean, brier = nb.Must(calib.ECE(correct, p.Clean, bins)), nb.Must(calib.ECE(correct, at, bins))
	t.Add("clean", p.Clean[0], 1+bins.Index(p.Clean[0]), p.Clean[1], 1+bins.Index(p.Clean[1]), clean)
	t.Add("Brier", at[0], 1+bins.Index(at[0]), at[1], 1+bins.Index(at[1]), brier)
	w := nb.Must(calib.ExactCCE(correct, p.Lower, p.Upper, bins.Edges()))
	t.Add("worst", w.Confidence[0], 1+w.Bin[0], w.Confidence[1], 1+w.Bin[1], w.CCE)
	return t, clean, brier, w.CCE
}

// Chain is a table of the four possible truths of the pair with what always holds in it, which it checks:
// ECE of the Brier confidences ≤ CCE ≤ G ≤ √CBS.
func (p Pair) Chain(bins *calib.Bins) *nb.Tabular {
	t := nb.Columns("first and second right", "clean ECE", "ECE of Brier confidences", "largest ECE (CCE)",
		"mean gap G", "certified Brier score")
	yes := map[bool]string{true: "yes", false: "no"}
	for _, c := range [][]bool{{false, false}, {false, true}, {true, false}, {true, true}} {
		_, clean, brier, worst := p.Worst(c, bins)
		cbs, gap, err := calib.CertifiedBrier(c, p.Lower, p.Upper)
		nb.Check(err)
		nb.Assert(brier <= worst+1e-12 && worst <= gap+1e-12 && gap <= math.Sqrt(cbs)+1e-12,
			"the chain of inequalities is broken for %v: %g, %g, %g, %g", c, brier, worst, gap, cbs)
		t.Add(yes[c[0]]+", "+yes[c[1]], clean, brier, worst, gap, cbs)
	}
	return t
}

// Searches compares the exact certified calibration error at each radius of the stored runs with
// what three searches find: ADMM and dECE, the best of their runs, and the Brier confidences. It
// checks that no search finds more than the exact value, and that this is at most the bound G.
func Searches(s Scored) (*nb.Tabular, []nb.Line) {
	var admm []struct {
		Radius float64 `json:"radius"`
		N      int     `json:"n"`
		mip.Outcome
	}
	nb.Check(json.Unmarshal(nb.Must(os.ReadFile(s.ADMM)), &admm))
	var gradient []struct {
		Radius float64 `json:"radius"`
		N      int     `json:"n"`
		Best   float64 `json:"dece"`
		Exact  float64 `json:"exact"`
	}
	nb.Check(json.Unmarshal(nb.Must(os.ReadFile(s.DECE)), &gradient))
	nb.Assert(len(gradient) == len(admm), "%s has %d radii, %s %d", s.DECE, len(gradient), s.ADMM, len(admm))
	var radii []float64
	for _, a := range admm {
		radii = append(radii, a.Radius)
	}
	t := nb.Columns("R", "images", "clean ECE", "Brier", "dECE", "ADMM, best of 16", "exact", "exact − ADMM", "bound G")
	t.Title = s.Name
	lines := []nb.Line{{Name: "exact"}, {Name: "ADMM, best of 16"}, {Name: "dECE"}, {Name: "Brier"}, {Name: "clean"}}
	for k, c := range s.Certified(confidence.MethodCDF, radii...) {
		found := admm[k].ACCE
		exact := nb.Must(calib.ExactCCE(c.Correct, c.Lower, c.Upper, Bins(15).Edges())).CCE
		nb.Assert(len(c.Correct) == admm[k].N && math.Abs(exact-admm[k].Exact) < 1e-9,
			"the stored runs at %g are of other intervals", c.Radius)
		nb.Assert(c.Radius == gradient[k].Radius && len(c.Correct) == gradient[k].N &&
			math.Abs(exact-gradient[k].Exact) < 1e-9, "the stored runs of dECE at %g are of other intervals", c.Radius)
		clean := nb.Must(calib.ECE(c.Correct, c.Confidence, Bins(15)))
		brier := make([]float64, len(c.Correct))
		calib.BrierConfidences(brier, c.Correct, c.Lower, c.Upper)
		atBrier := nb.Must(calib.ECE(c.Correct, brier, Bins(15)))
		dece := gradient[k].Best
		_, gap, err := calib.CertifiedBrier(c.Correct, c.Lower, c.Upper)
		nb.Check(err)
		nb.Assert(max(clean, atBrier, dece, found) <= exact+1e-12 && exact <= gap+1e-12,
			"out of order at %g: %g, %g, %g, %g, %g, %g",
			c.Radius, clean, atBrier, dece, found, exact, gap)
		t.Add(fmt.Sprint(c.Radius), len(c.Correct), clean, atBrier, dece, found, exact,
			math.Round(1e4*(exact-found))/1e4, gap)
		for i, y := range []float64{exact, found, dece, atBrier, clean} {
			lines[i].X, lines[i].Y = append(lines[i].X, c.Radius), append(lines[i].Y, y)
		}
	}
	t.Notes = []string{
		"15 bins, CDF certificate, α = 0.001 for the radius of an image and again for its interval; those of all " +
			"images do not hold at once with any stated probability.",
		"Stored runs: ADMM at most 3,000 steps; dECE the best of 12 runs of 1,000 steps.",
	}
	return t, lines
}

// ADMM runs two of the sixteen settings on a set at a radius and shows them step by step: the
// calibration error of the iterate and of its rounding to a valid choice, the Lagrangian, how far
// the constraints are from being kept, and the assignment itself.
func ADMM(s Scored, radius float64, steps int) {
	c := s.Certified(confidence.MethodCDF, radius)[0]
	program := nb.Must(mip.New(c.Correct, c.Lower, c.Upper, Bins(15)))
	exact := nb.Must(calib.ExactCCE(c.Correct, c.Lower, c.Upper, Bins(15).Edges())).CCE
	grid := mip.Grid(c.Confidence)
	settings := []mip.ADMM{grid[0], grid[10]} // clean start and small steps; Brier start and larger steps on a
	for i := range settings {
		settings[i].Steps, settings[i].Record = steps, true
	}
	for _, run := range nb.Must(program.Search(nb.Context(), c.Confidence, settings, nil)) {
		title := fmt.Sprintf("%s, R = %g\nADMM from %s confidences, steps of %g for a and %g for z", s.About(), radius,
			strings.Replace(string(run.Start), "brier", "Brier", 1), run.StepA, run.StepZ)
		errors, lagrangian, residuals := traces(run.Trace, exact)
		nb.Show(
			nb.Lines(nb.Axes{Title: "The relaxed error passes the optimum, the projected one does not\n" + title,
				X: "step", Y: "calibration error", LogY: true,
				Caption: "calibration error along a run of ADMM, " + title}, errors...),
			nb.Lines(nb.Axes{Title: "The Lagrangian swings\n" + title, X: "step", Y: "augmented Lagrangian",
				Caption: "Lagrangian along a run of ADMM, " + title}, lagrangian),
			nb.Lines(nb.Axes{Title: "How far each constraint is from being kept\n" + title, X: "step",
				Y: "residual, ℓ₂ norm", LogY: true,
				Caption: "residuals along a run of ADMM, " + title}, residuals...),
			nb.Assignments("Assignment a of ten samples to 15 bins, from 0 (black) to 1 (white); "+title, 15,
				run.Snapshots),
			fmt.Sprintf("best %.4f at step %s of %s; the optimum is %.4f", run.Best, printable.Count(run.BestStep),
				printable.Count(run.Done), exact))
		nb.Assert(run.Best > 0 && run.Best <= exact+1e-12, "ADMM found %g, more than the optimum %g", run.Best, exact)
	}
}

// traces are the lines along a run, with as many points as a figure can show.
func traces(trace []mip.Record, exact float64) (errors []nb.Line, lagrangian nb.Line, residuals []nb.Line) {
	errors = []nb.Line{{Name: "exact optimum"}, {Name: "projected"}, {Name: "relaxed"}}
	residuals = []nb.Line{{Name: "z off its box"}, {Name: "a off 0 and 1"}, {Name: "Σ a − 1"},
		{Name: "a on unreachable bins"}}
	for _, t := range trace {
		if t.Step > 20 && t.Step%4 > 0 {
			continue
		}
		x := float64(t.Step)
		for i, y := range []float64{exact, t.Projected, t.Relaxed} {
			errors[i].X, errors[i].Y = append(errors[i].X, x), append(errors[i].Y, y)
		}
		lagrangian.X, lagrangian.Y = append(lagrangian.X, x), append(lagrangian.Y, t.Lagrangian)
		for i, y := range []float64{t.Interval.L2, t.Binary.L2, t.Unique.L2, t.Valid.L2} {
			residuals[i].X, residuals[i].Y = append(residuals[i].X, x), append(residuals[i].Y, y)
		}
	}
	return errors, lagrangian, residuals
}
