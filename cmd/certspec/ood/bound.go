package ood

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/rs/ledger"
)

// byDensities are the bounds of a CCU network by its mixtures.
const byDensities feedforward.Method = "densities"

// boundOptions holds the values of the flags.
type boundOptions struct {
	runOptions
	method feedforward.Method
	plain  bool
	factor float64
}

func bound() *cobra.Command {
	var o boundOptions
	cmd := &cobra.Command{
		Use:   "bound MODEL --data NAME --eps E --out FILE",
		Short: "Bound the confidence over a ball around each image",
		Long: `Bound the confidence of a network over the ball |z − x| ≤ eps around each image.

The confidence is the largest softmax probability. Bounds above and below are by CROWN and by intervals, the better
of both for each pair of classes; --method ibp takes intervals alone. They are rounded outwards: they hold in exact
arithmetic and in float32. With --eps 0 the file holds the confidences themselves, for a network's own images.

Images that the network was trained on are refused.

--method densities is for a network that certspec train --method ccu made (Bitterwolf, Meinke and Hein 2020,
equations 13 and 15). It bounds the confidence by the densities alone, in a ball of the metric of the mixtures
of radius eps·√(d·λ), λ the largest eigenvalue of C⁻¹. The paper prints the largest eigenvalue of C in its
place, which is no bound; that radius stands beside it. Also printed is the largest eps for which the
confidence stays below factor/K. These bounds are in float64, and not rounded outwards.

Of an integer network (.intnet) intervals bound the confidence at all images of bytes in the ball. They are
integers themselves, and exact: nothing is rounded.`,
		Example: "  certspec ood bound net.onnx --data fashionmnist/test --out out/in.ood\n" +
			"  certspec ood bound net.onnx --data mnist/test --eps 0.1 --out out/mnist.ood\n" +
			"  certspec ood bound models/ccu --data fashionmnist/test[count=1000] --eps 0.3 --method densities",
		Args: cli.OneModel,
	}
	o.flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.method, "method", "",
			"method that bounds pairs of logits: ibp, crown, full-crown, which bounds the layers between by CROWN, "+
				"too, or alpha-crown, which also optimises slopes in ten steps an image; densities of a ccu network "+
				"(default crown, or ibp with --eps 0)", feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN,
			feedforward.AlphaCROWN, byDensities)
		f.Float64Var(&o.factor, "factor", 1.1,
			"of --method densities: times 1/K is the confidence whose radius is asked for")
		f.BoolVar(&o.plain, "plain", false,
			"leave rounding out, as other libraries do: the bounds then hold for no network in floating point")
	})
	o.outputFlags(cmd)
	cli.First(cmd, "model", "data", "eps", "method", "out")
	cli.Records(cmd, "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *boundOptions) run(cmd *cobra.Command) error {
	if o.method == byDensities {
		return o.densities(cmd)
	}
	if cmd.Flags().Changed("factor") {
		return cli.Usagef("--factor goes with --method densities")
	}
	var options ood.Options
	var n ood.Network
	var images *dataset.Dataset
	var err error
	if intnet.IsName(o.network.Path) {
		n, images, err = o.integers(cmd, &options)
	} else {
		n, images, options, err = o.open(cmd)
		options.Method = o.method
	}
	if err != nil {
		return err
	}
	if o.plain {
		options.Arithmetic = feedforward.Plain
	}
	m, err := ood.Measure(cmd.Context(), n, images, options)
	if err != nil {
		return wrongSize(err)
	}
	if *o.json {
		return printLines(cmd.OutOrStdout(), m)
	}
	return errors.Join(printRun(cmd.OutOrStdout(), m), notNumbers(m))
}

// integers opens an integer network, and fills what is asked of it.
func (o *boundOptions) integers(cmd *cobra.Command, options *ood.Options) (n *quantize.Bounded,
	images *dataset.Dataset, err error) {
	if o.plain || o.method != "" && o.method != feedforward.IBP {
		return nil, nil, cli.Usagef("%s is an integer network: expected --method %s, whose bounds are exact, "+
			"without --plain", o.network.Path, feedforward.IBP)
	}
	if images, *options, err = o.start(cmd); err != nil {
		return nil, nil, err
	}
	options.Method, options.Arithmetic = feedforward.IBP, feedforward.Integers
	if n, err = quantize.Open(o.network.Path); err != nil {
		return nil, nil, err
	}
	for _, d := range n.Record.Trained {
		options.Trained = append(options.Trained, ledger.Data{Name: d.Name, Digest: d.Digest, Images: d.Images})
	}
	return n, images, nil
}

