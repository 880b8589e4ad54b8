//go:build unix && !linux

package pipe

import (
	"os"
	"os/exec"
	"syscall"
)

// separate gives the process a group of its own, so that a terminal's interrupt does not reach it. It
// ends with us as its standard input does.
func separate(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

func widen(*os.File) {}

// waitsForInput reports whether a process waits for its standard input; here nobody knows.
func waitsForInput(int) bool { return false }
