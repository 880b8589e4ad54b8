//go:build unix

package journaltest

import (
	"os/signal"
	"syscall"
)

// limitFiles is the most bytes that files of this process may have from now on; 0 changes nothing.
func limitFiles(bytes int) error {
	if bytes == 0 {
		return nil
	}
	signal.Ignore(syscall.SIGXFSZ)
	limit := syscall.Rlimit{Cur: uint64(bytes), Max: uint64(bytes)}
	return syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit)
}
