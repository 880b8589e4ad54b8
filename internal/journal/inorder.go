package journal

import (
	"context"
	"sync"
	"time"

	"github.com/certspec/certspec/progress"
)

// InOrder makes the lines of a file, several blocks of images at once, and commits them in their
// order.
type InOrder[L any] struct {
	Task        string // of the progress
	Report      progress.Reporter
	Workers     int
	Done, Total int // lines that are there, and of all
	Block       int // lines of a block
	// gives each worker a function that makes the lines from one number up to another
	Worker func() func(ctx context.Context, from, to int) ([]L, error)
	Commit func(lines []L) error
	Sync   func() error // brings what was committed to the disk
}

// Run makes the lines that are not there. Its error is the first of the others, or that of ctx
// where it ends first; what was finished in order before it is committed.
func (o InOrder[L]) Run(ctx context.Context) error {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	began, before, next := time.Now(), o.Done, o.Done
	var shown, synced time.Time
	pending := map[int][]L{} // by the number of the first
	show := func(final bool) {
		if o.Report == nil || !final && time.Since(shown) < 100*time.Millisecond {
			return
		}
		shown = time.Now()
		s := progress.State{Task: o.Task, Done: float64(o.Done), Total: float64(o.Total), Unit: "images", Left: -1,
			Final: final}
		if n := o.Done - before; n > 0 {
			elapsed := time.Since(began)
			s.Rate = float64(n) / elapsed.Seconds()
			s.Left = time.Duration(float64(elapsed) * (s.Total - s.Done) / float64(n))
		}
		o.Report(s)
	}
	add := func(from int, lines []L) error {
		pending[from] = lines
		for ready, ok := pending[o.Done]; ok; ready, ok = pending[o.Done] {
			delete(pending, o.Done)
			if err := o.Commit(ready); err != nil {
				return err
			}
			o.Done += len(ready)
		}
		show(false)
		if time.Since(synced) > time.Second {
			synced = time.Now()
			return o.Sync()
		}
		return nil
	}
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		failed error
	)
	work := func() {
		lines := o.Worker()
		for {
			mutex.Lock()
			from, to := next, min(next+o.Block, o.Total)
			next = to
			stop := failed != nil || within.Err() != nil || from >= o.Total
			mutex.Unlock()
			if stop {
				return
			}
			made, err := lines(within, from, to)
			mutex.Lock()
			if err == nil {
				err = add(from, made)
			}
			if err != nil && failed == nil {
				failed = err
				cancel()
			}
			mutex.Unlock()
		}
	}
	for range o.Workers {
		group.Go(work)
	}
	group.Wait()
	show(true)
	if failed == nil && o.Done < o.Total {
		failed = ctx.Err()
	}
	if err := o.Sync(); failed == nil {
		failed = err
	}
	return failed
}
