package spectral

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// profileRing is a ring of both spectra.
type profileRing struct {
	Frequency int     `json:"frequency"`
	Bins      int     `json:"bins"`
	Amplitude float64 `json:"amplitude"`
	Power     float64 `json:"power"`
	// of the amplitude: where the middle 90 % of the images lie; 0 where they are not known one by one
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

// printProfile prints the radial profile of the mean amplitude and power.
func (o *spectrumOptions) printProfile(cmd *cobra.Command, m *measured) error {
	power := m.Power.Profile()
	var rings []profileRing
	for k, r := range m.Profile() {
		rings = append(rings, profileRing{r.Frequency, r.Bins, r.Mean, power[k].Mean, r.Low, r.High})
	}
	switch {
	case cli.IsDrawing(o.out):
		if err := drawProfile(cmd, o.out, m, rings); err != nil {
			return err
		}
	case o.out != "":
		rows := [][]string{{"frequency", "bins", "amplitude", "power"}}
		for _, r := range rings {
			rows = append(rows, []string{strconv.Itoa(r.Frequency), strconv.Itoa(r.Bins), cli.Number(r.Amplitude),
				cli.Number(r.Power)})
		}
		if err := cli.WriteCSV(cmd, o.out, rows); err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			Images     int           `json:"images"`
			Difference bool          `json:"difference"`
			Profile    []profileRing `json:"profile"`
		}{m.Images, m.Difference, rings})
	}
	w := cli.Figures(cmd.OutOrStdout())
	fmt.Fprintln(w, "frequency\tbins\tamplitude\tpower\t")
	for _, r := range rings {
		cli.Fprintf(w, "%d\t%d\t%.6g\t%.6g\t\n", r.Frequency, r.Bins, r.Amplitude, r.Power)
	}
	return w.Flush()
}
