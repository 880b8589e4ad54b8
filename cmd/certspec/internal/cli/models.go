package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/certspec/certspec/internal/onnxfile"
)

// Each calls do with the model of --model or, where that is a folder, with each model in it: ONNX
// files, and weights (.safetensors) with a card (.json). name is the value of --name; it cannot name
// several.
func (o *ModelOptions) Each(name string, do func(path string) error) error {
	if at, err := os.Stat(o.Path); o.Path == "" || err != nil || !at.IsDir() {
		return do(o.Path)
	}
	entries, err := os.ReadDir(o.Path)
	if err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	var paths []string
	for _, e := range entries {
		path := filepath.Join(o.Path, e.Name())
		if weights, ok := strings.CutSuffix(path, ".safetensors"); ok {
			if _, err := os.Stat(weights + ".json"); err == nil {
				paths = append(paths, weights)
			}
		} else if onnxfile.IsName(path) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	switch {
	case len(paths) == 0:
		return Usagef("--model %s: a folder without models; expected .onnx files, or .safetensors with .json "+
			"beside them", o.Path)
	case name != "" && len(paths) > 1:
		return Usagef("--name %s names one model, and %s holds %d", name, o.Path, len(paths))
	}
	for i, path := range paths {
		if len(paths) > 1 {
			Say("%s, %d of %d", filepath.Base(path), i+1, len(paths))
		}
		if err := do(path); err != nil {
			return err
		}
	}
	return nil
}
