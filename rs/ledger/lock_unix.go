//go:build unix

package ledger

import (
	"os"

	"golang.org/x/sys/unix"
)

// lock takes the file for this process until it is closed. A file system without locks is no error.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return ErrLocked
	}
	return nil
}
