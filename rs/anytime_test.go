package rs_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

func anytime(samples int, path string) rs.Options {
	return rs.Options{Sigma: .25, Rule: rs.Anytime, Block: 20, Selection: 40, Seed: 5, Until: rs.Until{Samples: samples}, Ledger: path}
}

// Whatever the workers and the stops: at an equal number of samples the file has the same bytes, and everything in it holds.
func TestAnytimeDoesNotDependOnTheWayThere(t *testing.T) {
	model, data := mixed(80)
	folder := t.TempDir()
	straight := filepath.Join(folder, "straight.ledger")
	opt := anytime(60_000, straight)
	opt.Workers = 1
	run := certify(t, model, data, opt)
	if n := run.Passes(); n > 60_000 || n < 50_000 {
		t.Errorf("%d noise samples of a budget of 60,000", n)
	}
	if v, err := rs.Verify(t.Context(), straight); err != nil || v.Images != 80 {
		t.Fatalf("%v, %v", v, err)
	}

	// In steps, each a budget, some of them stopped in their midst.
	steps := filepath.Join(folder, "steps.ledger")
	rng := rand.New(rand.NewPCG(1, 1))
	for at := 5000; ; at = min(60_000, at+rng.IntN(9000)) {
		opt := anytime(at, steps)
		opt.Workers = 1 + rng.IntN(5)
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rng.IntN(20))*time.Millisecond)
		_, err := rs.Certify(ctx, model, data, opt)
		cancel()
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Fatal(err)
		}
		if l, err := ledgerio.Read(steps); err == nil && l.Claims != nil {
			if _, err := rs.Verify(t.Context(), steps); err != nil { // what stands there holds, whenever it was stopped
				t.Fatal(err)
			}
		}
		if err == nil && at == 60_000 {
			break
		}
	}
	if !bytes.Equal(testkit.Read(t, straight), testkit.Read(t, steps)) {
		t.Error("a run in steps ends with other bytes")
	}

	// A complete one asks the model nothing, a larger budget goes on.
	again := certify(t, unasked{model}, data, anytime(60_000, straight))
	if again.Passes() != run.Passes() {
		t.Errorf("%d noise samples, was %d", again.Passes(), run.Passes())
	}
	more := certify(t, model, data, anytime(90_000, straight))
	if more.ACR().Value <= run.ACR().Value {
		t.Errorf("average radius %v with more samples, was %v", more.ACR().Value, run.ACR().Value)
	}
}

// Shards spread their samples alone; their merge is the run in as many shards.
func TestAnytimeShards(t *testing.T) {
	model, data := mixed(30)
	folder := t.TempDir()
	var files []string
	samples := 0
	for i := range 3 {
		file := filepath.Join(folder, strings.Repeat("i", i+1)+".ledger")
		opt := anytime(8000, file)
		opt.Shard = rs.Shard{Index: i, Count: 3}
		samples += certify(t, model, data, opt).Passes()
		files = append(files, file)
	}
	merged := filepath.Join(folder, "merged.ledger")
	if m, err := rs.Merge(t.Context(), merged, files, false); err != nil || !m.Complete {
		t.Fatalf("%v, %v", m, err)
	}
	run, err := rs.Open(merged)
	if err != nil || run.Passes() != samples || len(run.Rows) != 30 {
		t.Fatalf("%v, %v", run, err)
	}
	if _, err := rs.Verify(t.Context(), merged); err != nil {
		t.Fatal(err)
	}
	_, err = rs.Certify(t.Context(), model, data, anytime(90_000, merged))
	var mismatch *ledger.MismatchError
	if !errors.As(err, &mismatch) || mismatch.Field != "rule.budget" {
		t.Errorf("the merged run goes on unsharded: %v", err)
	}
	one := anytime(0, filepath.Join(folder, "blocks.ledger"))
	one.Until = rs.Until{Samples: 90_000}
	one.Shard = rs.Shard{By: ledger.ShardBlocks, Index: 0, Count: 3}
	if _, err := rs.Certify(t.Context(), model, data, one); err == nil {
		t.Error("a shard by blocks is certified")
	}
}

func TestAnytimeEnds(t *testing.T) {
	model, data := mixed(40)
	for i, v := range data.Pixels { // the right labels, as far as the noise lets see
		data.Labels[i] = min(4, int(v)/51)
	}
	opt := anytime(0, "")
	opt.Sigma = .05
	opt.Until = rs.Until{Radius: .04}
	run := certify(t, model, data, opt)
	if got := run.ACR().Value; got < .04 || got > .045 {
		t.Errorf("average radius %v, want .04 and little more", got)
	}
	opt.Until = rs.Until{Share: .9, At: .03}
	run = certify(t, model, data, opt)
	bands, err := run.Bands(.01, .03)
	if err != nil {
		t.Fatal(err)
	}
	if at := run.CertifiedAccuracy(.03)[0].Value; !(bands.Accuracy[0].Lower <= at && at <= bands.Accuracy[0].Upper) || bands.Failures < 1 {
		t.Errorf("certified accuracy %v, bands %+v", at, bands)
	}
	opt.Until = rs.Until{Time: 30 * time.Millisecond}
	if run := certify(t, model, data, opt); !run.Complete() {
		t.Error("not every image has begun")
	}
}

func TestAnytimeRefuses(t *testing.T) {
	model, data := mixed(40)
	for name, c := range map[string]struct {
		change func(*rs.Options)
		want   string
	}{
		"no end":            {func(o *rs.Options) { o.Until = rs.Until{} }, "nothing is set"},
		"too little":        {func(o *rs.Options) { o.Until.Samples = 2399 }, "40 images need 60 each to begin with, 2400 in all"},
		"scores":            {func(o *rs.Options) { o.Scores = 10; o.Ledger = filepath.Join(t.TempDir(), "a") }, "no bound on scores"},
		"an end elsewhere":  {func(o *rs.Options) { o.Rule = rs.Staged }, "has an end of its own"},
		"a share too large": {func(o *rs.Options) { o.Until = rs.Until{Share: 1.5} }, "the share is 1.5"},
		"a tolerance":       {func(o *rs.Options) { o.Tolerance = .1 }, "Tolerance is set"},
	} {
		opt := anytime(10_000, "")
		c.change(&opt)
		if _, err := rs.Certify(t.Context(), model, data, opt); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// unasked is a model that must not be asked.
type unasked struct{ classifier.Classifier }

func (unasked) Classify(context.Context, classifier.Batch, *classifier.Result) error {
	return errors.New("the model is asked")
}

// Where the noise samples of an image depend on other images, scores prove no calibration of a population: none are kept.
func TestAnytimeKeepsNoScores(t *testing.T) {
	model, data := mixed(4)
	opt := anytime(1000, filepath.Join(t.TempDir(), "x.ledger"))
	opt.Scores = 10
	if _, err := rs.Certify(t.Context(), model, data, opt); err == nil || !strings.Contains(err.Error(), "no bound on scores") {
		t.Errorf("%v", err)
	}
}
