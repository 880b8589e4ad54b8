// Package notebook is "certspec notebook".
package notebook

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/jupyter"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("notebook", "Run notebooks without a browser, open them in one, register the kernel for Jupyter",
		"",
		runCommand(), labCommand(), installCommand(), slidesCommand(), serveCommand())
}

// runOptions holds the values of the flags of "notebook run".
type runOptions struct {
	tier, out  string
	html, save bool
	timeout    time.Duration
	json       *bool
}

func runCommand() *cobra.Command {
	var o runOptions
	cmd := &cobra.Command{
		Use:   "run FILE...",
		Short: "Execute a copy of each notebook and stop at the first failing cell",
		Long: "Execute a copy of each notebook in its own folder below --out, from a fresh kernel, and stop at the\n" +
			"first failing cell. The notebook itself is not touched, unless --save is given. What a run writes stays\n" +
			"in its folder, and a second run goes on from there.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.Usagef("certspec notebook run needs at least one notebook file")
			}
			return nil
		},
	}

	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		cli.Choice(f, &o.tier, "tier", "", "how much to compute: fast or paper (default: the notebook's own)", "",
			"fast", "paper")
		f.DurationVar(&o.timeout, "timeout", time.Hour, "longest time for one cell")
	})
	cli.Group(cmd, cli.Output, func(f *cli.Flags) {
		f.OutFolder(&o.out, "folder for the executed copies (default out)")
		f.BoolVar(&o.html, "html", false, "also make a web page of each")
		f.BoolVar(&o.save, "save", false, "replace each notebook by its executed copy")
	})
	cli.Records(cmd)
	o.json = cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) }
	return cmd
}

func (o *runOptions) run(cmd *cobra.Command, args []string) error {
	if o.out == "" {
		o.out = "out"
	}
	if o.timeout <= 0 {
		return cli.Usagef("--timeout %v: a positive time expected", o.timeout)
	}
	var all []jupyter.Executed
	for _, file := range args {
		name := strings.TrimSuffix(filepath.Base(file), ".ipynb")
		if name == filepath.Base(file) {
			return cli.Usagef("%s: a notebook file (.ipynb) expected", file)
		}
		start := time.Now()
		done, err := jupyter.Run(cmd.Context(), file, jupyter.Options{
			Tier: o.tier, Dir: filepath.Join(o.out, name), Timeout: o.timeout, HTML: o.html, Warm: len(all) > 0,
			Version: cli.Version(), Progress: cli.Progress(),
		})
		if err != nil {
			return err
		}
		if o.save {
			if err := refuseStandIns(file, done.Notebook, o.tier); err != nil {
				return err
			}
			data, err := os.ReadFile(done.Notebook)
			if err != nil {
				return err
			}
			if err := atomicfile.Write(file, data); err != nil {
				return err
			}
		}
		cli.Say("%s: all cells ran, %v", file, time.Since(start).Round(100*time.Millisecond))
		all = append(all, done)
	}
	if *o.json {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	for _, done := range all {
		fmt.Fprintln(cmd.OutOrStdout(), done.Notebook)
		if done.HTML != "" {
			fmt.Fprintln(cmd.OutOrStdout(), done.HTML)
		}
	}
	return nil
}

// refuseStandIns keeps figures of drawn data out of a notebook that reports on real ones.
func refuseStandIns(file, executed, tier string) error {
	cells, err := jupyter.StandIns(executed)
	if err != nil || len(cells) == 0 || tier == "fast" {
		return err
	}
	return fmt.Errorf("%s is not saved: in cells %v of %s drawn data stand in for those that it is about. Get the data "+
		"(certspec dataset fetch NAME, or CERTSPEC_DATA=FOLDER), and run again; or leave out --save", file, cells,
		executed)
}

func slidesCommand() *cobra.Command {
	var parts string
	cmd := &cobra.Command{
		Use:   "slides FILE",
		Short: "Make slides of some parts of an executed notebook, for a lecture",
		Long: "Make slides of some parts of an executed notebook, FILE.slides.html beside it, for a lecture.\n" +
			"A part begins with a numbered heading, as in \"## 1. A title\". A browser that shows them loads\n" +
			"Reveal.js from the network.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 || !strings.HasSuffix(args[0], ".ipynb") {
				return cli.Usagef("certspec notebook slides needs one notebook file (.ipynb)")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			parts = cmp.Or(parts, "1-9")
			if !partsForm.MatchString(parts) {
				return cli.Usagef("--parts %q: numbers of parts expected, as in 1-3", parts)
			}
			file, err := jupyter.Slides(cmd.Context(), args[0], parts, cli.Progress())
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), file)
			return err
		},
	}
	cli.Group(cmd, cli.Settings, func(f *cli.Flags) {
		f.Text(&parts, "parts", "first and last part, as in 1-2 (default all)")
	})
	return cmd
}

var partsForm = regexp.MustCompile(`^[1-9](-[1-9])?$`)

func labCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "lab [FOLDER] [-- JUPYTERLAB-OPTIONS]",
		Short: "Open JupyterLab with the kernel \"" + jupyter.DisplayName + "\" ready",
		RunE: func(cmd *cobra.Command, args []string) error {
			folder := "."
			dash := cmd.ArgsLenAtDash()
			if dash < 0 {
				dash = len(args)
			}
			switch {
			case dash > 1:
				return cli.Usagef("certspec notebook lab takes one folder and got %q", args[:dash])
			case dash == 1:
				folder = args[0]
			}
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				return cli.Usagef("%s: a folder expected", folder)
			}
			return jupyter.Lab(cmd.Context(), folder, cli.Version(), cli.Progress(), args[dash:]...)
		},
	}
}
