package calib

import (
	"context"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/resample"
)

// metrics is what "calib metrics" prints.
type metrics struct {
	N        int                       `json:"n"`
	Accuracy float64                   `json:"accuracy"`
	ECE      float64                   `json:"ece"`
	AdaECE   float64                   `json:"adaece"`
	Brier    float64                   `json:"brier"`
	LogLoss  *float64                  `json:"log_loss"` // null: infinite
	Bins     []calib.Bin               `json:"bins"`
	Level    float64                   `json:"level,omitempty"` // of the intervals
	Interval map[string]calib.Interval `json:"intervals,omitempty"`
	Warnings []string                  `json:"warnings,omitempty"`
}

// metricsOptions are what the flags of "calib metrics" ask.
type metricsOptions struct {
	sampleOptions
	bootstrap resample.Options
	json      *bool
}

func metricsCommand() *cobra.Command {
	var o metricsOptions
	cmd := &cobra.Command{
		Use:   "metrics {--in FILE | --ledger FILE} [flags]",
		Short: "Calibration of confidences: ECE, AdaECE, Brier, log loss, reliability",
		Long: `Calibration of the confidences in a CSV file, or of the images that a ledger certifies at a radius: expected calibration error over equal bins (ECE) and over
bins of equal count (AdaECE), top-label Brier score and log loss, and the bars of the reliability diagram. With
--bootstrap, intervals: exact of the accuracy, percentiles of Brier score and log loss, and of the calibration errors such that resampling does not bias.`,
		Example: "  certspec calib metrics --in predictions.csv --bins 15 --json",
		Args:    cli.NoArgs,
	}

	o.sampleOptions.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.IntVar(&o.bootstrap.Resamples, "bootstrap", 0, "resamples for intervals, at least 20; 0 for none")
		f.Float64Var(&o.bootstrap.Confidence, "level", 0.95, "of the intervals")
		f.Uint64Var(&o.bootstrap.Seed, "seed", 0, "of the resamples")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "in", "ledger", "radii", "bins", "bootstrap")
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
	sets, err := o.open(cmd)
	if err != nil {
		return err
	}
	return eachSet(cmd, sets, *o.json, func(s *sampleFile) (answer, error) {
		if s.Confidence == nil {
			return nil, fmt.Errorf("%s: no column confidence", s.name)
		}
		m, err := s.measure(cmd.Context(), o.bootstrap)
		if err != nil {
			return nil, err
		}
		for _, warning := range m.Warnings {
			cli.Say("warning: %s: %s", s.name, warning)
		}
		return m, nil
	})
}

func (s *sampleFile) measure(ctx context.Context, o resample.Options) (*metrics, error) {
	type statistic = func([]bool, []float64) (float64, error)
	m := &metrics{N: len(s.Correct)}
	logLoss := 0.0
	all := []struct {
		value *float64
		of    statistic
	}{
		{&m.Accuracy, func(c []bool, _ []float64) (float64, error) { return calib.Accuracy(c) }},
		{&m.ECE, func(c []bool, z []float64) (float64, error) { return calib.ECE(c, z, s.bins) }},
		{&m.AdaECE, func(c []bool, z []float64) (float64, error) { return calib.AdaECE(c, z, s.bins.Len()) }},
		{&m.Brier, calib.Brier},
		{&logLoss, calib.LogLoss},
	}
	for _, a := range all {
		var err error
		if *a.value, err = a.of(s.Correct, s.Confidence); err != nil {
			return nil, err
		}
	}
	if math.IsInf(logLoss, 1) {
		m.Warnings = append(m.Warnings, "the log loss is infinite: a sample is certain and wrong")
	} else {
		m.LogLoss = &logLoss
	}
	var err error
	if m.Bins, err = calib.Reliability(s.Correct, s.Confidence, s.bins); err != nil || o.Resamples == 0 {
		return m, err
	}
	m.Level = o.Confidence
	m.Interval, err = calib.Intervals(ctx, s.Correct, s.Confidence, s.bins, o)
	return m, err
}

func (m *metrics) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	line := func(label, name string, value float64) {
		fmt.Fprintf(w, "%s\t%.6f", label, value)
		if i, ok := m.Interval[name]; ok {
			fmt.Fprintf(w, "\t[%.6f, %.6f]", i.Lower, i.Upper)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintf(w, "samples\t%d\n", m.N)
	line("accuracy", "accuracy", m.Accuracy)
	line("ECE", "ece", m.ECE)
	line("AdaECE", "adaece", m.AdaECE)
	line("Brier score", "brier", m.Brier)
	if m.LogLoss != nil {
		line("log loss", "log_loss", *m.LogLoss)
	} else {
		fmt.Fprintln(w, "log loss\tinfinite")
	}
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "\nbin\tsamples\tconfidence\taccuracy\tgap")
	for _, b := range m.Bins {
		fmt.Fprintf(w, "%.4g–%.4g\t%d", b.Lower, b.Upper, b.Count)
		if b.Count == 0 {
			fmt.Fprintln(w, "\t–\t–\t–")
		} else {
			fmt.Fprintf(w, "\t%.4f\t%.4f\t%+.4f\n", b.Confidence, b.Accuracy, b.Gap)
		}
	}
	return w.Flush()
}
