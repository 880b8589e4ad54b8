package spectral

import (
	"bytes"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// spectrumSummary is the output of "spectral spectrum". What a spectrum does not have, with a zero in it, say, is
// null, and Warnings says why.
type spectrumSummary struct {
	Images         int             `json:"images"`
	Shape          pixel.Shape     `json:"shape"`
	Difference     bool            `json:"difference"`
	Amplitude      [][]float64     `json:"amplitude"` // rows of u, columns of v, ascending from −⌊side/2⌋
	Centroid       *float64        `json:"centroid"`  // of the amplitude
	AmplitudeSlope *spectral.Slope `json:"amplitude_slope"`
	PowerSlope     *spectral.Slope `json:"power_slope"`
	Profile        []spectral.Ring `json:"profile"` // of the amplitude
	Warnings       []string        `json:"warnings,omitempty"`
}

// spectrumOptions holds the values of the flags of "spectral spectrum".
type spectrumOptions struct {
	spectrumOf
	profile bool
	out     string
	json    *bool
}

func spectrumCommand() *cobra.Command {
	var o spectrumOptions
	cmd := &cobra.Command{
		Use:        "spectrum (--in FILE | --data SET) [flags]",
		SuggestFor: []string{"profile", "amplitude"},
		Short:      "Compute the mean amplitude spectrum, or radial profile, of images or of differences",
		Long: `Compute the mean amplitude spectrum |F(x)| of images, or with --minus |F(x − y)|: what a corruption changes.

The mean is over images and channels, F the unnormalised transform of images in [0, 1]. It prints the centroid and
the slopes of amplitude and power against frequency, both logarithmic, from one period per image to one less than
half the shorter side. --out writes the spectrum as a matrix, zero frequency in the middle, or draws it.

With --profile, print and write the radial profile instead: the mean of |F(x)| and of |F(x)|² over images,
channels and the frequencies whose azimuthal frequency √(u² + v²) rounds to the same number. Where the sides of
the images differ, frequencies count periods per shorter side.`,
		Example: "  certspec spectral spectrum --in fog.npy --minus clean.npy --out amplitude.csv --json\n" +
			"  certspec spectral spectrum --data cifar10/test --profile -o profile.pdf",
		Args: cli.NoArgs,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file for the mean amplitudes: .csv (H×W, without a header; of --profile with one), or a "+
			"picture of their logarithms, .svg, .pdf or .png", append([]string{".csv"}, cli.FigureForms...)...)
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.BoolVar(&o.profile, "profile", false, "the radial profile of amplitude and power")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "data", "minus", "count", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *spectrumOptions) run(cmd *cobra.Command) error {
	m, err := o.measure(cmd)
	if err != nil {
		return err
	}
	if o.profile {
		return o.printProfile(cmd, m)
	}
	switch {
	case cli.IsDrawing(o.out):
		if err := drawSpectrum(cmd, o.out, m); err != nil {
			return err
		}
	case o.out != "":
		var text bytes.Buffer
		if err := m.Amplitude.WriteCSV(&text); err != nil {
			return err
		}
		if err := cli.WriteOut(cmd, o.out, text.Bytes()); err != nil {
			return err
		}
	}
	s := m.summary()
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), s)
	}
	for _, warning := range s.Warnings {
		cli.Say("warning: %s", warning)
	}
	return s.print(cmd.OutOrStdout())
}

func (m *measured) summary() *spectrumSummary {
	s := &spectrumSummary{Images: m.Images, Shape: m.Shape, Difference: m.Difference, Profile: m.Amplitude.Profile()}
	columns := len(m.Amplitude.V)
	for i := range m.Amplitude.U {
		s.Amplitude = append(s.Amplitude, m.Amplitude.Values[i*columns:(i+1)*columns])
	}
	warn := func(what string, err error) { s.Warnings = append(s.Warnings, what+": "+err.Error()) }
	if c, err := m.Amplitude.Centroid(); err != nil {
		warn("centroid", err)
	} else {
		s.Centroid = &c
	}
	high := float64(min(m.Shape.Height, m.Shape.Width)/2 - 1)
	for _, fit := range []struct {
		name string
		of   *spectral.Map
		to   **spectral.Slope
	}{{"slope of the amplitude", &m.Amplitude, &s.AmplitudeSlope}, {"slope of the power", &m.Power, &s.PowerSlope}} {
		if slope, err := fit.of.Slope(1, high); err != nil {
			warn(fit.name, err)
		} else {
			*fit.to = &slope
		}
	}
	return s
}

func (s *spectrumSummary) print(out io.Writer) error {
	w := cli.Columns(out)
	what := "images"
	if s.Difference {
		what = "differences"
	}
	cli.Fprintf(w, "%s\t%d of %v\n", what, s.Images, s.Shape)
	if s.Centroid != nil {
		cli.Fprintf(w, "centroid of the amplitude\t%.4f\n", *s.Centroid)
	}
	for _, slope := range []struct {
		name string
		*spectral.Slope
	}{{"slope of the amplitude", s.AmplitudeSlope}, {"slope of the power", s.PowerSlope}} {
		if slope.Slope != nil {
			cli.Fprintf(w, "%s\t%.4f\tR² %.4f, %d frequencies from %g to %g\n", slope.name, slope.Exponent, slope.R2,
				slope.Bins, slope.Low, slope.High)
		}
	}
	return w.Flush()
}
