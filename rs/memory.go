package rs

import (
	"fmt"
	"runtime"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/rs/noise"
)

// largeBlock is the size of a block from which no more of them are in memory than workers need.
const largeBlock = 64 << 20

// crew is who works on blocks at once. Counts do not depend on it.
type crew struct{ drawers, workers, buffers int }

// crewOf divides the work of a run whose blocks take so many bytes each, within memory; 0: any.
func crewOf(workers int, block, memory int64) crew {
	c := crew{drawers: min(max(1, runtime.GOMAXPROCS(0)/2), 8), workers: workers}
	c.buffers = workers + c.drawers + 2
	if block > largeBlock {
		c.drawers = min(c.drawers, 2)
		c.buffers = workers + c.drawers
	}
	if memory > 0 {
		c.buffers = max(1, min(c.buffers, int(memory/block)))
	}
	c.workers, c.drawers = min(c.workers, max(1, c.buffers-1)), min(c.drawers, c.buffers)
	return c
}

func (o Options) blockBytes(info classifier.Info, block int) int64 {
	value := int64(2)
	if o.Noise == noise.LawGaussian {
		value = 4
	}
	bytes := value * int64(info.Shape.Len())
	if o.Scores > 0 {
		bytes += 4 * int64(info.Classes)
	}
	return max(1, bytes*int64(block))
}

// MemoryOf is how many bytes of noise samples a run on a model has in memory at once, beside what the model itself
// takes. It counts a block for each worker and each goroutine that draws, and two more where a block is below 64 MB.
// With Options.Memory it is at most that.
//
// Errors: those of Plan; a block that is larger than Options.Memory or, on Linux, than the memory that is free.
func (o Options) MemoryOf(info classifier.Info) (int64, error) {
	plan, err := o.plan()
	if err != nil {
		return 0, err
	}
	if o.Workers <= 0 {
		o.Workers = DefaultWorkers(info.Identity)
	}
	c, err := o.crew(info, plan.Block())
	return int64(c.buffers) * o.blockBytes(info, plan.Block()), err
}

// crew is who works for a run. Without Memory, blocks take at most half of what is free.
func (o Options) crew(info classifier.Info, block int) (crew, error) {
	bytes, free := o.blockBytes(info, block), host.Memory()
	memory, what := o.Memory, "allowed"
	if memory == 0 {
		memory, what = free/2, "half of what is free"
	}
	if memory > 0 && bytes > memory {
		return crew{}, optionErrorf("Block is %d, so that a block of images of %v takes %s, and %s are %s: want a smaller "+
			"block, in a new ledger, or more memory", block, info.Shape, megabytes(bytes), megabytes(memory), what)
	}
	return crewOf(o.Workers, bytes, memory), nil
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.0f MB", float64(bytes)/1e6) }
