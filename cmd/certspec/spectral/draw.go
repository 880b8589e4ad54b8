package spectral

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/spectral"
)

// mapSide is the side of a drawn map, and scaleWidth the width of its scale.
const (
	mapSide    = 4.5 * vg.Inch
	scaleWidth = 0.75 * vg.Inch
)

// drawMap writes a map over the frequencies as a picture.
func drawMap(cmd *cobra.Command, path, title string, m *spectral.Map, low, high float64) error {
	drawn := figure.HeatMap{Title: title, X: "v, periods over the width", Y: "u, periods over the height",
		Columns: m.V, Rows: m.U, Values: m.Values, Low: low, High: high}
	caption := fmt.Sprintf("%s for each frequency, from %.4g (black) to %.4g (white)", title, low, high)
	data, err := cli.Drawing("out", path, caption, mapSide+scaleWidth, mapSide, drawn.Paint)
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, path, data)
}

// drawSpectrum draws the decimal logarithms of amplitudes: they fall by orders of magnitude.
func drawSpectrum(cmd *cobra.Command, path string, m *measured) error {
	logs := m.Amplitude
	var err error
	if logs.Values, err = positive(logs.Values); err != nil {
		return err
	}
	for i, v := range logs.Values {
		logs.Values[i] = math.Log10(v)
	}
	return drawMap(cmd, path, fmt.Sprintf("log10 of the mean amplitude of %d %s", m.Images, m.of()), &logs,
		slices.Min(logs.Values), slices.Max(logs.Values))
}

// drawProfile draws the profiles of amplitude and power.
func drawProfile(cmd *cobra.Command, path string, m *measured, rings []profileRing) error {
	title := fmt.Sprintf("Mean amplitude and power by frequency, of %d %s", m.Images, m.of())
	l := figure.Lines{Title: title, X: "frequency, periods over the shorter side", Y: "mean", LogY: true,
		Lines: []figure.Line{{Name: "amplitude |F|"}, {Name: "power |F|²"}}}
	for k, value := range []func(profileRing) float64{
		func(r profileRing) float64 { return r.Amplitude },
		func(r profileRing) float64 { return r.Power },
	} {
		var values []float64
		for _, r := range rings {
			values = append(values, value(r))
		}
		values, err := positive(values)
		if err != nil {
			return err
		}
		for i, v := range values {
			l.Lines[k].XYs = append(l.Lines[k].XYs, plotter.XY{X: float64(rings[i].Frequency), Y: v})
		}
	}
	data, err := cli.Drawing("out", path, title, figure.Width, figure.Height, l.Paint)
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, path, data)
}

// positive puts the least positive value in the place of zeros, which have no logarithm.
func positive(values []float64) ([]float64, error) {
	least := math.Inf(1)
	for _, v := range values {
		if v > 0 {
			least = min(least, v)
		}
	}
	if math.IsInf(least, 1) {
		return nil, errors.New("there is nothing to draw: every amplitude is 0")
	}
	of := slices.Clone(values)
	for i, v := range of {
		of[i] = max(v, least)
	}
	return of, nil
}

// of says what was measured.
func (m *measured) of() string {
	if m.Difference {
		return "differences"
	}
	return "images"
}
