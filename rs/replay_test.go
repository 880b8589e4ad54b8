package rs_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

func TestReplay(t *testing.T) {
	m, data := mixed(12)
	for name, opt := range mergeOptions {
		opt.Ledger = filepath.Join(t.TempDir(), name)
		run := certify(t, m, data, opt)
		l, err := ledgerio.Read(opt.Ledger)
		if err != nil {
			t.Fatal(err)
		}
		calls := new(atomic.Int64)
		counted := model{Classifier: m, before: func(classifier.Batch) error { calls.Add(1); return nil }}
		got, err := rs.Replay(t.Context(), opt.Ledger, counted, data, rs.ReplayOptions{Workers: 3})
		blocks := run.Passes() / run.Header.Block
		if err != nil || got.Images != 12 || got.Looks != len(l.Looks) || got.Blocks != blocks || got.EqualBlocks != blocks || len(got.Flips) != 0 || !got.EqualIdentity || int(calls.Load()) != blocks {
			t.Errorf("%s: %+v, %v; %d calls for %d blocks", name, got, err, calls.Load(), blocks)
		}
		if scored := opt.Scores > 0; scored != (got.Scores != nil) || scored && (got.Scores.Looks != len(l.Looks)-12 || *got.Scores != (rs.ReplayedScores{Looks: got.Scores.Looks, Equal: got.Scores.Looks})) {
			t.Errorf("%s: scores %+v, want those of %d looks behind the selections to be equal", name, got.Scores, len(l.Looks)-12)
		}
		for _, c := range []struct {
			o      rs.ReplayOptions
			images int
		}{{rs.ReplayOptions{Count: 5}, 5}, {rs.ReplayOptions{Images: []int{33, 0}}, 2}, {rs.ReplayOptions{Count: 100}, 12}} {
			if got, err := rs.Replay(t.Context(), opt.Ledger, m, data, c.o); err != nil || got.Images != c.images {
				t.Errorf("%s %+v: %+v, %v", name, c.o, got, err)
			}
		}
		renamed := model{Classifier: m, info: func(i *classifier.Info) { i.Name = "another file" }}
		if got, err := rs.Replay(t.Context(), opt.Ledger, renamed, data, rs.ReplayOptions{Count: 1}); err != nil || got.Images != 1 {
			t.Errorf("%s, a model of another name: %+v, %v", name, got, err)
		}
		first := l.Looks[0].To
		if got, err := rs.Replay(t.Context(), opt.Ledger, m, data, rs.ReplayOptions{Blocks: first}); err != nil || got.Looks != 12 || got.Blocks != 12*first {
			t.Errorf("%s, the selections: %+v, %v", name, got, err)
		}
	}
}

// A shard is replayed like any other ledger, also one that begins in the midst of the blocks.
func TestReplayShards(t *testing.T) {
	m, data := mixed(6)
	for _, by := range []string{ledger.ShardImages, ledger.ShardBlocks} {
		file := shards(t, m, data, mergeOptions["fixed"], by, split(3))[1]
		got, err := rs.Replay(t.Context(), file, m, data, rs.ReplayOptions{})
		if err != nil || got.Blocks == 0 || got.EqualBlocks != got.Blocks {
			t.Errorf("by %s: %+v, %v", by, got, err)
		}
	}
}

