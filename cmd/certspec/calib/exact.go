package calib

import (
	"bytes"
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
	claim          claimOptions
	json           *bool
}

func exactCommand() *cobra.Command {
	var o exactOptions
	cmd := &cobra.Command{
		Use:   "exact {--in FILE | --ledger FILE} [flags]",
		Short: "The largest calibration error inside certified intervals, exactly",
		Long: `The certified calibration error (CCE): the largest expected calibration error that confidences inside the
intervals can have, exactly, by a dynamic program. It bounds what an adversary can reach where every interval
holds and no prediction changes. With --assignment, the bin (counted from 1) and the confidence of every row at
which it is reached; where that confidence is the upper edge of the bin, the CCE is a supremum, approached from
below the edge. With --claim joint, and a ledger, what holds for all images at once, on average, and for the population.`,
		Example: "  certspec calib exact --in intervals.csv --bins 15 --json --assignment worst.csv\n  certspec calib exact --ledger out/fmnist.ledger --radii 0.05,0.25,0.5",
		Args:    cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Settings, o.claim.flags)
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
	if err := o.claim.check(cmd); err != nil {
		return err
	}
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	if err := onlyOne(sets, map[string]string{"assignment": o.assignment, "lp": o.lp}); err != nil {
		return err
	}
	if o.claim.kind == joint {
		if o.assignment != "" || o.lp != "" {
			return cli.Usagef("--assignment and --lp are of the program in which all intervals hold; leave them out with --claim joint")
		}
		return eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) { return o.claim.of(s) })
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
	cli.Fprintf(w, "samples\t%d\n", b.N)
	cli.Fprintf(w, "mean width of the intervals\t%.6f\n", b.MeanWidth)
	if b.ECE != nil {
		cli.Fprintf(w, "ECE\t%.6f\n", *b.ECE)
	}
	cli.Fprintf(w, "ECE of the Brier confidences\t%.6f\n", b.BrierECE)
	cli.Fprintf(w, "certified calibration error\t%.6f\n", b.CCE)
	cli.Fprintf(w, "largest mean gap\t%.6f\n", b.MeanGap)
	if b.Brier != nil {
		cli.Fprintf(w, "Brier score\t%.6f\n", *b.Brier)
	}
	cli.Fprintf(w, "certified Brier score\t%.6f\n", b.CBS)
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
	cli.Fprintf(w, "samples\t%d\n", b.N)
	if b.Brier != nil {
		cli.Fprintf(w, "Brier score\t%.6f\n", *b.Brier)
	}
	cli.Fprintf(w, "certified Brier score\t%.6f\nlargest mean gap\t%.6f\n", b.CBS, b.MeanGap)
	return w.Flush()
}
