package torch

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/atomicfile"
)

// Endings of the files that are read and written.
const (
	Safetensors = ".safetensors"
	NPZ         = ".npz"
)

// Write writes tensors to a file in the format of its ending, Safetensors or NPZ, in one move.
func Write(path string, tensors []modelfile.Tensor, metadata map[string]string) error {
	var data []byte
	var err error
	switch ending(path) {
	case Safetensors:
		data, err = modelfile.Encode(tensors, metadata)
	case NPZ:
		data, err = encodeNPZ(tensors)
	default:
		err = unknownEnding()
	}
	if err == nil {
		err = atomicfile.Write(path, data)
	}
	if err != nil {
		return fmt.Errorf("torch: %s: %w", path, err)
	}
	return nil
}

// File holds the weights that Read found.
type File struct {
	Tensors []modelfile.Tensor
	Digest  string // "sha256:…" of the file
}

// ErrCheckpoint reports a file that torch.save wrote: a pickle, which only Python reads.
var ErrCheckpoint = errors.New("a checkpoint of PyTorch; expected a safetensors file of its weights")

// Read reads tensors from a file in the format of its ending, Safetensors or NPZ. Numbers become
// float32. With a table it takes only the tensors whose names begin with it and a dot.
func Read(path, table string) (f File, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return f, fmt.Errorf("torch: %w", err)
	}
	switch ending(path) {
	case Safetensors:
		f.Tensors, _, err = modelfile.DecodeAny(data)
	case NPZ:
		f.Tensors, err = decodeNPZ(data)
	default:
		err = unknownEnding()
		if bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte{0x80, 2}) {
			err = ErrCheckpoint
		}
	}
	if err == nil && table != "" {
		err = f.narrow(table)
	}
	if err != nil {
		return File{}, fmt.Errorf("torch: %s: %w", path, err)
	}
	f.Digest = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	return f, nil
}

// narrow leaves the tensors whose names begin with that of a table and a dot, without it.
func (f *File) narrow(table string) error {
	var below []modelfile.Tensor
	for _, t := range f.Tensors {
		if name, ok := strings.CutPrefix(t.Name, table+"."); ok {
			t.Name = name
			below = append(below, t)
		}
	}
	if len(below) == 0 {
		return fmt.Errorf("no tensor's name begins with %q; leave --table out", table+".")
	}
	f.Tensors = below
	return nil
}

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

func unknownEnding() error {
	return fmt.Errorf("unknown ending; expected %s or %s", Safetensors, NPZ)
}
