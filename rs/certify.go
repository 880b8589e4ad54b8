package rs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
)

// Certify certifies the images of data under a model.
//
// With a ledger in the options, finished work is recorded as it goes. Called again with the same settings, Certify goes
// on where it stopped, and the file ends with the same bytes as that of an uninterrupted run. On a complete ledger it
// returns at once, without a call of the model.
//
// Where ctx ends, Certify finishes the few blocks under way, saves them and returns the context's error. An error of
// the model or of the disk ends it likewise. A call of the model that ignores its context is left behind in its
// goroutine, some 15 seconds after ctx ended, and the error says so. The run returned beside the error holds the images
// that were decided. A ledger of other settings is a *ledger.MismatchError.
//
// Counts prove nothing about a model whose answer depends on the batch or on chance. So some noise samples are asked
// again during the run, one call in about 150, in other arrangements; an answer that changes stops it with a
// classifier.ErrImpure. A file beside the ledger has what was compared. Before a run, nb.Preflight looks more
// closely. The program keeps the answers of that look in ctx: those that differ at the end, or where a run goes on,
// are a classifier.ErrImpure, too. A ledger that was contradicted gets no claims and cannot be resumed.
func Certify(ctx context.Context, model classifier.Classifier, data Source, opt Options) (*Run, error) {
	closed, err := openBefore(opt.Ledger)
	if err != nil {
		return nil, err
	}
	s, err := begin(model, opt, closed, func() (*imageset.Index, error) { return indexOf(ctx, data, opt.Progress) })
	if err != nil {
		return nil, err
	}
	defer s.files.close()
	s.files.witness = purity.WitnessIn(ctx)
	if s.files.closed != nil && s.opt.Rule != Anytime {
		return s.complete()
	}
	if s.again, err = newRecheck(s.blocks); err != nil {
		return nil, fmt.Errorf("rs: model: %w", err)
	}
	if s.opt.Rule == Anytime {
		return s.anytime(ctx)
	}
	c := &certification{session: s, run: &Run{Header: s.header, Path: s.opt.Ledger}}
	l, err := s.files.open(s.header, s.opt.Scores > 0)
	if err != nil {
		return nil, err
	}
	if l != nil {
		c.run.Header = l.Header
		if err := c.resume(l); err != nil {
			return nil, fmt.Errorf("rs: ledger %s: %w", s.opt.Ledger, err)
		}
	}
	return c.run, c.certify(ctx)
}

// session is common to every form of a run: the request with its defaults, the model and the images that answer it, and
// the files, which are opened once and handed down.
type session struct {
	opt    Options
	plan   *stopping.Plan
	header ledger.Header
	blocks *blocks
	crew   crew
	images *imageset.Index
	files  *files
	again  *recheck // nil: nothing is asked again
}

// begin checks a request against model, images and the closed ledger that may be there, before anything is drawn.
// Images are opened last, as that may take long.
func begin(model classifier.Classifier, opt Options, closed *Run, open func() (*imageset.Index, error)) (s session,
	err error) {
	if opt, err = opt.withDefaults(); err != nil {
		return s, err
	}
	plan, err := opt.plan()
	if err != nil {
		return s, err
	}
	shard, err := shardHeader(opt.Shard)
	if err != nil {
		return s, err
	}
	info, err := model.Info()
	if err != nil {
		return s, fmt.Errorf("rs: model: %w", err)
	}
	if opt.Workers == 0 {
		opt.Workers = DefaultWorkers(info.Identity)
	}
	images, err := open()
	if err != nil {
		return s, err
	}
	if err := fit(info, images); err != nil {
		return s, fmt.Errorf("rs: %w", err)
	}
	if err := onGrid(images, opt.Noise); err != nil {
		return s, err
	}
	f := &files{path: opt.Ledger, model: info.Name, closed: closed}
	known, version := info, ledger.VersionOf(opt.Noise)
	if closed != nil {
		version = closed.Header.Version
		if known, err = named(model, info, closed.Header); err != nil {
			return s, err
		}
	}
	header := newHeader(opt, plan, known, ledger.Data{Name: images.Name, Digest: images.Digest, Images: images.Len()})
	header.Version, header.Shard = version, shard
	if images, plan, err = shardOf(shard, images, plan); err != nil {
		return s, err
	}
	s = session{opt: opt, plan: plan, header: header, images: images, files: f}
	if s.blocks, err = newBlocks(model, info, opt.Noise, opt.Sigma, plan.Block(), header.Seed); err != nil {
		return s, err
	}
	s.blocks.scored, s.blocks.top = opt.Scores > 0, opt.TopScores
	s.crew, err = opt.crew(info, plan.Block())
	return s, err
}

