// Command certspec proves things about image classifiers; see certspec help.
package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/certspec/certspec/cmd/certspec/adapt"
	"github.com/certspec/certspec/cmd/certspec/attack"
	"github.com/certspec/certspec/cmd/certspec/augment"
	"github.com/certspec/certspec/cmd/certspec/backend"
	"github.com/certspec/certspec/cmd/certspec/bound"
	"github.com/certspec/certspec/cmd/certspec/calib"
	"github.com/certspec/certspec/cmd/certspec/certify"
	"github.com/certspec/certspec/cmd/certspec/corrupt"
	"github.com/certspec/certspec/cmd/certspec/dataset"
	"github.com/certspec/certspec/cmd/certspec/evaluate"
	"github.com/certspec/certspec/cmd/certspec/experiment"
	exporter "github.com/certspec/certspec/cmd/certspec/export"
	"github.com/certspec/certspec/cmd/certspec/gate"
	importer "github.com/certspec/certspec/cmd/certspec/import"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/cmd/certspec/interpolate"
	"github.com/certspec/certspec/cmd/certspec/join"
	"github.com/certspec/certspec/cmd/certspec/ledger"
	"github.com/certspec/certspec/cmd/certspec/lines"
	"github.com/certspec/certspec/cmd/certspec/merge"
	"github.com/certspec/certspec/cmd/certspec/notebook"
	"github.com/certspec/certspec/cmd/certspec/ood"
	"github.com/certspec/certspec/cmd/certspec/plan"
	"github.com/certspec/certspec/cmd/certspec/predict"
	"github.com/certspec/certspec/cmd/certspec/preflight"
	"github.com/certspec/certspec/cmd/certspec/prove"
	"github.com/certspec/certspec/cmd/certspec/quantize"
	"github.com/certspec/certspec/cmd/certspec/report"
	"github.com/certspec/certspec/cmd/certspec/spectral"
	"github.com/certspec/certspec/cmd/certspec/sweep"
	"github.com/certspec/certspec/cmd/certspec/train"
	"github.com/certspec/certspec/cmd/certspec/version"
	"github.com/certspec/certspec/internal/hugepages"
)

// root has a command for each folder beside this file.
func root() *cobra.Command {
	return cli.Root(
		adapt.Command(), attack.Command(), augment.Command(), backend.Command(), bound.Command(), calib.Command(),
		certify.Command(),
		corrupt.Command(), dataset.Command(), evaluate.Command(), experiment.Command(), exporter.Command(),
		gate.Command(), importer.Command(), interpolate.Command(), join.Command(),
		ledger.Command(), lines.Command(), merge.Command(), notebook.Command(), ood.Command(),
		plan.Command(), predict.Command(), preflight.Command(), prove.Command(), quantize.Command(), report.Command(),
		spectral.Command(), sweep.Command(), train.Command(), version.Command(),
	)
}

func main() { os.Exit(run(os.Args[1:])) }

func run(args []string) int {
	all := root()
	if cli.HugePages(all, args) {
		hugepages.Use()
	}
	return cli.Run(all, args)
}
