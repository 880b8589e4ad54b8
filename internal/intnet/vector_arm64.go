package intnet

// vectorKernels are the kernels that run on every processor of this kind.
var vectorKernels = []string{"neon"}

//go:noescape
func tiles4(a *tiles)

//go:noescape
func tiles1(a *tiles)

var wordKernels = []kernelOf{{4, 1, tiles4}, {1, 1, tiles1}}
