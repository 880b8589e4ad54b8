package calib

import (
	"bytes"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/mip"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

// summary is a calib.Summary that prints itself.
type summary struct{ calib.Summary }

func (s *sampleFile) bounds() (*summary, calib.Worst, error) {
	b, worst, err := calib.Summarize(s.Correct, s.Confidence, s.Lower, s.Upper, s.bins)
	return &summary{b}, worst, err
}

// exactOptions are what the flags of "calib exact" ask.
type exactOptions struct {
	sampleOptions
	assignment, lp string
	claim          claim
	delta          float64
	json           *bool
}

// claim says for what a calibration error is stated.
type claim string

const (
	perImage claim = "per-image" // intervals hold one image at a time
	joint    claim = "joint"     // the whole set, with probability 1 − delta
)

func exactCommand() *cobra.Command {
	var o exactOptions
	cmd := &cobra.Command{
		Use:   "exact {--in FILE | --ledger FILE} [flags]",
		Short: "The largest calibration error inside certified intervals, exactly",
		Long: `The certified calibration error (CCE): the largest expected calibration error that confidences inside the
intervals can have, exactly, by a dynamic program. It bounds what an adversary can reach where every interval
holds and no prediction changes. With --assignment, the bin (counted from 1) and the confidence of every row at
which it is reached; where that confidence is the upper edge of the bin, the CCE is a supremum, approached from
below the edge.`,
		Example: "  certspec calib exact --in intervals.csv --bins 15 --json --assignment worst.csv\n  certspec calib exact --ledger out/fmnist.ledger --radii 0.05,0.25,0.5",
		Args:    cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.claim, "claim", perImage, "with a ledger: per-image, each interval holds with probability 1-alpha; or joint, the error holds for all images at once with probability 1-delta", perImage, joint)
		f.Float64Var(&o.delta, "delta", 0.001, "of --claim joint")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.assignment, "assignment", "CSV file to write: bin and confidence of every row")
		f.Written(&o.lp, "lp", "file to write: the mixed-integer program, for other solvers (CPLEX's LP format)")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "ledger", "radii", "bins", "assignment")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *exactOptions) run(cmd *cobra.Command) error {
	if o.claim != joint && cmd.Flags().Changed("delta") {
		return cli.Usagef("--delta goes with --claim joint")
	}
	if !(o.delta > 0 && o.delta < 1) {
		return cli.Usagef("--delta %v, want a number between 0 and 1", o.delta)
	}
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	if o.claim == joint {
		return eachSet(cmd, sets, *o.json, o.joint)
	}
	if err := onlyOne(sets, map[string]string{"assignment": o.assignment, "lp": o.lp}); err != nil {
		return err
	}
	return eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) {
		if err := s.needIntervals(); err != nil {
			return nil, err
		}
		s.warnOutside()
		if o.lp != "" {
			if err := s.writeLP(cmd, o.lp); err != nil {
				return nil, err
			}
		}
		b, worst, err := s.bounds()
		if err == nil && o.assignment != "" {
			err = writeAssignment(cmd, o.assignment, worst.Bin, worst.Confidence, s.bins)
		}
		return b, err
	})
}

// together is what "calib exact --claim joint" prints.
type together struct {
	N         int     `json:"n"`
	Claim     claim   `json:"claim"`
	Attempted int     `json:"attempted"` // labelled images, not only those certified
	Delta     float64 `json:"delta"`
	Failures  int     `json:"failures"` // certificates of the set that may be false
	Joint     float64 `json:"joint_cce"`
	Gap       float64 `json:"gap"` // what the bound may be too large by
	CCE       float64 `json:"cce"` // where all intervals hold
}

