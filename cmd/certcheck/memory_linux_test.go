package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	asking "github.com/certspec/certspec/internal/rs/query"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

type oneImage struct{ *imageset.Images }

func (o oneImage) Load(context.Context) (*imageset.Images, error) { return o.Images, nil }

// A ledger whose counts take more than the memory is checked and asked: claims alone are kept.
func TestLedgerLargerThanMemory(t *testing.T) {
	const (
		images  = 600
		classes = 20_000 // each with a count in the look of every image: 192 MB
	)
	if testing.Short() {
		t.Skip("-short: writes 90 MB")
	}
	path := testkit.Given()
	if path == "" {
		path = filepath.Join(t.TempDir(), "large.ledger")
		writeLarge(t, path, images, classes)
		testkit.Limited(t, "ulimit -d 160000", path, "GOMAXPROCS=2", "GOMEMLIMIT=60MiB")
		return
	}
	a, err := asking.Ask(t.Context(), path, asking.Question{TopK: 2, Share: .1})
	if err != nil {
		t.Fatal(err)
	}
	var claims bytes.Buffer
	if err := a.Write(&claims, []float64{0}, nil, nil); err != nil {
		t.Fatal(err)
	}
	file := testkit.Write(t, claims.Bytes(), filepath.Dir(path), "claims")
	var out, errs bytes.Buffer
	if code := run([]string{"--claims", file, path}, &out, &errs); code != 0 || !strings.Contains(out.String(), "all 600 claims follow") {
		t.Errorf("code %d: %s%s", code, &out, &errs)
	}
}

// writeLarge writes a ledger in which every class is counted once for each image, and class 3 as often as all others.
func writeLarge(t *testing.T, path string, images, classes int) {
	t.Helper()
	im := oneImage{&imageset.Images{Name: "one", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, IDs: []int{0}, Labels: []int{-1}, Pixels: []uint8{0}}}
	for range 2 {
		im.Classes = append(im.Classes, "")
	}
	first := path + ".first"
	small, err := rs.Certify(t.Context(), classifier.Step{Shape: im.Shape, Thresholds: []float64{.5}}, im, rs.Options{Ledger: first, Seed: 1,
		Sigma: .25, Rule: rs.Fixed, MaxSamples: 2 * classes})
	if err != nil {
		t.Fatal(err)
	}
	h := small.Header
	h.Data.Images, h.Model.Classes = images, classes
	plan, err := stopping.Of(h)
	if err != nil {
		t.Fatal(err)
	}
	w, _, err := ledgerio.Open(path, h)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	blocks := plan.Selection() / plan.Block()
	counts := make([]ledger.Count, classes)
	for i := range counts {
		counts[i] = ledger.Count{Class: int32(i), N: 1}
	}
	counts[3].N += classes
	var all []ledger.Claim
	for i := range images {
		looks := []ledger.Look{{Image: i, Label: -1, To: blocks, Counts: []ledger.Count{{Class: 3, N: plan.Selection()}}},
			{Image: i, Label: -1, From: blocks, To: blocks + 2*classes/plan.Block(), Counts: counts}}
		out, err := plan.Judge(looks)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, stopping.Claim(out, i))
		for _, l := range looks {
			w.Append(l)
		}
		if err := w.Sync(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(ledger.Claims{Images: all}); err != nil {
		t.Fatal(err)
	}
}
