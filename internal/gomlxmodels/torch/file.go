package torch

import (
	"crypto/sha256"
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

// File is what Read takes from a file of weights.
type File struct {
	Tensors []modelfile.Tensor
	Digest  string   // "sha256:…" of the file
	Table   string   // the name of the table that the tensors are from; empty where the file has one, without a name
	Others  []string // further tables of weights, as of a moving average (model, model_ema)
}

// Read reads tensors from a file in the format of its ending, Safetensors or NPZ, or from a checkpoint
// that torch.save wrote, whatever its ending. Numbers become float32. Nothing of a checkpoint is run.
//
// A checkpoint may have several tables of weights. An empty table takes the weights themselves, or
// the first that is there of state_dict, model_state_dict, net, model and weights, or any other. A
// name takes that table (with dots for one inside another), or, of any file, the tensors whose
// names begin with it and a dot.
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
		if !isCheckpoint(data) {
			return f, fmt.Errorf("torch: %s: neither a checkpoint of PyTorch nor a file that ends in %s or %s", path,
				Safetensors, NPZ)
		}
		f, err = decodeCheckpoint(data, table)
	}
	if err == nil && table != "" && f.Table != table {
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
	if len(below) > 0 {
		f.Tensors, f.Table, f.Others = below, table, nil
		return nil
	}
	tables := f.Others
	if f.Table != "" {
		tables = append([]string{f.Table}, tables...)
	}
	if len(tables) == 0 {
		return fmt.Errorf("it has no table %q, and no tensor whose name begins with %q; leave --table out", table,
			table+".")
	}
	return fmt.Errorf("it has no table %q; expected one of %s", table, some(tables))
}

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

func unknownEnding() error {
	return fmt.Errorf("unknown ending; expected %s or %s", Safetensors, NPZ)
}
