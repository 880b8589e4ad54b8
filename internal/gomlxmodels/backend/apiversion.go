//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package backend

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

// The head of PJRT_Api, which every version of pjrt_c_api.h has in common.
typedef struct {
	size_t struct_size;
	void *extensions;
	struct {
		size_t struct_size;
		void *extensions;
		int major, minor;
	} version;
} api_head;

// api_version reads the version of a plugin, or returns 0.
static int api_version(const char *path, int *major, int *minor) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library == NULL) return 0;
	const api_head *(*get)(void) = (const api_head *(*)(void))dlsym(library, "GetPjrtApi");
	if (get == NULL) return 0;
	const api_head *api = get();
	if (api == NULL) return 0;
	*major = api->version.major;
	*minor = api->version.minor;
	return 1;
}
*/
import "C"

import "unsafe"

// apiVersion asks a plugin for the version of its PJRT C API before anything else of it is
// called: go-xla calls functions that old plugins lack. It may crash the process.
func apiVersion(path string) (major, minor int, found bool) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var a, b C.int
	ok := C.api_version(name, &a, &b)
	return int(a), int(b), ok != 0
}
