// Package atomicfile writes a file in one step: a reader finds the old content or the new, whole.
package atomicfile

import (
	"os"
	"path/filepath"
)

// Write creates the folder where it is missing and replaces the file in one step.
func Write(path string, data []byte) error {
	return Build(path, func(f *os.File) error {
		_, err := f.Write(data)
		return err
	})
}

// Build is Write for a file that fill writes, in whatever order; after an error of fill nothing is replaced.
func Build(path string, fill func(f *os.File) error) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".writing-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // no longer there after the rename
	err = fill(f)
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
