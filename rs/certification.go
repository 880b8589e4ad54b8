package rs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/internal/rs/ledger/beside"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// certification drives images through the model. One goroutine, the one that calls certify, owns all
// jobs; others draw noise and call the model.
//
// Blocks are given out in the order of the images: a later image gets a block only while
// every earlier one waits for blocks on their way. Where no image of those that may be on their way has a block that
// is needed for sure, as happens at the end of the data, blocks beyond the look in progress are
// given out too: the model would have nothing else to do. They are counted if the look after it is made,
// else discarded.
type certification struct {
	session
	run *Run

	admitted int // images that are or were jobs
	jobs     []*job
	begun    []*job // from an earlier run, the next images to admit

	start   time.Time
	before  int // images decided by earlier runs
	done    int // images decided
	samples int // through the model in this run
}

const reportPause = 250 * time.Millisecond // between two reports of progress

var (
	savePause = time.Second      // between two writes of the ledger
	grace     = 10 * time.Second // for the few blocks under way when a certification is interrupted
)

// resume takes over what a ledger holds.
func (c *certification) resume(l *ledger.Ledger) error {
	trials, err := replay(c.plan, l)
	if err != nil {
		return err
	}
	if len(trials) > c.images.Len() {
		return fmt.Errorf("it has %d images, data %s has %d", len(trials), c.images.Name, c.images.Len())
	}
	for i, t := range trials {
		if t.Image != c.images.IDs[i] || t.Label != c.images.Labels[i] {
			return fmt.Errorf("its image number %d is %d with label %d, that of data %s is %d with label %d",
				i, t.Image, t.Label, c.images.Name, c.images.IDs[i], c.images.Labels[i])
		}
		if t.Done() {
			c.decided(t)
			continue
		}
		from, _ := t.Blocks()
		c.begun = append(c.begun, &job{Trial: t, issued: from, folded: from, cells: c.opt.Scores})
	}
	c.admitted = c.done
	c.before = c.done
	// An image that had no finished block may stand before one that had some.
	for _, l := range l.Provisional {
		i := len(c.begun) - 1
		for i < 0 || c.begun[i].Image != l.Image {
			at := c.admitted + len(c.begun)
			if at == c.images.Len() {
				return fmt.Errorf("its provisional image %d does not follow in data %s", l.Image, c.images.Name)
			}
			c.begun = append(c.begun, c.newJob(at))
			i++
		}
		scores := c.files.restored[scorefile.AddressOf(l)]
		if err := c.begun[i].restore(l, scores); err != nil {
			return err
		}
	}
	return nil
}

// certify runs until all images are decided or something stops it, and closes the ledger of a complete run.
func (c *certification) certify(ctx context.Context) error {
	c.start = time.Now()
	stopped := c.pump(ctx)
	if err := c.save(true); err != nil && (stopped == nil || ctx.Err() != nil) {
		stopped = err
	}
	if stopped == nil {
		stopped = c.files.end(ctx, c.blocks.model)
	}
	if stopped == nil {
		var claims ledger.Claims
		if !byBlocks(c.run.Header) {
			claims = c.run.claims()
		}
		c.run.Digest, stopped = c.files.finish(claims)
	}
	c.report(true)
	return stopped
}

