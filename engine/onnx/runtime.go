//go:build cgo && !noonnx && (linux || darwin)

package onnx

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>

// The stable beginning of the C API: onnxruntime_c_api.h, struct OrtApiBase.
struct api_base {
	const void *(*get_api)(uint32_t version);
	const char *(*get_version)(void);
};

static const char *library_version(const char *path, const char **problem) {
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (library == NULL) {
		*problem = dlerror();
		return NULL;
	}
	const struct api_base *(*entry)(void) = dlsym(library, "OrtGetApiBase");
	const struct api_base *base = entry == NULL ? NULL : entry();
	if (base == NULL) {
		*problem = "it has no OrtGetApiBase";
		return NULL;
	}
	return base->get_version();
}
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"
)

const (
	linked    = true
	notLinked = ""
)

var loaded struct {
	sync.Mutex
	path, version string
}

// loadLibrary loads ONNX Runtime, once for the life of the process, and returns its
// version. The binding is handed only a library that is known to be new enough: it leaves
// the memory of one that is not dangling.
func loadLibrary(path string) (string, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.path == path {
		return loaded.version, nil
	}
	version, err := libraryVersion(path)
	if err != nil {
		return "", err
	}
	if err := checkVersion(path, version); err != nil {
		return "", err
	}
	if loaded.path != "" {
		return "", fmt.Errorf("onnx: library %s: this process uses %s already, and one process can use one library",
			path, loaded.path)
	}
	ort.SetSharedLibraryPath(path)
	if err := ort.InitializeEnvironment(ort.WithLogLevelFatal()); err != nil {
		return "", fmt.Errorf("onnx: library %s (ONNX Runtime %s): %w", path, version, err)
	}
	loaded.path, loaded.version = path, version
	return version, nil
}

func libraryVersion(path string) (string, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var problem *C.char
	text := C.library_version(name, &problem)
	if text == nil {
		return "", fmt.Errorf("onnx: library %s cannot be loaded: %s", path, C.GoString(problem))
	}
	return C.GoString(text), nil
}
