// Package experiment makes the tables of papers in a folder, and reads them.
//
// A recipe says how a network is trained, a tier how much of it is done (network, epochs, images, noise samples), a
// table which recipes stand side by side and what is measured. All three are YAML; those of four papers are built in,
// others are read from files of Options.Add. `certspec experiment list` prints them.
//
//	Sun et al. 2021, "Certified adversarial defenses meet out-of-distribution corruptions"
//	Bitterwolf et al. 2020, "Certifiably adversarially robust detection of out-of-distribution data"
//	Fridovich-Keil et al. 2022, "Models out of line: a Fourier lens on distribution shift robustness"
//	Emde et al. 2025, "Towards certification of uncertainty calibration under adversarial attacks"
//
// Run trains, adapts, certifies and attacks, network by network. What is in the folder is not done again: an
// interrupted run goes on where it was, and ends with the same ledgers. Beside reads a table of the
// folder; package study has its numbers. Imported for its effect, the package also makes studies of one's own, those
// of study.New.
package experiment

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/run"
	"github.com/certspec/certspec/internal/study/runner"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/table"
)

func init() {
	runner.Plan = planned
	runner.Run = func(ctx context.Context, o runner.Order) error { return Run(ctx, options(o)) }
	runner.Tables = func(ctx context.Context, o runner.Order) ([]*table.Table, error) {
		f, err := results.Fill(ctx, o.Folder, o.Table, resample.Options{})
		if err != nil {
			return nil, err
		}
		return f.Tables(), nil
	}
}

// Options say what to make and where.
type Options struct {
	Folder string
	Table  string   // by name
	Tier   string   // by name
	Add    []string // files of further recipes, tables and rows
	Rows   []string // recipes of the table that are made, also as patterns such as C/conv8/*/*; empty: all

	Places  map[string]string        // where data lie, by kind
	Methods map[string]method.Method // training methods of one's own, by the name in recipes

	Engine   string // what certifies, as --engine of certspec certify; "": the fastest at hand
	Training string // what trains, likewise

	Progress progress.Reporter // may be nil
}

// Run makes a table in a folder. It stops at the first interrupt of ctx and keeps what is done.
//
// Errors: an unknown name, a file that cannot be read, a folder that is for something else, a network whose training
// failed. The other networks are made before it returns.
func Run(ctx context.Context, o Options) error { return run.Table(ctx, o.plan()) }

func (o Options) plan() plan.Options {
	return plan.Options{Folder: o.Folder, Table: o.Table, Tier: o.Tier, Add: o.Add, Rows: o.Rows, Places: o.Places,
		Methods: o.Methods, Engine: o.Engine, Training: o.Training, Progress: o.Progress}
}

// Beside reads a table of a folder beside the published one: published, ours, difference. Its note says what differs.
//
// Errors: those of Table; a table without published numbers.
func Beside(folder, name string) (*table.Table, error) {
	f, err := results.Fill(context.Background(), folder, name, resample.Options{})
	if err != nil {
		return nil, err
	}
	library, err := recipe.Open()
	if err != nil {
		return nil, err
	}
	built, err := library.Table(f.Name)
	if err != nil || built.Published == nil {
		return nil, fmt.Errorf("experiment: no published numbers of %s are known", f.Name)
	}
	return f.Beside(built.Published), nil
}

// options of a study of one's own.
func options(o runner.Order) Options {
	return Options{Folder: o.Folder, Table: o.Table, Tier: o.Tier, Add: o.Files, Engine: o.Engine, Training: o.Engine,
		Progress: o.Progress}
}

func planned(ctx context.Context, o runner.Order) (left string, images int, err error) {
	e, err := plan.Plan(options(o).plan())
	if err != nil {
		return "", 0, err
	}
	estimate, err := e.Estimate(ctx, false)
	if err != nil {
		return "", 0, err
	}
	for _, j := range e.Jobs {
		if j.Kind != "certify" {
			continue
		}
		name, _ := e.Manifest.ImagesOf(j.Model, j.Cell)
		images, err = plan.SizeOf(ctx, name)
		return estimate.String(), images, err
	}
	return "", 0, fmt.Errorf("experiment: table %s certifies no images", o.Table)
}