func TestReplayFindsFlips(t *testing.T) {
	m, data := mixed(12)
	opt := mergeOptions["staged"]
	opt.Ledger = filepath.Join(t.TempDir(), "l")
	certify(t, m, data, opt)
	l, err := ledgerio.Read(opt.Ledger)
	if err != nil {
		t.Fatal(err)
	}
	blocks := 0
	for _, look := range l.Looks {
		blocks += look.To - look.From
	}
	another := model{Classifier: m, info: func(i *classifier.Info) { i.Identity.Engine = "another" }}
	got, err := rs.Replay(t.Context(), opt.Ledger, nudge{another}, data, rs.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	flippedBlocks := 0
	for _, f := range got.Flips {
		flippedBlocks += f.To - f.From
		sum := f.NowMisses
		for _, c := range f.Now {
			sum += c.N
		}
		if f.Samples < 1 || f.Samples > f.To-f.From || sum != (f.To-f.From)*100 || f.StoredMisses == f.NowMisses {
			t.Errorf("flip %v", f)
		}
	}
	if got.EqualIdentity || len(got.Flips) == 0 || len(got.Flips) == got.Looks || got.EqualBlocks+flippedBlocks != blocks ||
		got.Now.Engine != "another" || got.Stored.Engine != l.Header.Model.Identity.Engine {
		t.Errorf("%+v", got)
	}
	if text := got.Flips[0].String(); !strings.Contains(text, "image ") || !strings.Contains(text, "stored ") || !strings.Contains(text, "misses (noise samples that changed: 1)") {
		t.Error(text)
	}
}

// Scores of another engine that rounds otherwise, and of one that says something else.
func TestReplayFindsOtherScores(t *testing.T) {
	m, data := mixed(12)
	opt := mergeOptions["scores"]
	opt.Ledger = filepath.Join(t.TempDir(), "l")
	certify(t, m, data, opt)
	got, err := rs.Replay(t.Context(), opt.Ledger, duller{m, .05}, data, rs.ReplayOptions{})
	if err != nil || len(got.Flips) != 0 || got.Scores == nil {
		t.Fatalf("%+v, %v", got, err)
	}
	// Every score that is known falls by a twentieth of itself: many into a lower cell, their mean by as much.
	if s := got.Scores; s.Looks == 0 || s.Equal == s.Looks || s.Samples < 1000 || s.Mean > .05 || s.Mean < .01 {
		t.Errorf("%+v", s)
	}
	if err := os.Remove(scorefile.Path(opt.Ledger)); err != nil {
		t.Fatal(err)
	}
	if got, err := rs.Replay(t.Context(), opt.Ledger, m, data, rs.ReplayOptions{}); err != nil || got.Scores != nil || got.EqualBlocks != got.Blocks {
		t.Errorf("without the scores: %+v, %v", got, err)
	}
}

// duller gives less of each score.
type duller struct {
	classifier.Classifier
	less float32
}

func (d duller) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	err := d.Classifier.Classify(ctx, batch, result)
	for i := range result.Scores {
		result.Scores[i] *= 1 - d.less
	}
	return err
}

// nudge makes a miss of the first copy of a batch if that is darker than a grey.
type nudge struct{ classifier.Classifier }

func (n nudge) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	err := n.Classifier.Classify(ctx, batch, result)
	if batch.Grid[0] < 100 && result.Classes[0] != classifier.Miss {
		result.Classes[0] = classifier.Miss
	}
	return err
}

func TestReplayRefuses(t *testing.T) {
	m, data := mixed(12)
	opt := mergeOptions["staged"]
	opt.Ledger = filepath.Join(t.TempDir(), "l")
	certify(t, m, data, opt)
	for field, change := range map[string]func(*model, *memory){
		"model.identity.weights": func(m *model, _ *memory) { m.info = func(i *classifier.Info) { i.Identity.Weights = "other" } },
		"model.classes":          func(m *model, _ *memory) { m.info = func(i *classifier.Info) { i.Classes++ } },
		"data.digest":            func(_ *model, d *memory) { d.Digest = "sha256:other" },
	} {
		mm, images := model{Classifier: m}, *data.Images
		source := memory{&images}
		change(&mm, &source)
		_, err := rs.Replay(t.Context(), opt.Ledger, mm, source, rs.ReplayOptions{})
		var mismatch *ledger.MismatchError
		if !errors.As(err, &mismatch) || mismatch.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := rs.Replay(t.Context(), opt.Ledger, m, data, rs.ReplayOptions{Images: []int{1}}); err == nil || !strings.Contains(err.Error(), "no image 1") {
		t.Errorf("%v", err)
	}
	var option *rule.OptionError
	if _, err := rs.Replay(t.Context(), opt.Ledger, m, data, rs.ReplayOptions{Count: -1}); !errors.As(err, &option) {
		t.Errorf("%v", err)
	}
	broken := model{Classifier: m, before: func(classifier.Batch) error { return errors.New("broken") }}
	if _, err := rs.Replay(t.Context(), opt.Ledger, broken, data, rs.ReplayOptions{Workers: 1}); err == nil || !strings.Contains(err.Error(), "image 0, block 0: broken") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := rs.Replay(ctx, opt.Ledger, m, data, rs.ReplayOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	unknown := altered(t, altered(t, opt.Ledger, `"seed_chosen":false`, `"seed_chosen":true`), `"noise":"grid/1"`, `"noise":"grid/9"`)
	if _, err := rs.Replay(t.Context(), unknown, m, data, rs.ReplayOptions{}); err == nil || !strings.Contains(err.Error(), `the noise is "grid/9"`) {
		t.Errorf("%v", err)
	}
	other := classifier.Constant{Shape: pixel.Shape{Height: 2, Width: 1, Channels: 1}, Classes: 5}
	if _, err := rs.Replay(t.Context(), opt.Ledger, other, data, rs.ReplayOptions{}); err == nil || !strings.Contains(err.Error(), "takes images of") {
		t.Errorf("%v", err)
	}
}