// wrongSize marks images that do not fit as a wrong use.
func wrongSize(err error) error {
	var size *ood.SizeError
	var trained *ood.TrainedError
	if errors.As(err, &size) || errors.As(err, &trained) {
		return cli.Wrong(err)
	}
	return err
}

// imageLine is a line of "bound --json" and "attack --json".
type imageLine struct {
	Image         int      `json:"image"`
	Label         *int     `json:"label,omitempty"`
	Class         int      `json:"class"`
	LogConfidence *float64 `json:"log_confidence"` // null: not a number
	LogBound      *float64 `json:"log_bound,omitempty"`
	Bound         *float64 `json:"bound,omitempty"` // rounded up
	LogLower      *float64 `json:"log_lower,omitempty"`
	LogAttacked   *float64 `json:"log_attacked,omitempty"`
	Attack        string   `json:"attack,omitempty"`
}

func printLines(out io.Writer, m *ood.Measurement) error {
	for _, l := range m.Lines {
		line := imageLine{Image: l.Image, Class: l.Class, LogConfidence: number(l.Log)}
		if l.Label >= 0 {
			line.Label = &l.Label
		}
		if m.Header.Attack != nil {
			line.LogAttacked, line.Attack = number(l.Attacked), l.By
		} else {
			bound := min(math.Exp(l.Upper)*(1+1e-13), 1)
			line.LogBound, line.Bound, line.LogLower = &l.Upper, &bound, &l.Lower
		}
		if err := cli.PrintLines(out, line); err != nil {
			return err
		}
	}
	return notNumbers(m)
}

func number(v float64) *float64 {
	if math.IsNaN(v) {
		return nil
	}
	return &v
}

// notNumbers fails a run in which confidences are not numbers, after it was printed.
func notNumbers(m *ood.Measurement) error {
	if n := m.Claims.NaN; n > 0 {
		return fmt.Errorf("%d of %d confidences are not numbers: the network's outputs overflow or its weights are "+
			"damaged", n, len(m.Lines))
	}
	return nil
}

func printRun(out io.Writer, m *ood.Measurement) error {
	w := cli.Columns(out)
	h, c := m.Header, m.Claims
	cli.Fprintf(w, "network\t%s, %s\n", h.Model.Name, h.Model.Network)
	cli.Fprintf(w, "data\t%s, %d images\n", h.Data.Name, len(m.Lines))
	cli.Fprintf(w, "ball\t%s\n", h.Inputs())
	if b := h.Bound; b != nil {
		cli.Fprintf(w, "bounds\t%s, %s\n", b.Method, arithmetic(b))
	} else {
		cli.Fprintf(w, "attacks\t%s; seed %d\n", list(h.Attack.Names), h.Attack.Seed)
	}
	cli.Fprintf(w, "layers\t%s\n", cli.Compared(h.Model.Compared))
	if m.Path != "" {
		cli.Fprintf(w, "file\t%s\n", m.Path)
	}
	if c.Labels > 0 && h.Epsilon == 0 {
		cli.Fprintf(w, "accuracy\t%.2f %%\n", 100*float64(c.Correct)/float64(c.Labels))
	}
	cli.Fprintf(w, "mean confidence\t%s\n", cmp.Or(c.MeanConfidence, "–"))
	if h.Bound != nil {
		cli.Fprintf(w, "mean bound\t%s\n", c.Mean)
		cli.Fprintf(w, "vacuous bounds\t%d\n", c.Vacuous)
	} else {
		cli.Fprintf(w, "mean under attack\t%s\n", c.Mean)
		for _, name := range append([]string{"clean"}, h.Attack.Names...) {
			cli.Fprintf(w, "best by %s\t%d\n", name, by(m, name))
		}
	}
	if c.NaN > 0 {
		cli.Fprintf(w, "not numbers\t%d\n", c.NaN)
	}
	return w.Flush()
}

// arithmetic says what the bounds hold for.
func arithmetic(b *record.Bound) string {
	switch {
	case b.Arithmetic == feedforward.Integers:
		return "in integers, of the images of bytes in the ball: nothing is rounded"
	case b.Arithmetic == feedforward.Plain:
		return "rounding left out: they hold for no network in floating point"
	case b.Assumes != "":
		return "in exact arithmetic and in float32, if " + b.Assumes
	}
	return "in exact arithmetic and in float32"
}

func by(m *ood.Measurement, name string) (n int) {
	for _, l := range m.Lines {
		if l.By == name {
			n++
		}
	}
	return n
}
