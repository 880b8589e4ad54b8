// Package backend is "certspec backend".
package backend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/xlakernels"
	"github.com/certspec/certspec/internal/nearest"
	"github.com/certspec/certspec/internal/openvino"
	"github.com/certspec/certspec/progress"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("backend", "Find, install and check the engines that run networks",
		`Find, install and check the engines that run networks, best first: XLA on a GPU, ONNX Runtime (which cannot
train), XLA on the CPU, the Go backend. OpenVINO (which cannot either) runs where it is ordered. certspec help
model says how one is chosen.`,
		listCommand(), installCommand(), checkCommand())
}

func listCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the engines of this machine, best first, and say which one is taken",
		Args:  cli.NoArgs,
	}
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		list, err := listEngines()
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), list)
		}
		w := cli.Columns(cmd.OutOrStdout())
		fmt.Fprintln(w, "TAKEN TO\tENGINE\tDEVICE\tVERSION\tLIBRARY")
		for _, l := range list {
			var taken []string
			if l.Chosen {
				taken = append(taken, "train")
			}
			if l.Certifies {
				taken = append(taken, "certify")
			}
			version := l.Version
			if !l.Usable {
				version = "not usable"
			}
			cli.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", strings.Join(taken, ", "), l.Engine, l.Device, version, l.Path)
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for _, l := range list {
			if l.Problem != "" {
				cli.Say("%s", l.Problem)
			}
		}
		return nil
	}
	return cmd
}

// installable are the engines that can be fetched, by name: each puts a library into the
// cache, where it is missing, and returns its path.
var installable = map[string]func(ctx context.Context, show progress.Reporter) (string, error){
	backend.XLA:        backend.Install,
	engine.ONNXRuntime: onnx.Install,
	engine.OpenVINO:    openvino.Install,
}

func installCommand() *cobra.Command {
	names := slices.Sorted(maps.Keys(installable))
	cmd := &cobra.Command{
		Use:       "install [" + strings.Join(names, "|") + "]",
		Short:     "Fetch an engine's library into the cache (default xla), pinned and checked",
		ValidArgs: names,
		RunE: func(cmd *cobra.Command, args []string) error {
			name := backend.XLA
			switch {
			case len(args) > 1:
				return cli.Usagef("%s takes one engine and got %d", cmd.CommandPath(), len(args))
			case len(args) == 1:
				name = args[0]
			}
			install := installable[name]
			if install == nil {
				return cli.Usagef("no engine %q to install%s; there are %s", name, nearest.DidYouMean(name, names),
					strings.Join(names, ", "))
			}
			path, err := install(cmd.Context(), cli.Progress())
			if err != nil {
				return err
			}
			cli.Say("%s is ready: %s", name, path)
			return nil
		},
	}
	return cmd
}

// checkOptions holds the values of the flags of "backend check".
type checkOptions struct {
	engine string
	json   *bool
}

func checkCommand() *cobra.Command {
	var o checkOptions
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Compare an engine with the Go backend on small programs",
		Long: `Compile and run small programs on the engine, and compare the results with those of the Go backend. What an
engine makes of your network, certspec certify --engine fastest measures.`,
		Example: "  certspec backend check --engine xla",
		Args:    cli.NoArgs,
	}
	cli.Group(cmd, cli.Model, func(f *cli.Flags) { f.TrainingEngine(&o.engine, "engine", "engine to check, or openvino") })
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error { return o.run(cmd) }
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command) error {
	if strings.HasPrefix(o.engine, engine.OpenVINO) {
		return o.runOpenVINO(cmd)
	}
	b, err := openBackend(o.engine)
	if err != nil {
		return err
	}
	found, err := backend.Check(cmd.Context(), b)
	if err != nil {
		return err
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), struct {
			*backend.Backend
			Programs     []backend.Agreement `json:"programs"`
			Convolutions *xlakernels.Counts  `json:"convolutions,omitempty"`
		}{b, found, b.Convolutions()})
	}
	out := cmd.OutOrStdout()
	cli.Fprintf(out, "%s on %s, %s, %d threads, %s\n", b.Engine, b.Device, b.Version, b.Threads, b.InstructionSet)
	if b.Kernels != "" {
		cli.Fprintf(out, "convolution kernels: %s\n", b.Kernels)
	}
	if c := b.Convolutions(); c != nil {
		cli.Fprintf(out, "convolutions of this check: %d by kernels", c.Replaced)
		for _, reason := range slices.Sorted(maps.Keys(c.Native)) {
			cli.Fprintf(out, ", %d by XLA (%s)", c.Native[reason], reason)
		}
		fmt.Fprintln(out)
	}
	for _, a := range found {
		cli.Fprintf(out, "%s: greatest difference from Go %.1e of the greatest value (rounding explains %.0e)\n",
			a.Program, a.Difference, a.Allowed)
	}
	return nil
}

// openBackend opens a choice and tells the person why a better engine was not taken.
func openBackend(choice string) (*backend.Backend, error) {
	b, err := backend.Open(choice)
	if err != nil {
		return nil, err
	}
	if b.Note != "" {
		cli.Say("%s", b.Note)
	}
	return b, nil
}
