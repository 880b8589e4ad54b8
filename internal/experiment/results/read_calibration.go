package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

func (c calibrationReader) fill(f *TableBuilder, out *Filled) (notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, printable.Sprintf(format, args...)) }
	t, b := f.Manifest.Tier.Calibration, f.bootstrap
	note("Confidences are certified by the CDF certificate (images %s, %s rule, %d noise samples); CCE is the "+
		"largest calibration error, exactly, with %d bins; ACCE what ADMM finds of it; CBS the largest Brier score.",
		f.Manifest.Tier.ConfidenceImages(f.kind(out)), t.Certify.Rule, t.Certify.N, study.ConfidenceBins)
	note("α = %g for the radius of an image and again for its interval, one image at a time; nothing is stated of "+
		"all at once. Errors at a radius are of the images whose class, right or wrong, is certified there; those "+
		"on which the smoothed network abstains, or whose radius is smaller, are not among them.",
		cmp.Or(t.Certify.Alpha, stopping.DefaultAlpha))
	images := make([][]*measure.PerImage, len(out.Lines))
	for i := range out.Lines {
		of, err := readAll[measure.Certified](f, out.Lines[i], measure.CalibrationFile)
		if err != nil {
			return nil, err
		}
		if images[i], err = f.kept(out.Lines[i], measure.CalibratedImages); err != nil {
			return nil, err
		}
		for _, r := range c.Radii {
			at := meanCalibration(of, r)
			setBounds(at, images[i])
			out.Lines[i].Calibration = append(out.Lines[i].Calibration, at)
		}
	}
	if c.Within == 0 {
		return notes, nil
	}
	note("Comparable accuracy: at most %g points of certified accuracy below the best model of any method, "+
		"fine-tuned ones included, which favours methods that raise it.", 100*c.Within)
	note("Low and high of errors: %g %% basic intervals of the bootstrap over images (%d resamples, seed %d), "+
		"with Student's t over seeds where there are two or more, of the models chosen, not of the choice; those "+
		"of differences are paired by image.",
		100*b.Confidence, b.Resamples, b.Seed)
	if out.Selected, err = selected(out.Lines, c.Calibration); err != nil {
		return nil, err
	}
	return notes, f.spreadSelected(out, images, c.Radii)
}

func (calibrationReader) tables(f *Filled, columns []string, head func(FilledLine) []any, add func(*table.Table,
	string)) {
	if len(f.Lines) == 0 || f.Lines[0].Calibration == nil {
		return
	}
	if f.Selected != nil {
		add(f.selection(), "the smallest errors among models of comparable accuracy")
		add(f.spreads(), "these errors, with differences from the method of "+f.Compare)
	}
	add(f.calibration(columns, head), "certified calibration, model by model")
}

func (f *Filled) calibration(columns []string, head func(FilledLine) []any) *table.Table {
	t := &table.Table{Columns: append(slices.Clone(columns), "radius", "certified accuracy", "CCE", "ACCE", "CBS",
		"resolution", "right", "lower", "upper")}
	all, better := 0, 0
	for _, l := range f.Lines {
		for _, at := range l.Calibration {
			if at == nil {
				t.Rows = append(t.Rows, append(head(l), table.None, table.None, table.None, table.None, table.None,
					table.None, table.None, table.None, table.None))
				break
			}
			t.Rows = append(t.Rows, append(head(l), Rounded(at.Radius, 2), Rounded(at.Accuracy, 4), optional(at.CCE),
				optional(at.ACCE), optional(at.CBS), optional(at.Resolution),
				optional(at.Right), optional(at.Lower), optional(at.Upper)))
			if at.CBS == nil {
				continue
			}
			flat := l
			flat.Title += ", " + constantConfidence
			t.Rows = append(t.Rows, append(head(flat), Rounded(at.Radius, 2), Rounded(at.Accuracy, 4), Rounded(0, 4),
				Rounded(0, 4), Rounded(at.Constant, 4), Rounded(0, 4),
				optional(at.Right), optional(at.Right), optional(at.Right)))
			if all++; *at.CBS < at.Constant {
				better++
			}
		}
	}
	t.Notes = []string{printable.Sprintf("A constant confidence is the accuracy of the certified images: it has no "+
		"calibration error, and tells nothing. Inside the intervals the confidences of a model are better (CBS) in "+
		"%d of %d rows.", better, all),
		"Right, lower, upper: of the images certified at a radius the share that is right, and the means of the " +
			"bounds on their confidence. The further lower is below right, the more of an error is too little " +
			"confidence; the further upper is above it, too much."}
	return t
}

// constantConfidence names the row that every table of certified calibration has to compare with.
const constantConfidence = "constant confidence"

func (f *Filled) selection() *table.Table {
	t := &table.Table{Columns: []string{"radius", "best accuracy", "method", "models", "CCE", "ACCE", "CBS"}}
	for i, s := range f.Selected {
		t.Rows = append(t.Rows, []any{Rounded(s.Radius, 2), Rounded(s.Best, 4), s.Group, s.Models, optional(s.CCE),
			optional(s.ACCE), optional(s.CBS)})
		if i+1 == len(f.Selected) || f.Selected[i+1].Radius != s.Radius {
			t.Rows = append(t.Rows, []any{Rounded(s.Radius, 2), Rounded(s.Best, 4), constantConfidence, table.None,
				Rounded(0, 4), Rounded(0, 4), Rounded(s.constant, 4)})
			var better []string
			for _, other := range f.Selected {
				if other.Radius == s.Radius && other.CBS != nil && *other.CBS < s.constant {
					better = append(better, other.Group)
				}
			}
			if len(better) == 0 {
				t.Notes = append(t.Notes, fmt.Sprintf("At %g no method is better than a constant confidence.",
					s.Radius))
			} else {
				t.Notes = append(t.Notes, fmt.Sprintf("At %g better than a constant confidence by CBS: %s.", s.Radius,
					strings.Join(better, ", ")))
			}
		}
	}
	return t
}

