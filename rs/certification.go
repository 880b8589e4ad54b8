package rs

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// certification drives images through the model. One goroutine, the one that calls certify, owns all
// jobs; others draw noise and call the model.
//
// Blocks are given out in the order of the images: a later image gets a block only while
// every earlier one waits for blocks on their way. No block is speculative but the first look during a
// selection, so hardly any work is discarded, and the model always has work as long as there is any.
type certification struct {
	opt    Options
	plan   *plan
	blocks *blocks
	images *dataset.Images
	run    *Run
	writer *ledger.Writer // nil: no ledger

	admitted int // images that are or were jobs
	jobs     []*job
	begun    []*job // from an earlier run, the next images to admit
	times    []ledger.Time

	start  time.Time
	before int // rows of earlier runs
	copies int // through the model in this run
}

const (
	reportPause = 250 * time.Millisecond // between two reports of progress
	grace       = 10 * time.Second       // for the few blocks under way when the context ends
)

// savePause is the time between two writes of the ledger.
var savePause = time.Second

// resume takes over what a ledger holds.
func (c *certification) resume(l *ledger.Ledger) error {
	trials, err := replay(c.plan, l.Looks)
	if err != nil {
		return err
	}
	if len(trials) > c.images.Len() {
		return fmt.Errorf("it has %d images, data %s has %d", len(trials), c.images.Name, c.images.Len())
	}
	for i, t := range trials {
		if t.row.Image != c.images.IDs[i] || t.row.Label != c.images.Labels[i] {
			return fmt.Errorf("its image number %d is %d with label %d, that of data %s is %d with label %d",
				i, t.row.Image, t.row.Label, c.images.Name, c.images.IDs[i], c.images.Labels[i])
		}
		if t.done {
			c.run.Rows = append(c.run.Rows, t.row)
			continue
		}
		from, _ := t.blocks()
		c.begun = append(c.begun, &job{trial: t, issued: from, folded: from})
	}
	c.admitted = len(c.run.Rows)
	c.before = len(c.run.Rows)
	// An image that had no finished block may stand before one that had some.
	for _, l := range l.Provisional {
		i := len(c.begun) - 1
		for i < 0 || c.begun[i].row.Image != l.Image {
			at := c.admitted + len(c.begun)
			if at == c.images.Len() {
				return fmt.Errorf("its provisional image %d does not follow in data %s", l.Image, c.images.Name)
			}
			c.begun = append(c.begun, &job{trial: newTrial(c.plan, c.images.IDs[at], c.images.Labels[at])})
			i++
		}
		if err := c.begun[i].restore(l); err != nil {
			return err
		}
	}
	return nil
}

// certify runs until all images are decided or something stops it, and closes the ledger of a complete run.
func (c *certification) certify(ctx context.Context) error {
	c.start = time.Now()
	stopped := c.pump(ctx)
	if err := c.save(); err != nil && (stopped == nil || ctx.Err() != nil) {
		stopped = err
	}
	if stopped == nil && c.writer != nil {
		stopped = c.writer.Finish(c.run.claims())
	}
	c.report(true)
	return stopped
}

