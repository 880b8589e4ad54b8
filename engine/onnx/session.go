//go:build cgo && !noonnx && (linux || darwin)

package onnx

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	ort "github.com/yalue/onnxruntime_go"

	"github.com/certspec/certspec/internal/onnxfile"
)

// ortSession is a network that ONNX Runtime has loaded.
type ortSession struct {
	run *ort.DynamicAdvancedSession
}

// openORT is openSession on ONNX Runtime.
func openORT(path string, data []byte, input string, outputs []string, options Options) (session, error) {
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
	return ortSession{run}, nil
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

func (s ortSession) close() { s.run.Destroy() }

// tensor makes the memory of an array a tensor, until it is destroyed.
func (a *array) tensor() (ort.Value, error) {
	shape := ort.NewShape(a.dims...)
	switch {
	case a.floats != nil:
		return ort.NewTensor(shape, a.floats)
	case a.doubles != nil:
		return ort.NewTensor(shape, a.doubles)
	case a.bytes != nil:
		return ort.NewTensor(shape, a.bytes)
	}
	return ort.NewCustomDataTensor(shape, a.raw(), ort.TensorElementDataTypeFloat16)
}

// evaluate runs the network from one array into another.
func (s ortSession) evaluate(in, out *array) error {
	output, err := out.tensor()
	if err != nil {
		return err
	}
	defer output.Destroy()
	return s.call(in, []ort.Value{output})
}

// call runs the network. Outputs that are nil are made.
func (s ortSession) call(in *array, outputs []ort.Value) error {
	input, err := in.tensor()
	if err != nil {
		return err
	}
	defer input.Destroy()
	if err := s.run.Run([]ort.Value{input}, outputs); err != nil {
		return explain(err)
	}
	return nil
}

// discover runs the network and returns its n outputs. The binding cannot hand out float16 of unknown shape.
func (s ortSession) discover(in *array, n int) ([]array, error) {
	outputs := make([]ort.Value, n)
	if err := s.call(in, outputs); err != nil {
		return nil, err
	}
	all := make([]array, n)
	for i, output := range outputs {
		all[i].dims = output.GetShape()
		switch tensor := output.(type) {
		case *ort.Tensor[float32]:
			all[i].floats = slices.Clone(tensor.GetData())
		case *ort.Tensor[float64]:
			all[i].doubles = slices.Clone(tensor.GetData())
		case *ort.Tensor[int64]:
			all[i].wholes = slices.Clone(tensor.GetData())
		}
		output.Destroy()
	}
	return all, nil
}
