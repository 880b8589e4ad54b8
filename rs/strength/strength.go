// Package strength proves that a classifier keeps its class at every strength of a corruption.
//
// An image of bytes becomes one of finitely many images under brightness, JPEG, shifts or contrast.
// The prover asks the model about every one of them: "f(T_θ x) = f(x) for all θ from a to b" then
// holds of the model itself, without a probability of error. A few strengths are no proof: classes
// change and change back between them.
//
// A file records the outcome, one line an image, and certcheck makes the lists again from the
// data's bytes:
//
//	{"format":"certspec-strength","version":1,…}      the header: all that the lines depend on
//	20 7 7 10 100 91 5e3c… 5                            image, label, class, proven interval, images asked, their
//	                                                   digest, how many of the equally spaced strengths agree
//	21 3 3 34 100 68 a01f… 5 flip 33 5                  the strength next to the interval, and the class there
//	claims 500                                         closes the file: the number of images
//	right 330 500                                      images of the class of their label, labelled images
//	proven 265 240                                     images whose class never changes, and those that are right, too
//	spaced 262 22                                      right images whose class is the same at the equally spaced
//	                                                   strengths, and those of them that change in between
//	sha256 <64 hexadecimal digits>                     of all bytes before this line
//
// FromLedger proves the same of the smoothed classifier, at the ledger's α, without asking a model:
// every image of the list lies where the claim on the clean image holds. Its lines end otherwise:
//
//	20 7 7 -25 25 51 77be… 3             the grey shift that shows the farthest image to be inside
//	21 3 3 -9 12 22 0c1d… -9 outside -10 the strength next to the interval
//
// The digest of a line is the SHA-256 of the bytes of the asked images, in the order of
// corrupt.Orbits: outward from the strength that is nearest to no corruption. A file of a run that
// was stopped goes on behind its last line, and ends with the bytes of one that was not.
package strength

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/journal"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Options say what is proven and where it is kept.
type Options struct {
	Over     corrupt.Strengths // required
	File     string            // that records the run; "": nothing is kept
	Spaced   int               // strengths at equal distances to compare with; default 5
	Workers  int               // images at once; default enough for all processors
	Program  string            // version of the program, for the file
	Progress progress.Reporter // may be nil
}

// Prove asks the model about every image of a data set at every strength, and goes on with the file
// of an earlier run where that was stopped. It stops with an image at the first strength that
// changes its class.
//
// Errors: images of another shape or off the grid of bytes; a range that the shape does not take; a
// file of another run, as *MismatchError, or that cannot be read, as *FormatError; those of the
// model, of reading images and of ctx. What was finished before an error is in the file.
func Prove(ctx context.Context, model classifier.Classifier, data imageset.Source, o Options) (*File, error) {
	p, err := newProver(ctx, model, data, o)
	if err != nil {
		return nil, err
	}
	header := Header{Format: format, Version: version, Program: ledger.Program{Version: o.Program}, Model: p.info,
		Data: ledger.Data{Name: p.images.Name, Digest: p.images.Digest, Images: p.images.Len()},
		Over: o.Over.String(), Prover: byList, Batch: p.batch, Spaced: len(p.orbits.Spaced(cmp.Or(o.Spaced, 5)))}
	return p.record(ctx, header, o, func() func(context.Context, int) (Line, error) {
		asker := p.asker()
		return func(ctx context.Context, place int) (Line, error) { return asker.line(ctx, place, header.Spaced) }
	})
}

// record makes the lines that the file of a run does not have yet, and closes it.
func (p *prover) record(ctx context.Context, header Header, o Options,
	worker func() func(context.Context, int) (Line, error)) (*File, error) {
	w, f, err := open(o.File, header)
	if err != nil {
		return nil, err
	}
	if w != nil {
		defer w.Close()
	}
	for k, l := range f.Lines {
		if k >= p.images.Len() || l.Image != p.images.IDs[k] {
			return nil, fmt.Errorf("strength: %s: line %d is of image %d, which is not in its place in %s", o.File, k+2,
				l.Image, p.images.Name)
		}
	}
	if f.Claims != nil {
		return f, nil
	}
	if err := p.run(ctx, f, w, o, worker); err != nil {
		return f, err
	}
	claims := f.claims()
	if w != nil {
		w.Append(claims.append(nil))
		if f.Digest, err = w.Finish(); err != nil {
			return f, err
		}
	}
	f.Claims = &claims
	return f, nil
}

