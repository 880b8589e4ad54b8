package ood

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

type run struct {
	file     string
	shard    *record.Shard
	name     string
	trained  []ledger.Data
	workers  int
	program  string
	progress progress.Reporter
}

// SizeError says that images do not fit a network.
type SizeError struct{ Reason string }

func (e *SizeError) Error() string { return "ood: " + e.Reason }

// begin loads the images, checks that they fit and are unseen, and says what the file will be of.
func (r *run) begin(ctx context.Context, n Network, data imageset.Source,
	epsilon float64) (*imageset.Index,
	record.Header, error) {
	fail := func(err error) (*imageset.Index, record.Header, error) { return nil, record.Header{}, err }
	if !(epsilon >= 0 && epsilon <= 1) {
		return fail(fmt.Errorf("ood: epsilon %v, want a number between 0 and 1", epsilon))
	}
	if n.Outputs() < 2 {
		return fail(fmt.Errorf("ood: a network with %d output has no confidence; want one logit a class, two at least",
			n.Outputs()))
	}
	if s := r.shard; s != nil && (s.Count < 1 || s.Index < 0 || s.Index >= s.Count) {
		return fail(fmt.Errorf("ood: shard %d of %d", s.Index, s.Count))
	}
	images, err := imageset.Open(ctx, data, r.progress)
	if err != nil {
		return fail(err)
	}
	if images.Len() == 0 {
		return fail(errors.New("ood: no images"))
	}
	s, want := images.Shape, n.InputShape()
	if s.Len() != want.Size() || len(want) == 3 && !slices.Equal(want, feedforward.Shape{s.Height, s.Width,
		s.Channels}) {
		reason := fmt.Sprintf("images of %s are %v, the network takes %v: name a set of that size", images.Name, s,
			want)
		if len(want) == 3 && (want[2] == 1 || want[2] == 3) {
			reason += fmt.Sprintf(", or prepare it, e.g. %s[resize=%dx%d,channels=%s]", base(images.Name), want[0],
				want[1], map[int]string{1: "grey", 3: "rgb"}[want[2]])
		}
		return fail(&SizeError{reason})
	}
	first, err := images.Read(ctx, 0)
	if err != nil {
		return fail(err)
	}
	if first.Offsets != nil {
		return fail(&SizeError{"images with values outside [0, 1] have no ball in them"})
	}
	digest := n.Digest()
	of := ledger.Data{Name: images.Name, Digest: images.Digest, Images: images.Len()}
	if _, err := Unseen(of, r.trained); err != nil {
		return fail(err)
	}
	name := r.name
	if name == "" {
		name = "network"
	}
	trained := slices.Clone(r.trained)
	if trained == nil {
		trained = []ledger.Data{}
	}
	return images, record.Header{
		Format: record.Format, Version: record.Version, Program: ledger.Program{Version: r.program},
		Model: record.Model{Name: name, Network: digest, Classes: n.Outputs(), Trained: trained,
			Compared: n.Compared()},
		Data: of,
		Set:  record.LInf, Epsilon: epsilon, Shard: r.shard,
	}, nil
}

// measure runs the images that a file does not have yet, block by block, several blocks at once,
// and commits them in their order.
func (r *run) measure(ctx context.Context, task string, images *imageset.Index, header record.Header, block int,
	at func(context.Context, []int) ([]record.Line, error)) (*Measurement, error) {
	f := &record.File{Header: header}
	var w *record.Writer
	if r.file != "" {
		var err error
		if w, f, err = record.Open(r.file, header); err != nil {
			return nil, err
		}
		defer w.Close()
	}
	from, to := header.Shard.Range(images.Len())
	for k, l := range f.Lines {
		if from+k >= to || l.Image != images.IDs[from+k] {
			return nil, fmt.Errorf("ood: %s: line %d is of image %d, which is not in its place in %s", r.file, k+2,
				l.Image, images.Name)
		}
	}
	if f.Claims != nil {
		return f, nil
	}
	c := &commit{w: w, f: f, began: time.Now(), before: len(f.Lines), total: to - from, task: task + " " + images.Name,
		report: r.progress, pending: map[int][]record.Line{}, next: from + len(f.Lines)}
	err := r.blocks(ctx, c, from+len(f.Lines), to, block, at)
	if syncing := c.sync(); err == nil {
		err = syncing
	}
	c.show(true)
	if err != nil {
		return nil, err
	}
	if w == nil {
		claims := header.Claim(f.Lines)
		f.Claims = &claims
		return f, nil
	}
	claims, digest, err := w.Finish(f.Lines)
	if err != nil {
		return nil, err
	}
	f.Claims, f.Digest = &claims, digest
	return f, nil
}

// blocks runs blocks of images on several goroutines.
func (r *run) blocks(ctx context.Context, c *commit, from, to, block int, at func(context.Context,
	[]int) ([]record.Line, error)) error {
	workers := r.workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	var (
		group  sync.WaitGroup
		mutex  sync.Mutex
		failed error
	)
	take := func() (places []int, ok bool) {
		mutex.Lock()
		defer mutex.Unlock()
		if failed != nil || ctx.Err() != nil || from >= to {
			return nil, false
		}
		for ; from < to && len(places) < block; from++ {
			places = append(places, from)
		}
		return places, true
	}
	for range workers {
		group.Go(func() {
			for {
				places, ok := take()
				if !ok {
					return
				}
				lines, err := at(ctx, places)
				mutex.Lock()
				if err == nil {
					err = c.add(places[0], lines)
				}
				if err != nil && failed == nil {
					failed = err
				}
				mutex.Unlock()
			}
		})
	}
	group.Wait()
	if failed != nil {
		return failed
	}
	if from < to {
		return ctx.Err()
	}
	return nil
}

// commit puts finished blocks into the file in the order of the images.
type commit struct {
	w       *record.Writer
	f       *record.File
	pending map[int][]record.Line // by the place of the first
	next    int
	before  int
	total   int
	began   time.Time
	synced  time.Time
	shown   time.Time
	task    string
	report  progress.Reporter
}

func (c *commit) add(place int, lines []record.Line) error {
	c.pending[place] = lines
	for {
		lines, ok := c.pending[c.next]
		if !ok {
			break
		}
		delete(c.pending, c.next)
		c.next += len(lines)
		for _, l := range lines {
			if err := c.f.Header.Check(l); err != nil {
				return err
			}
		}
		c.f.Lines = append(c.f.Lines, lines...)
		if c.w != nil {
			c.w.Append(lines...)
		}
	}
	const pause = time.Second
	if time.Since(c.synced) > pause {
		if err := c.sync(); err != nil {
			return err
		}
	}
	c.show(false)
	return nil
}

func (c *commit) sync() error {
	c.synced = time.Now()
	if c.w == nil {
		return nil
	}
	return c.w.Sync()
}

func (c *commit) show(final bool) {
	if c.report == nil || !final && time.Since(c.shown) < 100*time.Millisecond {
		return
	}
	c.shown = time.Now()
	s := progress.State{Task: c.task, Done: float64(len(c.f.Lines)), Total: float64(c.total), Unit: "images", Left: -1,
		Final: final}
	if n := len(c.f.Lines) - c.before; n > 0 {
		elapsed := time.Since(c.began)
		s.Rate = float64(n) / elapsed.Seconds()
		s.Left = time.Duration(float64(elapsed) * (s.Total - s.Done) / float64(n))
	}
	c.report(s)
}
