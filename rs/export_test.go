package rs

import (
	"time"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// SetGrace changes the time that blocks under way have after an interrupt, and a model that ignores it.
func SetGrace(blocks, model time.Duration) (restore func()) {
	before := [2]time.Duration{grace, patience}
	grace, patience = blocks, model
	return func() { grace, patience = before[0], before[1] }
}

// SetSavePause changes the time between two writes of a ledger.
func SetSavePause(d time.Duration) { savePause = d }

var (
	DerivedSeed = ledgerio.DerivedSeed
	SeedText    = ledgerio.SeedText
)
