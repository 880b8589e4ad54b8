// Package version is "certspec version".
package version

import (
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
)

type built struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Changed bool   `json:"changed,omitempty"` // the checkout was not as committed
	Go      string `json:"go"`
	System  string `json:"system"`
	Cgo     bool   `json:"cgo"`
	XLA     bool   `json:"xla"`
	SIMD    bool   `json:"simd"`
}

// Command makes the command.
func Command() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program, and how it was built",
		Args:  cli.NoArgs,
	}
	asJSON := cli.JSON(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		b := built{Version: cli.Version(), Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH}
		b.read()
		if *asJSON {
			return cli.PrintJSON(cmd.OutOrStdout(), b)
		}
		has := func(name string, there bool) string {
			if there {
				return name
			}
			return "no " + name
		}
		_, err := cli.Fprintf(cmd.OutOrStdout(), "certspec %s, %s on %s, %s, %s, %s\n", b.Version, b.Go, b.System,
			has("cgo", b.Cgo), has("XLA", b.XLA), has("SIMD", b.SIMD))
		return err
	}
	return cmd
}

// read fills in what the build recorded.
func (b *built) read() {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return
	}
	without := false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		case "CGO_ENABLED":
			b.Cgo = s.Value == "1"
		case "-tags":
			without = strings.Contains(s.Value, "noxla")
		case "GOEXPERIMENT":
			b.SIMD = strings.Contains(s.Value, "simd")
		}
	}
	b.XLA = b.Cgo && !without
}
