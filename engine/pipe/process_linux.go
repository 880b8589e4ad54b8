package pipe

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
)

// separate gives the process a group of its own, so that a terminal's interrupt does not reach it,
// and lets it die with us.
func separate(c *exec.Cmd) {
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

func killGroup(p *os.Process) { syscall.Kill(-p.Pid, syscall.SIGKILL) }

// widen lets a pipe hold a megabyte, so that a batch takes few changes of process. Where that is
// not allowed, it stays as it is.
func widen(pipe *os.File) {
	if raw, err := pipe.SyscallConn(); err == nil {
		raw.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}

// waitsForInput reports whether a process, of one thread and without children, waits for its standard input, as cat
// does: before its hello nothing comes there, so that it waits forever.
func waitsForInput(pid int) bool {
	threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	children, also := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/syscall", pid))
	var call, file int
	n, _ := fmt.Sscanf(string(text), "%d 0x%x", &call, &file)
	return err == nil && also == nil && len(threads) == 1 && len(children) == 0 && n == 2 && file == 0 &&
		(call == syscall.SYS_READ || call == syscall.SYS_SPLICE)
}
