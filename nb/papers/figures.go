package papers

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/experiment/experimentplot"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/spectral"
)

// Changes draws how networks that were trained further differ from those that they began with (Emde et al. 2025, figures 17 and 18), for each table with such networks.
func Changes(found []*experiment.Filled) {
	for _, f := range found {
		if len(f.Changes()) > 0 {
			nb.Show(nb.Plot(nb.Must(experimentplot.Changes(f, false)),
				fmt.Sprintf("%s at tier %s: changes of certified accuracy and of the largest calibration error, in points, from the network that training began with, by radius", f.Name, f.Tier)))
		}
	}
}

// Correlations draws the rank correlations over the models of a table (figure 19), and gives them.
func Correlations(folder, table string, resamples int) []experiment.RankCorrelation {
	of := nb.Must(experiment.RankCorrelations(folder, table, resample.Options{Resamples: resamples}))
	if len(of) > 0 {
		nb.Show(nb.Plot(nb.Must(experimentplot.Correlations(table, of)), "rank correlations of certified accuracy, average radius, CCE and CBS over the models of "+table+", by radius"))
	}
	return of
}

// ByGroup draws the average certified radii of a table clean and by frequency group at a severity (Sun et al. 2021, figure 4).
func ByGroup(folder, table string, severity int) []experiment.GroupRadius {
	of := nb.Must(experiment.ByGroup(folder, table, severity, resample.Options{Resamples: 1000}))
	nb.Show(nb.Plot(experimentplot.ByGroup(table, of), fmt.Sprintf("average certified radius clean and by frequency group at severity %d, %s, with 95 %% intervals", severity, table)))
	return of
}

// HeatMaps draws the average certified radius of images disturbed at one frequency, for every line that has a map (figures 3 and 5).
func HeatMaps(f *experiment.Filled) {
	var titles []string
	var maps []*spectral.Map
	high := 0.0
	for _, l := range f.Lines {
		if m := l.HeatMap(); m != nil {
			titles, maps, high = append(titles, l.Title), append(maps, m), max(high, slices.Max(m.Values))
		}
	}
	nb.Assert(len(maps) > 0, "%s: no map", f.Name)
	nb.Show(nb.HeatMaps(fmt.Sprintf("average certified radius by the frequency of a disturbance, %s at tier %s", f.Name, f.Tier), 0, high, titles, maps...))
}

// Filled is a table of a folder, where it has it.
func Filled(folder, table string) []*experiment.Filled {
	return []*experiment.Filled{nb.Must(experiment.Fill(folder, table, resample.Options{Resamples: 100}))}
}
