//go:build external && cgo && !noonnx && (linux || darwin)

package onnx

import (
	"testing"
	"time"

	"github.com/certspec/certspec/progress"
)

// TestExternalDrawnNetworks draws 2,000 networks of fixed seeds, and then others for a minute: see TestDrawnNetworks.
func TestExternalDrawnNetworks(t *testing.T) {
	if _, err := Install(t.Context(), progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	drawnRuntime(t)
	const fixed = 2000
	first := uint64(time.Now().UnixNano()) >> 20
	t.Logf("seeds 0 to %d, and for a minute from %d on", fixed-1, first)
	var n tally
	n.draw(t, 0, func(drawn uint64) bool { return drawn < fixed })
	minute := time.Now().Add(time.Minute)
	n.draw(t, first, func(uint64) bool { return time.Now().Before(minute) })
	n.log(t)
}