func (f *Filled) spreads() *table.Table {
	t := &table.Table{Columns: []string{"radius", "method", "figure", "value", "low", "high", "difference", "its low",
		"its high", "p"}}
	var shown []*compare.Difference
	for _, s := range f.Selected {
		for _, of := range []*ErrorSpread{s.CCESpread, s.CBSSpread} {
			if of != nil {
				shown = append(shown, of.Difference)
			}
		}
	}
	corrected, notes := holmCorrection(f.confidence, shown)
	t.Notes = notes
	for _, s := range f.Selected {
		for _, figure := range []struct {
			name   string
			value  *float64
			spread *ErrorSpread
		}{{"CCE", s.CCE, s.CCESpread}, {"CBS", s.CBS, s.CBSSpread}} {
			row := []any{Rounded(s.Radius, 2), s.Group, figure.name, optional(figure.value)}
			if figure.spread == nil {
				row = append(row, table.None, table.None)
			} else {
				row = append(row, Rounded(figure.spread.Interval.Low, 4), Rounded(figure.spread.Interval.High, 4))
			}
			if figure.spread == nil {
				row = append(row, differenceCells(nil, corrected)...)
			} else {
				row = append(row, differenceCells(figure.spread.Difference, corrected)...)
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// setBounds sets Lower and Upper.
func setBounds(at *measure.RadiusErrors, of []*measure.PerImage) {
	if at == nil || at.CCE == nil || len(of) == 0 {
		return
	}
	var lower, upper float64
	below, above := measure.BoundColumns(at.Radius)
	for _, p := range of {
		high := p.Column(above)
		var n, low, up float64
		for i, v := range p.Column(below) {
			if !math.IsNaN(v) {
				n, low, up = n+1, low+v, up+high[i]
			}
		}
		if n == 0 {
			return
		}
		lower, upper = lower+low/n/float64(len(of)), upper+up/n/float64(len(of))
	}
	at.Lower, at.Upper = &lower, &upper
}

func meanCalibration(of []*measure.Certified, radius float64) *measure.RadiusErrors {
	mean := &measure.RadiusErrors{Radius: radius}
	n := 0.0
	for _, c := range of {
		if c.AtRadius(radius) != nil {
			n++
		}
	}
	if n == 0 {
		return nil
	}
	var cce, acce, cbs, resolution, share float64
	some, told := true, true
	for _, c := range of {
		at := c.AtRadius(radius)
		if at == nil {
			continue
		}
		mean.Accuracy += at.Accuracy / n
		mean.Certified += at.Certified
		if at.CCE == nil {
			some = false
			continue
		}
		cce, acce, cbs = cce+*at.CCE/n, acce+*at.ACCE/n, cbs+*at.CBS/n
		right := at.Accuracy * float64(c.Images) / float64(at.Certified)
		share += right / n
		mean.Constant += right * (1 - right) / n
		if at.Resolution == nil {
			told = false
			continue
		}
		resolution += *at.Resolution / n
	}
	if some {
		mean.CCE, mean.ACCE, mean.CBS, mean.Right = &cce, &acce, &cbs, &share
		if told {
			mean.Resolution = &resolution
		}
	}
	return mean
}

func meanACE(of []*measure.Attacked) map[string]*OverSeeds {
	values := map[string][]float64{}
	for _, a := range of {
		values["accuracy"] = append(values["accuracy"], a.Accuracy)
		values["clean"] = append(values["clean"], a.AdaECE)
		for _, o := range a.Attacks {
			values[o.Attack] = append(values[o.Attack], o.AdaECE)
		}
	}
	out := map[string]*OverSeeds{}
	for name, v := range values {
		m := meanOver(v)
		out[name] = &m
	}
	return out
}

// selected applies the rule of Emde et al. 2025 at every radius.
func selected(lines []FilledLine, m *measure.Calibration) ([]Selected, error) {
	var out []Selected
	for k, radius := range m.Radii {
		var exact, approximate []candidate
		var of []int // the lines of the candidates
		best := 0.0
		for i, l := range lines {
			at := l.Calibration[k]
			if at == nil || at.CCE == nil {
				continue
			}
			best = max(best, at.Accuracy)
			of = append(of, i)
			exact = append(exact, candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.CCE, CBS: *at.CBS})
			approximate = append(approximate, candidate{Method: l.Group, Accuracy: at.Accuracy, CCE: *at.ACCE,
				CBS: *at.CBS})
		}
		if len(exact) == 0 {
			continue
		}
		known, err := selectByAccuracy(exact, m.Within)
		if err != nil {
			return nil, err
		}
		searched, err := selectByAccuracy(approximate, m.Within)
		if err != nil {
			return nil, err
		}
		constant := math.Inf(1)
		for _, i := range of {
			if at := lines[i].Calibration[k]; at.Accuracy >= best-m.Within {
				constant = min(constant, at.Constant)
			}
		}
		for i, s := range known {
			one := Selected{Radius: radius, Best: best, Group: s.Method, Models: s.Models, constant: constant}
			if s.Models > 0 {
				one.CCE, one.ACCE, one.CBS = &known[i].CCE, &searched[i].CCE, &known[i].CBS
				one.cceLine, one.cbsLine = of[s.CCEOf], of[s.CBSOf]
			}
			out = append(out, one)
		}
	}
	return out, nil
}
