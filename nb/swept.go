package nb

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/sweep"
	"github.com/certspec/certspec/table"
)

// bands are the parts of the spectrum that a corruption of C disturbs, in the order of their inks.
var bands = []corrupt.Group{corrupt.Low, corrupt.Mid, corrupt.High}

// band is the place of a corruption's group among bands; others have none.
func band(corruption string) int {
	info, err := corrupt.Find(corruption)
	if err != nil {
		return -1
	}
	return slices.Index(bands, info.Group)
}

// sweptFigures are a dot plot of the average certified radius under each corruption, the largest first, coloured by
// band; the radius against the severity, a line for each band; the numbers, and differences of neighbouring bands.
func sweptFigures(s *sweep.Sweep) []any {
	mean, err := compare.MeanACR(Context(), s.Radii(), resample.Options{Resamples: 2000})
	end(err)
	if err != nil {
		return nil
	}
	clean, what := mean.MACR.ACR, "the mean of all"
	if s.Clean != nil {
		clean, what = s.Clean.ACR().Value, "clean"
	}
	data, _, _ := strings.Cut(printable.DataName(s.Header.Data.Name), "[") // which names the first corruption
	title := fmt.Sprintf("Average certified radius under corruption\n%s (%d images), %s, %s", data, mean.Images,
		s.Header.Model.Name, s.Header.Settings())
	of := figure.Forest{Title: title, X: fmt.Sprintf("average certified radius; bar: %s, %.3f", what, clean)}
	t := Columns("corruption", "band", "average certified radius", "95 %")
	if s.Clean != nil {
		t.Add("clean", table.None, clean, table.None)
	}
	named := func(name, band string, a compare.NamedACR) {
		t.Add(name, band, a.ACR, span(a.Interval.Low, a.Interval.High))
	}
	named("mean over all (mACR)", table.None, mean.MACR)
	for _, g := range mean.Groups {
		named("mean over "+g.Name, g.Name, g)
	}
	sorted := slices.SortedStableFunc(slices.Values(mean.Corruptions), func(a, b compare.NamedACR) int {
		return cmp.Compare(b.ACR, a.ACR)
	})
	for _, c := range sorted {
		row := figure.ForestRow{Name: printable.Name(c.Name), Value: c.ACR, Low: c.Interval.Low, High: c.Interval.High,
			Bound: clean, Ink: figure.Palette[0]}
		part := table.None
		if k := band(c.Name); k >= 0 {
			row.Ink, part = figure.Palette[k], string(bands[k])
			row.Name += fmt.Sprintf(" (%s)", strings.ToLower(part))
		}
		of.Rows = append(of.Rows, row)
		named(printable.Name(c.Name), part, c)
	}
	t.Notes = []string{fmt.Sprintf("%d images, severities %s. Bands: what a corruption of C disturbs, low, mid or high "+
		"frequencies.", mean.Images, strings.Trim(fmt.Sprint(mean.Severities), "[]"))}
	for _, d := range mean.Order {
		t.Notes = append(t.Notes, fmt.Sprintf("%s: %+.3f (%s), paired by image: %s.", d.Name,
			d.Difference.Difference, span(d.Interval.Low, d.Interval.High), direction(d.Interval.Low, d.Interval.High)))
	}
	if len(s.Unfinished) > 0 {
		t.Notes = append(t.Notes, "Left out, as not complete: "+strings.Join(s.Unfinished, ", ")+".")
	}
	shown := []any{Plot(of, title)}
	if lines := bySeverity(s, mean.Severities); len(lines) > 0 && len(mean.Severities) > 1 {
		shown = append(shown, Lines(Axes{X: "severity", Y: "average certified radius", Points: true,
			Title:   fmt.Sprintf("By severity and band\n%s, %s", data, s.Header.Model.Name),
			Caption: "average certified radius against severity, for corruptions of low, mid and high frequencies"}, lines...))
	}
	return append(shown, t)
}

// bySeverity has a line for each band, the mean over its corruptions; without bands, for each corruption.
func bySeverity(s *sweep.Sweep, severities []int) (lines []Line) {
	groups := map[string][]compare.Corrupted{}
	var names []string
	for _, c := range s.Radii() {
		name := printable.Name(c.Corruption)
		if k := band(c.Corruption); k >= 0 {
			name = string(bands[k])
		}
		if groups[name] == nil {
			names = append(names, name)
		}
		groups[name] = append(groups[name], c)
	}
	slices.SortFunc(names, func(a, b string) int {
		return cmp.Compare(slices.Index(bands, corrupt.Group(a)), slices.Index(bands, corrupt.Group(b)))
	})
	for _, name := range names {
		line := Line{Name: name}
		for _, severity := range severities {
			at := slices.DeleteFunc(slices.Clone(groups[name]), func(c compare.Corrupted) bool {
				return c.Severity != severity
			})
			if len(at) == 0 {
				continue
			}
			mean, err := compare.MeanACR(Context(), at, resample.Options{Resamples: 2000})
			end(err)
			if err != nil {
				return nil
			}
			line.X, line.Y = append(line.X, float64(severity)), append(line.Y, mean.MACR.ACR)
			line.Low = append(line.Low, mean.MACR.Interval.Low)
			line.High = append(line.High, mean.MACR.Interval.High)
		}
		lines = append(lines, line)
	}
	return lines
}
