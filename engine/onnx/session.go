//go:build cgo && !noonnx && (linux || darwin)

package onnx

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/certspec/certspec/internal/onnxfile"
)

// session is a loaded network. Its methods may be called concurrently.
type session struct {
	run *ort.DynamicAdvancedSession
}

// openSession loads the file at path or, where there is data, that; values in other files are in
// the folder of path then.
func openSession(path string, data []byte, input string, outputs []string, options Options) (*session, error) {
	settings, err := ort.NewSessionOptions()
	if err != nil {
		return nil, err
	}
	defer settings.Destroy()
	if err := settings.SetIntraOpNumThreads(options.Threads); err != nil {
		return nil, err
	}
	if err := settings.AddSessionConfigEntry("session.intra_op.allow_spinning", "0"); err != nil {
		return nil, err
	}
	if options.plain {
		if err := settings.SetGraphOptimizationLevel(ort.GraphOptimizationLevelDisableAll); err != nil {
			return nil, err
		}
	}
	if options.Provider == "cuda" {
		cuda, err := ort.NewCUDAProviderOptions()
		if err != nil {
			return nil, fmt.Errorf("this library of ONNX Runtime has no CUDA: %w", err)
		}
		defer cuda.Destroy()
		if err := settings.AppendExecutionProviderCUDA(cuda); err != nil {
			return nil, fmt.Errorf("CUDA cannot be used: %w", err)
		}
	}
	var run *ort.DynamicAdvancedSession
	if data != nil {
		if data, err = withLinkedFiles(data, filepath.Dir(path)); err != nil {
			return nil, err
		}
		if err := settings.AddSessionConfigEntry("session.model_external_initializers_file_folder_path",
			filepath.Dir(path)); err != nil {
			return nil, err
		}
		run, err = ort.NewDynamicAdvancedSessionWithONNXData(data, []string{input}, outputs, settings)
	} else {
		run, err = ort.NewDynamicAdvancedSession(path, []string{input}, outputs, settings)
	}
	if err != nil {
		return nil, explain(err)
	}
	return &session{run}, nil
}

// withLinkedFiles is a network of bytes with the values of the files beside it, where one of these is
// a link that leads out of the folder, as in the cache of a hub: ONNX Runtime follows such links for
// a network that it reads from its file, and refuses them for one that it gets as bytes.
func withLinkedFiles(data []byte, dir string) ([]byte, error) {
	m, err := onnxfile.Decode(data)
	if err != nil {
		return data, nil // ONNX Runtime says what is wrong
	}
	names, err := m.ExternalFiles()
	if err != nil {
		return nil, err
	}
	folder, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil, err
	}
	size, out := int64(len(data)), false
	for _, name := range names {
		file, err := filepath.EvalSymlinks(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		inside, err := filepath.Rel(folder, file)
		out = out || err != nil || !filepath.IsLocal(inside)
		info, err := os.Stat(file)
		if err != nil {
			return nil, err
		}
		size += info.Size()
	}
	switch {
	case !out:
		return data, nil
	case size >= math.MaxInt32:
		return nil, fmt.Errorf("its weights, %d bytes, are behind links that lead out of %s, which ONNX Runtime follows "+
			"below 2 GiB only: copy the files into one folder (cp -L)", size, dir)
	}
	if err := m.Load(dir); err != nil {
		return nil, err
	}
	return onnxfile.Encode(m), nil
}

// shapesOf runs a network whose outputs are shapes.
func (s *session) shapesOf(in *array, n int) ([][]int64, error) {
	outputs := make([]ort.Value, n)
	if err := s.run.Run([]ort.Value{in.tensor}, outputs); err != nil {
		return nil, explain(err)
	}
	var shapes [][]int64
	for _, output := range outputs {
		tensor, ok := output.(*ort.Tensor[int64])
		if !ok {
			return nil, errors.New("an output is no shape")
		}
		shapes = append(shapes, slices.Clone(tensor.GetData()))
		output.Destroy()
	}
	return shapes, nil
}

func (s *session) close() { s.run.Destroy() }

// array is a tensor whose memory is Go's.
type array struct {
	values
	tensor ort.Value
}

func newArray(kind onnxfile.Type, dims ...int64) (*array, error) {
	a := &array{}
	var err error
	switch kind {
	case onnxfile.Float32:
		a.floats, a.tensor, err = newTensor[float32](dims)
	case onnxfile.Float64:
		a.doubles, a.tensor, err = newTensor[float64](dims)
	case onnxfile.Uint8:
		a.bytes, a.tensor, err = newTensor[uint8](dims)
	case onnxfile.Float16:
		shape := ort.NewShape(dims...)
		a.halves = make([]uint16, shape.FlattenedSize())
		raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(a.halves))), 2*len(a.halves))
		a.tensor, err = ort.NewCustomDataTensor(shape, raw, ort.TensorElementDataTypeFloat16)
	default:
		panic("onnx: array of " + kind.String())
	}
	return a, err
}

func newTensor[T ort.TensorData](dims []int64) ([]T, ort.Value, error) {
	tensor, err := ort.NewEmptyTensor[T](ort.NewShape(dims...))
	if err != nil {
		return nil, nil, err
	}
	return tensor.GetData(), tensor, nil
}

func (a *array) free() { a.tensor.Destroy() }

// evaluate runs the network from one array into another.
func (s *session) evaluate(in, out *array) error {
	if err := s.run.Run([]ort.Value{in.tensor}, []ort.Value{out.tensor}); err != nil {
		return explain(err)
	}
	return nil
}

// discover runs the network and returns its n outputs. The binding cannot hand out float16 of unknown shape.
func (s *session) discover(in *array, n int) ([]found, error) {
	outputs := make([]ort.Value, n)
	if err := s.run.Run([]ort.Value{in.tensor}, outputs); err != nil {
		return nil, explain(err)
	}
	all := make([]found, n)
	for i, output := range outputs {
		all[i].dims = output.GetShape()
		switch tensor := output.(type) {
		case *ort.Tensor[float32]:
			all[i].floats = slices.Clone(tensor.GetData())
		case *ort.Tensor[float64]:
			all[i].doubles = slices.Clone(tensor.GetData())
		}
		output.Destroy()
	}
	return all, nil
}
