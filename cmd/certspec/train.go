package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/train"
)

func init() { verbs = append(verbs, trainCommand) }

func trainCommand() *cobra.Command {
	var (
		o    train.Options
		data string
		test string

		name, views string
		settings    []string
	)
	cmd := &cobra.Command{
		Use:   "train {--data NAME | --recipe RECIPE --tier TIER} --out PATH [flags]",
		Short: "Train a network on noisy images",
		Long: `Train a network on noisy images, as the base classifier of randomized smoothing, by one of
the methods that "certspec train methods" lists with their options.

Writes PATH.safetensors (weights), PATH.json (the card: what it is and how it was made) and
PATH.csv (a line per epoch). An interrupted run goes on where it was when the same command
is given again, and ends with the same weights; a finished one returns at once.

With --recipe, all settings are those of a recipe of a paper, or of your own, at a tier.`,
		Example: "  certspec train --data fashionmnist --net small-cnn --sigma 0.25 --epochs 10 --seed 1 --out models/fmnist-cnn-s025\n" +
			"  certspec train --data cifar10 --net resnet20 --sigma 0.25 --method hcr --option lambda=20 --views fouriermix --augment crop-flip --out models/c10-fm-hcr\n" +
			"  certspec train --recipe A/c10/fm-hcr --tier T1 --data cifar10-jpeg --out models/c10-fm-hcr",
		Args: cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&data, "data", "", "data set; its train part is learned from unless the name has a part, as in cifar10/train[max_index=5000]")
	f.StringVar(&test, "test", "", "data set for the accuracies on the card (default the test part of --data)")
	f.StringVar(&o.Out, "out", "", "path of the model file, without ending")
	f.StringVar(&o.Net, "net", nets.SmallCNN, "network: "+strings.Join(nets.Names(), ", "))
	f.StringVar(&o.Input, "input", nets.InputNone, "input layer: none, center, standardize (both by CIFAR-10 statistics) or imagenet (standardized by ImageNet's)")
	f.StringVar(&name, "method", method.Default, "how to train: "+strings.Join(method.Names(), ", "))
	f.StringArrayVar(&settings, "option", nil, "option of the method, as in lambda=20; may be given several times")
	f.StringVar(&views, "views", "", "augmentation that makes views of an image, as in fouriermix, augmix, autoaugment")
	f.StringVar(&o.ViewsBy, "views-by", train.ViewsByHost, "what makes them: host (the faster on the CPU) or graph (on the device, for fouriermix)")
	f.StringVar(&o.Start, "start", "", "model file whose weights to begin with (default random weights)")
	f.Float64Var(&o.Sigma, "sigma", 0, "standard deviation of the noise, 1 = full range")
	f.IntVar(&o.SigmaWarmUp, "sigma-warm-up", 0, "epochs over which the noise grows to sigma")
	f.IntVar(&o.Epochs, "epochs", 10, "passes over the data")
	f.IntVar(&o.BatchSize, "batch", 128, "images in a step, each in all views and noises of the method")
	f.Float64Var(&o.LearningRate, "rate", 0.1, "learning rate at the beginning")
	f.StringVar(&o.Schedule, "schedule", train.Cosine, "of the learning rate: cosine (to zero) or step (divided by ten after each milestone)")
	f.IntSliceVar(&o.Milestones, "milestones", nil, "epochs for --schedule step (default half and three quarters of the run)")
	f.IntVar(&o.WarmUp, "warm-up", 0, "epochs at a tenth of the rate at the beginning")
	momentum := f.Float64("momentum", 0.9, "momentum of SGD")
	f.BoolVar(&o.Nesterov, "nesterov", false, "Nesterov's form of momentum")
	decay := f.Float64("weight-decay", 1e-4, "coupled weight decay, on all parameters")
	f.StringVar(&o.Augment, "augment", train.NoneAug, "none, crop-flip (zero padding by 4, random crop, horizontal flip of every view) or crop-flip-shared (of the image, before its views are made)")
	f.Uint64Var(&o.Seed, "seed", 0, "seed of weights, order, crops, flips and noise")
	f.StringVar(&o.Checkpoint, "checkpoint", "", "path of the checkpoint while it runs (default PATH.checkpoint)")
	choice := trainingEngineFlag(cmd)
	asJSON := jsonFlag(cmd)

	cmd.AddCommand(trainMethodsCommand())
	byRecipe := recipeFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		if run := byRecipe(); run != nil {
			card, err := run(o.Out, data, *choice)
			if err != nil {
				return err
			}
			return printTrained(cmd, card, *asJSON)
		}
		switch {
		case f.Changed("tier"), f.Changed("add"):
			return usagef("--tier and --add go with --recipe")
		case data == "":
			return usagef("--data is missing: the data set to learn from, e.g. --data fashionmnist")
		case o.Out == "":
			return usagef("--out is missing: the path of the model file, e.g. --out models/fmnist-cnn-s025")
		case f.Changed("epochs") && o.Epochs < 1:
			return usagef("--epochs %d: expected at least 1", o.Epochs)
		case f.Changed("batch") && o.BatchSize < 2:
			return usagef("--batch %d: expected at least 2", o.BatchSize)
		case f.Changed("rate") && !(o.LearningRate > 0):
			return usagef("--rate %v: expected more than 0", o.LearningRate)
		case !(o.Sigma >= 0):
			return usagef("--sigma %v: expected 0 or more", o.Sigma)
		}
		if o.Method, err = method.New(name, settings...); err != nil {
			return usagef("--method %s: %v", name, err)
		}
		if views != "" {
			if o.Views, err = augment.Parse(views); err != nil {
				return usagef("--views %s: %v", views, err)
			}
		} else if n := o.Method.Needs().Views; n > 1 {
			return usagef("--views is missing: the method %s takes %d views of an image, e.g. --views fouriermix", name, n)
		}
		o.Momentum, o.WeightDecay = orNone(*momentum), orNone(*decay)
		trainName, testName := parts(data)
		if test != "" {
			testName = test
		}
		if testName == "" {
			return usagef("--test is missing: the data set for the accuracies on the card; none is known to go with %s", data)
		}
		if o.Train, err = dataset.Open(trainName); err != nil {
			return err
		}
		if o.Test, err = dataset.Open(testName); err != nil {
			return err
		}
		o.Backend = *choice
		o.Program = version()
		o.Command = commandLine(os.Args[1:])
		o.Progress = terminalProgress()
		o.Warn = func(message string) { say("certspec: %s", message) }
		card, err := train.Run(cmd.Context(), o)
		if err != nil {
			return err
		}
		return printTrained(cmd, card, *asJSON)
	}
	return cmd
}

func printTrained(cmd *cobra.Command, card *modelfile.Card, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), card)
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s on %s by %s: test accuracy %.2f %%, with noise σ = %g %.2f %%; %d parameters, %.0f s of training, %s\n",
		card.Architecture.Name, card.Train.Name, card.Recipe.Method, 100*card.Accuracy, card.Recipe.Sigma, 100*card.NoisyTest, card.Parameters, card.Seconds, card.Backend)
	return err
}

// orNone turns a flag's 0 into the value by which train.Options means none.
func orNone(v float64) float64 {
	if v == 0 {
		return -1
	}
	return v
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

// commandLine writes arguments as one would type them.
func commandLine(args []string) string {
	words := []string{"certspec"}
	for _, a := range args {
		if a == "" || strings.ContainsAny(a, " \t\n\"'$&|;<>()[]*?\\") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		words = append(words, a)
	}
	return strings.Join(words, " ")
}
