package rs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/flat"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/rs/rule"
)

// named is a model of which the name and the identity are known.
type named struct{ info classifier.Info }

func (n named) Info() (classifier.Info, error) { return n.info, nil }
func (n named) Close() error                   { return nil }
func (n named) Classify(context.Context, classifier.Batch, *classifier.Result) error {
	return fmt.Errorf("%s was asked", n.info.Name)
}

// Options that say what the header of a committed ledger says find its run: the same plan, and the same seed, which is
// derived from it.
func TestFinishedFindsCommittedLedgers(t *testing.T) {
	var paths []string
	for _, pattern := range []string{"testdata/*.ledger", "../internal/golden/testdata/rs-*.ledger",
		"../notebooks/results/*.ledger", "../notebooks/results/*/*.ledger"} {
		found, _ := filepath.Glob(pattern)
		paths = append(paths, found...)
	}
	seen, derived := 0, 0
	for _, path := range paths {
		run, err := rs.Open(path)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		h := run.Header
		if h.Rule.Name == rs.Anytime || h.Shard != nil || !run.Complete() {
			continue
		}
		images := imageset.Images{Name: h.Data.Name}
		for _, row := range run.Rows {
			images.IDs, images.Labels = append(images.IDs, row.Image), append(images.Labels, row.Label)
		}
		o := optionsOf(t, &h)
		o.Ledger = path
		again, err := rs.Finished(t.Context(), named{h.Model}, func(context.Context) (*imageset.Images, error) {
			return &images, nil
		}, o)
		if err != nil || again == nil || again.Header.Seed != h.Seed || len(again.Rows) != len(run.Rows) {
			t.Errorf("%s is not found: %v", path, err)
		}
		o.Tolerance, o.MaxSamples = 0, 2*o.MaxSamples
		if again, err := rs.Finished(t.Context(), named{h.Model}, func(context.Context) (*imageset.Images, error) {
			return &images, nil
		}, o); err == nil && again != nil && h.Rule.Name != rs.Betting {
			t.Errorf("%s is taken for a run of other settings", path)
		}
		seen++
		if !h.SeedChosen {
			derived++
		}
	}
	if seen < 50 || derived < 20 {
		t.Errorf("%d ledgers, %d of a derived seed: this test looks in the wrong place", seen, derived)
	}
}

func optionsOf(t *testing.T, h *ledger.Header) rs.Options {
	law, _, _ := strings.Cut(string(h.Noise), "/")
	o := rs.Options{Sigma: h.Sigma, Alpha: h.Alpha, Rule: h.Rule.Name, MaxSamples: h.MaxSamples(), Selection: h.Selection,
		Block: h.Block, Tolerance: h.Rule.Tolerance, Relative: h.Rule.Relative, Futility: h.Rule.Futility,
		Noise: noise.Law(law)}
	for _, target := range h.Rule.Targets {
		o.Radii = append(o.Radii, target.Radius)
	}
	if h.SeedChosen {
		o.Seed = h.Seed
	}
	if kind, cells, ok := strings.Cut(h.Scores, "/"); ok {
		if _, err := fmt.Sscan(cells, &o.Scores); err != nil || kind != "uniform" && kind != "top" {
			t.Fatalf("scores %q: %v", h.Scores, err)
		}
		o.TopScores = kind == "top"
	}
	return o
}

func TestOptionsHaveAllSettings(t *testing.T) {
	if err := flat.Check(rs.Options{}, rule.Settings{}); err != nil {
		t.Error(err)
	}
}
