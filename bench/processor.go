package main

import "time"

// onProcessor times contenders by the processor time of their process, of all its threads: what else the machine does then counts little.
func onProcessor(cases []comparison) {
	for _, c := range cases {
		for _, e := range c.entries {
			switch e := e.contender.(type) {
			case *loop:
				e.processor = true
			case *gated:
				e.processor = true
			case *worker:
				e.processor = true
			case *training:
				e.processor = true
			}
		}
	}
}

// clock gives the time that passes, or the processor time of this process.
func clock(processor bool) func() time.Duration {
	if processor {
		return processorTime
	}
	start := time.Now()
	return func() time.Duration { return time.Since(start) }
}
