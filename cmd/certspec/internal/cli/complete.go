package cli

import (
	"github.com/spf13/cobra"
)

// paths completes files with one of the endings, or with any, or folders alone.
func paths(folders bool, endings ...string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case folders:
			return nil, cobra.ShellCompDirectiveFilterDirs
		case len(endings) > 0:
			return endings, cobra.ShellCompDirectiveFilterFileExt
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}
