//go:build unix

package cli

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// inheritedPipe is an open pipe or socket, so that reads of it end when it is closed.
func inheritedPipe(fd int) (*os.File, error) {
	if fd < 3 {
		return nil, fmt.Errorf("descriptor %d; expected one above standard error, such as 3", fd)
	}
	if err := syscall.SetNonblock(fd, true); err != nil {
		return nil, fmt.Errorf("descriptor %d: %w", fd, err)
	}
	file := os.NewFile(uintptr(fd), fmt.Sprintf("descriptor %d", fd))
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return nil, fmt.Errorf("descriptor %d is no pipe", fd)
	}
	return file, nil
}
