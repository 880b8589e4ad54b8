// Package papers holds the longer steps of the notebooks about training (act, fouriermix), which
// need networks or the results of experiments. Like a cell, its functions end the program with a
// message where something fails.
package papers

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// Certified are the networks of a folder that were certified on clean images and under corruptions.
func Certified(folder string) []certified.Model { return nb.Must(results.Certified(folder)) }

// BySeverity draws the average certified radius of rows of table 8 over the corruptions of low frequency at each
// severity, and at 0 on the clean ones of the same images; the mean over the starts of a row. A severity at which a
// corruption is missing is left out.
func BySeverity(folder string, rows ...string) *nb.Figure {
	f := nb.Must(study.Open(folder, "A/table8"))
	low := corrupt.Groups[0]
	var lines []nb.Line
	for _, name := range rows {
		line, row := nb.Line{Name: name}, nb.Must(f.Row(name))
		var all []*study.Sample
		for severity := 1; severity <= 5; severity++ {
			var sets []string
			for _, corruption := range low.Corruptions {
				sets = append(sets, fmt.Sprintf("%s-%d", corruption, severity))
			}
			if s := nb.Must(f.SampleOn(row, "acr", sets...)); s != nil {
				all = append(all, s)
				line.X, line.Y = append(line.X, float64(severity)), append(line.Y, s.Value())
			}
		}
		nb.Assert(len(all) > 0, "%s has no radius of %s", folder, name)
		common := nb.Must(study.OnCommonImages(nb.Must(f.SampleOn(row, "acr", "clean")), all[0]))
		line.X, line.Y = append([]float64{0}, line.X...), append([]float64{common[0].Value()}, line.Y...)
		lines = append(lines, line)
	}
	return nb.Lines(nb.Axes{X: "severity (0: clean)", Y: "average certified radius",
		Title:   "Corruptions of low frequency cost radius\n" + Settings["A cpu"],
		Caption: "radius by severity, low frequencies: " + strings.Join(low.Corruptions, ", ")}, lines...)
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
