package calib

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

// ledgerRadius says which samples of a ledger a sampleFile has.
type ledgerRadius struct {
	radius float64
	sigma  float64
	of     int // labelled images of the ledger
	note   string
	fails  float64 // bound on the probability that radius or interval of an image is false; 0: all hold at once
}

// confidenceOptions say how confidences are certified from a ledger.
type confidenceOptions struct {
	confidences.Options
	radii []float64
}

func (o *confidenceOptions) flags(f *cli.Flags) {
	f.Floats(&o.radii, "radii", nil,
		"with a ledger: radii, unit: full range of a value (default those that its certified accuracies are stated at)")
	cli.Choice(f, &o.Method, "certificate", confidence.MethodCDF,
		"with a ledger: what bounds confidences, cdf or standard", confidence.MethodCDF, confidence.MethodStandard)
	cli.Choice(f, &o.Mode, "mode", "index",
		"with a ledger: the confidence is the mean score of the certified class (index) or the largest of all "+
			"classes (max)", "index", "max")
	cli.Choice(f, &o.Spending, "spending", "paper",
		"with a ledger: how alpha is divided between radius and confidence: paper (all for each), split (half for "+
			"each), family (split, and over all images)", "paper", "split", "family")
}

// sets gives the samples of a ledger, per radius.
func (o *confidenceOptions) sets(ctx context.Context, f *pflag.FlagSet, path string) ([]*sampleFile, error) {
	if err := cli.CheckRadii(o.radii); err != nil {
		return nil, err
	}
	at := o.radii
	run, err := rs.Open(path)
	if err != nil {
		return nil, err
	}
	if !f.Changed("radii") {
		at = run.Radii()
	}
	certified, err := confidences.Certify(ctx, path, at, o.Options)
	if err != nil {
		return nil, cli.Usage(err)
	}
	note := fmt.Sprintf("%s (spending %s)", o.Spending.Holds(run.Header.Alpha), o.Spending)
	var sets []*sampleFile
	for _, c := range certified {
		if o.Mode == "max" {
			warnOther(path, &c)
		}
		sets = append(sets, &sampleFile{
			name:   fmt.Sprintf("%s at %g", path, c.Radius),
			Table:  &calib.Table{Correct: c.Correct, Confidence: c.Confidence, Lower: c.Lower, Upper: c.Upper},
			images: c.Images,
			at:     &ledgerRadius{c.Radius, run.Header.Sigma, c.Of, note, o.Spending.Fails(run.Header.Alpha)},
		})
	}
	return sets, nil
}

// warnOther tells where the largest of all classes is not known: a ledger has the scores of the
// certified class, which is the largest for certain from one half on.
func warnOther(path string, c *confidences.Certified) {
	below := 0
	for _, z := range c.Confidence {
		if z < .5 {
			below++
		}
	}
	if below > 0 {
		cli.Say("warning: %s at %g: the mean score of the certified class is below 1/2 for %d of %d images; there "+
			"another class may have a larger one, which the ledger does not hold. Their intervals hold the largest, "+
			"their point confidence is that of the certified class",
			path, c.Radius, below, len(c.Confidence))
	}
}

// isLedger reports whether a file begins as a ledger does.
func isLedger(first []byte) bool { return len(first) > 0 && first[0] == '{' }

type answer interface{ print(io.Writer) error }

// none is the answer where nothing is certified.
type none struct {
	N int `json:"n"`
}

func (none) print(out io.Writer) error {
	_, err := fmt.Fprintln(out, "no certified samples")
	return err
}

// eachSet answers for every set of samples, and prints: the one of a CSV file, or one for each radius of a ledger.
func eachSet(cmd *cobra.Command, sets []*sampleFile, asJSON bool, of func(*sampleFile) (answer, error)) error {
	out := cmd.OutOrStdout()
	var all []json.RawMessage
	for i, s := range sets {
		var a answer = none{}
		var err error
		if len(s.Correct) > 0 {
			if a, err = of(s); err != nil {
				return err
			}
		}
		switch {
		case asJSON && s.at == nil:
			return cli.PrintJSON(out, a)
		case asJSON:
			text, err := s.at.join(a)
			if err != nil {
				return err
			}
			all = append(all, text)
			continue
		case s.at != nil && i > 0:
			fmt.Fprintln(out)
		}
		if s.at != nil {
			cli.Fprintf(out, "radius %g, certified for %d of %d images\n", s.at.radius, len(s.Correct), s.at.of)
		}
		if err := a.print(out); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.PrintJSON(out, all)
	}
	if last := sets[len(sets)-1]; last.at != nil {
		cli.Fprintf(out, "\n%s\n", last.at.note)
	}
	return nil
}

// join puts the radius in front of the fields of an answer.
func (r *ledgerRadius) join(a answer) (json.RawMessage, error) {
	head, err := json.Marshal(struct {
		Radius float64 `json:"radius"`
		Of     int     `json:"of"`
		Note   string  `json:"note"`
	}{r.radius, r.of, r.note})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(a)
	if err != nil {
		return nil, err
	}
	return append(append(bytes.TrimSuffix(head, []byte("}")), ','), body[1:]...), nil
}

