package rs

import (
	"time"

	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
)

// SetSavePause changes the time between two writes of a ledger.
func SetSavePause(d time.Duration) { savePause = d }

var (
	DerivedSeed = ledgerio.DerivedSeed
	SeedText    = ledgerio.SeedText
)
