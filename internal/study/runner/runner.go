// Package runner holds the functions that package study asks to train, certify and tabulate. Package experiment
// fills it in, imported for its effect, so that study itself links no engine.
package runner

import (
	"context"

	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/table"
)

// Order is a study as files of recipes, with its folder.
type Order struct {
	Folder, Table, Tier string
	Files               []string
	Engine              string // what trains and certifies; "": the fastest at hand
	Progress            progress.Reporter
}

// The three are nil without package experiment.
var (
	// Plan says what is left to do and how long it takes, and how many images are certified clean.
	Plan func(ctx context.Context, o Order) (left string, images int, err error)
	// Run does what is left, resumable.
	Run func(ctx context.Context, o Order) error
	// Tables are what the folder holds.
	Tables func(ctx context.Context, o Order) ([]*table.Table, error)
)
