package lesson

import (
	"encoding/json"
	"os"
	"slices"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/internal/calib/mip"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs/confidences"
)

// CBS is the certified Brier score of each set over the radii at which at least 20 images are
// certified (Emde et al. 2025, figures 2 and 16). With common, it counts only the images that
// are certified at the largest radius.
func CBS(common bool, radii []float64, sets ...Scored) (lines []nb.Line) {
	for _, s := range sets {
		line := nb.Line{Name: s.Name}
		at := s.Certified(confidence.MethodCDF, radii...)
		last := at[len(at)-1].Images
		for _, c := range at {
			if common {
				c = only(c, last)
			}
			if len(c.Correct) < 20 {
				continue
			}
			cbs, _, err := calib.CertifiedBrier(c.Correct, c.Lower, c.Upper)
			nb.Check(err)
			line.X, line.Y = append(line.X, c.Radius), append(line.Y, cbs)
		}
		lines = append(lines, line)
	}
	return lines
}

// only leaves some images.
func only(c confidences.Certified, images []int) (kept confidences.Certified) {
	kept.Radius = c.Radius
	for i, image := range c.Images {
		if slices.Contains(images, image) {
			kept.Correct = append(kept.Correct, c.Correct[i])
			kept.Lower, kept.Upper = append(kept.Lower, c.Lower[i]), append(kept.Upper, c.Upper[i])
		}
	}
	return kept
}

// storedRuns is the output of "certspec calib worst --by admm --json" for a radius.
type storedRuns struct {
	Radius float64    `json:"radius"`
	Exact  float64    `json:"exact"`
	Runs   []*mip.Run `json:"runs"`
}

// Starts are the stored runs of ADMM of a set, and trials of dECE of some steps, by where they
// began (Emde et al. 2025, figures 12 to 14): a figure of all, and a table of the best of each
// search beside the exact error and what ADMM finds with the settings that the paper uses for all.
func Starts(s Scored, trials, steps int, radii ...float64) (*nb.Figure, *nb.Tabular) {
	var stored []storedRuns
	nb.Check(json.Unmarshal(nb.Must(os.ReadFile(s.ADMM)), &stored))
	t := nb.Columns("R", "exact", "ADMM, best of 16", "ADMM, the paper's setting", "dECE, best", "dECE from clean",
		"dECE from Brier")
	var all []calibplot.AtRadius
	for _, c := range s.Certified(confidence.MethodCDF, radii...) {
		program := nb.Must(mip.New(c.Correct, c.Lower, c.Upper, Bins(15)))
		settings := mip.Trials(c.Confidence, trials, 1)
		for i := range settings {
			settings[i].Steps = steps
		}
		dece := nb.Must(program.SearchDECE(nb.Context(), c.Confidence, settings, nil))
		k := slices.IndexFunc(stored, func(of storedRuns) bool { return of.Radius == c.Radius })
		nb.Assert(k >= 0, "%s has no runs at %g", s.ADMM, c.Radius)
		found := mip.ByStart(stored[k].Runs, dece)
		from := func(start mip.Start) []mip.Found {
			return slices.DeleteFunc(slices.Clone(found), func(f mip.Found) bool { return f.Start != start })
		}
		nb.Assert(mip.Most(found, "ADMM", false) <= stored[k].Exact+1e-12 && mip.Most(found, "dECE",
			false) <= stored[k].Exact+1e-12,
			"a search finds more than the exact error at %g", c.Radius)
		all = append(all, calibplot.AtRadius{Radius: c.Radius, Exact: stored[k].Exact, Found: found})
		t.Add(c.Radius, stored[k].Exact, mip.Most(found, "ADMM", false), mip.Most(found, "ADMM", true),
			mip.Most(found, "dECE", false),
			mip.Most(from(mip.Clean), "dECE", false), mip.Most(from(mip.Brier), "dECE", false))
	}
	return nb.Plot(calibplot.Starts("Where a search begins decides what it finds\n"+s.About(), all),
		"calibration error that each run of ADMM and dECE finds, by its start, "+s.About()), t
}

// BySearch are the calibration errors that the stored searches find over the radius, beside the
// exact one: the best of the runs of each (Emde et al. 2025, figure 13), and ADMM with the settings
// that the paper uses for all beside the best of dECE (figure 14). It checks that no search finds
// more than the exact error.
func BySearch(s Scored) (best, single []nb.Line) {
	_, all := Searches(s) // exact, ADMM, dECE, Brier, clean
	var stored []storedRuns
	nb.Check(json.Unmarshal(nb.Must(os.ReadFile(s.ADMM)), &stored))
	usual := nb.Line{Name: "ADMM, one setting"}
	for _, at := range stored {
		usual.X, usual.Y = append(usual.X, at.Radius), append(usual.Y, mip.Most(mip.ByStart(at.Runs, nil), "ADMM",
			true))
	}
	return all[:4], []nb.Line{all[0], usual, all[2]}
}
