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

// Read reads tensors from a file in the format of its ending, Safetensors or NPZ, or from a checkpoint
// that torch.save wrote, whatever its ending, and gives the SHA-256 of the file as "sha256:…". Numbers
// become float32. Of a checkpoint it takes the table of weights, itself or under one of the names
// state_dict, model_state_dict, net, model and weights; nothing of a checkpoint is run.
func Read(path string) (tensors []modelfile.Tensor, digest string, err error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("torch: %w", err)
	}
	switch ending(path) {
	case Safetensors:
		tensors, _, err = modelfile.DecodeAny(data)
	case NPZ:
		tensors, err = decodeNPZ(data)
	default:
		if !isCheckpoint(data) {
			return nil, "", fmt.Errorf("torch: %s: neither a checkpoint of PyTorch nor a file that ends in %s or %s", path, Safetensors, NPZ)
		}
		tensors, err = decodeCheckpoint(data)
	}
	if err != nil {
		return nil, "", fmt.Errorf("torch: %s: %w", path, err)
	}
	return tensors, fmt.Sprintf("sha256:%x", sha256.Sum256(data)), nil
}

// HasEnding reports whether a path has an ending, in capitals too.
func HasEnding(path, want string) bool { return ending(path) == want }

func ending(path string) string { return strings.ToLower(filepath.Ext(path)) }

func unknownEnding() error {
	return fmt.Errorf("unknown ending; expected %s or %s", Safetensors, NPZ)
}
