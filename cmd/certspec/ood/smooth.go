package ood

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/rs/confidences"
)

// smoothed is what "ood smooth --json" prints.
type smoothed struct {
	Threat  string       `json:"threat"` // l2
	Model   string       `json:"model"`
	Sigma   float64      `json:"sigma"`
	Alpha   float64      `json:"alpha"` // all bounds hold at once with a probability of at least 1 − alpha
	In      smoothedSide `json:"in"`
	Foreign smoothedSide `json:"foreign"`
	AUC     float64      `json:"smoothed_auc_estimate"`
	Radii   []smoothedAt `json:"radii"`
}

// smoothedSide is one of the two ledgers.
type smoothedSide struct {
	Ledger   string  `json:"ledger"`
	Data     string  `json:"data"`
	Images   int     `json:"images"`
	Estimate float64 `json:"mean_estimate"` // of the smoothed largest score, rescaled
}

// smoothedAt is what holds within a radius.
type smoothedAt struct {
	Radius   float64           `json:"radius"`
	LInf     float64           `json:"linf"` // the ℓ∞ ball of this ε lies in the ℓ2 ball: radius/√d, rounded down
	Standard smoothedGuarantee `json:"standard"`
	CDF      smoothedGuarantee `json:"cdf"`
}

// smoothedGuarantee is of one certificate.
type smoothedGuarantee struct {
	GAUC  float64 `json:"smoothed_gauc"`
	CGAUC float64 `json:"smoothed_cgauc"`
	Lower float64 `json:"mean_lower"` // of the own images, as they are
	Upper float64 `json:"mean_upper"` // of the foreign ones within the radius
}

// smoothOptions are what the flags of "ood smooth" ask.
type smoothOptions struct {
	in, foreign string
	radii       []float64
	json        *bool
}

func smooth() *cobra.Command {
	var o smoothOptions
	cmd := &cobra.Command{
		Use:   "smooth --in LEDGER --foreign LEDGER --radii R[,R]",
		Short: "Guarantee the AUC of the smoothed network within a Euclidean radius, for networks too deep for bounds",
		Long: `Bound how sure a network is of an image under Gaussian noise, by randomized smoothing, and compare its own images with foreign ones
that move within a Euclidean radius. The score is the mean of the largest class probability over the noise, rescaled from [1/K, 1] to
[0, 1]. Own images enter with lower bounds at their place, foreign ones with upper bounds within the radius, once by the certificate
from the mean of the scores (standard) and once by that from their distribution (CDF). All images of both sides share alpha.

The ledgers are made by certspec certify --keep-scores=top, of one network, sigma and alpha. The smoothed network is another
network than that which certspec ood bound bounds, and a Euclidean ball is another set than a box: a smoothed GAUC and the GAUC of
certspec ood auc answer different questions, and do not belong in one column.`,
		Example: "  certspec certify --model models/resnet20 --data cifar10/test --count 200 --sigma 0.25 --n 10000 --keep-scores=top --out out/in.ledger\n" +
			"  certspec certify --model models/resnet20 --data noise:smooth,32x32x3 --count 200 --sigma 0.25 --n 10000 --keep-scores=top --out out/smooth.ledger\n" +
			"  certspec ood smooth --in out/in.ledger --foreign out/smooth.ledger --radii 0,0.1,0.25",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "ledger of the network's own images, with top scores", "ledger")
		f.File(&o.foreign, "foreign", "ledger of foreign images, with top scores", "ledger")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Floats(&o.radii, "radii", nil, "Euclidean radii that foreign images move within, unit: full range of a value")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *smoothOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "in", "foreign", "radii"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.radii); err != nil {
		return err
	}
	s, err := smoothOf(cmd, o.in, o.foreign, o.radii)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), s)
	}
	return s.print(cmd.OutOrStdout())
}

func smoothOf(cmd *cobra.Command, in, foreign string, radii []float64) (*smoothed, error) {
	at := append([]float64{0}, radii...) // own images are taken as they are
	standard, err := confidences.CertifyTop(cmd.Context(), []string{in, foreign}, at, confidence.MethodStandard)
	if err != nil {
		return nil, cli.Usage(err)
	}
	cdf, err := confidences.CertifyTop(cmd.Context(), []string{in, foreign}, at, confidence.MethodCDF)
	if err != nil {
		return nil, cli.Usage(err)
	}
	own, other := &cdf[0], &cdf[1]
	if own.Header.Data.Digest == other.Header.Data.Digest {
		return nil, fmt.Errorf("%s has the own images themselves, %s; name a ledger of other images", foreign, own.Header.Data.Name)
	}
	s := &smoothed{Threat: "l2", Model: own.Header.Model.Name, Sigma: own.Header.Sigma, Alpha: own.Header.Alpha, In: smoothedSideOf(in, own), Foreign: smoothedSideOf(foreign, other)}
	area, err := ood.Area(own.Estimate, other.Estimate)
	if err != nil {
		return nil, err
	}
	s.AUC = area.Value
	values := float64(own.Header.Model.Shape.Len())
	for i, r := range radii {
		a := smoothedAt{Radius: r, LInf: math.Floor(1e6*r/math.Sqrt(values)) / 1e6}
		if a.Standard, err = guarantee(standard, i+1); err != nil {
			return nil, err
		}
		if a.CDF, err = guarantee(cdf, i+1); err != nil {
			return nil, err
		}
		s.Radii = append(s.Radii, a)
	}
	return s, nil
}

func smoothedSideOf(path string, t *confidences.Top) smoothedSide {
	return smoothedSide{Ledger: path, Data: t.Header.Data.Name, Images: len(t.Images), Estimate: average(t.Estimate)}
}

// guarantee compares own images at the first radius, 0, with foreign ones within another.
func guarantee(sides []confidences.Top, radius int) (smoothedGuarantee, error) {
	var lower, upper []float64
	for _, b := range sides[0].Bounds {
		lower = append(lower, b[0].Lower)
	}
	for _, b := range sides[1].Bounds {
		upper = append(upper, b[radius].Upper)
	}
	area, err := ood.Area(lower, upper)
	return smoothedGuarantee{GAUC: area.Value, CGAUC: area.Conservative, Lower: average(lower), Upper: average(upper)}, err
}

func average(values []float64) float64 {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

func (s *smoothed) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "network\t%s, smoothed with σ = %g\n", s.Model, s.Sigma)
	fmt.Fprintf(w, "own\t%s, %d images, mean score %.4f\n", s.In.Data, s.In.Images, s.In.Estimate)
	fmt.Fprintf(w, "foreign\t%s, %d images, mean score %.4f\n", s.Foreign.Data, s.Foreign.Images, s.Foreign.Estimate)
	fmt.Fprintf(w, "AUC, estimate\t%s\n\n", percent(s.AUC))
	fmt.Fprintln(w, "Euclidean radius\tholds the ℓ∞ ball of\tsmoothed GAUC, standard\tsmoothed cGAUC, standard\tsmoothed GAUC, CDF\tsmoothed cGAUC, CDF\tmean upper bound, CDF")
	for _, a := range s.Radii {
		fmt.Fprintf(w, "%g\t%.6f\t%s\t%s\t%s\t%s\t%.4f\n", a.Radius, a.LInf, percent(a.Standard.GAUC), percent(a.Standard.CGAUC), percent(a.CDF.GAUC), percent(a.CDF.CGAUC), a.CDF.Upper)
	}
	fmt.Fprintf(w, "\nall bounds hold at once with probability at least %g; of the smoothed network and Euclidean balls, not to be set beside the GAUC of certspec ood auc\n", 1-s.Alpha)
	return w.Flush()
}
