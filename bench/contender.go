package main

import (
	"context"
	"fmt"
	"time"
)

// contender is one piece of software that does the work of a comparison.
type contender interface {
	// Prepare builds and warms up what Run repeats.
	Prepare(ctx context.Context) error
	// Run works for at least d and returns how much it did in what time.
	Run(ctx context.Context, d time.Duration) (units float64, elapsed time.Duration, err error)
	// Version names the software with its version, after Prepare.
	Version() string
	// Close frees what Prepare took.
	Close()
}

// entry is a contender under the name that the table shows.
type entry struct {
	name string
	contender
}

// comparison is a table of its own: contenders that do the same work.
type comparison struct {
	title      string
	references int // the first so many contenders are compared with all
	entries    []entry
}

// loop is a contender in this process: step does one unit of work and returns how much that was.
type loop struct {
	version   string
	processor bool // rates are per second of processor time
	prepare   func(ctx context.Context) (step func() (float64, error), err error)
	step      func() (float64, error)
}

func (l *loop) Version() string { return l.version }

func (l *loop) Close() { l.step = nil }

func (l *loop) Prepare(ctx context.Context) error {
	step, err := l.prepare(ctx)
	if err != nil {
		return err
	}
	l.step = step
	_, err = step()
	return err
}

func (l *loop) Run(ctx context.Context, d time.Duration) (units float64, elapsed time.Duration, err error) {
	now := clock(l.processor)
	start, from := time.Now(), now()
	for time.Since(start) < d {
		if err := ctx.Err(); err != nil {
			return 0, 0, err
		}
		n, err := l.step()
		if err != nil {
			return 0, 0, err
		}
		units += n
	}
	if units == 0 {
		return 0, 0, fmt.Errorf("no work in %v", d)
	}
	return units, now() - from, nil
}
