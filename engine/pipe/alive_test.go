package pipe_test

import (
	"os"
	"runtime"
	"syscall"
)

// alive reports whether a process is there, be it as a zombie.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return runtime.GOOS == "windows" || p.Signal(syscall.Signal(0)) == nil
}
