package papers

import (
	"fmt"
	"slices"

	"github.com/certspec/certspec/internal/experiment"
	"github.com/certspec/certspec/internal/experiment/experimentplot"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/spectral"
)

// Changes draws how the networks of a table that were trained further differ from those that they began with (Emde et al. 2025, figures 17 and 18), where it has such
// networks.
func Changes(folder, table string) {
	f := nb.Must(experiment.Fill(nb.Context(), folder, table, resample.Options{Resamples: 100}))
	if len(f.Changes()) > 0 {
		nb.Show(nb.Plot(nb.Must(experimentplot.Changes(f, false)),
			fmt.Sprintf("%s at tier %s: changes of certified accuracy and of the largest calibration error by further training, in points, by radius", f.Name, f.Tier)))
	}
}

// Correlations draws the rank correlations over the models of a table (Emde et al. 2025, figure 19), where it has at least three, and returns them. The intervals are of
// the bootstrap over images with so many resamples.
func Correlations(folder, table string, resamples int) []experiment.RankCorrelation {
	of := nb.Must(experiment.RankCorrelations(nb.Context(), folder, table, resample.Options{Resamples: resamples}))
	if len(of) > 0 {
		nb.Show(nb.Plot(nb.Must(experimentplot.Correlations(table, of)),
			"rank correlations of certified accuracy, average certified radius, CCE and CBS over the models of "+table+", by radius"))
	}
	return of
}

// ByGroup draws the average certified radii of a table, clean and by frequency group at a severity (Sun et al. 2021, figure 4), and returns them.
func ByGroup(folder, table string, severity int) []experiment.GroupRadius {
	of := nb.Must(experiment.ByGroup(nb.Context(), folder, table, severity, resample.Options{Resamples: 1000}))
	nb.Show(nb.Plot(experimentplot.ByGroup(table, of),
		fmt.Sprintf("average certified radius, clean and by frequency group at severity %d, of %s, with 95 %% intervals", severity, table)))
	return of
}

// Maps are the maps over frequencies of a table side by side, on one scale from 0 to the largest value (Sun et al. 2021, figures 3 and 5).
func Maps(f *experiment.Filled) *nb.Figure {
	var titles []string
	var maps []*spectral.Map
	high := 0.0
	for _, l := range f.Lines {
		if m := l.HeatMap(); m != nil {
			titles, maps, high = append(titles, l.Title), append(maps, m), max(high, slices.Max(m.Values))
		}
	}
	return nb.HeatMaps(fmt.Sprintf("%s at tier %s: average certified radius of images disturbed at one frequency; black is 0, white %.3f", f.Name, f.Tier, high), 0, high, titles, maps...)
}
