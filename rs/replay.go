package rs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// ReplayOptions choose what is computed again.
type ReplayOptions struct {
	Images   []int             // by their numbers; nil: Count of them
	Count    int               // so many images, spread evenly over the ledger; 0: all
	Blocks   int               // looks within so many first blocks of an image only; 0: all
	Workers  int               // calls of the model at once; 0: enough for all processors
	Progress progress.Reporter // may be nil
}

// Replayed is the result of Replay.
type Replayed struct {
	Images        int                 `json:"images"`
	Looks         int                 `json:"looks"`
	Blocks        int                 `json:"blocks"`
	EqualBlocks   int                 `json:"equal_blocks"` // blocks of looks whose counts are equal
	Flips         []Flip              `json:"flips"`
	Scores        *ReplayedScores     `json:"scores,omitempty"` // nil: the run kept none, or they are missing
	EqualIdentity bool                `json:"equal_identity"`   // of the model that ran and the one in the header
	Stored        classifier.Identity `json:"stored_identity"`
	Now           classifier.Identity `json:"identity"`
}

// Flip is a look whose counts came out otherwise.
type Flip struct {
	Image        int            `json:"image"`
	From         int            `json:"from"` // blocks
	To           int            `json:"to"`
	Stored       []ledger.Count `json:"stored"`
	StoredMisses int            `json:"stored_misses"`
	Now          []ledger.Count `json:"now"`
	NowMisses    int            `json:"now_misses"`
	Samples      int            `json:"copies"` // that changed their class, at least
}

func (f Flip) String() string {
	return fmt.Sprintf("image %d, blocks %d to %d: stored %s, now %s (noise samples that changed: %s)", f.Image,
		f.From, f.To, countsText(ledger.Look{Counts: f.Stored, Misses: f.StoredMisses}),
		countsText(ledger.Look{Counts: f.Now, Misses: f.NowMisses}), printable.Count(f.Samples))
}

// Replay draws noise samples of a ledger again, from its seed, and compares the model's answers with the counts of the
// ledger, and with the scores beside it. The unit is a look, since a ledger has the counts of its blocks in one sum.
// Provisional looks are left out.
//
// A model of equal identity gives equal counts and scores, so any difference is evidence against the ledger or the
// machine. Another engine, version, number of threads or instruction set rounds otherwise. Then samples between two
// classes, or two cells of scores, may differ.
//
// Errors: another model (weights, shape, classes) or other data than the header names, as a *ledger.MismatchError;
// images that the ledger or the data lacks; errors of the model.
func Replay(ctx context.Context, path string, model classifier.Classifier, data Source, o ReplayOptions) (*Replayed,
	error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return nil, err
	}
	h := l.Header
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("rs: model: %w", err)
	}
	if info, err = named(model, info, h); err != nil {
		return nil, err
	}
	images, err := indexOf(ctx, data, o.Progress)
	if err != nil {
		return nil, err
	}
	if err := fit(info, images); err != nil {
		return nil, fmt.Errorf("rs: %w", err)
	}
	if err := sameSource(path, h, info, images); err != nil {
		return nil, fmt.Errorf("rs: a replay needs the model and the data of the ledger: %w", err)
	}
	law, err := noise.ParseLaw(string(h.Noise))
	if err != nil || law != h.Noise {
		return nil, fmt.Errorf("rs: ledger %s: the noise is %q; this program knows %q and %q", path, h.Noise,
			noise.LawGrid, noise.LawGaussian)
	}
	if err := onGrid(images, law); err != nil {
		return nil, err
	}
	blocks, err := newBlocks(model, info, law, h.Sigma, h.Block, h.Seed)
	if err != nil {
		return nil, err
	}
	looks, err := chooseLooks(l.Looks, images, o)
	if err != nil {
		return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers(info.Identity)
	}
	r := &replayer{blocks: blocks, images: images, looks: looks, report: o.Progress}
	if r.stored, err = scoresOfLooks(path, l, looks); err != nil {
		return nil, fmt.Errorf("rs: %w", err)
	}
	if blocks.scored, blocks.top = r.stored != nil, h.TopScores(); blocks.scored {
		if r.cells, err = h.ScoreCells(); err != nil {
			return nil, fmt.Errorf("rs: ledger %s: %w", path, err)
		}
	}
	for _, look := range looks {
		r.total += look.To - look.From
	}
	if err := r.run(ctx, o.Workers); err != nil {
		return nil, err
	}
	out := &Replayed{Looks: len(looks), Blocks: r.total, Flips: []Flip{},
		EqualIdentity: info.Identity == h.Model.Identity, Stored: h.Model.Identity, Now: info.Identity}
	if r.stored != nil {
		out.Scores = &ReplayedScores{}
	}
	for i, look := range looks {
		if i == 0 || looks[i-1].Image != look.Image {
			out.Images++
		}
		if r.stored != nil && r.stored[i] != nil {
			out.Scores.compare(r.stored[i], &r.scores[i])
		}
		counts, misses := r.sums[i].sum()
		if misses == look.Misses && slices.Equal(counts, look.Counts) {
			out.EqualBlocks += look.To - look.From
			continue
		}
		out.Flips = append(out.Flips, Flip{Image: look.Image, From: look.From, To: look.To,
			Stored: look.Counts, StoredMisses: look.Misses, Now: counts, NowMisses: misses,
			Samples: moved(look, counts)})
	}
	return out, nil
}

