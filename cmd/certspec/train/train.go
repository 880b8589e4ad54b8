// Package train is "certspec train".
package train

import (
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/cmd/certspec/train/settings"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/printable"
)

// options holds the values of the flags.
type options struct {
	train.Options
	data, sets []string
	test       string
	dataName   string
	quantile   int
	epsilon    float64
	settings   []*settings.Setting
	engine     string
	recipe     recipeOptions
	diagnose   bool
	list       bool
	found      []train.Diagnosis
	json       *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "train {--data NAME | --recipe RECIPE --tier TIER} --out PATH [flags]",
		Short: "Train a network on noisy images",
		Long: `Train a network on noisy images, as the base classifier of randomized smoothing, by one of
the methods that certspec train --list shows with their options.

Writes PATH.safetensors (weights), PATH.json (the card: what it is and how it was made) and
PATH.csv (a line per epoch).

A method may learn from further images, such as the out-images of good: --data NAME=DATA gives
them, and --set what is done to them.

With --recipe, all settings are those of a recipe of a paper, or of your own, at a tier.`,
		Example: "  certspec train --data fashionmnist --net small-cnn --sigma 0.25 --epochs 10 --seed 1 --out " +
			"models/fmnist-cnn-s025\n" +
			"  certspec train --data cifar10 --net resnet20 --sigma 0.25 --method hcr --option lambda=20 --views " +
			"fouriermix --augment crop-flip --out models/c10-fm-hcr\n" +
			"  certspec train --data fashionmnist --data out=cifar10/train[channels=grey] --set out.augment=crop " +
			"--net l --width 0.125 --method good --quantile 80 --eps 0.1 --rate 0.005 --out models/fmnist-good80\n" +
			"  certspec train --recipe sun2021/c10/fm-hcr --tier T1 --data cifar10-jpeg --out models/c10-fm-hcr",
		Args: cobra.NoArgs,
	}

	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.Texts(&o.data, "data", "data set; its train part is learned from unless the name has a part, as in "+
			"cifar10/train[max_index=5000]. Further images of a method as NAME=DATA, as in out=svhn/train")
		f.Complete("data", cli.DataNames)
		f.DataName(&o.dataName)
		f.Texts(&o.sets, "set", "setting for further images: batch, augment, views or sigma, as in "+
			"out.augment=crop; may be given several times")
		f.File(&o.Soft, "soft", "with --method cat-rs: ledger of the images of --data whose votes are their soft "+
			"labels, e.g. of a network trained by gaussian (default their labels)", "ledger")
		f.Named(&o.test, "test", "", "data set for the accuracies on the card (default the test part of --data)",
			cli.DataNames)
	})
	o.settings = settings.Of(&o.Options)
	network := []string{"net", "input", "width", "bias"}
	add := func(f *cli.Flags, of func(name string) bool) {
		for _, k := range o.settings {
			if !of(k.Name) {
				continue
			}
			if flag := f.VarPF(k, k.Name, "", k.Usage); k.Type() == "bool" {
				flag.NoOptDefVal = "true"
			}
			switch {
			case k.Name == "views":
				f.Complete(k.Name, viewNames)
			case k.Name == "noise":
				f.Complete(k.Name, func() []string { return []string{"gaussian", "grid", "spectrum:grey@0=0.05"} })
			case k.Known != nil:
				f.Complete(k.Name, k.Known)
			}
		}
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		add(f, func(name string) bool { return slices.Contains(network, name) })
		f.File(&o.From, "start", "model file whose weights to begin with (default random weights)", "safetensors",
			"json")
		f.TrainingEngine(&o.engine, "engine", "engine that runs the network")
	})
	cli.Group(cmd, cli.Training, func(f *cli.Flags) {
		add(f, func(name string) bool { return !slices.Contains(network, name) })
		f.IntVar(&o.quantile, "quantile", 80, "with --method good, the same as --option quantile=")
		f.Float64Var(&o.epsilon, "eps", 0.1, "with --method acet, good, mixed or prood, the same as --option epsilon=")
		o.recipe.flags(f)
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.Out(&o.Out, "path of the model file, without ending")
		f.BoolVar(&o.list, "list", false, "list the methods of training with their options and defaults")
		f.BoolVar(&o.diagnose, "diagnose", false,
			"print the value and the gradient's norm of each term of the loss beside cross-entropy's, before the "+
				"steps 1, 2, 4, 8, …; the weights stay the same")
		f.Written(&o.Checkpoint, "checkpoint", "path of the checkpoint while it runs (default PATH.checkpoint)")
	})
	cli.Records(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "data", "net", "sigma", "epochs", "out")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if o.list {
		return list(cmd, *o.json)
	}
	data, more, err := dataSets(o.data)
	if err != nil {
		return err
	}
	if o.diagnose {
		o.Diagnose = func(d train.Diagnosis) {
			o.found = append(o.found, d)
			cli.Progress().Say("%v", d)
		}
	}
	if o.recipe.name != "" {
		o.recipe.Diagnose, o.recipe.soft = o.Diagnose, o.Soft
		card, err := o.recipe.train(cmd, o.Out, data, o.engine)
		return o.print(cmd, card, err)
	}
	if err := o.check(cmd, data); err != nil {
		return err
	}
	if err := o.open(data, more); err != nil {
		return err
	}
	o.Backend = o.engine
	o.Program = cli.Version()
	o.Command = cli.CommandLine(os.Args[1:])
	o.Progress = cli.Progress()
	card, err := train.Run(cmd.Context(), o.Options)
	return o.print(cmd, card, err)
}

