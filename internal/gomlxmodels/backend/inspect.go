package backend

import (
	"fmt"

	"github.com/certspec/certspec/internal/sharedlib"
)

// entryPoint is the one function that a PJRT plugin exports (pjrt_c_api.h).
const entryPoint = "GetPjrtApi"

// inspectPlugin reads the headers of a file, without loading it, and tells why it cannot
// be a PJRT plugin for this platform.
func inspectPlugin(path string) error {
	if err := sharedlib.Inspect(path, entryPoint, "PJRT plugin"); err != nil {
		return fmt.Errorf("XLA plugin %w", err)
	}
	return nil
}
