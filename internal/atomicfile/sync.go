package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// What a power cut must not undo; tests put their own here to see the order.
var (
	syncFile   = (*os.File).Sync
	syncFolder = SyncFolder
)

// SyncFolder waits until the names in a folder are safe from a power cut, where the system can be asked for that.
func SyncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return nil // a folder that may be written to and not read, or a system whose folders are not opened
	}
	defer f.Close()
	if err := f.Sync(); err != nil && !errors.Is(err, errors.ErrUnsupported) && !errors.Is(err, syscall.EINVAL) &&
		!noFolderSync {
		return err
	}
	return nil
}

// Rename gives a file or folder that is complete its name, and syncs that.
func Rename(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(to))
}

// Open opens a file that is appended to: it makes the missing folders and the file, and syncs their names.
func Open(path string, flag int) (*os.File, error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, flag|os.O_CREATE, 0o666)
	if err != nil {
		return nil, err
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}
