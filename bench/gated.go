package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/certspec/certspec/classifier"
)

// gated is a contender whose work runs all the time on a goroutine of its own and is held up at the
// calls of its model while it is not its turn. So a turn measures the steady state of a long
// certification: no beginning, no end, and blocks of any size.
type gated struct {
	open func() (classifier.Classifier, func(), error)
	work func(ctx context.Context, model classifier.Classifier) error // ends with ctx only, and with an error

	processor bool // rates are per second of processor time

	gate    *gate
	version string
	stop    context.CancelFunc
	ended   chan error
}

func (g *gated) Version() string { return g.version }

func (g *gated) Prepare(ctx context.Context) error {
	model, closeModel, err := g.open()
	if err != nil {
		return err
	}
	info, err := model.Info()
	if err != nil {
		closeModel()
		return err
	}
	g.version = info.Identity.Engine + " " + info.Identity.EngineVersion
	g.gate = newGate(model)
	ctx, g.stop = context.WithCancel(ctx)
	g.ended = make(chan error, 1)
	go func() {
		err := g.work(ctx, g.gate)
		closeModel()
		g.ended <- err
	}()
	_, _, err = g.Run(ctx, 0) // the first call compiles
	return err
}

func (g *gated) Run(ctx context.Context, d time.Duration) (units float64, elapsed time.Duration, err error) {
	now := clock(g.processor)
	start, from := time.Now(), now()
	g.gate.let()
	for {
		select {
		case err := <-g.ended:
			g.ended <- err
			return 0, 0, fmt.Errorf("the work ended before its time: %w", err)
		case <-ctx.Done(): // of a model that never answers too
			return 0, 0, ctx.Err()
		case <-g.gate.answered:
			if time.Since(start) < d {
				continue
			}
			samples, err := g.gate.hold(ctx)
			return float64(samples), now() - from, err
		}
	}
}

func (g *gated) Close() {
	if g.stop == nil {
		return
	}
	g.stop()
	g.gate.close()
	select {
	case <-g.ended:
	case <-time.After(closing):
		fmt.Fprintf(os.Stderr, "%s: no answer within %v of its end; it is left running\n", g.version, closing)
	}
	g.stop = nil
}

// closing is how long the calls under way may take when a contender is closed.
const closing = 10 * time.Second

// gate is a model whose callers wait while it is shut. It is born shut.
type gate struct {
	classifier.Classifier
	answered chan struct{} // holds a value after a call has been answered

	mu      sync.Mutex
	changed *sync.Cond
	open    bool
	closed  bool // for good: callers get an error at once, instead of when a certification aborts them
	inside  int  // calls on their way
	samples int  // answered since the gate was opened
}

func newGate(model classifier.Classifier) *gate {
	g := &gate{Classifier: model, answered: make(chan struct{}, 1)}
	g.changed = sync.NewCond(&g.mu)
	return g
}

// Classify waits for the gate, or for the end of ctx.
func (g *gate) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	defer context.AfterFunc(ctx, g.wake)()
	g.mu.Lock()
	for !g.open && !g.closed && ctx.Err() == nil {
		g.changed.Wait()
	}
	if err := ctx.Err(); err != nil || g.closed {
		g.mu.Unlock()
		return cmp.Or(err, context.Canceled)
	}
	g.inside++
	g.mu.Unlock()

	err := g.Classifier.Classify(ctx, batch, result)

	g.mu.Lock()
	g.inside--
	if err == nil {
		g.samples += batch.N
	}
	g.changed.Broadcast()
	g.mu.Unlock()
	select {
	case g.answered <- struct{}{}:
	default:
	}
	return err
}

// let opens the gate and counts from zero.
func (g *gate) let() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.answered:
	default:
	}
	g.open, g.samples = true, 0
	g.changed.Broadcast()
}

// hold shuts the gate, waits for the calls on their way, or for the end of ctx, and returns the count.
func (g *gate) hold(ctx context.Context) (int, error) {
	defer context.AfterFunc(ctx, g.wake)()
	g.mu.Lock()
	defer g.mu.Unlock()
	g.open = false
	for g.inside > 0 && ctx.Err() == nil {
		g.changed.Wait()
	}
	return g.samples, ctx.Err()
}

// close sends back who waits at the gate, and who comes.
func (g *gate) close() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.wake()
}

// wake lets those who wait look again.
func (g *gate) wake() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.changed.Broadcast()
}