// sameSource refuses a model or data that the ledger is not of. What may differ is how the model runs.
func sameSource(path string, h ledger.Header, info classifier.Info, images *imageset.Index) error {
	run := h
	run.Model = info
	run.Model.Name = h.Model.Name
	weights := info.Identity.Weights
	run.Model.Identity = h.Model.Identity
	run.Model.Identity.Weights = weights
	run.Data = ledger.Data{Name: h.Data.Name, Digest: images.Digest, Images: images.Len()}
	return h.SameRun(path, run)
}

// chooseLooks are the looks to compute again, in the order of the ledger.
func chooseLooks(all []ledger.Look, images *imageset.Index, o ReplayOptions) ([]ledger.Look, error) {
	var ids []int
	for i, l := range all {
		if i == 0 || l.Image != all[i-1].Image {
			ids = append(ids, l.Image)
		}
	}
	chosen := map[int]bool{}
	switch {
	case o.Images != nil:
		for _, id := range o.Images {
			if !slices.Contains(ids, id) {
				return nil, fmt.Errorf("it has no image %d", id)
			}
			chosen[id] = true
		}
	case o.Count < 0 || o.Blocks < 0:
		return nil, optionErrorf("%d images and %d blocks to replay, want at least 1, or 0 for all", o.Count, o.Blocks)
	default:
		n := o.Count
		if n == 0 || n > len(ids) {
			n = len(ids)
		}
		for i := range n {
			chosen[ids[i*len(ids)/n]] = true
		}
	}
	var looks []ledger.Look
	for _, l := range all {
		if chosen[l.Image] && (o.Blocks == 0 || l.To <= o.Blocks) {
			if images.Index(l.Image) < 0 {
				return nil, fmt.Errorf("its image %d is not in data %s", l.Image, images.Name)
			}
			looks = append(looks, l)
		}
	}
	if len(looks) == 0 {
		return nil, errors.New("no looks to replay")
	}
	return looks, nil
}

// moved is the least number of samples whose class, or miss, changed: half the sum of all differences.
func moved(stored ledger.Look, now []ledger.Count) int {
	gained := 0 // by the classes that gained
	before := map[int32]int{}
	for _, c := range stored.Counts {
		before[c.Class] = c.N
	}
	sum := 0
	for _, c := range now {
		gained += max(0, c.N-before[c.Class])
		sum += c.N
	}
	all := stored.Misses
	for _, c := range stored.Counts {
		all += c.N
	}
	return gained + max(0, all-sum-stored.Misses)
}

// replayer computes the blocks of looks again.
type replayer struct {
	blocks *blocks
	images *imageset.Index
	looks  []ledger.Look
	total  int                 // blocks
	stored []*scorefile.Record // by look; nil: none are compared
	cells  int
	report progress.Reporter

	mu     sync.Mutex
	next   struct{ look, block int } // that is given out next; block counts from the look's first
	sums   []tally
	scores []scoreTally
	done   int
	said   time.Time // last report
	fault  error
}

func (r *replayer) run(ctx context.Context, workers int) error {
	r.sums, r.scores = make([]tally, len(r.looks)), make([]scoreTally, len(r.looks))
	var all sync.WaitGroup
	for range workers {
		all.Go(func() {
			buf := r.blocks.newBuffer()
			for {
				i, block, ok := r.issue(ctx)
				if !ok {
					return
				}
				id := r.looks[i].Image
				at := r.images.Index(id)
				grid, residue, err := r.images.Grid(ctx, at)
				if err == nil {
					err = r.blocks.draw(buf, grid, residue, id, block)
				}
				var counts []ledger.Count
				var misses int
				var scores blockScores
				if err == nil {
					counts, misses, err = r.blocks.classify(ctx, buf)
				}
				if err == nil && r.stored != nil && r.stored[i] != nil {
					scores = r.blocks.takeScores(buf, r.stored[i].Class)
				}
				r.fold(i, block, counts, misses, scores, err)
			}
		})
	}
	all.Wait()
	return r.fault
}

// issue gives out the next block.
func (r *replayer) issue(ctx context.Context) (look, block int, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fault == nil {
		r.fault = ctx.Err()
	}
	if r.fault != nil || r.next.look == len(r.looks) {
		return 0, 0, false
	}
	look, block = r.next.look, r.looks[r.next.look].From+r.next.block
	if r.next.block++; block+1 == r.looks[look].To {
		r.next.look, r.next.block = look+1, 0
	}
	return look, block, true
}

func (r *replayer) fold(look, block int, counts []ledger.Count, misses int, scores blockScores, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		if r.fault == nil {
			r.fault = fmt.Errorf("rs: image %d, block %d: %w", r.looks[look].Image, block, err)
		}
		return
	}
	r.sums[look].add(counts, misses)
	if scores.values != nil {
		r.scores[look].addBlock(scores, 0, r.cells)
	}
	r.done++
	if final := r.done == r.total; r.report != nil && (final || time.Since(r.said) > reportPause) {
		r.said = time.Now()
		r.report(progress.State{Task: "replay", Done: float64(r.done), Total: float64(r.total), Unit: "blocks",
			Left: -1, Final: final})
	}
}
