package rs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// anytimeRun is a run under the rule Anytime: images in the order of the data until each has its
// selection and one block behind it, then rounds (stopping.Spread). Its state is the counts of each
// image, and what comes next follows from them alone; so its ledger has two looks for an image, the
// selection and all behind it, is written whole after some rounds, and from the first round on is
// always closed: whenever a run ends, even by a power cut, what the file claims holds.
type anytimeRun struct {
	session
	seen   []spreadImage // that have begun, in the order of the data
	rows   Rows
	digest string
	used   int // noise samples
	before int // of earlier calls
	spread *stopping.Spread

	contradicted bool // by an answer of the model: there is no claim

	start, saved, reported time.Time
	buffers                sync.Pool
}

// spreadImage is the counts of one image.
type spreadImage struct {
	selection, rest ledger.Look
}

// piece is the part of a round that one image has: blocks [from, to).
type piece struct {
	image, from, to int
	tally
}

// anytime is Certify under the rule Anytime.
func (s session) anytime(ctx context.Context) (*Run, error) {
	most, first := s.opt.Until.Samples, s.plan.Selection()+s.plan.Block()
	if most > 0 && most < first*s.images.Len() {
		return nil, optionErrorf("Budget is %d noise samples, but the %d images need %d each to begin with, %d in all",
			most, s.images.Len(), first, first*s.images.Len())
	}
	r := &anytimeRun{session: s}
	r.buffers.New = func() any { return s.blocks.newBuffer() }
	var err error
	if r.spread, err = s.plan.NewSpread(); err != nil {
		return nil, err
	}
	if s.opt.Ledger != "" {
		unlock, err := lock(s.opt.Ledger)
		if err != nil {
			return nil, err
		}
		defer unlock()
		if err := r.resume(); err != nil {
			return nil, err
		}
	}
	if err := r.files.begin(len(r.seen) > 0); err != nil {
		return nil, err
	}
	r.start, r.saved, r.before = time.Now(), time.Now(), r.used
	stopped := r.rounds(ctx)
	if stopped == nil || ctx.Err() != nil && !isStuck(stopped) {
		if err := r.end(ctx); stopped == nil || contradiction(err) {
			stopped = err
		}
	}
	r.contradicted = contradiction(stopped)
	if err := r.save(); err != nil && (stopped == nil || ctx.Err() != nil) {
		stopped = err
	}
	r.report(true)
	return &Run{Header: r.header, Rows: r.rows, Digest: r.digest, Path: r.opt.Ledger}, stopped
}

// end asks again what the look asked: of a run that was stopped, too, since its ledger is closed.
func (r *anytimeRun) end(ctx context.Context) error {
	if ctx.Err() != nil {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer stop()
	}
	return r.files.end(ctx, r.blocks.model)
}

func contradiction(err error) bool { return errors.Is(err, classifier.ErrImpure) }

// lock keeps other runs from a ledger that is replaced whole, by a file beside it.
func lock(path string) (unlock func(), err error) {
	unlock, err = journal.Lock(path, 0)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %w", err)
	}
	return unlock, nil
}

// resume takes over the counts of a ledger.
func (r *anytimeRun) resume() error {
	l, err := ledgerio.Read(r.opt.Ledger)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := l.Header.SameRun(r.opt.Ledger, r.header); err != nil {
		return err
	}
	r.header = l.Header
	for looks := range l.Images() {
		at := len(r.seen)
		if at == r.images.Len() || looks[0].Image != r.images.IDs[at] || looks[0].Label != r.images.Labels[at] ||
			len(looks) > 2 {
			return fmt.Errorf("rs: ledger %s: its image number %d is %d with label %d, which is not that of data %s",
				r.opt.Ledger, at, looks[0].Image, looks[0].Label, r.images.Name)
		}
		image := spreadImage{selection: looks[0]}
		if len(looks) == 2 {
			image.rest = looks[1]
		}
		if err := r.add(image); err != nil {
			return fmt.Errorf("rs: ledger %s: %w", r.opt.Ledger, err)
		}
	}
	return nil
}

// add takes an image that has begun.
func (r *anytimeRun) add(image spreadImage) error {
	r.used += (image.selection.To - image.selection.From + image.rest.To - image.rest.From) * r.plan.Block()
	r.seen, r.rows = append(r.seen, image), append(r.rows, Row{})
	return r.judge(len(r.seen) - 1)
}

