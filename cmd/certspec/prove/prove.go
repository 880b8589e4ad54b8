// Package prove is "certspec prove".
package prove

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/strength"
)

// options holds the values of the flags.
type options struct {
	input  cli.InputOptions
	over   string
	spaced int
	out    string
	bytes  string
	json   *bool
}

// Result is the output of "prove --json".
type Result struct {
	File      string          `json:"file,omitempty"`
	Digest    string          `json:"digest,omitempty"`
	Header    strength.Header `json:"header"`
	Claims    strength.Claims `json:"claims"`
	Images    []strength.Line `json:"images"`
	Asked     int             `json:"asked"` // images that the model was asked about, besides those of the data
	Strengths int             `json:"strengths"`
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "prove {MODEL | LEDGER} --data NAME --over CORRUPTION=FROM:TO --out FILE [flags]",
		Short: "Prove that the class is the same at every strength of a corruption",
		Long: `Prove that a model gives an image the same class at every strength of a corruption.

An image of bytes becomes one of finitely many images under brightness, JPEG, shifts and contrast. The model is asked
about all of them, so that nothing is left to chance, and about no more of an image once its class changes. Five
strengths are no such proof: a class can change and change back between them. The output says how often it does.

  brightness=-51:51   that many levels of 255 are added to every value, and the sum is clipped
  jpeg=10:100         every JPEG quality, as libjpeg computes it
  shift=-2:2          pixels down and right; the edge is repeated
  contrast=0.7:1.3    every real factor on the distance from mid-grey (127.5), 0 to 10

With a closed LEDGER in place of a model, the same is proven of the smoothed classifier, at the ledger's alpha, and
no model is asked: each strength lies where the claim on the image holds. Certify with --noise spectrum:grey@0=0.05
for brightness; plain noise reaches about one level.

The claim of a list is on the model itself, without noise. Of an integer network (certspec quantize --exact) it holds on
every machine; of another, on the engine that the file names.

certcheck --strength FILE BYTES [LEDGER] makes all images again with code of its own and shows that none was left
out. --bytes writes the images for it.`,
		Example: "  certspec prove q.intnet --data cifar10-jpeg/test --count 500 --over jpeg=10:100 --out jpeg.strength\n" +
			"  certspec prove q.intnet --data cifar10-jpeg/test --count 500 --over brightness=-25:25 --out b.strength " +
			"--bytes b.bytes\n" +
			"  certspec prove grey.ledger --data cifar10-jpeg/test --count 500 --over brightness=-10:10 --out g.strength",
		Args: cli.OneModel,
	}
	o.input.Flags(cmd)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Named(&o.over, "over", "", "corruption and its range of strengths, for example jpeg=10:100",
			func() []string {
				return []string{"brightness=-25:25", "jpeg=10:100", "shift=-2:2", "contrast=0.7:1.3"}
			})
		f.IntVar(&o.spaced, "spaced", 5, "strengths at equal distances whose answers are compared "+
			"with the proof; for shifts always centre and corners")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.out, "file that records the run; without one nothing is kept")
		f.Written(&o.bytes, "bytes", "also write the bytes of the images here, for certcheck")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "over", "count", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "data", "over"); err != nil {
		return err
	}
	if o.spaced < 2 {
		return cli.Usagef("--spaced %d: expected at least 2", o.spaced)
	}
	over, err := corrupt.ParseStrengths(o.over)
	if err != nil {
		return cli.Usage(err)
	}
	o.input.Images.Recorded = o.out
	if ledgerio.Is(o.input.Model.Path) {
		return o.fromLedger(cmd, over)
	}
	in, err := o.input.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	images, err := in.Index(cmd.Context())
	if err != nil {
		return err
	}
	orbits, err := over.Orbits(images.Shape)
	if err != nil {
		return cli.Usage(err)
	}
	if o.bytes != "" {
		if err := writeBytes(cmd.Context(), o.bytes, images); err != nil {
			return err
		}
	}
	some, err := in.Some(cmd.Context(), rs.Shard{})
	if err != nil {
		return err
	}
	const level = 1. / pixel.Steps
	if _, err := cli.LookFirst(cmd.Context(), in.Model, some, preflight.Use{Sigma: level,
		Each: orbits.Len() + 1}); err != nil {
		return err
	}
	cli.Say("%s images at %s strengths: at most %s answers of the model", printable.Count(images.Len()),
		printable.Count(orbits.Len()), printable.Count(images.Len()*(orbits.Len()+1)))
	f, err := strength.Prove(cmd.Context(), in.Model, in.Data, strength.Options{Over: over, File: o.out,
		Spaced: o.spaced, Program: cli.Version(), Progress: cli.Progress()})
	if err != nil {
		return cli.Usage(err)
	}
	return o.show(cmd, f, orbits)
}