// open opens the file of a run; the writer is nil where nothing is kept.
func open(path string, header Header) (*journal.Writer, *File, error) {
	line, err := header.encode()
	if err != nil {
		return nil, nil, fmt.Errorf("strength: %w", err)
	}
	if path == "" {
		return nil, &File{Header: header}, nil
	}
	w, err := journal.Open(path)
	if err != nil {
		return nil, nil, fmt.Errorf("strength: %w", err)
	}
	f, err := begin(w, path, header, line)
	if err != nil {
		w.Close()
		return nil, nil, err
	}
	return w, f, nil
}

func begin(w *journal.Writer, path string, header Header, line []byte) (*File, error) {
	data, err := w.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("strength: %w", err)
	}
	f, err := decode(path, data)
	switch {
	case err != nil:
		return nil, err
	case f == nil && !bytes.HasPrefix(line, data) && !bytes.HasPrefix(data, []byte(headerBegin)):
		return nil, &FormatError{path, 1, "another file begins with " + journal.Quote(data) + "; name another"}
	case f == nil:
		if err := w.Keep(0); err != nil {
			return nil, fmt.Errorf("strength: %w", err)
		}
		w.Append(line)
		return &File{Path: path, Header: header}, w.Sync()
	}
	if err := f.Header.sameRun(path, header); err != nil {
		return nil, err
	}
	return f, w.Keep(int64(f.committed))
}

// prover asks a model about lists of images.
type prover struct {
	model  classifier.Classifier
	info   classifier.Info
	images *imageset.Index
	orbits *corrupt.Orbits
	batch  int
}

func newProver(ctx context.Context, model classifier.Classifier, data imageset.Source, o Options) (*prover, error) {
	if o.Spaced < 0 || o.Spaced == 1 {
		return nil, fmt.Errorf("strength: %d spaced strengths; expected at least 2", o.Spaced)
	}
	info, err := model.Info()
	if err != nil {
		return nil, fmt.Errorf("strength: %w", err)
	}
	images, err := imageset.Open(ctx, data, o.Progress)
	if err != nil {
		return nil, err
	}
	if images.Len() == 0 || images.Shape != info.Shape {
		return nil, fmt.Errorf("strength: model %s takes images of %v, data %s has %d of %v", info.Name, info.Shape,
			images.Name, images.Len(), images.Shape)
	}
	orbits, err := o.Over.Orbits(info.Shape)
	if err != nil {
		return nil, fmt.Errorf("strength: %w", err)
	}
	// Batches of about 32 images stop soon; of a short list they leave the last one nearly full.
	const about = 32
	calls := (orbits.Len() + about) / about
	return &prover{model, info, images, orbits, (orbits.Len() + calls) / calls}, nil
}

// run proves the images that the file does not have, several at once, and commits them in their
// order.
func (p *prover) run(ctx context.Context, f *File, w *journal.Writer, o Options,
	worker func() func(context.Context, int) (Line, error)) error {
	return journal.InOrder[Line]{
		Task: "prove " + f.Header.Over + " " + p.images.Name, Report: o.Progress,
		Done: len(f.Lines), Total: p.images.Len(),
		Workers: cmp.Or(o.Workers, rs.DefaultWorkers(p.info.Identity)), Block: 1,
		Worker: func() func(context.Context, int, int) ([]Line, error) {
			line := worker()
			return func(ctx context.Context, place, _ int) ([]Line, error) {
				l, err := line(ctx, place)
				return []Line{l}, err
			}
		},
		Commit: func(lines []Line) error {
			f.Lines = append(f.Lines, lines...)
			if w != nil {
				w.Append(f.Header.appendLine(nil, lines[0]))
			}
			return nil
		},
		Sync: func() error {
			if w == nil {
				return nil
			}
			return w.Sync()
		},
	}.Run(ctx)
}

// asker asks about one image after the other.
type asker struct {
	*prover
	grid    []int16
	pixels  []uint8 // of the batch
	result  classifier.Result
	classes []int32 // by the index of the strength; unknown
	events  []event
}

// event is a strength in the order of asking: its index, and the place of its image in the batch;
// −1 where that equals the image of its inner neighbour.
type event struct{ index, slot int }

const unknown = -2

