// Package sweep is "certspec sweep".
package sweep

import (
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/rs/sweep"
)

// Command makes the command.
func Command() *cobra.Command {
	return cli.Noun("sweep", "Certify a data set under many corruptions, and compare the results", "", runCommand(),
		tableCommand())
}

// cellOptions name corruptions and strengths.
type cellOptions struct {
	words      []string
	severities []int
	clean      bool
	variants   cli.CorruptVariants
}

func (o *cellOptions) flags(f *cli.Flags) {
	f.Words(&o.words, "corrupt", []string{string(corrupt.C)},
		"corruptions by name, family or group: fog, C, C-extra, C-bar, F, Low, Mid, High, all", cli.CorruptionWords)
	f.Ints(&o.severities, "severity", nil, "1 to 5, of F the norms 8, 10 and 12 (default all)")
	f.BoolVar(&o.clean, "clean", true, "the images as they are, too")
	o.variants.Flags(f)
}

// cells lists the cells.
func (o *cellOptions) cells() ([]sweep.Cell, error) {
	cells, err := cli.Cells(o.words, o.severities, o.variants.Setting)
	if err == nil && o.clean {
		cells = append([]sweep.Cell{{}}, cells...)
	}
	return cells, err
}
