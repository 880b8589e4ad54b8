package ledger

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/strength"
)

// replayOptions holds the values of the flags of "ledger replay".
type replayOptions struct {
	rs.ReplayOptions
	input      cli.InputOptions
	uncompared bool
	json       *bool
}

func replayCommand() *cobra.Command {
	var o replayOptions
	cmd := &cobra.Command{
		Use:   "replay LEDGER {--model PATH | --exec COMMAND} --data NAME [flags]",
		Short: "Compute the numbers of a ledger again with the model, and report every difference",
		Long: `Draw noise samples of a ledger again, from its seed, and compare what the model makes of them with the
counts in the ledger, and with the scores beside it. Samples that lie between two classes may flip where
another engine, version, number of threads or instruction set rounds otherwise; with equal ones, any
difference is evidence against the ledger: exit code 1. A ledger has the counts of the blocks of a look
in one sum, so that whole looks are computed.

Of a file of certspec prove, the model is asked again about every image at its strengths.

Of a file of certspec ood, bounds are computed again, and in a file of attacks the confidences of the images
themselves. Its images are those that it names, or those of --data.`,
		Example: "  certspec ledger replay out/fmnist-s025.ledger --model models/fmnist-cnn-s025 --data " +
			"fashionmnist/test --skip 20 --images 10\n" +
			"  certspec ledger replay out/mnist.ood --model net.onnx --images 100",
		Args: cli.OneLedger,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Model, func(f *cli.Flags) { f.Uncompared(&o.uncompared) })
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.IntVar(&o.Count, "images", 0, "number of images, spread evenly over the ledger (default all)")
		f.Ints(&o.Images, "image", nil, "numbers of the images")
		f.IntVar(&o.Blocks, "blocks", 0, "only looks within so many first blocks of an image (default all)")
		f.IntVar(&o.Workers, "workers", 0, "calls of the model at once (default enough for all processors)")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "images", "image", "blocks")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *replayOptions) run(cmd *cobra.Command, args []string) error {
	f := cmd.Flags()
	for _, name := range []string{"images", "blocks", "workers"} {
		if v, _ := f.GetInt(name); f.Changed(name) && v < 1 {
			return cli.Usagef("--%s %d: expected at least 1", name, v)
		}
	}
	if f.Changed("image") && f.Changed("images") {
		return cli.Usagef("--image with --images: expected one of them")
	}
	if record.Is(args[0]) {
		return o.ood(cmd, args[0])
	}
	if err := cli.Needed(cmd, "data"); err != nil {
		return err
	}
	if strength.Is(args[0]) {
		return o.strength(cmd, args[0])
	}
	if o.uncompared {
		return cli.Usagef("--uncompared is of files of certspec ood")
	}
	o.input.Images.Recorded = args[0]
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	o.Progress = cli.Progress()
	r, err := rs.Replay(cmd.Context(), args[0], in.Model, in.Data, o.ReplayOptions)
	if err != nil {
		return cli.Usage(err)
	}
	if *o.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), r)
	} else {
		err = print_(cmd.OutOrStdout(), r)
	}
	if s := r.Scores; err == nil && r.EqualIdentity && s != nil && s.Equal < s.Looks {
		err = fmt.Errorf("%s: the scores of %d of %d looks came out otherwise on the engine that the ledger names",
			args[0], s.Looks-s.Equal, s.Looks)
	}
	if err == nil && r.EqualIdentity && len(r.Flips) > 0 {
		err = fmt.Errorf("%s: %d of %d looks came out otherwise on the engine that the ledger names", args[0],
			len(r.Flips), r.Looks)
	}
	return err
}

func print_(out io.Writer, r *rs.Replayed) error {
	for _, f := range r.Flips {
		fmt.Fprintln(out, f)
	}
	samples := 0
	for _, f := range r.Flips {
		samples += f.Samples
	}
	_, err := cli.Fprintf(out, "%s images, %s looks, %s blocks: %s blocks equal, %s looks differ, by %s noise "+
		"samples at least\n", printable.Count(r.Images), printable.Count(r.Looks), printable.Count(r.Blocks),
		printable.Count(r.EqualBlocks), printable.Count(len(r.Flips)), printable.Count(samples))
	if s := r.Scores; s != nil {
		cli.Fprintf(out, "scores of %d looks: %d equal", s.Looks, s.Equal)
		if s.Equal < s.Looks {
			cli.Fprintf(out, "; %s noise samples in another cell at least, mean scores up to %.2g apart",
				printable.Count(s.Samples), s.Mean)
		}
		fmt.Fprintln(out)
	}
	if !r.EqualIdentity {
		cli.Fprintf(out, "the ledger was made on %s, this ran on %s: noise samples between two classes may flip\n",
			engineText(r.Stored), engineText(r.Now))
	}
	return err
}

// engineText says in words what a model runs on.
func engineText(id classifier.Identity) string {
	text := id.Engine
	if id.EngineVersion != "" {
		text += " " + id.EngineVersion
	}
	if id.Threads > 0 {
		text += fmt.Sprintf(", %d threads", id.Threads)
	}
	if id.InstructionSet != "" {
		text += ", " + id.InstructionSet
	}
	return text
}
