//go:build !amd64 && !arm64 && !(js && wasm)

package intnet

var vectorKernels []string

type vectorProgram struct{ heavy, tail int }

func newVectorProgram(*Network, string, int) *vectorProgram { return nil }

func (*vectorProgram) run([]int16, []int32) error { return nil }
