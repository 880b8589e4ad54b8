// Package papers holds the longer steps of the notebooks about training (act, fouriermix), which
// need networks or the results of experiments. Like a cell, its functions end the program with a
// message where something fails.
package papers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
	"github.com/certspec/certspec/table"
)

// Means are the average certified radii of some rows of tables 2 and 3 in a folder, and behind each, in brackets, that
// of Sun et al. 2021 where it may stand beside it. What is not there is –.
func Means(folder string, rows ...string) *nb.Tabular {
	t := nb.Columns("training", "clean", "C", "C, low", "C, mid", "C, high", "C-bar")
	var ours [2]study.Results
	var theirs [2]study.PrintedTable
	for i, name := range []string{"A/table2", "A/table3"} {
		ours[i] = nb.Must(openRadii(folderOf(folder), name))
		theirs[i] = study.PrintedTable{Cells: nb.Must(printedOf(nb.Must(library().Table(name)))), Expand: printedSets}
	}
	differs := ""
	for _, row := range rows {
		line := []any{row}
		for k, set := range []string{"clean", "C", "C Low", "C Mid", "C High", "C-bar"} {
			cell, from := study.Cell{Row: row, Set: set, What: "acr"}, k/5
			v, there, err := ours[from].Mean(cell)
			nb.Check(err)
			text := table.None
			if there {
				text = fmt.Sprintf("%.3f", v)
			}
			kinship, why := ours[from].Context(cell).Beside(theirs[from].Context(cell))
			if printed, ok, _ := theirs[from].Mean(cell); ok && there && kinship != study.Apart {
				text += fmt.Sprintf(" (%.3f)", printed)
				if set == "C" {
					differs = why
				}
			}
			line = append(line, text)
		}
		t.Add(line...)
	}
	t.Notes = []string{"In brackets: Sun et al. 2021, tables 2 and 3. The order alone compares; on C: " + differs + "."}
	return t
}

// BySeverity is the average certified radius of a recipe of table 2 over the corruptions of a group at each severity,
// and at 0 on the clean ones of the same images; the mean over its starts. A severity at which a corruption is missing
// is left out.
func BySeverity(folder, recipe, name string, group []string) nb.Line {
	f := nb.Must(study.Open(folder, "A/table2"))
	line := nb.Line{Name: name}
	row, err := f.Row(recipe)
	if err != nil {
		line.Name += " (not there yet)"
		return line
	}
	var all []*study.Sample
	for severity := 1; severity <= 5; severity++ {
		var sets []string
		for _, corruption := range group {
			sets = append(sets, fmt.Sprintf("%s-%d", corruption, severity))
		}
		if s := nb.Must(f.SampleOn(row, "acr", sets...)); s != nil {
			all = append(all, s)
			line.X, line.Y = append(line.X, float64(severity)), append(line.Y, s.Value())
		}
	}
	clean := nb.Must(f.SampleOn(row, "acr", "clean"))
	if clean != nil && len(all) > 0 {
		common := nb.Must(study.OnCommonImages(clean, all[0]))
		line.X, line.Y = append([]float64{0}, line.X...), append([]float64{common[0].Value()}, line.Y...)
	}
	if len(line.X) == 0 {
		line.Name += " (not there yet)"
	}
	return line
}

// Centres are figures of the average certified radius against the centre frequency of filtered noise, one for each
// decay, a line for each model (Sun et al. 2021, figure 6).
func Centres(folder, title string) (figures []any) {
	f := nb.Must(results.Fill(nb.Context(), folder, "A/figure6", resample.Options{Resamples: 20}))
	lines := map[float64][]nb.Line{} // by decay
	for _, l := range f.Lines {
		of := map[float64]nb.Line{}
		for k, metric := range f.Metrics {
			var centre int
			var decay float64
			if n, _ := fmt.Sscanf(metric.Name, "fourier_fc%d_a%g", &centre, &decay); n == 2 && l.Values[k] != nil {
				line := of[decay]
				of[decay] = nb.Line{Name: l.Title, X: append(line.X, float64(centre)),
					Y: append(line.Y, l.Values[k].Mean)}
			}
		}
		for decay, line := range of {
			lines[decay] = append(lines[decay], line)
		}
	}
	nb.Assert(len(lines) > 0, "no curve under filtered noise")
	for _, decay := range slices.Sorted(maps.Keys(lines)) {
		figures = append(figures, nb.Lines(nb.Axes{X: "centre frequency (periods per image)",
			Y:     "average certified radius",
			Title: fmt.Sprintf("%s, decay %g\n%s", title, decay, Settings["A cpu"])}, lines[decay]...))
	}
	return figures
}
