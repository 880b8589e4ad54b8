package papers

import (
	"slices"

	"github.com/certspec/certspec/internal/experiment/experimentplot"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/spectral"
)

// Changes are how the networks of a table that were trained further differ from those that they began with (Emde et
// al. 2025, figures 17 and 18).
func Changes(folder, table string) *nb.Figure {
	f := nb.Must(results.Fill(nb.Context(), folder, table, resample.Options{Resamples: 20}))
	return nb.Plot(nb.Must(experimentplot.Changes(f, false)),
		"changes of certified accuracy and of the largest calibration error by further training, in points, by radius; "+
			Settings["D "+f.Tier])
}

// Correlations draws the rank correlations over the models of a table (Emde et al. 2025, figure 19), and returns them.
// The intervals are of the bootstrap over images with so many resamples.
func Correlations(folder, table string, resamples int) (*nb.Figure, []results.RankCorrelation) {
	of := nb.Must(results.RankCorrelations(nb.Context(), folder, table, resample.Options{Resamples: resamples}))
	grid := nb.Must(experimentplot.Correlations("Do accuracy and calibration go together?", of))
	return nb.Plot(grid, "rank correlations of certified accuracy, average certified radius, CCE and CBS over the "+
		"models, by radius"), of
}

// Maps are the maps over frequencies of a table of results/maps side by side, on one scale from 0 to the largest value
// (Sun et al. 2021, figures 3 and 5).
func Maps(title, table string) *nb.Figure {
	f := nb.Must(results.Fill(nb.Context(), "results/maps", table, resample.Options{Resamples: 20}))
	var titles []string
	var maps []*spectral.Map
	high := 0.0
	for _, l := range f.Lines {
		if m := l.HeatMap(); m != nil {
			titles, maps, high = append(titles, l.Title), append(maps, m), max(high, slices.Max(m.Values))
		}
	}
	return nb.HeatMaps(title+"; average certified radius of images disturbed at one frequency", 0, high, titles, maps...)
}
