// Package evaluate is "certspec evaluate".
package evaluate

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/evaluate"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/rs/sweep"
)

// options holds the values of the flags.
type options struct {
	evaluate.Options
	input      cli.InputOptions
	variants   cli.CorruptVariants
	words      []string
	severities []int
	groups     string
	folders    string
	labels     []string
	out        string
	json       *bool
}

// Result is the output of "evaluate" of one set.
type Result struct {
	Model string `json:"model"`
	evaluate.Pooled
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "evaluate {MODEL | --exec COMMAND} --data NAME [flags]",
		Short: "Measure the plain accuracy of a model on images and their corruptions",
		Long: `Measure the accuracy of a model, without smoothing, on labelled images and, with --corrupt, under corruptions.

Under a corruption it is the mean over severities. --model may be a folder of models. --out is a table with a line
for each model, which "certspec lines fit --in" reads; several models with the same --out share it. --predictions
keeps the class of every image for "certspec lines agree": FOLDER/clean/MODEL.npy and FOLDER/fog/3/MODEL.npy, with a
card and labels.npy.`,
		Example: "  certspec evaluate m.onnx --data cifar10-jpeg/test --corrupt C --predictions preds/ " +
			"--out acc.csv\n" +
			"  certspec evaluate notebooks/models/cifar10-resnet20-s025 --data cifar10-jpeg/test --count " +
			"500 --corrupt fog,snow --severity 3 --label group=smoothed --out acc.csv",
		Args: cli.OneModel,
	}
	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Words(&o.words, "corrupt", nil, "corruptions by name, family or group: fog, C, C-bar, Low, Mid, High",
			cli.CorruptionWords)
		f.Ints(&o.severities, "severity", nil, "of --corrupt, 1 to 5 (default all)")
		f.Uint64Var(&o.Seed, "corrupt-seed", 0, "seed of the random numbers of --corrupt")
		o.variants.Flags(f)
		f.File(&o.folders, "model-folders",
			"file with the folder of each class of the model, class 0 first, as the 1,000 WordNet ids of ImageNet: "+
				"data with some of these are judged among them alone")
		f.File(&o.groups, "groups", "file with a line for each class of the data: its name, then the numbers of the "+
			"model's classes that stand for it")
	})
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Text(&o.Name, "name", "name of the model in files (default its file's name)")
		f.Texts(&o.labels, "label", "label=value, a column of --out for groups of models; may be given several times")
		f.IntVar(&o.Batch, "batch", 100, "images in one call of the model")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Folder(&o.Folder, "predictions",
			"folder of the predictions (default beside --out, its name with -predictions)")
		f.Writes("predictions", "folder")
		f.Out(&o.out, "table (.csv) to which the model's line is added, or in which it is replaced", ".csv")
	})
	cli.Records(cmd, "out")
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "corrupt", "predictions", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := cli.Needed(cmd, "data"); err != nil {
			return err
		}
		var all []Result
		err := o.input.Model.Each(o.Name, func(path string) error {
			one := o
			one.input.Model.Path = path
			results, err := one.run(cmd)
			all = append(all, results...)
			return err
		})
		if len(all) == 0 {
			return err
		}
		if *o.json {
			return errors.Join(cli.PrintJSON(cmd.OutOrStdout(), all), err)
		}
		return errors.Join(printResults(cmd.OutOrStdout(), all), err)
	}
	return cmd
}

func (o *options) run(cmd *cobra.Command) ([]Result, error) {
	if o.Batch < 1 {
		return nil, cli.Usagef("--batch %d: expected at least 1", o.Batch)
	}
	labels, err := cli.Labels(o.labels)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(labels, func(l [2]string) bool { return l[0] == evaluate.ModelColumn }) {
		return nil, cli.Usagef("--label %s: the column of the models' names", evaluate.ModelColumn)
	}
	if o.Cells, err = cli.Cells(o.words, o.severities, o.variants.Setting); err != nil {
		return nil, err
	}
	o.Cells = append([]sweep.Cell{{}}, o.Cells...)
	if o.out != "" && o.out != "-" {
		if _, err := evaluate.ReadTable(o.out); err != nil {
			return nil, cli.Usagef("--out: %w; choose another name", err)
		}
	}
	in, err := o.input.Open()
	if err != nil {
		return nil, err
	}
	defer in.Close()
	images, err := in.Index(cmd.Context())
	if err != nil {
		return nil, err
	}
	switch {
	case o.groups != "" && o.folders != "":
		return nil, cli.Usagef("--groups and --model-folders: expected one of them")
	case o.folders != "":
		if o.Groups, err = evaluate.ReadFolders(o.folders, images.Classes); err != nil {
			return nil, err
		}
	case o.groups != "":
		if o.Groups, err = evaluate.ReadGroups(o.groups, images.Classes); err != nil {
			return nil, err
		}
	}
	if o.Name == "" {
		info, err := in.Model.Info()
		if err != nil {
			return nil, err
		}
		o.Name = info.Name
		if path := o.input.Model.Path; path != "" {
			o.Name = onnxfile.Stem(path)
		}
	}
	if strings.ContainsAny(o.Name, `/\`) || o.Name == "labels" {
		return nil, cli.Usagef("--name %s: expected a name that a file can have, without a slash", o.Name)
	}
	if o.Folder == "" && o.out != "" && o.out != "-" {
		o.Folder = strings.TrimSuffix(o.out, filepath.Ext(o.out)) + "-predictions"
	}
	o.Progress = cli.Progress()
	cells, err := evaluate.Run(cmd.Context(), in.Model, in.Data, o.Options)
	if err != nil {
		return nil, err
	}
	pooled := evaluate.Pool(cells, o.words...)
	var results []Result
	for _, r := range pooled {
		results = append(results, Result{o.Name, r})
		if r.Misses > 0 {
			cli.Say("warning: %s: %d outputs are not finite, and count as wrong", r.Set, r.Misses)
		}
	}
	put := func(t *evaluate.Table) { t.Put(o.Name, labels, pooled) }
	switch o.out {
	case "":
		return results, nil
	case "-":
		var table evaluate.Table
		put(&table)
		return results, cli.WriteCSV(cmd, o.out, table.Rows())
	}
	return results, evaluate.UpdateTable(o.out, put)
}

func printResults(out io.Writer, results []Result) error {
	w := cli.Figures(out)
	fmt.Fprintln(w, "set\tright\timages\taccuracy, %\t")
	for i, r := range results {
		if several := results[0].Model != results[len(results)-1].Model; several &&
			(i == 0 || r.Model != results[i-1].Model) {
			cli.Fprintf(w, "%s\t\t\t\t\n", r.Model)
		}
		cli.Fprintf(w, "%s\t%d\t%d\t%.2f\t\n", r.Set, r.Right, r.Images, 100*r.Share)
	}
	return w.Flush()
}
