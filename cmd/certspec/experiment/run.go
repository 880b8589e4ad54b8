package experiment

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/run"
)

// runOptions holds the values of the flags of "experiment run".
type runOptions struct {
	plan.Options
	places places
	shard  string
	dry    bool
	json   *bool
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run TABLE --tier TIER --out FOLDER [flags]",
		Short: "Run the jobs of a table; resume unfinished ones",
		Long: `Make a table in a folder: train its networks, adapt them where a row says so, certify clean and
corrupted images, certify and attack confidences. Several tables of one tier may share a folder, and
then their networks and ledgers. certspec experiment table prints what there is.

Before it starts it says what is left and about how long it takes, from a measurement of some seconds;
--dry-run stops there. A row with a network that fails, by a loss that is not finite for instance, is
left open; the other rows are made, and the exit code is 1. One that would fail so again, as pruning
leaves nothing of a layer, is not tried again.`,
		Example: "  certspec experiment run sun2021/table2 --tier T1 --data cifar10=cifar10-jpeg --out out/A\n" +
			"  certspec experiment run sun2021/table2 --tier cpu --rows sun2021/c10/g,sun2021/c10/fm-hcr --out " +
			"out/A --dry-run\n" +
			"  certspec experiment run sun2021/table2 --tier T1 --add mine.yaml --shard 0/4 --out out/A-0",
	}

	cli.Group(cmd, cli.Data, o.places.flag)
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Tier(&o.Tier, "how much is done")
		f.Words(&o.Rows, "rows", nil, "make only these rows: recipes, also as patterns, C/conv8/*/*, or titles of "+
			"added networks (default all)", nil)
		f.Text(&o.shard, "shard", "make part i of n, as in 0/4, each in a folder of its own, which certspec merge "+
			"joins; a part has whole networks")
		f.BoolVar(&o.dry, "dry-run", false, "say what is left and how long it takes, and stop")
		f.Add(&o.Add)
	})
	cli.Group(cmd, cli.Model, func(f *cli.Flags) {
		f.Engine(&o.Engine)
		f.TrainingEngine(&o.Training, "train-engine", "engine that trains")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) { f.OutFolder(&o.Folder, "folder of the experiment") })
	cli.Records(cmd)
	o.json = cli.JSON(cmd)
	cli.First(cmd, "tier", "data", "out", "rows", "dry-run")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, args []string) (err error) {
	if len(args) != 1 {
		return cli.Usagef("%s wants one table; certspec experiment list tables shows them", cmd.CommandPath())
	}
	if err := cli.Needed(cmd, "tier", "out"); err != nil {
		return err
	}
	o.Table = args[0]
	if o.Places, err = o.places.read(); err != nil {
		return err
	}
	if cmd.Flags().Changed("shard") {
		if o.Shard, o.Shards, err = part(o.shard); err != nil {
			return err
		}
	}
	o.Program, o.Command = cli.Version(), cli.CommandLine(os.Args[1:])
	o.Progress = cli.Progress()
	e, err := plan.Plan(o.Options)
	if err != nil {
		return cli.ExperimentUsage(err)
	}
	estimate, err := e.Estimate(cmd.Context(), !o.dry)
	if err != nil {
		return cli.ExperimentUsage(err)
	}
	for _, warning := range estimate.Warnings {
		cli.Say("warning: %s", warning)
	}
	if o.dry {
		return estimated(cmd, estimate, *o.json)
	}
	cli.Say("%v", estimate)
	if err := run.Jobs(cmd.Context(), e); err != nil {
		return cli.ExperimentUsage(err)
	}
	if *o.json {
		_, status, err := plan.Status(o.Folder)
		if err != nil {
			return err
		}
		return cli.PrintJSON(cmd.OutOrStdout(), status)
	}
	return nil
}

// part reads i/n.
func part(text string) (i, n int, err error) {
	a, b, found := strings.Cut(text, "/")
	i, err1 := strconv.Atoi(a)
	n, err2 := strconv.Atoi(b)
	if !found || err1 != nil || err2 != nil || i < 0 || n < 1 || i >= n {
		return 0, 0, cli.Usagef("--shard %q: expected i/n with 0 ≤ i < n, as in 0/4", text)
	}
	return i, n, nil
}

func estimated(cmd *cobra.Command, e plan.Estimate, asJSON bool) error {
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintJSON(out, e)
	}
	fmt.Fprintln(out, e)
	w := cli.Columns(out)
	for _, r := range e.Rates {
		cli.Fprintf(w, "%s\ttraining %.0f images/s\tcertifying %.0f noise samples/s\n", r.Network, r.Training,
			r.Samples)
	}
	return w.Flush()
}

// left prints what is done and what is left in a folder.
func left(cmd *cobra.Command, folder string, asJSON bool) error {
	m, tables, err := plan.Status(folder)
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintJSON(out, tables)
	}
	cli.Fprintf(out, "tier %s: %s\n", m.Tier.Name, m.Tier.Title)
	w := cli.Columns(out)
	for _, t := range tables {
		cli.Fprintf(w, "\n%s\ttrained\tmeasured\n", t.Table)
		for _, l := range t.Lines {
			trained := "–"
			if l.ToTrain > 0 {
				trained = fmt.Sprintf("%d of %d", l.Trained, l.ToTrain)
			}
			cli.Fprintf(w, "  %s\t%s\t%d of %d\n", l.Title, trained, l.Done, l.Jobs)
		}
		cli.Fprintf(w, "  all\t\t%d of %d\n", t.Done, t.Jobs)
		for _, f := range t.Failed {
			cli.Fprintf(w, "  %v\n", f)
		}
	}
	return w.Flush()
}
