//go:build !unix || aix || netbsd

package main

import "time"

var started = time.Now()

// processorTime is the time that passes, where the processor's is not known.
func processorTime() time.Duration { return time.Since(started) }

func pageFaults() float64 { return 0 }