// judge takes the counts of an image into its claim, and what it may get next.
func (r *anytimeRun) judge(at int) error {
	image := &r.seen[at]
	t := r.plan.Trial(image.selection.Image, image.selection.Label)
	if err := t.Add(image.selection); err != nil {
		return err
	}
	if !t.Done() {
		if err := t.Add(image.rest); err != nil {
			return err
		}
		r.spread.Put(at, t.K, t.N)
	}
	r.rows[at] = rowOf(t)
	return nil
}

// begun reports whether every image has its first samples, so that the run has claims.
func (r *anytimeRun) begun() bool { return len(r.seen) == r.images.Len() }

// rounds runs until the end that was asked for, or until something stops it.
func (r *anytimeRun) rounds(ctx context.Context) error {
	for !r.begun() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.first(ctx); err != nil {
			return err
		}
		if err := r.between(); err != nil {
			return err
		}
	}
	for !r.reached() {
		if err := ctx.Err(); err != nil {
			return err
		}
		shares := r.spread.Next()
		var pieces []*piece
		size := 0
		for _, share := range shares {
			from := r.seen[share.Image].rest.To
			pieces = append(pieces, &piece{image: share.Image, from: from, to: from + share.Samples/r.plan.Block()})
			size += share.Samples
		}
		if shares == nil || r.opt.Until.Samples > 0 && r.used+size > r.opt.Until.Samples {
			return nil
		}
		if err := r.draw(ctx, pieces); err != nil {
			return err
		}
		for _, p := range pieces {
			rest := &r.seen[p.image].rest
			p.add(rest.Counts, rest.Misses)
			rest.To = p.to
			rest.Counts, rest.Misses = p.sum()
			r.used += (p.to - p.from) * r.plan.Block()
			if err := r.judge(p.image); err != nil {
				return fmt.Errorf("rs: %w", err)
			}
		}
		if err := r.between(); err != nil {
			return err
		}
	}
	return nil
}

// first gives the next images their selection and one block.
func (r *anytimeRun) first(ctx context.Context) error {
	selected := r.plan.Selection() / r.plan.Block()
	var pieces []*piece
	for at := len(r.seen); at < r.images.Len() && len(pieces)*(selected+1) < 2*stopping.RoundBlocks; at++ {
		pieces = append(pieces, &piece{image: at, to: selected}, &piece{image: at, from: selected, to: selected + 1})
	}
	if err := r.draw(ctx, pieces); err != nil {
		return err
	}
	look := func(p *piece) ledger.Look {
		counts, misses := p.sum()
		return ledger.Look{Image: r.images.IDs[p.image], Label: r.images.Labels[p.image], From: p.from, To: p.to,
			Counts: counts, Misses: misses}
	}
	for i := 0; i < len(pieces); i += 2 {
		image := spreadImage{look(pieces[i]), look(pieces[i+1])}
		if len(image.selection.Counts) == 0 { // no class can be chosen: it abstains, and the block is not needed
			image.rest = ledger.Look{}
		}
		if err := r.add(image); err != nil {
			return fmt.Errorf("rs: %w", err)
		}
	}
	return nil
}

// draw fills the tallies of pieces. Where ctx ends, what is under way has some time to finish.
func (r *anytimeRun) draw(ctx context.Context, pieces []*piece) error {
	calls, abort := context.WithCancelCause(context.WithoutCancel(ctx))
	defer abort(nil)
	defer context.AfterFunc(ctx, func() { time.AfterFunc(grace, func() { abort(ctx.Err()) }) })()
	type address struct {
		*piece
		block int
	}
	todo := make(chan address)
	var tallies sync.Mutex
	var stuck error
	var work sync.WaitGroup
	for range min(r.opt.Workers+r.crew.drawers, r.crew.buffers) { // some draw while others ask
		work.Go(func() {
			buf := r.buffers.Get().(*buffer)
			defer func() { r.buffers.Put(buf) }()
			for a := range todo {
				image := r.images.IDs[a.image]
				grid, residue, err := r.images.Grid(calls, a.image)
				if err == nil {
					err = r.blocks.draw(buf, grid, residue, image, a.block)
				}
				var counts []ledger.Count
				var misses int
				if err == nil {
					counts, misses, err = r.blocks.classify(calls, buf)
				}
				if err == nil {
					err = r.again.take(calls, buf, image, a.block)
				}
				if isStuck(err) {
					tallies.Lock()
					stuck = err
					tallies.Unlock()
					buf = r.blocks.newBuffer() // the call may still use the other
				}
				if err != nil {
					abort(fmt.Errorf("rs: image %d, block %d: %w", image, a.block, err))
					continue
				}
				tallies.Lock()
				a.tally.add(counts, misses)
				tallies.Unlock()
			}
		})
	}
	for _, p := range pieces {
		for block := p.from; block < p.to && calls.Err() == nil; block++ {
			todo <- address{p, block}
		}
	}
	close(todo)
	work.Wait()
	if stuck != nil {
		return stuck
	}
	if ctx.Err() != nil && calls.Err() != nil {
		return ctx.Err()
	}
	return context.Cause(calls)
}

