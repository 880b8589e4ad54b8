// Package interpolate is "certspec interpolate".
package interpolate

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/cmd/certspec/interpolate/mix"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
)

type options struct {
	alpha, data, engine, out string
	json                     *bool
}

// Written is a file that was written; without ending, of a model file.
type Written struct {
	Alpha float64 `json:"alpha"`
	Path  string  `json:"path"`
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "interpolate FROM TO --alpha 0:1:0.1 --out FOLDER",
		Short: "Write the networks between two others, weight by weight",
		Long: `Write networks whose every weight is (1 − α)·FROM + α·TO, as between a model and its fine-tuned form.

FROM and TO are two model files of certspec, two safetensors files, or two ONNX files of one graph. Names and shapes
must agree. The folder gets alpha-0.1 and so on; α = 0 and α = 1 are the files themselves, byte for byte.

The running averages of batch normalisation lie between those of the two, and may be off: --adapt takes new ones from
images (without labels), for model files. In ONNX files normalisation is often folded into the weights, which are
then what is interpolated.`,
		Example: "  certspec interpolate models/dense models/fine-tuned --alpha 0:1:0.1 --out mix/\n" +
			"  certspec interpolate a.onnx b.onnx --alpha 0,0.5,1 --out mix/\n" +
			"  certspec interpolate models/a models/b --alpha 0.5 --adapt cifar10/train --out mix/",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return cli.Usagef("%d files; expected two, FROM and TO", len(args))
			}
			return nil
		},
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Text(&o.alpha, "alpha", "weights of TO, from 0 to 1: FIRST:LAST:STEP, or a list, as in 0,0.5,1")
	})
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Named(&o.data, "adapt", "", "images for new running averages of batch normalisation, but for the ends; "+
			"default those between", cli.DataNames)
	})
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.TrainingEngine(&o.engine, "engine", "engine that runs the network for --adapt")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.OutFolder(&o.out, "folder to write to") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args[0], args[1]) }
	return cmd
}

func (o *options) run(cmd *cobra.Command, from, to string) error {
	if err := cli.Needed(cmd, "alpha", "out"); err != nil {
		return err
	}
	alphas, err := parse(o.alpha)
	if err != nil {
		return err
	}
	pair, err := mix.Open(from, to)
	if err != nil {
		return err
	}
	var images *imageset.Index
	if o.data != "" {
		if pair.Ending() != "" {
			return cli.Usagef("--adapt is for model files; %s has no running averages of its own", from)
		}
		d, err := dataset.Open(o.data)
		if err != nil {
			return cli.Wrong(err)
		}
		if images, err = d.Index(cmd.Context(), cli.Progress()); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(o.out, 0o777); err != nil {
		return err
	}
	var written []Written
	for _, alpha := range alphas {
		path := filepath.Join(o.out, "alpha-"+strconv.FormatFloat(alpha, 'g', -1, 64))
		if images != nil && alpha > 0 && alpha < 1 {
			err = o.adapted(cmd.Context(), pair, images, path, alpha)
		} else {
			err = pair.Write(path, alpha)
		}
		if err != nil {
			return err
		}
		written = append(written, Written{alpha, path + pair.Ending()})
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), written)
	}
	for _, w := range written {
		cli.Fprintf(cmd.OutOrStdout(), "%s: %.9g of %s and %g of %s\n", w.Path, 1-w.Alpha, from, w.Alpha, to)
	}
	return nil
}

// renewing is the number of batches after which 0.9^100 = 3·10⁻⁵ of the averages of before are left.
const renewing = 100

// adapted writes a network between with the averages that images give.
func (o *options) adapted(ctx context.Context, pair *mix.Pair, images *imageset.Index, path string,
	alpha float64) error {
	m, err := pair.Model(alpha)
	if err != nil {
		return err
	}
	mixture := m.Card.Mixture
	if m, err = adapt.Run(ctx, m, images, adapt.Options{
		Method: adapt.BN, Sigma: m.Card.Recipe.Noise(), Images: min(5000, images.Len()), Steps: renewing,
		Backend: o.engine,
	}); err != nil {
		return err
	}
	m.Card.Mixture = mixture
	m.Card.Program, m.Card.Command = cli.Version(), cli.CommandLine(os.Args[1:])
	return modelfile.Write(path, m)
}

// parse reads FIRST:LAST:STEP or a list.
func parse(text string) (alphas []float64, err error) {
	bad := func(what string) ([]float64, error) {
		return nil, cli.Usagef("--alpha %s: %s; expected FIRST:LAST:STEP or a list of numbers from 0 to 1, as in "+
			"0:1:0.1", text, what)
	}
	number := func(word string) (float64, bool) {
		v, err := strconv.ParseFloat(strings.TrimSpace(word), 64)
		return v, err == nil && v >= 0 && v <= 1
	}
	if parts := strings.Split(text, ":"); len(parts) == 3 {
		first, ok1 := number(parts[0])
		last, ok2 := number(parts[1])
		step, ok3 := number(parts[2])
		switch {
		case !ok1 || !ok2 || !ok3:
			return bad("a part is no number from 0 to 1")
		case step < 1e-4 || last < first:
			return bad("the step is below 0.0001, or the last before the first")
		}
		for i := 0; first+float64(i)*step <= last+1e-9; i++ {
			alphas = append(alphas, math.Round((first+float64(i)*step)*1e9)/1e9)
		}
		return alphas, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		v, ok := number(word)
		if !ok {
			return bad(fmt.Sprintf("%q is no number from 0 to 1", word))
		}
		alphas = append(alphas, v)
	}
	return alphas, nil
}
