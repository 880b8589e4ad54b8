package stopping

import (
	"container/heap"

	"github.com/certspec/certspec/rs/rule"
)

// Spread decides which images get the next noise samples of a run under Anytime, in rounds. A round has the images of
// largest Priority, the earlier of equals first, each with its Chunk, until they make RoundBlocks blocks. A round
// follows from the counts at its beginning alone. So a run that was stopped between two rounds goes on as if it had not
// been.
type Spread struct {
	plan  *Plan
	queue queue
}

// RoundBlocks is the number of blocks from which on a round is full: enough to keep several calls of a model busy.
const RoundBlocks = 64

// Share is the number of noise samples of an image in a round.
type Share struct{ Image, Samples int }

// NewSpread makes one without images.
//
// Errors: a rule other than Anytime, as *OptionError.
func (p *Plan) NewSpread() (*Spread, error) {
	if !p.open() {
		return nil, OptionErrorf("the rule %q says beforehand how many noise samples an image gets; expected %q",
			p.rule.Name, rule.Anytime)
	}
	return &Spread{plan: p}, nil
}

// Put tells the counts of an image behind its selection, before the first round and after each that it had a share in.
func (s *Spread) Put(image, hits, n int) {
	if priority := s.plan.Priority(hits, n); priority > 0 {
		heap.Push(&s.queue, entry{priority, Share{image, s.plan.Chunk(n)}})
	}
}

// Next is the next round, in the order of the priorities; nil where nothing can be gained.
func (s *Spread) Next() (round []Share) {
	for blocks := 0; blocks < RoundBlocks && len(s.queue) > 0; {
		share := heap.Pop(&s.queue).(entry).Share
		blocks += share.Samples / s.plan.block
		round = append(round, share)
	}
	return round
}

type entry struct {
	priority float64
	Share
}

// queue is a heap, the largest priority first.
type queue []entry

func (q queue) Len() int { return len(q) }
func (q queue) Less(i, j int) bool {
	return q[i].priority > q[j].priority || q[i].priority == q[j].priority && q[i].Image < q[j].Image
}
func (q queue) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(e any)   { *q = append(*q, e.(entry)) }
func (q *queue) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}
