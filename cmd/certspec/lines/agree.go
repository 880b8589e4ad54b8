package lines

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/lines/classfile"
	"github.com/certspec/certspec/lines"
)

// agreeOptions holds the values of the flags of "lines agree".
type agreeOptions struct {
	lines.AgreeOptions
	id, shifted, idLabels, labels string
	json                          *bool
}

func agreeCommand() *cobra.Command {
	var o agreeOptions
	cmd := &cobra.Command{
		Use:   "agree --id FOLDER --shifted FOLDER [flags]",
		Short: "Estimate accuracy under shift without labels, from the agreement of models",
		Long: `Estimate each model's accuracy on images without labels from the agreement of models (Baek et al. 2022,
ALine-S and ALine-D): where accuracies lie on a line, pairwise agreement does, too, with nearly the same
slope and intercept. Where the agreements have an R² below 0.95, the estimates are marked as unreliable.
At least three models.

A folder has a file MODEL.npy for each model, the classes of all images in order, as "certspec evaluate
--predictions" writes them, or MODEL.json, a list, as CIFAR-10.1 has them; severities in folders of
their own are pooled. Labels without the shift are in --id-labels, or in the file labels.npy of the
folder.`,
		Example: "  certspec lines agree --id preds/clean --shifted preds/fog\n" +
			"  certspec lines agree --id original_predictions --id-labels cifar10_labels.npy --shifted " +
			"v6_predictions --labels cifar10.1_v6_labels.npy --json",
		Args: cli.NoArgs,
	}
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Folder(&o.id, "id", "folder of predictions without the shift")
		f.Folder(&o.shifted, "shifted", "folder of predictions of the same models under it")
		f.File(&o.idLabels, "id-labels", "labels without the shift (default labels.npy in --id)", "npy", "json")
		f.File(&o.labels, "labels", "labels under the shift, to see how far the estimates are off", "npy", "json")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Float64Var(&o.Clip.Share, "clip", 0, "shares are moved into [clip, 1 - clip]; 0: half an image")
		f.BoolVar(&o.SameImages, "same-images", false,
			"both sets are of the same images, as a test set and its corruptions")
		f.IntVar(&o.Resamples, "resamples", 500, "resamples of the bootstrap over images")
		f.Float64Var(&o.Confidence, "confidence", 0.95, "probability with which an interval holds the truth")
		f.Uint64Var(&o.Seed, "seed", 0, "seed of the bootstrap")
	})
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *agreeOptions) run(cmd *cobra.Command) error {
	if err := cli.Needed(cmd, "id", "shifted"); err != nil {
		return err
	}
	id, err := lines.ReadPredictions(o.id)
	if err != nil {
		return err
	}
	shifted, err := lines.ReadPredictions(o.shifted)
	if err != nil {
		return err
	}
	if shifted, err = lines.Match(id, shifted); err != nil {
		return err
	}
	if o.idLabels == "" {
		o.idLabels = filepath.Join(o.id, classfile.Labels)
		if _, err := os.Stat(o.idLabels); err != nil {
			return cli.Usagef("--id-labels is missing, and there is no %s: accuracy without the shift needs labels",
				o.idLabels)
		}
	}
	labels, err := classfile.Read(o.idLabels)
	if err != nil {
		return err
	}
	var truth []int
	if o.labels != "" {
		if truth, err = classfile.Read(o.labels); err != nil {
			return err
		}
	}
	a, err := lines.Agree(cmd.Context(), id, shifted, labels, truth, o.AgreeOptions)
	if err != nil {
		return err
	}
	if !a.Reliable {
		cli.Say("warning: agreement has R² %.3f, below %g: these estimates are not reliable", a.Line.R2,
			lines.LeastAgreement)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), a)
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), a.Table())
	return err
}
