package cli

import (
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkOutputs refuses, before anything is computed, paths that cannot be written to or look mistyped.
func checkOutputs(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		if kind := f.Annotations[outKey]; kind != nil && err == nil {
			err = checkOutput(f.Name, f.Value.String(), kind[0])
		}
	})
	return err
}

// checkOutput refuses a folder where a file is wanted and the reverse, a path through a file, and
// folders that would have to be made from the root of the file system, which are mistyped.
func checkOutput(flag, path, kind string) error {
	if path == "" {
		return Usagef("--%s is empty: expected the path of a %s", flag, kind)
	}
	if path == "-" && kind != "folder" {
		return nil
	}
	if info, err := os.Stat(path); err == nil {
		switch {
		case kind == "file" && info.IsDir():
			return Usagef("--%s %s: that is a folder; expected the path of a file", flag, path)
		case kind == "folder" && !info.IsDir():
			return Usagef("--%s %s: that is a file; expected a folder", flag, path)
		}
		return nil
	}
	parent, err := filepath.Abs(path)
	if err != nil {
		return err
	}
	for missing := ""; ; missing = parent {
		parent = filepath.Dir(parent)
		info, err := os.Stat(parent)
		switch {
		case err != nil && filepath.Dir(parent) != parent:
			continue
		case err == nil && !info.IsDir():
			return Usagef("--%s %s: %s is a file, not a folder", flag, path, parent)
		case filepath.IsAbs(path) && missing != "" && filepath.Dir(parent) == parent:
			return Usagef("--%s %s: there is no folder %s; make it first, if it is meant", flag, path, missing)
		}
		return nil
	}
}
