package rs_test

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// oneByOne gives its images one by one, counts them, and loses one.
type oneByOne struct {
	memory
	read *atomic.Int64
	gone int // place of the image that cannot be read; −1: none
}

func (oneByOne) Load(context.Context) (*dataset.Images, error) {
	return nil, errors.New("loaded at once")
}

func (o oneByOne) Index(context.Context, progress.Reporter) (*imageset.Index, error) {
	x := o.Images.Indexed()
	all := x.Read
	x.Read = func(ctx context.Context, i int) (*imageset.Images, error) {
		if i == o.gone {
			return nil, errors.New("the picture has gone")
		}
		o.read.Add(1)
		return all(ctx, i)
	}
	return x, nil
}

// Images that are read one by one give the same ledgers; a shard reads its own alone. A picture that cannot be read
// ends a run, which goes on where it was when the picture is back.
func TestImagesOneByOne(t *testing.T) {
	m, data := mixed(40)
	for _, rule := range []rs.Rule{rs.Staged, rs.Anytime} {
		opt := rs.Options{Sigma: .25, Rule: rule, Selection: 100, MaxSamples: 2000}
		if rule == rs.Anytime {
			opt.MaxSamples, opt.Until.Samples = 0, 60_000
		}
		dir := t.TempDir()
		opt.Ledger = filepath.Join(dir, "whole")
		certify(t, m, data, opt)
		want := testkit.Read(t, opt.Ledger)
		opt.Ledger = filepath.Join(dir, "single")
		if run, err := rs.Certify(t.Context(), m, oneByOne{data, new(atomic.Int64), 17}, opt); err == nil || run != nil && run.Complete() {
			t.Errorf("%s: without one picture: %v", rule, err)
		}
		certify(t, m, oneByOne{data, new(atomic.Int64), -1}, opt)
		if got := testkit.Read(t, opt.Ledger); rule != rs.Anytime && !bytes.Equal(got, want) {
			t.Errorf("%s: another ledger: %s", rule, firstDifference(got, want))
		}
		if replayed, err := rs.Replay(t.Context(), opt.Ledger, m, oneByOne{data, new(atomic.Int64), -1}, rs.ReplayOptions{}); err != nil || len(replayed.Flips) > 0 {
			t.Errorf("%s: replay %+v, %v", rule, replayed, err)
		}
	}
	opt := rs.Options{Sigma: .25, MaxSamples: 2000, Shard: rs.Shard{Index: 3, Count: 10}, Ledger: filepath.Join(t.TempDir(), "part")}
	count := new(atomic.Int64)
	certify(t, m, oneByOne{data, count, 0}, opt)
	if count.Load() != 4 {
		t.Errorf("a shard of 4 images reads %d", count.Load())
	}
}

// brighter loads other images than the set that it embeds.
type brighter struct{ *dataset.Dataset }

func (b brighter) Load(ctx context.Context) (*dataset.Images, error) {
	im, err := b.Dataset.Load(ctx)
	if err != nil {
		return nil, err
	}
	other := *im
	other.Pixels = bytes.Repeat([]byte{255}, len(im.Pixels))
	other.Digest = other.ContentDigest()
	return &other, nil
}

// A source that embeds a data set is asked for its own images.
func TestSourceThatEmbedsADataset(t *testing.T) {
	d, err := dataset.Open("synthetic/test[count=2]")
	if err != nil {
		t.Fatal(err)
	}
	im, err := d.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m := classifier.Constant{Shape: im.Shape, Classes: 10}
	run := certify(t, m, brighter{d}, rs.Options{Sigma: .25, MaxSamples: 200})
	if run.Header.Data.Digest == im.Digest {
		t.Error("the images of the embedded set were certified")
	}
}
