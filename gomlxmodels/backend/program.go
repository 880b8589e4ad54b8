package backend

import (
	"fmt"

	"github.com/gomlx/compute"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

// smallProgram compiles and runs 3x + 1 and looks at the answer.
func smallProgram(engine compute.Backend) error {
	exec, err := graph.NewExec(engine, func(x *graph.Node) *graph.Node {
		return graph.AddScalar(graph.MulScalar(x, 3), 1)
	})
	if err != nil {
		return err
	}
	defer exec.Finalize()
	y, err := exec.Call1([]float32{0, 1, -2})
	if err != nil {
		return err
	}
	got, err := tensors.CopyFlatData[float32](y)
	if err != nil {
		return err
	}
	for i, want := range []float32{1, 4, -5} {
		if got[i] != want {
			return fmt.Errorf("it computes wrongly: got %v, expected [1 4 -5]", got)
		}
	}
	return nil
}
