package experiment

import (
	"context"

	"github.com/certspec/certspec/internal/table"
)

// A measure is something that tables show of their models. Each has a file of its own, measure_NAME.go, which says what is to be done
// for it, how and at what cost, where its results lie, and how they are printed; and a field of Measure, by which tables ask for it.
type measure interface {
	// kind is the name of its jobs.
	kind() jobKind
	// jobs are those of one model of a table; none where the table does not ask for it. A job may need further models: see Job.With.
	jobs(m *Manifest, t *madeTable, model *Model) ([]job, error)
	// done reports whether the results of a job are in a folder.
	done(m *Manifest, folder string, j job) (bool, error)
	do(ctx context.Context, r *runner, j job) error
	// cost adds what a job takes.
	cost(c costs, j job) error
	// fill reads the results of a folder into the lines of a table, which have their radii.
	fill(f *filler, out *Filled) error
	// tables adds what is printed: columns and head are what stands before the figures of a line.
	tables(f *Filled, columns []string, head func(FilledLine) []any, add func(t *table.Table, title string))
}

// measures are all, in the order in which a model's jobs are done and its tables stand.
var measures = []measure{radiusMeasure{}, calibrationMeasure{}, attackMeasure{}, agreementMeasure{}}
