package ood

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
)

// aucOptions holds the values of the flags.
type aucOptions struct {
	in, validation string
	foreign        []string
	ood.CompareOptions
	json *bool
}

// aucResult is the output of "ood auc --json".
type aucResult struct {
	*ood.Comparison
	Threshold *thresholdResult `json:"threshold,omitempty"`
}

// thresholdResult is a threshold from validation images, and what it does to both sides.
type thresholdResult struct {
	ood.Threshold
	In      float64 `json:"in"`      // share of own images at or above it
	Foreign float64 `json:"foreign"` // share of foreign ones
	// share of foreign images whose bound reaches it: no attack in their balls takes more
	Guaranteed *float64 `json:"guaranteed"`
}

func auc() *cobra.Command {
	var o aucOptions
	cmd := &cobra.Command{
		Use:        "auc --in FILE --foreign FILE[,FILE]",
		SuggestFor: []string{"auroc", "gauc"},
		Short:      "Compare the confidences on own and foreign images: clean, attacked and guaranteed",
		Long: `Compare the confidences of a network on its own images with those on foreign ones, by the area under
the ROC curve.

  AUC     of the images as they are
  AAUC    of the foreign images as attacks found them
  GAUC    of their bounds, which no attack undercuts
  cAUC …  conservative forms: ties count as lost
  FPR95   share of foreign images that reach what 95 % of the own images reach; GFPR95 is guaranteed

--foreign names the file of bounds of the foreign set, the file of attacks, or both. The attacked images may
be a part of the set. Then all three are given on that part, too.

Intervals at 95 % are DeLong's, and the bootstrap's over the images of both sides. Every image must satisfy
confidence ≤ confidence under attack ≤ bound; one that does not ends the command with an error.`,
		Example: "  certspec ood auc --in out/in.ood --foreign out/mnist.ood,out/mnist-adv.ood --json",
		Args:    cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.in, "in", "file of bounds on the network's own images, of --eps 0; of another, GAUC is given with "+
			"both sides attacked, too", "ood")
		f.Words(&o.foreign, "foreign", nil, "files of bounds and of attacks on one foreign set", nil)
		f.File(&o.validation, "validation",
			"file of further own images, from which a threshold is taken that 95 % of them reach", "ood")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.IntVar(&o.Resamples, "resamples", 1000, "resamples of the bootstrap")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the bootstrap")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *aucOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "in", "foreign"); err != nil {
		return err
	}
	if o.Resamples < 1 {
		return cli.Usagef("--resamples %d: expected at least 1", o.Resamples)
	}
	in, err := record.Read(o.in)
	if err != nil {
		return err
	}
	var foreign []*ood.Measurement
	for _, path := range o.foreign {
		m, err := record.Read(path)
		if err != nil {
			return err
		}
		foreign = append(foreign, m)
	}
	c, err := ood.Compare(cmd.Context(), o.CompareOptions, in, foreign...)
	if err != nil {
		return err
	}
	result := aucResult{Comparison: c}
	if o.validation != "" {
		if result.Threshold, err = o.threshold(in, foreign); err != nil {
			return err
		}
	}
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), result)
	} else {
		err = result.print(cmd.OutOrStdout())
	}
	nan := c.NaN
	if t := result.Threshold; t != nil {
		nan += t.NaN
	}
	if nan > 0 {
		err = errors.Join(err, fmt.Errorf("%d confidences are not numbers: the network's outputs overflow or its "+
			"weights are damaged", nan))
	}
	return err
}

func (o *aucOptions) threshold(in *ood.Measurement, foreign []*ood.Measurement) (*thresholdResult, error) {
	v, err := record.Read(o.validation)
	if err != nil {
		return nil, err
	}
	switch {
	case v.Claims == nil:
		return nil, fmt.Errorf("%s is not finished: run its command again", o.validation)
	case v.Header.Model.Network != in.Header.Model.Network:
		return nil, fmt.Errorf("%s is of another network than %s", o.validation, o.in)
	}
	for _, m := range append([]*ood.Measurement{in}, foreign...) {
		if err := ood.Further(v, m); err != nil {
			return nil, err
		}
	}
	t, err := ood.PickThreshold(v, 0.95)
	if err != nil {
		return nil, err
	}
	out := &thresholdResult{Threshold: t, In: t.Keeps(in), Foreign: t.Reach(foreign[0], false)}
	for _, m := range foreign {
		if m.Header.Bound != nil { // attacked images may be a part
			g := t.Reach(m, true)
			out.Foreign, out.Guaranteed = t.Reach(m, false), &g
		}
	}
	return out, nil
}