// pump moves blocks from the jobs through noise and model and back.
func (c *certification) pump(ctx context.Context) error {
	depth := c.crew.buffers
	free := make([]*buffer, depth)
	for i := range free {
		free[i] = c.blocks.newBuffer()
	}
	toDraw := make(chan *task, depth)
	toClassify := make(chan *task, depth)
	finished := make(chan *task, depth)

	calls, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { abort(ctx.Err()) }) })()

	var drawing, classifying sync.WaitGroup
	for range c.crew.drawers {
		drawing.Go(func() {
			for t := range toDraw {
				var grid []int16
				var residue []float32
				if grid, residue, t.err = t.job.pixels(calls, c.images); t.err == nil {
					t.err = c.blocks.draw(t.buffer, grid, residue, t.job.Image, t.block)
				}
				toClassify <- t
			}
		})
	}
	for range c.crew.workers {
		classifying.Go(func() {
			for t := range toClassify {
				if t.err == nil {
					t.counts, t.misses, t.err = c.blocks.classify(calls, t.buffer)
				}
				if t.err == nil {
					t.err = c.again.take(calls, t.buffer, t.job.Image, t.block)
				}
				if t.err == nil {
					t.scores = c.blocks.takeScores(t.buffer, t.class)
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
				c.samples += c.plan.Block()
				t.job.fold(t)
			case isStuck(t.err):
				stop = t.err
			case stop != nil:
			case ctx.Err() != nil:
				stop = ctx.Err()
			default:
				stop = fmt.Errorf("rs: image %d, block %d: %w", t.job.Image, t.block, t.err)
			}
		case <-save.C:
			if err := c.save(false); err != nil && stop == nil {
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
// images as long as fewer than most are undecided; those that are decided wait for earlier ones.
func (c *certification) nextTask(most int) *task {
	undecided := 0
	for _, j := range c.jobs {
		if j.wanted() {
			return j.issue()
		}
		if !j.Done() {
			undecided++
		}
	}
	for undecided < most && len(c.jobs) < 4*most && c.admitted < c.images.Len() {
		if j := c.admit(); j.wanted() {
			return j.issue()
		}
	}
	for _, j := range c.jobs {
		if j.possible() {
			return j.issue()
		}
	}
	return nil
}

// newJob begins the image at a position.
func (c *certification) newJob(at int) *job {
	from, _ := c.plan.Trial(0, 0).Blocks()
	return &job{Trial: c.plan.Trial(c.images.IDs[at], c.images.Labels[at]), issued: from, folded: from,
		cells: c.opt.Scores}
}

// decided takes an image that is done into the run.
func (c *certification) decided(t *stopping.Trial) {
	c.done++
	if !byBlocks(c.run.Header) {
		c.run.Rows = append(c.run.Rows, rowOf(t))
	}
}

func (c *certification) admit() *job {
	var j *job
	if len(c.begun) > 0 {
		j, c.begun = c.begun[0], c.begun[1:]
	} else {
		j = c.newJob(c.admitted)
	}
	j.at = c.admitted
	j.started = time.Now()
	c.admitted++
	c.jobs = append(c.jobs, j)
	return j
}

// commit moves what is finished from the jobs to the ledger and the run, in the order of the images.
func (c *certification) commit() {
	for len(c.jobs) > 0 {
		j := c.jobs[0]
		c.files.append(j.looks)
		if j.Done() && j.blocks > 0 && c.files.writer != nil {
			c.files.times = append(c.files.times, beside.Time{Image: j.Image, Samples: j.blocks * c.plan.Block(),
				Seconds: time.Since(j.started).Seconds()})
		}
		j.looks = nil
		if !j.Done() {
			return
		}
		c.decided(j.Trial)
		c.jobs = slices.Delete(c.jobs, 0, 1)
	}
}

// save makes the work so far safe.
func (c *certification) save(last bool) error {
	var provisional []scoredLook
	for _, j := range slices.Concat(c.jobs, c.begun) {
		provisional = append(provisional, j.unfinished()...)
	}
	return c.files.sync(provisional, c.again, last)
}

func (c *certification) report(final bool) {
	if c.opt.Progress == nil {
		return
	}
	s := progress.State{
		Task:     "certify " + c.images.Name,
		Done:     float64(c.done),
		Total:    float64(c.images.Len()),
		Unit:     "images",
		RateUnit: "noise samples",
		Left:     -1,
		Final:    final,
	}
	elapsed := time.Since(c.start)
	if c.samples > 0 {
		s.Rate = float64(c.samples) / elapsed.Seconds()
	}
	if n := c.done - c.before; n > 0 {
		s.Left = time.Duration(float64(elapsed) * (s.Total - s.Done) / float64(n))
	}
	// Where every image takes as many samples, the first images need not be done to know.
	if every := c.plan.MaxSamples() + c.plan.Selection(); c.run.Header.Rule.Name == Fixed && s.Rate > 0 &&
		!byBlocks(c.run.Header) {
		left := float64(c.images.Len()-c.before)*float64(every) - float64(c.samples)
		s.Left = time.Duration(max(0, left) / s.Rate * float64(time.Second))
	}
	c.opt.Progress(s)
}
