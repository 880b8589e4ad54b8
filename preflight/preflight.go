// Package preflight looks a model over before hours of certification.
package preflight

import (
	"context"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/preflight"
)

// Options says what to look over. Of the settings of the run, only Run.Sigma has no default.
type Options = preflight.Options

// Report has the findings: checks with their verdicts and advice, the rate, and plans of runs.
type Report = preflight.Report

// The verdicts of a check.
const (
	OK      = preflight.OK
	Warning = preflight.Warning // a run is possible, and likely not what is wanted
	Failure = preflight.Failure // a run would be wasted
)

// Run checks a model for common mistakes with its data and their noise, and says how long a run will
// take. It classifies about a hundred images as they are, in a few changed forms, and in noisy
// samples. The noise has a seed of its own, so a later run draws nothing that was seen here.
//
// Errors: the model cannot take the images or does not answer, or ctx ends; whatever else is wrong
// stands in the report.
func Run(ctx context.Context, model classifier.Classifier, data *dataset.Dataset, o Options) (*Report, error) {
	return preflight.Run(ctx, model, data, o)
}
