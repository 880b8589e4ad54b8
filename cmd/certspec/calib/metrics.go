package calib

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/resample"
)

// metrics is the output of "calib metrics".
type metrics struct {
	calib.Metrics
	ClasswiseECE *float64            `json:"classwise_ece,omitempty"` // with whole rows of probabilities
	NLL          *float64            `json:"nll,omitempty"`
	Test         *calib.KernelTest   `json:"kernel_test,omitempty"`
	Bins         []calib.Bin         `json:"bins"`
	Level        float64             `json:"level,omitempty"` // of the intervals
	Interval     map[string]interval `json:"intervals,omitempty"`
	Clipped      bool                `json:"debiased_ece_clipped,omitempty"` // its estimate is negative, and cut to 0
	Warnings     []string            `json:"warnings,omitempty"`
}

// interval is a resample.Interval under the keys of this command's JSON.
type interval struct {
	Low  float64 `json:"lower"`
	High float64 `json:"upper"`
}

// metricsOptions holds the values of the flags of "calib metrics".
type metricsOptions struct {
	sampleOptions
	bootstrap              resample.Options
	probabilities, diagram string
	simulations            int
	rows                   *calib.Probabilities // of --probabilities
	json                   *bool
}

func metricsCommand() *cobra.Command {
	var o metricsOptions
	cmd := &cobra.Command{
		Use:        "metrics {--in FILE | --probabilities FILE | --ledger FILE} [flags]",
		SuggestFor: []string{"ece", "brier", "reliability", "calibration"},
		Short:      "Measure calibration: ECE and related errors, Brier score, log loss, reliability, a test",
		Long: `Measure the calibration of confidences in a CSV file, or of the images that a ledger certifies at a radius.

It prints

  ECE                  expected calibration error over equal bins
  AdaECE               the same over bins of equal count, which may part samples of equal confidence
  AdaECE, quantiles    the same with edges at quantiles of the confidences, which part none
  smooth ECE           without bins
  debiased ECE         root mean square, without the bias of small bins
  MCE                  the largest error of a bin
  Brier, log loss      of the top label

It also prints the bars of the reliability diagram. --probabilities reads whole rows (columns label, p0,
p1, …), takes the most probable class, and adds the classwise ECE.

--test asks whether the confidences are calibrated: the squared kernel calibration error is compared with
that of simulated samples that are. --diagram draws the bars. It marks where the accuracies of calibrated
confidences lie, in all bins at once at --level.

--bootstrap adds intervals. That of the accuracy is exact. Those of Brier score and log loss are percentiles.
Those of the calibration errors are free of the bias of resampling. The smooth, the maximum and the
classwise error have none.`,
		Example: "  certspec calib metrics --in predictions.csv --bins 15 --json\n  certspec calib metrics " +
			"--probabilities softmax.csv --test 999 --diagram reliability.svg",
		Args: cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.probabilities, "probabilities",
			"CSV file of whole rows, label, p0, p1, …, instead of --in; - is standard input", "csv")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.IntVar(&o.simulations, "test", 0,
			"simulations of the test for miscalibration; its least p-value is 1/(1 + their number); 0 for none")
		f.IntVar(&o.bootstrap.Resamples, "bootstrap", 0, "resamples for intervals, at least 20; 0 for none")
		f.Float64Var(&o.bootstrap.Confidence, "level", 0.95,
			"confidence of the intervals, and of the band of --diagram")
		f.Uint64Var(&o.bootstrap.Seed, "seed", 0, "seed of the resamples and simulations")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Written(&o.diagram, "diagram", "reliability diagram to write: .svg, .png or .pdf", cli.FigureForms...)
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "ledger", "bins", "test", "diagram")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *metricsOptions) run(cmd *cobra.Command) error {
	if o.bootstrap.Resamples != 0 && o.bootstrap.Resamples < 20 {
		return cli.Usagef("--bootstrap %d: expected 0, or at least 20", o.bootstrap.Resamples)
	}
	if level := o.bootstrap.Confidence; !(level > 0 && level < 1) {
		return cli.Usagef("--level %v: expected a level in (0, 1)", level)
	}
	if o.simulations < 0 {
		return cli.Usagef("--test %d: expected a number of simulations, at least 1, or 0", o.simulations)
	}
	sets, err := o.samples(cmd)
	if err != nil {
		return err
	}
	if err := onlyOne(sets, map[string]string{"diagram": o.diagram}); err != nil {
		return err
	}
	return eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) {
		if s.Confidence == nil {
			return nil, fmt.Errorf("%s: no column confidence", s.name)
		}
		m, err := o.measure(cmd.Context(), s)
		if err != nil {
			return nil, err
		}
		for _, warning := range m.Warnings {
			cli.Say("warning: %s: %s", s.name, warning)
		}
		if o.diagram != "" {
			err = o.draw(cmd, s, m)
		}
		return m, err
	})
}

// openRows opens a file of probabilities, or standard input.
func openRows(cmd *cobra.Command, path string) (name string, in io.Reader, closer io.Closer, err error) {
	if path == "-" {
		return "standard input", cmd.InOrStdin(), io.NopCloser(nil), nil
	}
	file, err := os.Open(path)
	return path, file, file, err
}

