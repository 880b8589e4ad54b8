package gate

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// Options of a gate.
type Options struct {
	Header             // the fields from Sigma to Block are settings, the rest is filled in
	Grouping *Grouping // groups that are each tested; nil: all images together
	Most     int       // images that are looked at, at most; 0: all
	Record   string    // file that keeps the outcomes, and from which the same gate goes on; empty: none
	Progress progress.Reporter
}

// Outcome is where a gate ended.
type Outcome struct {
	Header
	Verdict Verdict  `json:"verdict"`
	Test    *Test    `json:"test"` // with Groups the sum of theirs
	Tested  []*Group `json:"tested,omitempty"`
	Samples int      `json:"samples_used"` // noise samples of both networks in this call

	// images that the test has seen and that are certified as their label at the radius
	OldCertified int `json:"old_certified"`
	NewCertified int `json:"new_certified"`
}

// futility is the level at which an image is given up. It costs certificates of both networks alike, and no validity.
const futility = 0.05

// chunk is the number of images that both networks certify before the test takes them.
const chunk = 16

// Run certifies images in a random order under both networks until the verdict is known.
//
// Errors: networks of other shapes or classes, no labels, settings out of range, a record of another gate or one that
// cannot be true, those of rs.Certify; beside the verdict, those of writing the record.
func Run(ctx context.Context, before, after classifier.Classifier, x *imageset.Index, o Options) (out Outcome,
	err error) {
	h := &o.Header
	places, test, err := h.fill(before, after, x, o.Grouping)
	if err != nil {
		return out, err
	}
	file, pairs, err := openRecord(o.Record, h, x, places)
	if err != nil {
		return out, err
	}
	w, err := h.walk()
	if err != nil {
		return out, err
	}
	if file != nil {
		defer func() { err = errors.Join(err, file.Close()) }()
	}
	opt := rs.Options{Rule: rs.Betting, Sigma: h.Sigma, Alpha: h.Alpha, MaxSamples: h.MaxSamples,
		Selection: h.Selection, Block: h.Block, Radii: []float64{h.Radius}, Futility: futility,
		OnlyCorrect: true, Noise: h.Noise, Seed: h.Seed}
	out = Outcome{Header: *h, Verdict: Undecided, Test: test}
	if h.Groups == nil {
		out.Test = &w.groups[0].Test
	} else {
		out.Tested, out.Groups = w.groups, &Groups{By: h.Groups.By, Names: h.Groups.Names, Digest: h.Groups.Digest}
	}
	most := h.Images
	if o.Most > 0 {
		most = min(most, o.Most)
	}
	take := func(p pair) {
		if out.Verdict != Undecided || w.seen == most {
			return
		}
		w.take(p)
		out.OldCertified += p.certified(p.old)
		out.NewCertified += p.certified(p.new)
		if h.Groups != nil {
			test.Seen, test.Sum = w.seen, test.Sum+p.difference()
		}
		out.Verdict = w.verdict()
		if o.Progress != nil {
			o.Progress(progress.State{Task: "gate " + x.Name, Done: float64(w.seen), Total: float64(most),
				Unit: "images", Left: -1, Final: out.Verdict != Undecided || w.seen == most})
		}
	}
	for _, p := range pairs {
		take(p)
	}
	var unwritten error // of the record, without which the verdict is found all the same
	for out.Verdict == Undecided && w.seen < most {
		next := w.next(min(chunk, most-w.seen))
		some := make([]int, len(next))
		for i, at := range next {
			some[i] = places[at]
		}
		more, samples, err := certify(ctx, before, after, x, some, opt)
		if err != nil {
			return out, err
		}
		out.Samples += samples
		for i, p := range more {
			p.place = next[i]
			if h.Groups != nil && (out.Verdict != Undecided || w.decided(p.place)) {
				continue // a record with groups keeps what their tests took
			}
			if file != nil && unwritten == nil {
				_, unwritten = fmt.Fprintln(file, p)
			}
			take(p)
		}
	}
	for _, g := range w.groups {
		g.Verdict = g.verdict
	}
	if unwritten != nil {
		err = fmt.Errorf("the record lacks outcomes: %w", unwritten)
	}
	return out, err
}