// check refuses flags that do not go together or are out of range, in the words of the flags.
func (o *options) check(cmd *cobra.Command, data string) error {
	f := cmd.Flags()
	for _, k := range o.settings {
		if k.Known == nil || !f.Changed(k.Name) {
			continue
		}
		if err := cli.Known(cmd, k.Name, k.Known()); err != nil {
			return err
		}
	}
	switch {
	case f.Changed("tier"), f.Changed("add"):
		return cli.Usagef("--tier and --add go with --recipe")
	case data == "":
		return cli.Usagef("--data is missing: the data set to learn from, e.g. --data fashionmnist")
	case o.Out == "":
		return cli.Usagef("--out is missing: the path of the model file, e.g. --out models/fmnist-cnn-s025")
	case o.BatchSize == 1:
		return cli.Usagef("--batch 1: expected at least 2")
	case !(o.Recipe().Noise() >= 0):
		return cli.Usagef("--sigma %v: expected 0 or more", o.Recipe().Noise())
	}
	for _, k := range o.settings {
		if f.Changed(k.Name) && k.Unset() && !slices.Contains([]string{"0", "false", ""}, f.Lookup(k.Name).DefValue) {
			return cli.Usagef("--%s 0: expected more than 0", k.Name)
		}
	}
	for flag, option := range map[string]string{"quantile": "quantile", "eps": "epsilon"} {
		if !f.Changed(flag) {
			continue
		}
		if o.Options.Options == nil {
			o.Options.Options = map[string]any{}
		}
		if _, both := o.Options.Options[option]; both {
			return cli.Usagef("--%s and --option %s=; expected one of them", flag, option)
		}
		o.Options.Options[option], _ = strconv.ParseFloat(f.Lookup(flag).Value.String(), 64)
	}
	if o.Views != "" {
		if _, err := augment.Parse(o.Views); err != nil {
			return cli.Usagef("--views %s: %v", o.Views, err)
		}
	} else if m, err := method.With(o.Method, o.Options.Options); err == nil && m.Needs().Views > 1 {
		return cli.Usagef("--views is missing: the method %s takes %d views of an image, e.g. --views fouriermix",
			m.Name(), m.Needs().Views)
	}
	if err := o.Check(); err != nil {
		return cli.Usagef("%v", err)
	}
	return nil
}

// open opens the sets that are learned from and tested on.
func (o *options) open(data string, more map[string]string) (err error) {
	trainName, testName := parts(data)
	if o.test != "" {
		testName = o.test
	}
	if testName == "" {
		return cli.Usagef("--test is missing: the data set for the accuracies on the card; none is known to go with %s",
			data)
	}
	if o.Train, err = dataset.Open(trainName); err != nil {
		return err
	}
	if o.Test, err = dataset.Open(testName); err != nil {
		return err
	}
	for part, set := range map[string]**dataset.Dataset{"/train": &o.Train, "/test": &o.Test} {
		if o.dataName == "" {
			break
		}
		if *set, err = (*set).Named(o.dataName + part); err != nil {
			return cli.Usagef("--data-name %s: expected some letters, without brackets", o.dataName)
		}
	}
	o.More, err = openSets(more, o.sets)
	return err
}

// print says what was trained and diagnosed; of a training that was stopped, what was diagnosed.
func (o *options) print(cmd *cobra.Command, card *modelfile.Card, err error) error {
	for _, w := range train.Warnings(o.found) {
		cli.Progress().Say("%s", w)
	}
	if err != nil {
		return err
	}
	if o.diagnose && len(o.found) == 0 {
		cli.Progress().Say("%s is finished, so that there is no step to diagnose; another --out trains anew", o.Out)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			*modelfile.Card
			Diagnoses []train.Diagnosis `json:"diagnoses,omitempty"`
		}{card, o.found})
	}
	_, err = cli.Fprintf(cmd.OutOrStdout(),
		"%s on %s by %s: test accuracy %.2f %%, with noise σ = %g %.2f %%; %s parameters, %.0f s of training, %s\n",
		card.Architecture.Name, card.Train.Name, card.Recipe.Method, 100*card.Accuracy, card.Recipe.Noise(),
		100*card.NoisyTest, printable.Count(card.Parameters), card.Seconds, card.Backend)
	return err
}

// parts gives the names of the training part of a data set and of the test part that goes
// with it; test is empty where none does.
func parts(name string) (train, test string) {
	if strings.Contains(name, ":") { // a folder or an array
		return name, ""
	}
	base, subset, found := strings.Cut(name, "[")
	if found {
		subset = "[" + subset
	}
	set, part, found := strings.Cut(base, "/")
	switch {
	case !found:
		return set + "/train" + subset, set + "/test"
	case part == "train":
		return name, set + "/test"
	}
	return name, ""
}

// viewNames are the names of the augmentations.
func viewNames() []string {
	var names []string
	for _, e := range augment.List() {
		names = append(names, e.Name)
	}
	return names
}