// pump moves blocks from the jobs through noise and model and back.
func (c *certification) pump(ctx context.Context) error {
	drawers := min(max(1, runtime.GOMAXPROCS(0)/2), 8)
	depth := c.opt.Workers + drawers + 2
	free := make([]*buffer, depth)
	for i := range free {
		free[i] = c.blocks.newBuffer()
	}
	toDraw := make(chan *task, depth)
	toClassify := make(chan *task, depth)
	finished := make(chan *task, depth)

	calls, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, abort) })()

	var drawing, classifying sync.WaitGroup
	for range drawers {
		drawing.Go(func() {
			for t := range toDraw {
				t.err = c.blocks.draw(t.buffer, t.job.grid, t.job.row.Image, t.block)
				toClassify <- t
			}
		})
	}
	for range c.opt.Workers {
		classifying.Go(func() {
			for t := range toClassify {
				if t.err == nil {
					t.counts, t.misses, t.err = c.blocks.classify(calls, t.buffer)
				}
				finished <- t
			}
		})
	}
	defer func() {
		close(toDraw)
		drawing.Wait()
		close(toClassify)
		classifying.Wait()
	}()

	save := time.NewTicker(savePause)
	defer save.Stop()
	report := time.NewTicker(reportPause)
	defer report.Stop()

	stop := ctx.Err()
	under := 0 // way
	done := ctx.Done()
	for {
		for stop == nil && len(free) > 0 {
			t := c.nextTask(4 * depth)
			if t == nil {
				break
			}
			t.buffer, free = free[len(free)-1], free[:len(free)-1]
			toDraw <- t
			under++
		}
		c.commit()
		if under == 0 {
			if stop != nil || len(c.jobs) == 0 && c.admitted == c.images.Len() {
				return stop
			}
			continue
		}
		select {
		case t := <-finished:
			under--
			free = append(free, t.buffer)
			t.buffer = nil
			switch {
			case t.err == nil:
				c.copies += c.plan.block
				t.job.fold(t)
			case stop != nil:
			case ctx.Err() != nil:
				stop = ctx.Err()
			default:
				stop = fmt.Errorf("rs: image %d, block %d: %w", t.job.row.Image, t.block, t.err)
			}
		case <-save.C:
			if err := c.save(); err != nil && stop == nil {
				stop = err
			}
		case <-report.C:
			c.report(false)
		case <-done:
			stop, done = ctx.Err(), nil
		}
	}
}

// nextTask gives out the next block, of the first image that wants one, or nil if none does. It admits
// images as long as fewer than most are on their way.
func (c *certification) nextTask(most int) *task {
	for _, j := range c.jobs {
		if j.wanted() {
			return j.issue()
		}
	}
	for len(c.jobs) < most && c.admitted < c.images.Len() {
		if j := c.admit(); j.wanted() {
			return j.issue()
		}
	}
	return nil
}

func (c *certification) admit() *job {
	var j *job
	if len(c.begun) > 0 {
		j, c.begun = c.begun[0], c.begun[1:]
	} else {
		j = &job{trial: newTrial(c.plan, c.images.IDs[c.admitted], c.images.Labels[c.admitted])}
	}
	j.grid = toGrid(c.images.Image(c.admitted))
	j.started = time.Now()
	c.admitted++
	c.jobs = append(c.jobs, j)
	return j
}

// commit moves what is finished from the jobs to the ledger and the run, in the order of the images.
func (c *certification) commit() {
	for len(c.jobs) > 0 {
		j := c.jobs[0]
		if c.writer != nil {
			for _, l := range j.looks {
				c.writer.Append(l)
			}
			if j.done && j.copies > 0 {
				c.times = append(c.times, ledger.Time{Image: j.row.Image, Copies: j.copies, Seconds: time.Since(j.started).Seconds()})
			}
		}
		j.looks = nil
		if !j.done {
			return
		}
		c.run.Rows = append(c.run.Rows, j.row)
		c.jobs = slices.Delete(c.jobs, 0, 1)
	}
}

// save makes the work so far safe from a kill or a power cut.
func (c *certification) save() error {
	if c.writer == nil {
		return nil
	}
	var provisional []ledger.Look
	for _, j := range c.jobs {
		provisional = append(provisional, j.unfinished()...)
	}
	for _, j := range c.begun {
		provisional = append(provisional, j.unfinished()...)
	}
	if err := c.writer.SyncProvisional(provisional); err != nil {
		return err
	}
	err := ledger.AppendTimes(c.opt.Ledger, c.times)
	c.times = c.times[:0]
	return err
}

func (c *certification) report(final bool) {
	if c.opt.Progress == nil {
		return
	}
	s := progress.State{
		Task:     "certify " + c.images.Name,
		Done:     float64(len(c.run.Rows)),
		Total:    float64(c.images.Len()),
		Unit:     "images",
		RateUnit: "copies",
		Left:     -1,
		Final:    final,
	}
	elapsed := time.Since(c.start)
	if c.copies > 0 {
		s.Rate = float64(c.copies) / elapsed.Seconds()
	}
	if n := len(c.run.Rows) - c.before; n > 0 {
		s.Left = time.Duration(float64(elapsed) * (s.Total - s.Done) / float64(n))
	}
	c.opt.Progress(s)
}
