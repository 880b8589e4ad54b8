// Package progress carries the state of long work to whoever shows it.
// Packages that compute take a Reporter and know nothing of terminals or notebooks.
package progress

import "time"

// State is a snapshot of long work.
type State struct {
	Task     string        // what runs, e.g. "certify fashionmnist/test"
	Done     float64       // units finished, those of earlier, resumed runs included
	Total    float64       // units in all; 0 if unknown
	Unit     string        // plural noun of a unit, e.g. "images"
	Rate     float64       // units of RateUnit per second in this run; 0 if not yet known
	RateUnit string        // plural noun of what Rate counts, e.g. "copies"; empty for Unit
	Left     time.Duration // estimated time left; negative if unknown
	Note     string        // one short remark, e.g. "loss 0.812"
	Final    bool          // the last report of this work, finished or stopped
}

// Reporter receives snapshots, from one goroutine at a time, at most about ten a second.
// A nil Reporter is never called.
type Reporter func(State)
