package spectral

import (
	"fmt"
	"strconv"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// profileRing is a ring of both spectra.
type profileRing struct {
	Frequency int     `json:"frequency"`
	Bins      int     `json:"bins"`
	Amplitude float64 `json:"amplitude"`
	Power     float64 `json:"power"`
}

// profileOptions are what the flags of "spectral profile" ask.
type profileOptions struct {
	spectrumOf
	out  string
	json *bool
}

func profileCommand() *cobra.Command {
	var o profileOptions
	cmd := &cobra.Command{
		Use:   "profile (--in FILE | --data SET) [flags]",
		Short: "Radial profile of the mean amplitude and power spectrum",
		Long: `Mean of |F(x)| and of |F(x)|² over images, channels and the frequencies whose azimuthal frequency √(u² + v²) rounds
to the same number; with --minus, of the differences of two sets of images. Where the sides of the images differ, frequencies
count periods per shorter side.`,
		Example: "  certspec spectral profile --data cifar10/test\n" +
			"  certspec spectral profile --in fog.npy --minus clean.npy --out profile.csv --json",
		Args: cli.NoArgs,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.Out(&o.out, "CSV file for the profile, with a header") })
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "data", "minus", "count", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *profileOptions) run(cmd *cobra.Command) error {
	m, err := o.measure(cmd)
	if err != nil {
		return err
	}
	power := m.Power.Profile()
	var rings []profileRing
	for k, r := range m.Amplitude.Profile() {
		rings = append(rings, profileRing{r.Frequency, r.Bins, r.Mean, power[k].Mean})
	}
	if o.out != "" {
		rows := [][]string{{"frequency", "bins", "amplitude", "power"}}
		for _, r := range rings {
			rows = append(rows, []string{strconv.Itoa(r.Frequency), strconv.Itoa(r.Bins), cli.Number(r.Amplitude), cli.Number(r.Power)})
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
	w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "frequency\tbins\tamplitude\tpower\t")
	for _, r := range rings {
		cli.Fprintf(w, "%d\t%d\t%.6g\t%.6g\t\n", r.Frequency, r.Bins, r.Amplitude, r.Power)
	}
	return w.Flush()
}
