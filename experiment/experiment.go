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
// interrupted run goes on where it was, and ends with the same ledgers. Fill reads the folder.
package experiment

import (
	"context"

	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/run"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/resample"
)

// Options say what to make: Folder, Table and Tier by their names, Rows of the table, and further recipes.
type Options = plan.Options

// Filled is a table with the numbers that a folder holds: Metrics are the columns, Lines the rows.
type Filled = results.Filled

// FilledLine is a row. It has a value for each metric, nil where that was not made yet.
type FilledLine = results.FilledLine

// Metric is a column: the mean of the average certified radius over some cells.
type Metric = results.Metric

// Value is a mean over seeds and images with its interval, and its difference from the row of reference.
type Value = results.Value

// Progress says how much of a table is done.
type Progress = plan.Progress

// Run makes a table in a folder. It stops at the first interrupt of ctx and keeps what is done.
//
// Errors: an unknown name, a file that cannot be read, a folder that is for something else, a network whose training
// failed. The other networks are made before it returns.
func Run(ctx context.Context, o Options) error { return run.Table(ctx, o) }

// Table reads a table of a folder, with intervals of 95 %.
func Table(ctx context.Context, folder, name string) (*Filled, error) {
	return results.Fill(ctx, folder, name, resample.Options{})
}

// Status says how much of every table of a folder is done.
func Status(folder string) ([]Progress, error) {
	_, progress, err := plan.Status(folder)
	return progress, err
}

// Certified are the networks of a folder that were certified on clean images and under corruptions, for the line of
// certified accuracies. Networks whose radii come from other programs are left out, as these do not say σ, α and rule.
func Certified(folder string) ([]certified.Model, error) { return results.Certified(folder) }
