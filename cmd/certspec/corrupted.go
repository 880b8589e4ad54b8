package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset"
)

// corruptedFlags adds --corrupt to a command that opens images with open, and gives what opens them corrupted.
func corruptedFlags(cmd *cobra.Command, open func() (*dataset.Dataset, error)) func() (*dataset.Dataset, error) {
	f := cmd.Flags()
	text := f.String("corrupt", "", "corrupt the images first: a name with --severity, or fog:3 or fourier:fc=3,a=0.5,eps=8; see certspec corrupt list")
	severity := f.Int("severity", 0, "of --corrupt, 1 to 5")
	seed := f.Uint64("corrupt-seed", 0, "of the random numbers of --corrupt")
	var options corrupt.Setting
	corruptOptions(cmd, &options)
	return func() (*dataset.Dataset, error) {
		images, err := open()
		if err != nil {
			return nil, err
		}
		if !f.Changed("corrupt") {
			for _, name := range []string{"severity", "corrupt-seed", "glass-swap", "fourier-archive", "photographs"} {
				if f.Changed(name) {
					return nil, usagef("--%s without --corrupt", name)
				}
			}
			return images, nil
		}
		s, err := corrupt.Parse(*text)
		if err != nil {
			return nil, corruptUsage(err)
		}
		if f.Changed("severity") {
			if strings.Contains(*text, ":") {
				return nil, usagef("--severity with --corrupt %s: expected the strength once", *text)
			}
			s.Severity = *severity
		}
		s.Archive = s.Archive || options.Archive
		s.GlassSwap, s.Photographs = s.GlassSwap || options.GlassSwap, options.Photographs
		images, err = corrupt.Dataset(images, s, *seed)
		return images, corruptUsage(err)
	}
}
