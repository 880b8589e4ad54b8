// Package atomicfile writes a file in one step: a reader finds the old content or the new, whole.
package atomicfile

import (
	"os"
	"path/filepath"
)

// Write creates the folder where it is missing and replaces the file in one step.
func Write(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}
