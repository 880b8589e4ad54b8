package ood

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/journal"
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
		Format: "certspec-ood", Version: 1, Program: ledger.Program{Version: r.program},
		Model: record.Model{Name: name, Network: digest, Classes: n.Outputs(), Trained: trained,
			Compared: n.Compared()},
		Data: of,
		Set:  "linf", Epsilon: epsilon, Shard: r.shard,
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
	workers := r.workers
	if workers < 1 {
		workers = runtime.GOMAXPROCS(0)
	}
	err := journal.InOrder[record.Line]{
		Task: task + " " + images.Name, Report: r.progress,
		Workers: workers, Done: len(f.Lines), Total: to - from, Block: block,
		Worker: func() func(context.Context, int, int) ([]record.Line, error) {
			return func(ctx context.Context, first, last int) ([]record.Line, error) {
				var places []int
				for k := first; k < last; k++ {
					places = append(places, from+k)
				}
				return at(ctx, places)
			}
		},
		Commit: func(lines []record.Line) error {
			for _, l := range lines {
				if err := f.Header.Check(l); err != nil {
					return err
				}
			}
			f.Lines = append(f.Lines, lines...)
			if w != nil {
				w.Append(lines...)
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