// fromLedger proves strengths of the smoothed classifier.
func (o *options) fromLedger(cmd *cobra.Command, over corrupt.Strengths) error {
	if o.out == "" {
		o.input.Images.Recorded = o.input.Model.Path
	}
	data, err := o.input.Images.Open()
	if err != nil {
		return err
	}
	images, err := data.Index(cmd.Context(), cli.Progress())
	if err != nil {
		return err
	}
	orbits, err := over.Orbits(images.Shape)
	if err != nil {
		return cli.Usage(err)
	}
	if o.bytes != "" {
		if err := writeBytes(cmd.Context(), o.bytes, images); err != nil {
			return err
		}
	}
	f, err := strength.FromLedger(cmd.Context(), o.input.Model.Path, data, strength.Options{Over: over, File: o.out,
		Program: cli.Version(), Progress: cli.Progress()})
	if err != nil {
		return cli.Usage(err)
	}
	return o.show(cmd, f, orbits)
}

// show prints what was proven.
func (o *options) show(cmd *cobra.Command, f *strength.File, orbits *corrupt.Orbits) error {
	r := Result{File: f.Path, Digest: f.Digest, Header: f.Header, Claims: *f.Claims, Images: f.Lines,
		Strengths: orbits.Len()}
	for _, l := range f.Lines {
		r.Asked += l.Asked
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), r)
	}
	return r.print(cmd.OutOrStdout())
}

// writeBytes writes the images as the checker reads them.
func writeBytes(ctx context.Context, path string, images *imageset.Index) error {
	return atomicfile.Build(path, func(w io.Writer) error { return images.WriteBytes(ctx, w) })
}

func (r *Result) print(out io.Writer) error {
	c, h := r.Claims, r.Header
	w := cli.Columns(out)
	cli.Fprintf(w, "model\t%s, %s\n", h.Model.Name, h.Model.Identity.Weights)
	cli.Fprintf(w, "data\t%s, %s images\n", h.Data.Name, printable.Count(c.Images))
	cli.Fprintf(w, "strengths\t%s, %s of them; %s images asked\n", h.Over, printable.Count(r.Strengths),
		printable.Count(r.Asked))
	if r.File != "" {
		cli.Fprintf(w, "file\t%s\n", r.File)
	}
	if h.Ledger != "" {
		cli.Fprintf(w, "ledger\t%s: of the smoothed classifier, at its alpha an image\n", h.Ledger)
	}
	cli.Fprintf(w, "same class at every strength\t%s\n", share(c.Proven, c.Images))
	if c.Labelled > 0 {
		cli.Fprintf(w, "right\t%s\n", share(c.Right, c.Labelled))
		cli.Fprintf(w, "right at every strength\t%s\n", share(c.Robust, c.Labelled))
	}
	if c.SpacedSame > 0 {
		interval, err := rs.ExactInterval(c.SpacedWrong, c.SpacedSame, 0.95)
		if err != nil {
			return err
		}
		cli.Fprintf(w, "%d spaced strengths say right\t%s\n", h.Spaced, share(c.SpacedSame, c.Labelled))
		cli.Fprintf(w, "and are wrong about\t%d of these %d (95 %%: %.1f to %.1f %%)\n", c.SpacedWrong, c.SpacedSame,
			100*interval.Low, 100*interval.High)
	}
	return w.Flush()
}

func share(n, of int) string {
	return fmt.Sprintf("%d of %d (%.1f %%)", n, of, 100*float64(n)/float64(of))
}