// complete is the run of a ledger with claims. An interruption may have left its scores open.
func (s *session) complete() (*Run, error) {
	run := s.files.closed
	if err := run.Header.SameRun(s.opt.Ledger, s.header); err != nil {
		return nil, err
	}
	if s.opt.Scores > 0 {
		if err := finishScores(s.opt.Ledger); err != nil {
			return nil, fmt.Errorf("rs: %w", err)
		}
	}
	return run, nil
}

// openBefore reads a closed ledger. It returns nil where there is none, where it is not closed, and where the file
// is none, which is begun anew or refused when it is opened for writing.
func openBefore(path string) (*Run, error) {
	if path == "" {
		return nil, nil
	}
	run, err := openClosed(path)
	var format *ledger.FormatError
	if errors.Is(err, fs.ErrNotExist) || errors.As(err, &format) {
		return nil, nil
	}
	if err != nil || run.Digest == "" {
		return nil, err
	}
	return run, nil
}

// fit checks that the model can take the images.
func fit(info classifier.Info, images *imageset.Index) error {
	switch {
	case images.Len() == 0:
		return fmt.Errorf("data %s has no images", images.Name)
	case info.Shape != images.Shape:
		return fmt.Errorf("model %s takes images of %v, data %s has %v", info.Name, info.Shape, images.Name,
			images.Shape)
	case info.Classes < 2:
		return fmt.Errorf("model %s has %d classes, want at least 2", info.Name, info.Classes)
	case info.Classes > ledgerio.MaxClasses:
		return fmt.Errorf("model %s has %d classes, want at most %d", info.Name, info.Classes, ledgerio.MaxClasses)
	}
	seen := make(map[int]bool, images.Len())
	for i, id := range images.IDs {
		if id < 0 || seen[id] {
			return fmt.Errorf("data %s: the id %d of its image number %d is negative or not the only one", images.Name,
				id, i)
		}
		seen[id] = true
		if label := images.Labels[i]; label < -1 || label >= info.Classes {
			return fmt.Errorf("data %s: image %d has label %d, model %s has the classes 0 to %d", images.Name, id,
				label, info.Name, info.Classes-1)
		}
	}
	return nil
}

// onGrid refuses images off the grid under noise on it.
func onGrid(images *imageset.Index, law noise.Law) error {
	if images.OffGrid && law != noise.LawGaussian {
		return fmt.Errorf("rs: data %s has images off the grid of multiples of 1/255; expected noise in real "+
			"arithmetic, %q", images.Name, noise.LawGaussian)
	}
	return nil
}

func newHeader(opt Options, p *stopping.Plan, info classifier.Info, data ledger.Data) ledger.Header {
	h := ledger.Header{
		Program:    program(),
		Model:      info,
		Data:       data,
		Sigma:      opt.Sigma,
		Noise:      opt.Noise,
		Seed:       opt.Seed,
		SeedChosen: opt.Seed != 0 || opt.Paired,
		Alpha:      p.Alpha(),
		Selection:  p.Selection(),
		Block:      p.Block(),
		Rule:       p.Header(),
		Order:      "data",
	}
	if opt.Scores > 0 {
		h.Scores = ledger.ScoresScheme(opt.Scores)
		if opt.TopScores {
			h.Scores = ledger.TopScoresScheme(opt.Scores)
		}
	}
	h.Model.Logits = false // in no ledger
	for _, name := range []*string{&h.Model.Name, &h.Data.Name} {
		*name = strings.ToValidUTF8(*name, "\uFFFD") // as names of files may be
	}
	h.Format, h.Version = ledger.Format, ledger.VersionOf(opt.Noise)
	if opt.Seed == 0 {
		of := h
		if opt.Paired {
			of.Model.Identity.Weights = ""
		}
		h.Seed = ledgerio.DerivedSeed(of)
	}
	return h
}
