package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/jupyter"
)

func init() { verbs = append(verbs, notebookCommand) }

func notebookCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notebook",
		Short: "Run notebooks without a browser, or open them in one",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, args []string) error { return cmd.Help() },
	}
	run := &cobra.Command{
		Use:   "run FILE...",
		Short: "Execute a copy of each notebook and stop at the first failing cell",
		Long: "Execute a copy of each notebook in its own folder below --out, from a fresh kernel, and stop at the\n" +
			"first failing cell. The notebook itself is not touched, unless --save is given. What a run writes stays\n" +
			"in its folder, and a second run goes on from there.",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef("certspec notebook run needs at least one notebook file")
			}
			return nil
		},
	}
	tier := run.Flags().String("tier", "", "how much to compute: fast or paper (default: the notebook's own)")
	out := run.Flags().String("out", "out", "folder for the executed copies")
	html := run.Flags().Bool("html", false, "also make a web page of each")
	save := run.Flags().Bool("save", false, "replace each notebook by its executed copy")
	timeout := run.Flags().Duration("timeout", time.Hour, "longest time for one cell")
	asJSON := jsonFlag(run)
	run.RunE = func(cmd *cobra.Command, args []string) error {
		if *tier != "" && *tier != "fast" && *tier != "paper" {
			return usagef("--tier %q: fast or paper expected", *tier)
		}
		if *timeout <= 0 {
			return usagef("--timeout %v: a positive time expected", *timeout)
		}
		var all []jupyter.Executed
		for _, file := range args {
			name := strings.TrimSuffix(filepath.Base(file), ".ipynb")
			if name == filepath.Base(file) {
				return usagef("%s: a notebook file (.ipynb) expected", file)
			}
			start := time.Now()
			done, err := jupyter.Run(cmd.Context(), file, jupyter.Options{
				Tier: *tier, Dir: filepath.Join(*out, name), Timeout: *timeout, HTML: *html, Version: version(), Say: say,
				Report: terminalProgress(),
			})
			if err != nil {
				return err
			}
			if *save {
				data, err := os.ReadFile(done.Notebook)
				if err != nil {
					return err
				}
				if err := atomicfile.Write(file, data); err != nil {
					return err
				}
			}
			say("%s: all cells ran, %v", file, time.Since(start).Round(100*time.Millisecond))
			all = append(all, done)
		}
		if *asJSON {
			return printJSON(cmd.OutOrStdout(), all)
		}
		for _, done := range all {
			fmt.Fprintln(cmd.OutOrStdout(), done.Notebook)
			if done.HTML != "" {
				fmt.Fprintln(cmd.OutOrStdout(), done.HTML)
			}
		}
		return nil
	}
	lab := &cobra.Command{
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
				return usagef("certspec notebook lab takes one folder and got %q", args[:dash])
			case dash == 1:
				folder = args[0]
			}
			if info, err := os.Stat(folder); err != nil || !info.IsDir() {
				return usagef("%s: a folder expected", folder)
			}
			return jupyter.Lab(cmd.Context(), folder, version(), say, args[dash:]...)
		},
	}
	cmd.AddCommand(run, lab)
	return cmd
}
