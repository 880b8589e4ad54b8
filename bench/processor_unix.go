//go:build unix

package main

import (
	"syscall"
	"time"
)

// processorTime is what this process has spent on processors.
func processorTime() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("bench: " + err.Error()) // cannot be: both arguments are right
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// pageFaults is how many pages the kernel had to provide to this process, small ones and huge ones.
func pageFaults() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic("bench: " + err.Error()) // cannot be: both arguments are right
	}
	return float64(r.Minflt)
}