// onlyOne refuses a flag that names one file for several sets.
func onlyOne(sets []*sampleFile, flags map[string]string) error {
	for name, file := range flags {
		if file != "" && len(sets) > 1 {
			return cli.Usagef("--%s with %d radii: expected one", name, len(sets))
		}
	}
	return nil
}

// certifiedConfidences is the output of "calib certify".
type certifiedConfidences struct {
	confidences.Summary

	Together *together `json:"together,omitempty"` // of --claim joint
}

func (s *sampleFile) certified() *certifiedConfidences {
	c := confidences.Certified{Of: s.at.of, Correct: s.Correct, Confidence: s.Confidence, Lower: s.Lower,
		Upper: s.Upper}
	return &certifiedConfidences{Summary: c.Summary()}
}

func (c *certifiedConfidences) print(out io.Writer) error {
	_, err := cli.Fprintf(out, "certified accuracy  %.4f\nmean confidence     %.4f, certified on average within "+
		"[%.4f, %.4f]\nmean width          %.4f, widest %.4f\n",
		c.Accuracy, c.Confidence, c.Lower, c.Upper, c.Width, c.Widest)
	if err != nil || c.Together == nil {
		return err
	}
	return c.Together.print(out)
}

// certifyOptions holds the values of the flags of "calib certify".
type certifyOptions struct {
	confidenceOptions
	binOptions
	claim       claimOptions
	ledger, out string
	in          string // refused, with the reason
	json        *bool
}

func certifyCommand() *cobra.Command {
	var o certifyOptions
	cmd := &cobra.Command{
		Use:   "certify --ledger FILE [flags]",
		Short: "Certify intervals that hold the confidences of a ledger's images within a radius",
		Long: `Certify how far the confidences of the smoothed classifier can move within a radius.

The ledger is one of certspec certify --keep-scores. Every image that is certified at a radius, right or wrong, gets
an interval in which its confidence stays within that radius. One certification serves all radii and both
certificates. --out writes the intervals as CSV, which the other verbs read with --in. With --claim joint, the
largest calibration error inside the intervals is printed, too: for all images at once, on average, and for the
population.`,
		Example: "  certspec calib certify --ledger out/fmnist.ledger --radii 0,0.1,0.25\n  certspec calib certify " +
			"--ledger out/fmnist.ledger --radii 0,0.1,0.25 --claim joint\n  certspec calib certify --ledger " +
			"out/fmnist.ledger --radii 0.25 -o intervals.csv",
		Args: cli.NoArgs,
	}

	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.ledger, "ledger", "ledger with scores", "ledger")
		f.File(&o.in, "in", "a CSV file cannot be certified", "csv")
		f.MarkHidden("in")
		o.confidenceOptions.flags(f)
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		o.claim.flags(f)
		o.binOptions.flags(f)
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "CSV file to write: image, correct, confidence, lower, upper; with several radii, each gets a "+
			"file with its radius in the name", ".csv")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "ledger", "radii", "claim", "spending", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *certifyOptions) run(cmd *cobra.Command) error {
	f := cmd.Flags()
	if f.Changed("in") {
		return cli.Usagef("--in %s: the confidences of a CSV file say nothing of images nearby, so no interval within a "+
			"radius follows; a ledger does it, which certspec certify --keep-scores makes: --ledger FILE. "+
			"certspec calib metrics --in measures the file as it is", o.in)
	}
	if err := cli.Needed(cmd, "ledger"); err != nil {
		return err
	}
	if err := o.claim.check(cmd); err != nil {
		return err
	}
	for _, name := range []string{"bins", "edges", "closed"} {
		if o.claim.kind != joint && f.Changed(name) {
			return cli.Usagef("--%s goes with --claim joint: intervals have no bins", name)
		}
	}
	bins, err := o.bins(f)
	if err != nil {
		return err
	}
	sets, err := o.sets(cmd.Context(), cmd.Flags(), o.ledger)
	if err != nil {
		return err
	}
	for _, s := range sets {
		if o.out == "" {
			break
		}
		file := o.out
		if len(sets) > 1 && file != "-" {
			stem, found := strings.CutSuffix(file, ".csv")
			file = fmt.Sprintf("%s-%g", stem, s.at.radius)
			if found {
				file += ".csv"
			}
		}
		if err := s.writeIntervals(cmd, file); err != nil {
			return err
		}
	}
	return eachSet(cmd, sets, *o.json, func(s *sampleFile) (a answer, err error) {
		c := s.certified()
		if o.claim.kind == joint {
			s.bins = bins
			c.Together, err = o.claim.of(s)
		}
		return c, err
	})
}

func (s *sampleFile) writeIntervals(cmd *cobra.Command, path string) error {
	rows := [][]string{{"image", "correct", "confidence", "lower", "upper"}}
	for i, correct := range s.Correct {
		row := []string{fmt.Sprint(s.images[i]), "0"}
		if correct {
			row[1] = "1"
		}
		for _, v := range []float64{s.Confidence[i], s.Lower[i], s.Upper[i]} {
			row = append(row, cli.Number(v))
		}
		rows = append(rows, row)
	}
	return cli.WriteCSV(cmd, path, rows)
}
