package calib

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// claim says for what a calibration error is stated.
type claim string

const (
	perImage claim = "per-image" // intervals hold one image at a time
	joint    claim = "joint"     // the whole set, with probability 1 − delta
)

// claimOptions choose a claim.
type claimOptions struct {
	kind  claim
	delta float64
}

func (o *claimOptions) flags(f *cli.Flags) {
	cli.Choice(f, &o.kind, "claim", perImage,
		"with a ledger: per-image, each interval holds with probability 1-alpha; or joint, the calibration error "+
			"holds for all images at once with probability 1-delta", perImage, joint)
	f.Float64Var(&o.delta, "delta", 0.001, "of --claim joint")
}

func (o *claimOptions) check(cmd *cobra.Command) error {
	if o.kind != joint && cmd.Flags().Changed("delta") {
		return cli.Usagef("--delta goes with --claim joint")
	}
	if !(o.delta > 0 && o.delta < 1) {
		return cli.Usagef("--delta %v, want a number between 0 and 1", o.delta)
	}
	return nil
}

// together is the output of --claim joint.
type together struct {
	N     int   `json:"n"`
	Claim claim `json:"claim"`
	calib.Claims
}

// of states the calibration error of a ledger's samples at once, on average, and for the population.
func (o *claimOptions) of(s *sampleFile) (*together, error) {
	if s.at == nil {
		return nil, cli.Usagef("--claim joint wants a ledger: a CSV file does not say how many images were " +
			"attempted, nor alpha")
	}
	if s.at.fails == 0 {
		return nil, cli.Usagef("--spending family states intervals that hold at once already; --claim joint goes " +
			"with paper and split")
	}
	claims, err := calib.Claim(s.Correct, s.Lower, s.Upper, s.bins, s.at.of, s.at.fails, o.delta)
	if err != nil {
		return nil, err
	}
	s.at.note += ".\n" + assumed
	return &together{len(s.Correct), joint, claims}, nil
}

const assumed = "All claims are about the images certified at the radius, and take the noise samples of an image to " +
	"be independent of each other and of the model, and the seed not to be chosen by what comes out. " +
	"Joint: noise independent between images, too, and one run, not the best of several. On average: over the " +
	"noise, weighted by the number of certified images. " +
	"Population: besides, images drawn independently from one law, bins that were fixed before, and a model that " +
	"was not trained or chosen on these images"

func (t *together) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "samples\t%d\n", t.N)
	cli.Fprintf(w, "calibration error, all images at once\t%.6f (at most %.2g too large), with probability at "+
		"least %g\n", t.Joint, t.Gap, 1-t.Delta)
	cli.Fprintf(w, "  certificates that may be false\t%d of %d, each with probability at most %g\n", t.Failures,
		t.Attempted, t.Fails)
	cli.Fprintf(w, "on average over the noise\t%.6f\n", t.Expected)
	cli.Fprintf(w, "of the population of such images\t%.6f, with probability at least %g\n", t.Population, 1-2*t.Delta)
	cli.Fprintf(w, "certified calibration error where all hold\t%.6f\n", t.CCE)
	return w.Flush()
}
