package ledger

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/figure"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/certlog"
)

// plotOptions holds the values of the flags of "ledger plot".
type plotOptions struct {
	names      []string
	title, out string
	dataName   string
	json       *bool
}

// drawnCurve is a curve as "ledger plot" prints it.
type drawnCurve struct {
	Name     string    `json:"name"`
	File     string    `json:"file"`
	Data     string    `json:"data,omitempty"`
	Sigma    float64   `json:"sigma,omitempty"`
	Samples  int       `json:"n,omitempty"`
	Alpha    float64   `json:"alpha,omitempty"`
	Rule     string    `json:"rule,omitempty"`
	Images   int       `json:"images"`
	Cap      float64   `json:"cap,omitempty"` // largest radius that n noise samples certify
	Radii    []float64 `json:"radii"`         // ascending; the accuracy holds up to and at each
	Accuracy []float64 `json:"accuracy"`
}

func plotCommand() *cobra.Command {
	var o plotOptions
	cmd := &cobra.Command{
		Use:        "plot FILE… -o FIGURE",
		SuggestFor: []string{"curve"},
		Short:      "Draw certified accuracy against the radius, a curve per file",
		Long: `Draw certified accuracy against the radius: a curve for each ledger or published log.

A curve is a staircase: its value at a radius is the share of the images that are certified, correctly, at
least that far. Around it lies the exact 95 % interval for the population behind the images. A dotted line
marks the largest radius that n noise samples can certify; behind it nothing is proven.

Where the files differ in data, images, σ, n, α or rule, it says so: then the curves differ by more than
their models. The ending of --out says the form: .pdf, .svg or .png; .csv writes the steps.`,
		Example: "  certspec ledger plot a.ledger b.ledger --names \"ours,Cohen et al.\" -o curve.pdf\n" +
			"  certspec ledger plot notebooks/results/fmnist-cnn-s025.ledger notebooks/results/fmnist-cnn-s050.ledger " +
			"-o curve.svg",
		Args: cli.SomeLedgers,
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Words(&o.names, "names", nil, "names shown for the files, in their order (default the files' names)", nil)
		f.Text(&o.title, "title", "above the figure (default what the files share)")
		f.DataName(&o.dataName)
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "figure to write: .pdf, .svg or .png; or .csv, its steps",
			append([]string{".csv"}, cli.FigureForms...)...)
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error { return o.run(cmd, files) }
	return cmd
}

func (o *plotOptions) run(cmd *cobra.Command, files []string) error {
	if !*o.json {
		if err := cli.Needed(cmd, "out"); err != nil {
			return err
		}
	}
	if cmd.Flags().Changed("names") && len(o.names) != len(files) {
		return cli.Usagef("--names has %d names for %d files", len(o.names), len(files))
	}
	logs, failed := readLogs(files, nil)
	if failed != nil {
		return failed
	}
	var curves []drawnCurve
	for i, l := range logs {
		warn(l.File, l.Warnings)
		c, err := o.curve(l)
		if err != nil {
			return err
		}
		base := filepath.Base(files[i])
		if c.Name = strings.TrimSuffix(base, filepath.Ext(base)); o.names != nil {
			c.Name = o.names[i]
		}
		curves = append(curves, c)
	}
	for _, line := range differing(curves) {
		cli.Say("the files differ in %s: the curves differ by more than their models", line)
	}
	if o.out != "" {
		if err := o.write(cmd, curves); err != nil {
			return err
		}
	}
	if *o.json {
		return cli.PrintLines(cmd.OutOrStdout(), curves...)
	}
	if o.out != "-" {
		cli.Fprintf(cmd.OutOrStdout(), "%s: certified accuracy of %d files\n", o.out, len(curves))
	}
	return nil
}

