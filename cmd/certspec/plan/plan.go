// Package plan is "certspec plan".
package plan

import (
	"fmt"
	"io"
	"math"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/preflight"
	"github.com/certspec/certspec/rs"
)

// Result is the output of "plan".
type Result struct {
	From    string           `json:"from,omitempty"` // ledger
	Model   string           `json:"model"`
	Data    string           `json:"data"`
	Images  int              `json:"images"` // of the run
	Known   int              `json:"known"`  // of which the forecast is made
	Sigma   float64          `json:"sigma"`
	Alpha   float64          `json:"alpha"`
	Rate    *float64         `json:"rate"`             // noise samples per second; null: not known
	Memory  int64            `json:"memory,omitempty"` // bytes of noise samples at once, beside the model
	Plans   []preflight.Plan `json:"plans"`
	Omitted []string         `json:"omitted,omitempty"`
	NewSeed uint64           `json:"new_seed,string,omitempty"` // that a run chosen from the ledger is to use
}

// options holds the values of the flags.
type options struct {
	rs.Options
	input   cli.InputOptions
	from    string
	known   int
	rate    float64
	ofPilot []string // flags
	json    *bool
}

// Command makes the command.
func Command() *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use: "plan {MODEL | --exec COMMAND} --data NAME --sigma S [flags]\n  certspec plan --from LEDGER " +
			"[flags]",
		Short: "Compare the stopping rules before a run: noise samples, time and largest radius",
		Long: `Compare the rules before a run: the noise samples that go through the model, the time that takes, and
the largest and the expected mean radius, for each rule with the settings given.

What an image takes depends on how often the model gives its class. That is found in a pilot, whose
noise is never that of a run, or read from the ledger of an earlier run (--from). Whoever chooses
settings from an earlier ledger must draw new noise, or the bounds do not hold: the plan names a
seed for it.`,
		Example: "  certspec plan models/fmnist-cnn-s025 --data fashionmnist/test --skip 20 --sigma 0.25 " +
			"--radii 0.25,0.5,0.75\n" +
			"  certspec plan --from notebooks/results/fmnist-cnn-s025.ledger --rate 20000 --n 100000",
		Args: cli.OneModel,
	}

	o.input.Flags(cmd)
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.IntVar(&o.known, "images", 100, "images of the pilot, spread over the classes")
	})
	cmd.Flags().VisitAll(func(flag *pflag.Flag) { o.ofPilot = append(o.ofPilot, flag.Name) })
	cli.Group(cmd, cli.Data, func(f *cli.Flags) {
		f.File(&o.from, "from", "ledger of an earlier run, in the place of a pilot", "ledger")
		f.Float64Var(&o.rate, "rate", 0, "with --from: noise samples per second, for the time")
	})
	cli.PlanFlags(cmd, &o.Options)
	cli.Group(cmd, cli.Noise, func(f *cli.Flags) {
		f.Floats(&o.Radii, "radii", nil, "radii that the rule betting tests (default steps of 0.25)")
	})
	o.json = cli.JSON(cmd)
	cli.First(cmd, "model", "data", "sigma", "n", "from")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *options) run(cmd *cobra.Command) error {
	if err := cli.CheckRun(cmd); err != nil {
		return err
	}
	if err := cli.NotZero(cmd, "images", "rate"); err != nil {
		return err
	}
	if err := cli.CheckRadii(o.Radii); err != nil {
		return err
	}
	var p Result
	var e *preflight.Evidence
	if o.from != "" {
		for _, name := range o.ofPilot {
			if cmd.Flags().Changed(name) {
				return cli.Usagef("--%s with --from: model, data and votes are those of the ledger", name)
			}
		}
		past, h, seed, err := preflight.Past(o.from)
		if err != nil {
			return err
		}
		if cmd.Flags().Changed("sigma") && o.Sigma != h.Sigma {
			return cli.Usagef("--sigma %g: the votes in ledger %s are under σ = %g; expected that, or a pilot", o.Sigma,
				o.from, h.Sigma)
		}
		if !(o.rate >= 0) || math.IsInf(o.rate, 0) {
			return cli.Usagef("--rate %g: expected more than 0", o.rate)
		}
		o.Sigma, past.Rate = h.Sigma, o.rate
		e = past
		p = Result{From: o.from, Model: h.Model.Name, Data: h.Data.Name, NewSeed: seed}
	} else {
		if err := cli.Needed(cmd, "data", "sigma"); err != nil {
			return err
		}
		if cmd.Flags().Changed("rate") {
			return cli.Usagef("--rate without --from: a pilot measures it")
		}
		in, err := o.input.Open()
		if err != nil {
			return err
		}
		defer in.Close()
		o.Progress = cli.Progress()
		pilot := o.Options
		pilot.Tolerance, pilot.Relative, pilot.Radii, pilot.Futility = 0, false, nil, 0 // are of some rules only
		if e, err = preflight.Pilot(cmd.Context(), in.Model, in.Data, preflight.Options{Run: pilot,
			Images: o.known}); err != nil {
			return cli.Usage(err)
		}
		info, err := in.Model.Info()
		if err != nil {
			return err
		}
		list, err := in.Data.List(cmd.Context())
		if err != nil {
			return err
		}
		p = Result{Model: info.Name, Data: list.Name}
		if p.Memory, err = pilot.MemoryOf(info); err != nil {
			return cli.Usage(err)
		}
	}
	var err error
	if p.Plans, p.Omitted, err = e.Rules(o.Options); err != nil {
		return cli.Usage(err)
	}
	p.Images, p.Known, p.Sigma, p.Alpha = e.Images, len(e.Votes), o.Sigma, o.Alpha
	if e.Rate > 0 {
		p.Rate = &e.Rate
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), p)
	}
	return p.print(cmd.OutOrStdout())
}

func (p *Result) print(out io.Writer) error {
	w := cli.Columns(out)
	cli.Fprintf(w, "model\t%s\n", p.Model)
	cli.Fprintf(w, "data\t%s, %d images, of which %d are known\n", p.Data, p.Images, p.Known)
	cli.Fprintf(w, "noise\tσ = %g, α = %g\n", p.Sigma, p.Alpha)
	if p.Rate != nil {
		cli.Fprintf(w, "rate\t%.0f noise samples/s\n", *p.Rate)
	}
	if p.Memory > 0 {
		cli.Fprintf(w, "memory\t%.0f MB of noise samples at once, beside the model\n", float64(p.Memory)/1e6)
	}
	fmt.Fprintln(w)
	if err := w.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w, "rule\tn\tcopies\ttimes fewer\texpected time\tlargest radius\texpected mean radius")
	for _, plan := range p.Plans {
		time := "not known"
		if p.Rate != nil {
			time = plan.Duration()
		}
		cli.Fprintf(w, "%s\t%d\t%.0f\t%.1f\t%s\t%.4f\t%.3f\n", plan.Rule, plan.MaxSamples, plan.Samples,
			p.Plans[0].Samples/plan.Samples, time, plan.RadiusCap, plan.MeanRadius)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, reason := range p.Omitted {
		cli.Fprintf(out, "left out: %s\n", reason)
	}
	if p.From != "" {
		cli.Fprintf(out, "\nWhat is chosen from this ledger must not be certified on its noise: give certify --seed "+
			"%d.\n", p.NewSeed)
	}
	return nil
}