// samples come from open, or are the most probable classes of --probabilities.
func (o *metricsOptions) samples(cmd *cobra.Command) ([]*sampleFile, error) {
	f := cmd.Flags()
	if !f.Changed("probabilities") {
		return o.open(cmd)
	}
	for _, name := range []string{"in", "ledger", "radii", "certificate", "mode", "spending"} {
		if f.Changed(name) {
			return nil, cli.Usagef("--%s with --probabilities: expected one source of samples", name)
		}
	}
	bins, err := o.bins(f)
	if err != nil {
		return nil, err
	}
	name, in, closer, err := openRows(cmd, o.probabilities)
	if err != nil {
		return nil, err
	}
	defer closer.Close()
	rows, err := calib.ReadProbabilitiesCSV(name, in)
	if err != nil {
		return nil, err
	}
	correct, confidence, err := rows.TopLabel()
	o.rows = &rows
	return []*sampleFile{{name: name, Table: &calib.Table{Correct: correct, Confidence: confidence}, bins: bins}}, err
}

// draw writes the reliability diagram.
func (o *metricsOptions) draw(cmd *cobra.Command, s *sampleFile, m *metrics) error {
	band, err := calib.ConsistencyBand(m.Bins, o.bootstrap.Confidence)
	if err != nil {
		return err
	}
	paint, err := calibplot.Reliability(filepath.Base(s.name), m.Bins, band)
	if err != nil {
		return err
	}
	caption := fmt.Sprintf("reliability diagram of %d samples, accuracy against confidence, with the band of "+
		"calibrated ones at level %g", m.N, o.bootstrap.Confidence)
	picture, err := cli.Drawing("diagram", o.diagram, caption, calibplot.Width, calibplot.Height, paint)
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, o.diagram, picture)
}

func (o *metricsOptions) measure(ctx context.Context, s *sampleFile) (*metrics, error) {
	of, err := calib.Measure(s.Correct, s.Confidence, s.bins)
	if err != nil {
		return nil, err
	}
	m := &metrics{Metrics: of, Clipped: of.DebiasedECE == 0 && of.ECE > 0}
	if m.LogLoss == nil {
		m.Warnings = append(m.Warnings, "the log loss is infinite: a sample is certain and wrong")
	}
	if err := o.further(ctx, s, m); err != nil {
		return nil, err
	}
	if m.Bins, err = calib.Reliability(s.Correct, s.Confidence, s.bins); err != nil || o.bootstrap.Resamples == 0 {
		return m, err
	}
	m.Level = o.bootstrap.Confidence
	found, err := calib.Intervals(ctx, s.Correct, s.Confidence, s.bins, o.bootstrap)
	m.Interval = make(map[string]interval, len(found))
	for name, i := range found {
		m.Interval[name] = interval(i)
	}
	return m, err
}

// further adds what whole rows have, and the test.
func (o *metricsOptions) further(ctx context.Context, s *sampleFile, m *metrics) error {
	if o.rows != nil {
		classwise, err := o.rows.ClasswiseECE(s.bins)
		if err != nil {
			return err
		}
		nll, err := o.rows.NLL()
		if err != nil {
			return err
		}
		m.ClasswiseECE = &classwise
		if math.IsInf(nll, 1) {
			m.Warnings = append(m.Warnings, "the negative log-likelihood is infinite: a true class has probability 0")
		} else {
			m.NLL = &nll
		}
	}
	if o.simulations == 0 {
		return nil
	}
	test, err := calib.TestKernel(ctx, s.Correct, s.Confidence, o.simulations, o.bootstrap.Seed)
	m.Test = &test
	return err
}

func (m *metrics) print(out io.Writer) error {
	w := cli.Columns(out)
	line := func(label, name string, value float64) {
		cli.Fprintf(w, "%s\t%.6f", label, value)
		if i, ok := m.Interval[name]; ok {
			cli.Fprintf(w, "\t[%.6f, %.6f]", i.Low, i.High)
		}
		fmt.Fprintln(w)
	}
	cli.Fprintf(w, "samples\t%d\n", m.N)
	line("accuracy", "accuracy", m.Accuracy)
	line("ECE", "ece", m.ECE)
	line("AdaECE, blocks", "adaece", m.AdaECE)
	line("AdaECE, quantiles", "adaece_quantile", m.AdaECEQuantile)
	line("smooth ECE", "", m.SmoothECE)
	if debiased := "debiased ECE, root mean square"; m.Clipped {
		cli.Fprintf(w, "%s\tnegative, cut to 0: no error beyond what chance adds\n", debiased)
	} else {
		line(debiased, "debiased_ece", m.DebiasedECE)
	}
	line("maximum error of a bin", "", m.MCE)
	if m.ClasswiseECE != nil {
		line("classwise ECE", "", *m.ClasswiseECE)
	}
	line("Brier score", "brier", m.Brier)
	if m.LogLoss != nil {
		line("log loss", "log_loss", *m.LogLoss)
	} else {
		fmt.Fprintln(w, "log loss\tinfinite")
	}
	if m.NLL != nil {
		line("negative log-likelihood", "", *m.NLL)
	}
	if m.Test != nil {
		cli.Fprintf(w, "kernel calibration error, squared\t%.3g\tcalibrated? p = %.3g\n", m.Test.SKCE, m.Test.P)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nbin\tsamples\tconfidence\taccuracy\tgap")
	for _, b := range m.Bins {
		cli.Fprintf(w, "%.4g–%.4g\t%d", b.Lower, b.Upper, b.Count)
		if b.Count == 0 {
			fmt.Fprintln(w, "\t–\t–\t–")
		} else {
			cli.Fprintf(w, "\t%.4f\t%.4f\t%+.4f\n", b.Confidence, b.Accuracy, b.Gap)
		}
	}
	return w.Flush()
}
