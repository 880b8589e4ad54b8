package ledger

import (
	"os"

	"golang.org/x/sys/windows"
)

// lock takes the file for this process until it is closed. A file system without locks is no error.
func lock(f *os.File) error {
	// Locks are mandatory here: one byte far behind the end lets others read.
	at := windows.Overlapped{OffsetHigh: 1 << 30}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if err == windows.ERROR_LOCK_VIOLATION {
		return ErrLocked
	}
	return nil
}
