package netgraph

import (
	"slices"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/testkit/engines"
)

// 1×1 pixels of 4 channels become 2×2 of 1: row by row.
func TestUnfolded(t *testing.T) {
	exec := MustNewExec(engines.Backend(t, "go").Backend, unfolded)
	defer exec.Finalize()
	out := exec.MustCall(tensors.FromFlatDataAndDimensions([]float64{1, 2, 3, 4, 5, 6, 7, 8}, 1, 1, 2, 4))[0]
	if got := tensors.MustCopyFlatData[float64](out); !slices.Equal(got, []float64{1, 2, 5, 6, 3, 4, 7, 8}) {
		t.Errorf("unfolded: %v", got)
	}
}
