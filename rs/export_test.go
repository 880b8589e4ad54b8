package rs

import "time"

// SetSavePause changes the time between two writes of a ledger.
func SetSavePause(d time.Duration) { savePause = d }

var (
	DerivedSeed = derivedSeed
	SeedText    = seedText
)