// fill enters what is compared. It gives the places of the labelled images, and the test of all of them together.
func (h *Header) fill(before, after classifier.Classifier, x *imageset.Index, by *Grouping) (places []int, all *Test,
	err error) {
	h.Format, h.Version, h.Data, h.Digest, h.Groups, h.Seed = format, version, x.Name, x.Digest, nil, 0
	if h.Old, err = before.Info(); err != nil {
		return nil, nil, err
	}
	if h.New, err = after.Info(); err != nil {
		return nil, nil, err
	}
	if h.Old.Shape != h.New.Shape || h.Old.Classes != h.New.Classes {
		return nil, nil, fmt.Errorf("the old network has %d classes of %v, the new one %d of %v: they cannot be compared",
			h.Old.Classes, h.Old.Shape, h.New.Classes, h.New.Shape)
	}
	for i, label := range x.Labels {
		if label >= 0 {
			places = append(places, i)
		}
	}
	h.Images = len(places)
	if all, err = New(h.Images, h.Drop, h.Level); err != nil {
		return nil, nil, err
	}
	if by != nil {
		h.Version = grouped
		if h.Groups, err = by.groups(places); err != nil {
			return nil, nil, err
		}
	}
	h.Seed, err = h.seed()
	return places, all, err
}

// walk goes through the labelled images in a random order, and leaves out those of groups that are decided.
type walk struct {
	*family
	order []int
	of    []int // group of each labelled image
	at    int   // place in the order
	seen  int
}

func (h *Header) walk() (*walk, error) {
	w := &walk{order: rand.New(rand.NewPCG(h.Seed, 1)).Perm(h.Images), of: make([]int, h.Images)}
	names := []string{""}
	if h.Groups != nil {
		names, w.of = h.Groups.Names, h.Groups.Of
	}
	var err error
	w.family, err = newFamily(names, w.of, h.Drop, h.Level)
	return w, err
}

func (w *walk) decided(place int) bool { return w.groups[w.of[place]].verdict != Undecided }

// next is up to n images to look at.
func (w *walk) next(n int) (places []int) {
	for i := w.at; i < len(w.order) && len(places) < n; i++ {
		if place := w.order[i]; !w.decided(place) {
			places = append(places, place)
		}
	}
	return places
}

// take takes an image that next gave.
func (w *walk) take(p pair) {
	for w.order[w.at] != p.place {
		w.at++
	}
	w.at++
	w.seen++
	g := w.groups[w.of[p.place]]
	g.OldCertified += p.certified(p.old)
	g.NewCertified += p.certified(p.new)
	w.add(w.of[p.place], p.difference())
}

// certify certifies images under both networks with the same noise samples.
func certify(ctx context.Context, before, after classifier.Classifier, x *imageset.Index, places []int,
	opt rs.Options) ([]pair, int, error) {
	sorted := slices.Sorted(slices.Values(places))
	pairs, samples := make([]pair, len(places)), 0
	for which, model := range []classifier.Classifier{before, after} {
		info, err := model.Info()
		if err != nil {
			return nil, 0, err
		}
		opt.Workers = rs.DefaultWorkers(info.Identity)
		run, err := rs.Certify(ctx, model, part{x.Take(sorted)}, opt)
		if err != nil {
			return nil, 0, err
		}
		samples += run.Passes()
		for i, place := range places {
			at, _ := slices.BinarySearch(sorted, place)
			row := run.Rows[at]
			pairs[i].label = row.Label
			*[]*[3]int{&pairs[i].old, &pairs[i].new}[which] = [3]int{row.Class, row.K, row.N}
		}
	}
	return pairs, samples, nil
}

// part is some images as rs.Certify takes them.
type part struct{ x *imageset.Index }

func (p part) Index(context.Context, progress.Reporter) (*imageset.Index, error) { return p.x, nil }
func (p part) Load(ctx context.Context) (*imageset.Images, error) {
	places := make([]int, p.x.Len())
	for i := range places {
		places[i] = i
	}
	return p.x.Load(ctx, places)
}
