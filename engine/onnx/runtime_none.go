//go:build !(cgo && !noonnx && (linux || darwin))

package onnx

import (
	"errors"

	"github.com/certspec/certspec/internal/onnxfile"
)

const (
	linked    = false
	notLinked = "this program was built without ONNX Runtime (no C compiler, -tags noonnx, or a platform without " +
		"it); build with CGO_ENABLED=1 and without the tag"
)

var errNotLinked = errors.New(notLinked)

func loadLibrary(string) (string, error) { return "", errNotLinked }

type session struct{}

func openSession(path string, data []byte, input string, outputs []string, options Options) (*session, error) {
	return nil, errNotLinked
}

func (s *session) close() {}

func (s *session) evaluate(in, out *array) error                { return errNotLinked }
func (s *session) shapesOf(in *array, n int) ([][]int64, error) { return nil, errNotLinked }
func (s *session) discover(in *array, n int) ([]found, error)   { return nil, errNotLinked }

type array struct{ values }

func newArray(kind onnxfile.Type, dims ...int64) (*array, error) { return nil, errNotLinked }

func (a *array) free() {}
