package calib

import (
	"bytes"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/mip"
)

// summary is a calib.Summary that prints itself.
type summary struct{ calib.Summary }

func (s *sampleFile) bounds() (*summary, calib.Worst, error) {
	b, worst, err := calib.Summarize(s.Correct, s.Confidence, s.Lower, s.Upper, s.bins)
	return &summary{b}, worst, err
}

// Ways to find the worst case.
const (
	byExact = "exact"
	byADMM  = "admm"
	byDECE  = "dece"
)

// ways are the flags that only some ways have.
var ways = map[string][]string{
	"claim": {byExact}, "delta": {byExact}, "lp": {byExact}, "assignment": {byExact, byADMM},
	"steps": {byADMM}, "trace": {byADMM}, "trials": {byDECE}, "seed": {byDECE},
}

// worstOptions holds the values of the flags of "calib worst".
type worstOptions struct {
	sampleOptions
	by                    string
	claim                 claimOptions
	steps, trials         int
	seed                  uint64
	assignment, lp, trace string
	json                  *bool
}

func worstCommand() *cobra.Command {
	var o worstOptions
	cmd := &cobra.Command{
		Use:   "worst {--in FILE | --ledger FILE} [--by exact|admm|dece] [flags]",
		Short: "Find the largest calibration error and Brier score inside certified intervals",
		Long: `Find how wrong confidences inside the intervals can be. An adversary can reach no more where every interval
holds and no prediction changes.

exact  the certified calibration error (CCE), the largest expected calibration error, by a dynamic program;
       the certified Brier score (CBS); and the largest mean gap between confidence and correctness
admm   the approximate certified calibration error (ACCE) of Emde et al. (2025): the best of 16 runs of ADMM
       on the mixed-integer program, beside the exact optimum. It is a lower bound, not a certificate
dece   the best of gradient ascents on a differentiable calibration error, beside the exact bound. The first
       12 trials are fixed, further ones are drawn at random

--assignment writes the worst bin (counted from 1) and confidence of every row. A confidence at the upper
edge of its bin is approached from below. With --claim joint and a ledger, the error is stated for all
images at once, on average, and for the population. --by admm without a column confidence starts its runs
at the middle of the intervals.`,
		Example: "  certspec calib worst --in intervals.csv --bins 15 --json --assignment worst.csv\n" +
			"  certspec calib worst --ledger out/fmnist.ledger --radii 0.05,0.25,0.5\n" +
			"  certspec calib worst --in intervals.csv --by dece --trials 100 --json",
		Args: cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.by, "by", byExact, "method that finds the worst case: exact, admm or dece",
			byExact, byADMM, byDECE)
		o.claim.flags(f)
		f.IntVar(&o.steps, "steps", 3000, "of --by admm: maximum number of steps of a run")
		f.IntVar(&o.trials, "trials", 12, "of --by dece: runs with different settings")
		f.Uint64Var(&o.seed, "seed", 0, "of --by dece: of the settings drawn at random, and of random starts")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.assignment, "assignment", "CSV file to write: bin and confidence of every row, not of --by dece", ".csv")
		f.Written(&o.lp, "lp", "file to write: the mixed-integer program, for other solvers (CPLEX's LP format)", ".lp")
		f.Written(&o.trace, "trace", "of --by admm: CSV file to write: value, penalties and residuals of the best run",
			".csv")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "ledger", "radii", "bins", "by")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *worstOptions) run(cmd *cobra.Command) error {
	for flag, of := range ways {
		if cmd.Flags().Changed(flag) && !slices.Contains(of, o.by) {
			return cli.Usagef("--%s with --by %s: it goes with --by %s", flag, o.by, cli.List(of))
		}
	}
	if o.steps < 1 || o.trials < 1 {
		return cli.Usagef("--steps %d, --trials %d: expected more than 0", o.steps, o.trials)
	}
	if err := o.claim.check(cmd); err != nil {
		return err
	}
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	files := map[string]string{"assignment": o.assignment, "lp": o.lp, "trace": o.trace}
	if err := onlyOne(sets, files); err != nil {
		return err
	}
	find := map[string]func(*cobra.Command, *sampleFile) (answer, error){
		byExact: o.exact, byADMM: o.admm, byDECE: o.dece}[o.by]
	if o.claim.kind == joint {
		if o.assignment != "" || o.lp != "" {
			return cli.Usagef("--assignment and --lp are of the program in which all intervals hold; leave them out " +
				"with --claim joint")
		}
		find = func(_ *cobra.Command, s *sampleFile) (answer, error) { return o.claim.of(s) }
	}
	return eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) { return find(cmd, s) })
}

func (o *worstOptions) exact(cmd *cobra.Command, s *sampleFile) (answer, error) {
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
}

func (o *worstOptions) admm(cmd *cobra.Command, s *sampleFile) (answer, error) {
	r, err := s.admm(cmd.Context(), o.steps)
	if err != nil {
		return nil, err
	}
	best := r.best()
	if o.assignment != "" {
		if err := writeAssignment(cmd, o.assignment, best.Bin, best.Confidence, s.bins); err != nil {
			return nil, err
		}
	}
	if o.trace != "" {
		err = s.writeTrace(cmd, o.trace, best.ADMM)
	}
	return r, err
}

func (o *worstOptions) dece(cmd *cobra.Command, s *sampleFile) (answer, error) {
	return s.dece(cmd.Context(), o.trials, o.seed)
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
	w := cli.Columns(out)
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