// reached reports whether the end that was asked for has come. That of a number of samples comes
// before the round that does not fit.
func (r *anytimeRun) reached() bool {
	u := r.opt.Until
	if u.Time > 0 && time.Since(r.start) >= u.Time || u.Radius > 0 && r.meanRadius() >= u.Radius {
		return true
	}
	if u.Share == 0 {
		return false
	}
	decided := 0
	for i := range r.rows {
		if r.rows[i].decided(r.plan, u.At) {
			decided++
		}
	}
	return float64(decided) >= u.Share*float64(len(r.rows))
}

// meanRadius is the average certified radius or, without labels, the mean radius of all images.
func (r *anytimeRun) meanRadius() float64 {
	if acr := r.rows.ACR(); acr.Images > 0 {
		return acr.Value
	}
	sum := 0.0
	for i := range r.rows {
		if r.rows[i].Certified() {
			sum += r.rows[i].Radius
		}
	}
	return sum / float64(max(1, len(r.rows)))
}

// between saves and reports now and then.
func (r *anytimeRun) between() error {
	if time.Since(r.reported) >= reportPause {
		r.reported = time.Now()
		r.report(false)
	}
	if time.Since(r.saved) < 5*savePause { // the file is written whole
		return nil
	}
	return r.save()
}

// save writes the ledger, closed where every image has begun.
func (r *anytimeRun) save() error {
	r.saved = time.Now()
	if r.opt.Ledger == "" {
		return nil
	}
	err := ledgerio.Replace(r.opt.Ledger, r.header, func(e *ledgerio.Encoder) error {
		for _, image := range r.seen {
			e.Look(image.selection)
			if image.rest.To > 0 {
				e.Look(image.rest)
			}
		}
		if !r.begun() || r.contradicted {
			return e.Flush()
		}
		err := e.Finish((&Run{Header: r.header, Rows: r.rows}).claims())
		r.digest = e.Digest()
		return err
	})
	if err != nil {
		return fmt.Errorf("rs: %w", err)
	}
	return r.files.keep(r.again.unwritten())
}

func (r *anytimeRun) report(final bool) {
	if r.opt.Progress == nil {
		return
	}
	s := progress.State{
		Task: "certify " + r.images.Name, Done: float64(r.used), Total: float64(r.opt.Until.Samples),
		Unit: "noise samples", Left: -1, Final: final,
	}
	elapsed := time.Since(r.start)
	if now := r.used - r.before; now > 0 {
		s.Rate = float64(now) / elapsed.Seconds()
		if s.Total > 0 {
			s.Left = time.Duration((s.Total - s.Done) / s.Rate * float64(time.Second))
		}
	}
	if u := r.opt.Until.Time; u > 0 {
		s.Left = max(0, u-elapsed)
	}
	if !r.begun() {
		s.Note = fmt.Sprintf("%d of %d images begun", len(r.seen), r.images.Len())
	} else if bands, err := (&Run{Header: r.header, Rows: r.rows}).Bands(0.05, 0); err == nil {
		s.Note = fmt.Sprintf("mean radius %.4f, certified accuracy %.3f, true between %.3f and %.3f", r.meanRadius(),
			r.rows.CertifiedAccuracy(0)[0].Value, bands.Accuracy[0].Lower, bands.Accuracy[0].Upper)
	} else {
		s.Note = fmt.Sprintf("mean radius %.4f", r.meanRadius())
	}
	r.opt.Progress(s)
}
