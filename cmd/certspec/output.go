package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/internal/atomicfile"
)

// version is the module version, or the commit of a build from a checkout.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}

// jsonFlag adds --json to a command that prints numbers.
func jsonFlag(cmd *cobra.Command) *bool {
	return cmd.Flags().Bool("json", false, "print JSON on standard output")
}

// printJSON writes v, indented, as one JSON document.
func printJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// writeOut writes to the file that an output flag names; none, and "-", are standard output.
func writeOut(cmd *cobra.Command, path string, data []byte) error {
	return atomicfile.To(path, cmd.OutOrStdout(), func(w io.Writer) error {
		summaryAside(cmd, path)
		_, err := w.Write(data)
		return err
	})
}

// summaryAside lets a verb say what it made on standard error where what it made goes to standard output.
func summaryAside(cmd *cobra.Command, path string) {
	if path == "-" {
		cmd.SetOut(cmd.ErrOrStderr())
	}
}

// checkedWriter keeps the first error of writing, which fmt's callers drop.
type checkedWriter struct {
	io.Writer
	err error
}

func (c *checkedWriter) Write(data []byte) (int, error) {
	n, err := c.Writer.Write(data)
	if err != nil && c.err == nil {
		c.err = err
	}
	return n, err
}

// say prints a message for the person at the terminal on standard error.
func say(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
