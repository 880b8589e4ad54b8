//go:build !(cgo && !noonnx && (linux || darwin))

package onnx

import "errors"

const (
	linked    = false
	notLinked = "this program was built without ONNX Runtime (no C compiler, -tags noonnx, or a platform without " +
		"it); build with CGO_ENABLED=1 and without the tag"
)

var errNotLinked = errors.New(notLinked)

func loadLibrary(string) (string, error) { return "", errNotLinked }

func openORT(path string, data []byte, input string, outputs []string, options Options) (session, error) {
	return nil, errNotLinked
}

func openOpenVINO(file []byte, input string, outputs []string, options Options) (session, error) {
	return nil, errNotLinked
}
