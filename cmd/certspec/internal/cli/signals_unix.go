//go:build unix

package cli

import (
	"os"
	"syscall"
)

// stopSignals ask for a stop: the blocks under way are finished and saved, and the exit code is 75. Batch systems
// send SIGTERM, or SIGUSR1 some time before the end, as they are told.
var stopSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGUSR1}
