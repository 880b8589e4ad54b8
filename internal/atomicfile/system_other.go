//go:build !unix && !windows

package atomicfile

import (
	"errors"
	"os"
	"time"
)

const (
	noFolderSync = true
	settled      = time.Minute
)

// TryLock reports that this system has no locks.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }

// rename gives a file its name, and closes it.
func rename(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func remove(f *os.File) { os.Remove(f.Name()) }

func dial(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "connect", Path: path, Err: errors.ErrUnsupported}
}