func (o *plotOptions) curve(l *certlog.Results) (drawnCurve, error) {
	images := l.Rows.ACR().Images
	if images == 0 {
		return drawnCurve{}, fmt.Errorf("%s: no image has a label, so that no accuracy is known", l.File)
	}
	steps := l.Rows.Curve()
	c := drawnCurve{File: l.File, Images: images, Radii: steps.Radii, Accuracy: steps.Accuracy, Data: o.dataName}
	if l.Run == nil {
		return c, nil
	}
	h := l.Run.Header
	if c.Data == "" {
		c.Data = printable.DataName(h.Data.Name)
	}
	c.Sigma, c.Samples, c.Alpha, c.Rule, c.Cap = h.Sigma, h.MaxSamples(), h.Alpha, string(h.Rule.Name), l.Run.RadiusCap()
	return c, nil
}

// setting is one that curves may share, in words.
type setting struct {
	name string
	of   func(drawnCurve) string
}

var plotSettings = []setting{
	{"data", func(c drawnCurve) string { return c.Data }},
	{"images", func(c drawnCurve) string { return printable.Count(c.Images) + " images" }},
	{"σ", func(c drawnCurve) string { return told("σ = %g", c.Sigma) }},
	{"n", func(c drawnCurve) string {
		if c.Samples == 0 {
			return ""
		}
		return "n ≤ " + printable.Count(c.Samples)
	}},
	{"α", func(c drawnCurve) string { return told("α = %g", c.Alpha) }},
	{"rule", func(c drawnCurve) string { return c.Rule }},
}

// told is a number in words; 0 is not known.
func told(format string, v float64) string {
	if v == 0 {
		return ""
	}
	return fmt.Sprintf(format, v)
}

// differing are the settings in which curves differ, each with its values. A log does not say most of its own.
func differing(curves []drawnCurve) (all []string) {
	for _, s := range plotSettings {
		var values []string
		for _, c := range curves {
			if v := s.of(c); v != "" && !slices.Contains(values, v) {
				values = append(values, v)
			}
		}
		if len(values) > 1 {
			all = append(all, s.name+" ("+strings.Join(values, "; ")+")")
		}
	}
	return all
}

// sharedSettings are the settings that all curves have, for a title.
func sharedSettings(curves []drawnCurve) string {
	var words []string
	for _, s := range plotSettings {
		v := s.of(curves[0])
		if v != "" && s.name != "rule" && !slices.ContainsFunc(curves, func(c drawnCurve) bool { return s.of(c) != v }) {
			words = append(words, v)
		}
	}
	return strings.Join(words, ", ")
}

// write writes the steps or the figure.
func (o *plotOptions) write(cmd *cobra.Command, curves []drawnCurve) error {
	if !cli.IsDrawing(o.out) {
		rows := [][]string{{"curve", "radius", "certified_accuracy"}}
		for _, c := range curves {
			for i, r := range c.Radii {
				rows = append(rows, []string{c.Name, cli.Number(r), cli.Number(c.Accuracy[i])})
			}
		}
		return cli.WriteCSV(cmd, o.out, rows)
	}
	words := figure.Words{Title: o.title}
	if !cmd.Flags().Changed("title") {
		words.Title = sharedSettings(curves)
	}
	caption := "certified accuracy against the radius, with 95 % intervals: " + words.Title
	var drawn []figure.Curve
	for _, c := range curves {
		at := figure.Curve{Name: c.Name, Radii: c.Radii, Accuracy: c.Accuracy, Images: c.Images, Cap: c.Cap,
			Samples: c.Samples}
		if at.Cap == 0 && len(c.Radii) > 0 { // of a log, whose axis ends behind its last step
			at.Cap = slices.Max(c.Radii)
		}
		if len(curves) == 1 {
			at.Name = ""
		}
		first := 0.0
		if len(c.Accuracy) > 0 {
			first = c.Accuracy[0]
		}
		caption += fmt.Sprintf("; %s: %.3f at radius 0, no radius above %.3f", c.Name,
			math.Floor(1000*first)/1000, math.Ceil(1000*at.Cap)/1000)
		drawn = append(drawn, at)
	}
	data, err := cli.Drawing("out", o.out, caption, figure.Width, figure.Height, func(c draw.Canvas) {
		figure.CertifiedAccuracy(figure.Inset(c), words, drawn...)
	})
	if err != nil {
		return err
	}
	return cli.WriteOut(cmd, o.out, data)
}
