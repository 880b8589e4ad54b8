package atomicfile

import (
	"os"
	"time"

	"golang.org/x/sys/windows"
)

const (
	noFolderSync = true
	settled      = time.Minute // a file is closed, and so unlocked, before it can get its name
)

// TryLock takes a file for this process until it is closed. It reports false where another process has it; the
// error is of a file system without locks.
func TryLock(f *os.File) (bool, error) {
	// Locks are mandatory here: one byte far behind the end lets others read.
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY,
		0, 1, 0, &at)
	if err == windows.ERROR_LOCK_VIOLATION {
		return false, nil
	}
	return err == nil, err
}

// rename gives a file its name, and closes it first, as an open file cannot be renamed here.
func rename(f *os.File, path string) error {
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

func remove(f *os.File) {
	f.Close()
	os.Remove(f.Name())
}

func dial(path string) (*os.File, error) {
	return nil, &os.PathError{Op: "connect", Path: path, Err: windows.ERROR_NOT_SUPPORTED}
}