func (o *exactOptions) joint(s *sampleFile) (answer, error) {
	if s.at == nil {
		return nil, cli.Usagef("--claim joint wants a ledger: a CSV file does not say how many images were attempted, nor alpha")
	}
	if s.at.fails == 0 {
		return nil, cli.Usagef("--spending family states intervals that hold at once already; --claim joint goes with paper and split")
	}
	k, err := calib.FailuresAtMost(s.at.of, s.at.fails, o.delta)
	if err != nil {
		return nil, err
	}
	j, err := calib.JointCCE(s.Correct, s.Lower, s.Upper, s.bins, k)
	if err != nil {
		return nil, err
	}
	s.at.note = "the claim takes noise samples to be independent of the model and of each other, and a seed that was not chosen by what comes out"
	return &together{N: len(s.Correct), Claim: joint, Attempted: s.at.of, Delta: o.delta, Failures: k, Joint: j.Upper, Gap: j.Gap(), CCE: j.CCE}, nil
}

func (b *together) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "samples\t%d\n", b.N)
	fmt.Fprintf(w, "calibration error, all images at once\t%.6f (at most %.2g too large), with probability at least %g\n", b.Joint, b.Gap, 1-b.Delta)
	fmt.Fprintf(w, "  certificates that may be false\t%d of %d\n", b.Failures, b.Attempted)
	fmt.Fprintf(w, "certified calibration error where all hold\t%.6f\n", b.CCE)
	return w.Flush()
}

func (s *sampleFile) writeLP(cmd *cobra.Command, path string) error {
	p, err := mip.New(s.Correct, s.Lower, s.Upper, s.bins)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := p.WriteLP(&text); err != nil {
		return err
	}
	return cli.WriteOut(cmd, path, text.Bytes())
}

func (b *summary) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "samples\t%d\n", b.N)
	fmt.Fprintf(w, "mean width of the intervals\t%.6f\n", b.MeanWidth)
	if b.ECE != nil {
		fmt.Fprintf(w, "ECE\t%.6f\n", *b.ECE)
	}
	fmt.Fprintf(w, "ECE of the Brier confidences\t%.6f\n", b.BrierECE)
	fmt.Fprintf(w, "certified calibration error\t%.6f\n", b.CCE)
	fmt.Fprintf(w, "largest mean gap\t%.6f\n", b.MeanGap)
	if b.Brier != nil {
		fmt.Fprintf(w, "Brier score\t%.6f\n", *b.Brier)
	}
	fmt.Fprintf(w, "certified Brier score\t%.6f\n", b.CBS)
	return w.Flush()
}

// brier is what "calib cbs" prints.
type brier struct {
	N       int      `json:"n"`
	CBS     float64  `json:"cbs"`
	MeanGap float64  `json:"mean_gap"`
	Brier   *float64 `json:"brier,omitempty"`
}

// cbsOptions are what the flags of "calib cbs" ask.
type cbsOptions struct {
	sampleOptions
	json *bool
}

func cbsCommand() *cobra.Command {
	var o cbsOptions
	cmd := &cobra.Command{
		Use:   "cbs {--in FILE | --ledger FILE} [flags]",
		Short: "The largest Brier score inside certified intervals",
		Long: `The certified Brier score (CBS): the largest Brier score that confidences inside the intervals can have,
and the largest mean gap between confidence and correctness.`,
		Example: "  certspec calib cbs --in intervals.csv --json",
		Args:    cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Hide(cmd, "bins", "edges", "closed") // the score has no bins
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *cbsOptions) run(cmd *cobra.Command) error {
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	return eachSet(cmd, sets, *o.json, (*sampleFile).certifiedBrier)
}

func (s *sampleFile) certifiedBrier() (answer, error) {
	if err := s.needIntervals(); err != nil {
		return nil, err
	}
	s.warnOutside()
	b := &brier{N: len(s.Correct)}
	var err error
	if b.CBS, b.MeanGap, err = calib.CertifiedBrier(s.Correct, s.Lower, s.Upper); err != nil || s.Confidence == nil {
		return b, err
	}
	brier, err := calib.Brier(s.Correct, s.Confidence)
	b.Brier = &brier
	return b, err
}

func (b *brier) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "samples\t%d\n", b.N)
	if b.Brier != nil {
		fmt.Fprintf(w, "Brier score\t%.6f\n", *b.Brier)
	}
	fmt.Fprintf(w, "certified Brier score\t%.6f\nlargest mean gap\t%.6f\n", b.CBS, b.MeanGap)
	return w.Flush()
}
