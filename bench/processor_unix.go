//go:build unix && !aix && !netbsd

package main

import (
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// processorTime is the time of this process on processors, by the clock of the scheduler: the
// times of getrusage are estimates by ticks, whose parts may go backwards.
func processorTime() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_PROCESS_CPUTIME_ID, &t); err != nil {
		panic("bench: " + err.Error()) // cannot be: both arguments are right
	}
	return time.Duration(t.Nano())
}

// pageFaults is how many pages the kernel had to provide to this process, small ones and huge ones.
func pageFaults() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("bench: " + err.Error()) // cannot be: both arguments are right
	}
	return float64(r.Minflt)
}
