//go:build external && cgo && !noonnx && (linux || darwin)

package onnx

import (
	"testing"
	"time"

	"github.com/certspec/certspec/progress"
)

// TestExternalDrawnNetworks draws 2,000 networks of fixed seeds, and then 500 others: see TestDrawnNetworks.
func TestExternalDrawnNetworks(t *testing.T) {
	if _, err := Install(t.Context(), progress.Messages(t.Logf)); err != nil {
		t.Fatal(err)
	}
	drawnRuntime(t)
	t.Run("fixed", func(t *testing.T) {
		var n tally
		n.draw(t, 0, func(drawn uint64) bool { return drawn < 2000 })
		n.log(t)
	})
	t.Run("new", func(t *testing.T) {
		first := uint64(time.Now().UnixNano()) >> 20
		t.Logf("the seeds from %d on", first)
		var n tally
		n.draw(t, first, func(drawn uint64) bool { return drawn < 500 })
		n.log(t)
	})
}
