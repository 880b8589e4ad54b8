package rs

import (
	"runtime"
	"sync"
	"time"

	"github.com/certspec/certspec/rs/ledger"
)

// crew lets so many calls of the model run at once as are fastest on this machine. Which number that is depends on what its processors
// share; so at the beginning of a run half as many as the default take turns with it, on the run's own blocks, whose counts do not depend on it. The
// threads inside of one call are another matter: they belong to the model's identity.
//
// It is safe for concurrent use.
type crew struct {
	mu     sync.Mutex
	freed  sync.Cond
	active int
	limit  int

	tried []int // numbers of calls at once that take turns, the default first; nil: it is decided
	turn  int   // turns that are over
	calls int   // of this turn that are over
	since time.Time
	rates [][]float64 // by number, in each turn: calls per second
	now   func() time.Time

	unsaved *ledger.Calls
}

const (
	crewRounds  = 3    // turns of each number
	crewCalls   = 4    // calls of a turn, times the default; as many as the default come before, while the last turn's end
	crewBetter  = 1.05 // ratio to the default that another number must have in every round
	crewAtLeast = 2    // calls at once by default, below which there is nothing to choose
)

// newCrew allows a number of calls at once: that of the options where one was chosen, that which an earlier run of the ledger found on as many processors,
// or what is measured now.
func newCrew(opt Options, chosen bool) (*crew, error) {
	c := &crew{limit: opt.Workers, now: time.Now}
	c.freed.L = &c.mu
	if chosen || opt.Workers < crewAtLeast {
		return c, nil
	}
	if opt.Ledger != "" {
		known, err := ledger.ReadCalls(opt.Ledger)
		if err != nil {
			return nil, err
		}
		if known.Processors == runtime.GOMAXPROCS(0) && known.AtOnce > 0 && known.AtOnce <= opt.Workers {
			c.limit = known.AtOnce
			return c, nil
		}
	}
	c.tried = []int{opt.Workers, opt.Workers / 2}
	c.rates = make([][]float64, len(c.tried))
	return c, nil
}

// call waits until a call of the model may begin.
func (c *crew) call() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.active >= c.limit {
		c.freed.Wait()
	}
	c.active++
}

// called is told of the end of each call.
func (c *crew) called() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active--
	if c.tried != nil {
		c.measure()
	}
	c.freed.Broadcast()
}

func (c *crew) measure() {
	most := c.tried[0]
	switch c.calls++; c.calls {
	case most:
		c.since = c.now()
	case most * (1 + crewCalls):
		k := c.turn % len(c.tried)
		c.rates[k] = append(c.rates[k], float64(most*crewCalls)/max(1e-9, c.now().Sub(c.since).Seconds()))
		c.turn, c.calls = c.turn+1, 0
		c.limit = c.tried[c.turn%len(c.tried)]
		if c.turn == crewRounds*len(c.tried) {
			c.decide()
		}
	}
}

// decide takes another number than the default where it was faster in every round.
func (c *crew) decide() {
	best := 0
	for k := 1; k < len(c.tried); k++ {
		faster := true
		for round, rate := range c.rates[k] {
			faster = faster && rate > crewBetter*c.rates[best][round]
		}
		if faster {
			best = k
		}
	}
	c.limit, c.unsaved = c.tried[best], &ledger.Calls{AtOnce: c.tried[best], Processors: runtime.GOMAXPROCS(0), Tried: c.tried, Rates: c.rates}
	c.tried = nil
}

// save remembers beside the ledger what was found.
func (c *crew) save(path string) error {
	c.mu.Lock()
	found := c.unsaved
	c.unsaved = nil
	c.mu.Unlock()
	if found == nil {
		return nil
	}
	return ledger.AppendCalls(path, *found)
}
