package lines

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/lines/certified/certifiedfiles"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/lines/certified"
)

// certificates say where certified accuracies come from, and which of them.
type certificates struct {
	logs        string
	experiments []string
	ledgers     []string
	radii       []float64
	plain       bool
	common      bool
	corruptions []string
}

func (c *certificates) flags(f *cli.Flags) {
	f.Folder(&c.logs, "logs", "instead of --in: folder of published certification logs")
	f.Words(&c.experiments, "experiment", nil, "instead of --in: folders that certspec experiment made", nil)
	f.Words(&c.ledgers, "ledgers", nil, "instead of --in: folders that certspec sweep made, one of each model",
		nil)
	f.Words(&c.corruptions, "corruptions", nil,
		"of certificates: corruptions to pool (default all, or those that --y names)", cli.CorruptionWords)
	f.BoolVar(&c.common, "common", false,
		"of certificates: x over the images that y has, too, where the clean set has more")
}

func (c *certificates) settings(f *cli.Flags) {
	f.Floats(&c.radii, "radius", []float64{0}, "of certificates: radii, each with a line of its own")
	f.BoolVar(&c.plain, "plain", false,
		"of certificates: x is the smoothed accuracy, radius 0, whatever the radius of y")
}

// sources are the flags that name certificates, and those that go with them alone.
var (
	sources = []string{"logs", "experiment", "ledgers"}
	alone   = []string{"radius", "plain", "common", "corruptions"}
)

// more takes the arguments behind --ledgers as further folders, as shells expand FOLDER/*.
func (c *certificates) more(cmd *cobra.Command, args []string) error {
	if len(args) > 0 && !cmd.Flags().Changed("ledgers") {
		return cli.NoArgs(cmd, args)
	}
	c.ledgers = append(c.ledgers, args...)
	return nil
}

// asked says whether a flag names certificates.
func (c *certificates) asked(cmd *cobra.Command) bool {
	return slices.ContainsFunc(sources, cmd.Flags().Changed)
}

// period is the number of images of CIFAR-10's test set: logs of its corruptions number the
// severities through.
const period = 10_000

func (c *certificates) load() (models []certified.Model, o certified.Options, err error) {
	o = certified.Options{Radii: c.radii, Plain: c.plain, Common: c.common}
	if len(c.corruptions) > 0 {
		if o.Corruptions, err = corrupt.Expand(c.corruptions); err != nil {
			return nil, o, cli.Usage(err)
		}
	}
	switch {
	case c.logs != "":
		o.Period = period
		models, err = certifiedfiles.ReadLogs(c.logs)
	case len(c.ledgers) > 0:
		models, err = certifiedfiles.ReadLedgers(c.ledgers...)
	default:
		for _, folder := range c.experiments {
			found, err := results.Certified(folder)
			if err != nil {
				return nil, o, err
			}
			for i := range found {
				if len(c.experiments) > 1 {
					found[i].Name = folder + "/" + found[i].Name
				}
			}
			models = append(models, found...)
		}
	}
	return models, o, err
}

// points reads the files of the flags, with notes on what their certificates rest on.
func (o *fitOptions) points() (points []lines.Point, notes []string, err error) {
	models, of, err := o.certificates.load()
	if err != nil {
		return nil, nil, err
	}
	if of.Corruptions == nil && o.logs == "" {
		if of.Corruptions, err = corrupt.Expand(strings.Split(o.Y, ",")); err != nil {
			return nil, nil, cli.Usage(fmt.Errorf("--y: %w; or --corruptions", err))
		}
	}
	of.Baseline = o.Baseline
	switch o.By {
	case "", "radius":
	case "model":
		of.ByModel = true
		if o.Over == "" {
			o.Over = lines.Images
		}
	default:
		return nil, nil, cli.Usagef("--by %s: of certificates, expected radius (a line for each radius) or model (a "+
			"line for each model, through its radii)", o.By)
	}
	models, err = o.kept(models)
	if err != nil {
		return nil, nil, err
	}
	if of.Corruptions != nil {
		var without []string
		models = slices.DeleteFunc(models, func(m certified.Model) bool {
			for _, c := range of.Corruptions {
				if !slices.ContainsFunc(certified.Corruptions([]certified.Model{m}),
					func(name string) bool { return name == c }) {
					without = append(without, m.Name)
					return true
				}
			}
			return false
		})
		if len(without) > 0 {
			cli.Say("left out, as not all of %s is certified: %s", strings.Join(of.Corruptions, ", "),
				strings.Join(without, ", "))
		}
	}
	if len(models) == 0 {
		return nil, nil, fmt.Errorf("no model with certificates on clean images and under %s", o.Y)
	}
	points, err = certified.Points(models, of)
	return points, certified.Notes(models, of), err
}

// kept are the models but those of --leave-out.
func (o *fitOptions) kept(models []certified.Model) ([]certified.Model, error) {
	var names lines.Models
	for _, m := range models {
		names = append(names, lines.Model{Name: m.Name})
	}
	left, err := names.Without(o.leaveOut...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(models, func(m certified.Model) bool {
		return !slices.ContainsFunc(left, func(l lines.Model) bool { return l.Name == m.Name })
	}), nil
}
