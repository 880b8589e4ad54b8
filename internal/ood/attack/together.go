package attack

import (
	"context"
	"sync"
)

// Together calls each of f at once, and gives them a network that waits until all that still run
// have asked, and then evaluates their points in one call. Each finds the same as alone.
// It returns the first error in the order of f.
func Together(net Network, f []func(Network) error) error {
	t := &meeting{net: net, running: len(f)}
	errs := make([]error, len(f))
	var group sync.WaitGroup
	for i, g := range f {
		group.Go(func() {
			defer t.leave()
			errs[i] = g(t)
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// meeting is a Network whose callers are evaluated together.
type meeting struct {
	net Network

	mutex   sync.Mutex
	running int
	waiting []*question
}

type question struct {
	ctx                context.Context
	points             [][]float64
	v                  func(i int, outputs []float64) []float64
	outputs, gradients [][]float64
	err                error
	answered           chan struct{}
}

// VectorJacobians implements Network.
func (t *meeting) VectorJacobians(ctx context.Context, points [][]float64,
	v func(i int, outputs []float64) []float64) (outputs, gradients [][]float64, err error) {
	q := &question{ctx: ctx, points: points, v: v, answered: make(chan struct{})}
	t.mutex.Lock()
	t.waiting = append(t.waiting, q)
	t.mutex.Unlock()
	t.answer()
	<-q.answered
	return q.outputs, q.gradients, q.err
}

func (t *meeting) leave() {
	t.mutex.Lock()
	t.running--
	t.mutex.Unlock()
	t.answer()
}

// answer evaluates what was asked, where all who run have.
func (t *meeting) answer() {
	t.mutex.Lock()
	all := t.waiting
	if len(all) == 0 || len(all) < t.running {
		t.mutex.Unlock()
		return
	}
	t.waiting = nil
	t.mutex.Unlock()
	var points [][]float64
	var of []*question // by point
	for _, q := range all {
		points = append(points, q.points...)
		for range q.points {
			of = append(of, q)
		}
	}
	first := map[*question]int{}
	for i, q := range of {
		if _, ok := first[q]; !ok {
			first[q] = i
		}
	}
	outputs, gradients, err := t.net.VectorJacobians(all[0].ctx, points,
		func(i int, f []float64) []float64 { return of[i].v(i-first[of[i]], f) })
	for _, q := range all {
		if q.err = err; err == nil {
			from := first[q]
			q.outputs, q.gradients = outputs[from:from+len(q.points)], gradients[from:from+len(q.points)]
		}
		close(q.answered)
	}
}