func (p *prover) asker() *asker {
	size := p.info.Shape.Len()
	return &asker{prover: p, grid: make([]int16, p.batch*size), pixels: make([]uint8, p.batch*size),
		result:  classifier.Result{Classes: make([]int32, p.batch)},
		classes: make([]int32, p.orbits.Len())}
}

// ask gives the classes of the first n images of the batch, filled up with the last of them.
func (a *asker) ask(ctx context.Context, n int) ([]int32, error) {
	size := a.info.Shape.Len()
	for i := n; i < a.batch; i++ {
		copy(a.pixels[i*size:(i+1)*size], a.pixels[(n-1)*size:])
	}
	for i, v := range a.pixels {
		a.grid[i] = int16(v)
	}
	err := a.model.Classify(ctx, classifier.Batch{N: a.batch, Grid: a.grid}, &a.result)
	return a.result.Classes[:n], err
}

// line proves the image at a place of the data.
func (a *asker) line(ctx context.Context, place, spaced int) (Line, error) {
	one, err := a.images.Read(ctx, place)
	if err != nil {
		return Line{}, err
	}
	l := Line{Image: a.images.IDs[place], Label: a.images.Labels[place], Class: unknown}
	if one.Offsets != nil || one.Residues != nil {
		return l, fmt.Errorf("strength: image %d of %s has values that are no bytes", l.Image, a.images.Name)
	}
	if l.Label >= a.info.Classes {
		return l, fmt.Errorf("strength: image %d of %s has the label %d, and model %s has %d classes", l.Image,
			a.images.Name, l.Label, a.info.Name, a.info.Classes)
	}
	image, size := one.Image(0), a.info.Shape.Len()
	for i := range a.classes {
		a.classes[i] = unknown
	}
	sum := sha256.New()
	from, to := -1, -1
	settle := func(n int) (err error) { // what the batch says of the events
		classes := []int32{}
		if n > 0 {
			if classes, err = a.ask(ctx, n); err != nil {
				return err
			}
		}
		if l.Class == unknown {
			l.Class = int(classes[0])
		}
		for _, e := range a.events {
			if l.Class < 0 || l.Flip != nil {
				break
			}
			class := int32(l.Class) // also the inner neighbour's
			if e.slot >= 0 {
				class = classes[e.slot]
				l.Asked++
				sum.Write(a.pixels[e.slot*size : (e.slot+1)*size])
			}
			a.classes[e.index] = class
			if int(class) != l.Class {
				l.Flip = &Flip{a.orbits.Theta(e.index), int(class)}
				break
			}
			if from < 0 {
				from = e.index
			}
			from, to = min(from, e.index), max(to, e.index)
		}
		a.events = a.events[:0]
		return nil
	}
	n := copy(a.pixels, image) / size // the image itself comes first
	for i, shown := range a.orbits.Outward(image) {
		e := event{index: i, slot: -1}
		if shown != nil {
			copy(a.pixels[n*size:], shown)
			e.slot, n = n, n+1
		}
		a.events = append(a.events, e)
		if n == a.batch {
			if err := settle(n); err != nil {
				return l, err
			}
			if n = 0; l.Class < 0 || l.Flip != nil {
				break
			}
		}
	}
	if len(a.events) > 0 {
		if err := settle(n); err != nil {
			return l, err
		}
	}
	if from >= 0 {
		l.From, l.To = a.orbits.Theta(from), a.orbits.Theta(to)
	}
	l.Digest = hex.EncodeToString(sum.Sum(nil))
	if l.Class >= 0 {
		l.Same, err = a.same(ctx, image, int32(l.Class), a.orbits.Spaced(spaced))
	}
	return l, err
}

// same counts the strengths at which the class is the same; it asks about those that are not known.
func (a *asker) same(ctx context.Context, image []uint8, class int32, at []int) (same int, err error) {
	size, n := a.info.Shape.Len(), 0
	build := a.orbits.At()
	var open []int
	for k, i := range at {
		if a.classes[i] == unknown {
			build(a.pixels[n*size:(n+1)*size], image, i)
			open, n = append(open, i), n+1
		}
		if n > 0 && (n == a.batch || k == len(at)-1) {
			classes, err := a.ask(ctx, n)
			if err != nil {
				return 0, err
			}
			for k, i := range open {
				a.classes[i] = classes[k]
			}
			open, n = open[:0], 0
		}
	}
	for _, i := range at {
		if a.classes[i] == class {
			same++
		}
	}
	return same, nil
}