func (r aucResult) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "own\t%s, %d images, mean confidence %.4f\n", r.In.Name, r.In.Images, r.In.Confidence)
	cli.Fprintf(w, "foreign\t%s, %d images, mean confidence %.4f\n", r.Foreign.Name, r.Foreign.Images,
		r.Foreign.Confidence)
	inputs := r.Inputs
	if inputs == "" {
		inputs = fmt.Sprintf("|z − x| ≤ %v in every value", r.Epsilon)
	}
	cli.Fprintf(w, "ball\t%s\n\n", inputs)
	fmt.Fprintln(w, "\tties one half\t95 % (DeLong)\tties lost\t95 % (bootstrap)")
	row := func(label, name string, v, c *float64, round func(share float64) string) {
		if v == nil {
			return
		}
		a, b := r.Intervals[name], r.Intervals["c"+name]
		delong := ""
		if a.DeLong != nil {
			delong = fmt.Sprintf("%s to %s", percent(a.DeLong.Low), percent(a.DeLong.High))
		}
		cli.Fprintf(w, "%s\t%s\t%s\t%s\t%s to %s\n", label, round(*v), delong, round(*c), percent(b.Bootstrap.Low),
			percent(b.Bootstrap.High))
	}
	row("AUC", "auc", &r.AUC, &r.CAUC, percent)
	row("AAUC", "aauc", r.AAUC, r.CAAUC, percent)
	row("GAUC", "gauc", r.GAUC, r.CGAUC, atLeast)
	row("GAUC, both sides attacked", "gauc_both", r.BothGAUC, r.BothCGAUC, atLeast)
	fmt.Fprintln(w)
	for _, v := range []struct {
		label string
		value *float64
		round func(share float64) string
	}{{"FPR95", r.FPR95, percent}, {"FPR95, guaranteed", r.GFPR95, atMost}, {"mean bound", r.Foreign.Bound, atMost}} {
		if v.value != nil {
			cli.Fprintf(w, "%s\t%s\n", v.label, v.round(*v.value))
		}
	}
	if s := r.Attacked; s != nil && s.Images < r.Foreign.Images {
		cli.Fprintf(w, "on the %d attacked images\tAUC %s, AAUC %s", s.Images, percent(s.AUC), percent(s.AAUC))
		if s.GAUC != nil {
			cli.Fprintf(w, ", GAUC %s", atLeast(*s.GAUC))
		}
		fmt.Fprintln(w)
	}
	if t := r.Threshold; t != nil {
		cli.Fprintf(w, "threshold %.6f\t%s of the validation images reach it (at least %s of their kind, 95 %%), %s "+
			"of the own, %s of the foreign", t.Value, percent(t.TPR), atLeast(t.Least), percent(t.In),
			percent(t.Foreign))
		if t.Guaranteed != nil {
			cli.Fprintf(w, ", at most %s under any attack", atMost(*t.Guaranteed))
		}
		fmt.Fprintln(w)
	}
	if r.NaN > 0 {
		cli.Fprintf(w, "not numbers\t%d\n", r.NaN)
	}
	for _, warning := range r.Warnings {
		cli.Fprintf(w, "note\t%s\n", warning)
	}
	return w.Flush()
}

func percent(share float64) string { return fmt.Sprintf("%.1f %%", 100*share) }

// atLeast and atMost are a share in percent that is a guarantee, rounded to its safe side.
func atLeast(share float64) string { return percent(down(share, 1000)) }

func atMost(share float64) string { return percent(up(share, 1000)) }

// down and up round to parts of 1; shares of images that are such parts stay what they are.
func down(v, parts float64) float64 { return math.Floor(parts*v+1e-9) / parts }

func up(v, parts float64) float64 { return max(math.Ceil(parts*v-1e-9), 0) / parts }
