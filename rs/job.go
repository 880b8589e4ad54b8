package rs

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
)

// job is an image on its way through the model: a trial, and the blocks that are done or on their way for it.
type job struct {
	*stopping.Trial
	at      int // place in the data
	reading sync.Mutex
	grid    []int16      // nil: not read yet
	residue []float32    // of an image off the grid; nil: none
	issued  int          // blocks that were given out, from 0 on
	folded  int          // blocks whose counts are in the trial or the tally
	parked  []*task      // blocks that came back before an earlier one
	tally   tally        // of the look in progress
	looks   []scoredLook // finished and not committed
	cells   int          // that scores are counted in; 0: they are not kept
	scores  scoreTally   // of the look in progress
	started time.Time
	blocks  int // through the model in this run
}

// task is one block of one job.
type task struct {
	job    *job
	block  int
	buffer *buffer
	counts []ledger.Count
	misses int
	class  int32 // whose scores are taken; −1: not known yet, those of all classes
	scores blockScores
	err    error
}

// scoredLook is a look with its scores, nil where it has none.
type scoredLook struct {
	ledger.Look
	scores *scorefile.Record
}

// pixels is the image, which is read at its first block.
func (j *job) pixels(ctx context.Context, images *imageset.Index) (grid []int16, residue []float32, err error) {
	j.reading.Lock()
	defer j.reading.Unlock()
	if j.grid == nil {
		j.grid, j.residue, err = images.Grid(ctx, j.at)
	}
	return j.grid, j.residue, err
}

// wanted reports whether the job needs a further block as far as one can know.
func (j *job) wanted() bool { return j.issued < j.Wanted() }

// possible reports whether the job may need a further block.
func (j *job) possible() bool { return j.issued < j.Possible() }

// issue gives out the next block.
func (j *job) issue() *task {
	t := &task{job: j, block: j.issued, class: -1}
	if j.selected() {
		t.class = int32(j.Class)
	}
	j.issued++
	return t
}

// fold takes a block that came back. Results of a job that is decided are dropped.
func (j *job) fold(t *task) {
	j.blocks++
	j.parked = append(j.parked, t)
	for i := 0; i < len(j.parked); {
		if p := j.parked[i]; p.block == j.folded && !j.Done() {
			j.parked = append(j.parked[:i], j.parked[i+1:]...)
			if j.selected() && j.cells > 0 {
				j.scores.addBlock(p.scores, j.Class, j.cells)
			}
			j.count(1, p.counts, p.misses)
			i = 0
			continue
		}
		i++
	}
}

// count adds the next blocks to the look in progress and ends it at its last block.
func (j *job) count(blocks int, counts []ledger.Count, misses int) {
	j.tally.add(counts, misses)
	j.folded += blocks
	if _, to := j.Blocks(); j.folded == to {
		look := j.partial()
		j.tally, j.scores = tally{}, scoreTally{}
		if err := j.Add(look.Look); err != nil {
			panic("rs: " + err.Error())
		}
		j.looks = append(j.looks, look)
	}
}

// partial is the look in progress as far as it is folded.
func (j *job) partial() scoredLook {
	from, _ := j.Blocks()
	counts, misses := j.tally.sum()
	look := scoredLook{Look: ledger.Look{Image: j.Image, Label: j.Label, From: from, To: j.folded, Misses: misses,
		Counts: counts}}
	if j.selected() && j.cells > 0 {
		look.scores = j.scores.sum()
		look.scores.Image, look.scores.From, look.scores.To, look.scores.Class = j.Image, from, j.folded, int32(j.Class)
	}
	return look
}

func (j *job) unfinished() []scoredLook {
	if j.Done() {
		return j.looks
	}
	if from, _ := j.Blocks(); j.folded > from {
		return append(slices.Clip(j.looks), j.partial())
	}
	return j.looks
}

// selected reports whether the class is chosen.
func (j *job) selected() bool { return j.Trial.Selected() }

// restore takes a provisional look of an earlier run, with its scores if it has some.
func (j *job) restore(l ledger.Look, scores scorefile.Record) error {
	if j.Done() {
		return fmt.Errorf("its provisional blocks %d to %d of image %d come after the decision", l.From, l.To, l.Image)
	}
	if _, to := j.Blocks(); l.From != j.folded || l.To > to || l.Label != j.Label {
		return fmt.Errorf("its provisional blocks %d to %d of image %d with label %d do not continue it", l.From, l.To,
			l.Image, l.Label)
	}
	if j.selected() && j.cells > 0 {
		if scores.Class != int32(j.Class) || scores.Unknown < l.Misses {
			return fmt.Errorf("the scores of its provisional blocks %d to %d of image %d are of class %d with %d "+
				"unknown, want class %d and at least %d",
				l.From, l.To, l.Image, scores.Class, scores.Unknown, j.Class, l.Misses)
		}
		j.scores.add(&scores, j.cells)
	}
	j.count(l.To-l.From, l.Counts, l.Misses)
	j.issued = j.folded
	return nil
}
