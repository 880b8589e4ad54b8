package pipe

import (
	"os"
	"os/exec"
	"syscall"
)

// separate gives the process a group of its own, so that an interrupt at the console does not reach it. It ends with
// us as its standard input does.
func separate(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{CreationFlags: syscall.CREATE_NEW_PROCESS_GROUP}
}

func killGroup(p *os.Process) { p.Kill() }

func widen(*os.File) {}

// waitsForInput reports whether a process waits for its standard input; here nobody knows.
func waitsForInput(int) bool { return false }
