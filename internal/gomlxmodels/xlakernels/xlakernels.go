// Package xlakernels computes convolutions of XLA's programs on a CPU by kernels in C, in the place
// of those that XLA's compiler makes: a training step of a ResNet-20 spends 5 times less processor
// time in the gradients by the kernels, and half of it in all convolutions.
//
// Load opens XLA's plugin and gives go-xla a copy of its table of functions, in which compilation
// first replaces the stablehlo.convolution instructions of known forms by calls of a function of
// this package, by XLA's foreign function interface. Known are float32 convolutions of images
// [batch, height, width, channels] without groups, with kernels of up to 7×7 pixels and strides of
// 1 or 2: forward, by the images and by the kernel, as GoMLX's differentiation makes them. All
// others are XLA's own, and where XLA refuses the program with the calls, it compiles the original.
//
// Some forms compute 3×3 kernels with stride 1 by Winograd's minimal filtering, with 16 products in
// the place of 36: faster, but not by default, as they round otherwise than the kernels that older
// cards and checkpoints name.
//
// Another form rounds images, kernels and gradients to bfloat16 where it copies them and adds
// products of pairs in float32 (VDPBF16PS), on processors that have this instruction. What lies in
// XLA's memory stays float32.
//
// The kernels run on XLA's threads, in AVX-512, AVX2 or NEON instructions. An output is summed in
// one order, whatever the number of threads, the size of the batch and the place in it. Every shape
// of kernel is compared with direct sums in float64 before its first use.
package xlakernels

import "fmt"

// revision changes with the bits that the kernels compute.
const revision = 1

// Identity of kernels of a form, as the version of a backend says it.
func Identity(form string) string { return fmt.Sprintf("kernels %d %s", revision, form) }

// Counts says what became of the convolutions that were compiled.
type Counts struct {
	Replaced int            `json:"replaced"`
	Native   map[string]int `json:"native,omitempty"` // how many were left to XLA, by the reason
}
