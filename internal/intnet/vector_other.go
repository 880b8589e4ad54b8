//go:build !amd64

package intnet

var vectorKernels []string

type vectorProgram struct{}

func newVectorProgram(*Network, string) *vectorProgram { return nil }

func (*vectorProgram) run([]int16, []int32) error { return nil }

// Peak is 0: there are no vectors.
func Peak(string, int) (products float64) { return 0 }
