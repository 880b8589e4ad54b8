//go:build unix

package atomicfile

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	noFolderSync = false
	settled      = 0 // a file keeps its lock until it has its name
)

// TryLock takes a file for this process until it is closed. It reports false where another process has it; the
// error is of a file system without locks.
func TryLock(f *os.File) (bool, error) {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == unix.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

// rename gives a file its name, and closes it.
func rename(f *os.File, path string) error {
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return f.Close()
}

func remove(f *os.File) { os.Remove(f.Name()) }

// dial connects with a socket that has a path. Package net would do it too, at the price of its size in whatever
// writes a file.
func dial(path string) (*os.File, error) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err == nil {
		if err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: path}); err != nil {
			syscall.Close(fd)
		}
	}
	if err != nil {
		return nil, &os.PathError{Op: "connect", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}
