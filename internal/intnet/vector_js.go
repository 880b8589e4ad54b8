package intnet

import (
	"syscall/js"
	"unsafe"
)

// kernels are the functions of kernel/kernel.wasm on the memory of this program; whoever starts it may give them.
var kernels = js.Global().Get("intnetKernels")

// vectorKernels are none where the program was started without.
var vectorKernels = func() (names []string) {
	if kernels.Truthy() {
		names = append(names, "simd")
	}
	return names
}()

var wordKernels = []kernelOf{{4, 1, kernel("tiles4")}, {1, 1, kernel("tiles1")}}

func kernel(name string) func(*tiles) {
	if !kernels.Truthy() {
		return nil
	}
	f := kernels.Get(name)
	return func(t *tiles) { f.Invoke(uintptr(unsafe.Pointer(t))) }
}
