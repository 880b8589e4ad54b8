package plan

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// The networks of an estimate are timed once on a machine: the next plan takes what the cache has, while it is young.
func TestRatesAreRemembered(t *testing.T) {
	t.Setenv(cache.Variable, t.TempDir())
	file := filepath.Join(t.TempDir(), "many.yaml")
	text := `recipes:
  many/base: {from: sun2021/c10/g, abstract: true, epochs: 1, seeds: [1]}
  many/m-$weight: {from: many/base, title: $weight, method: jsd, views: augmix, options: {views: 3, weight: $weight}, each: {weight: [` +
		strings.Trim(strings.Repeat("%d,", 30), ",") + `]}}
tables:
  many/table: {title: Many, rows: ["many/*"], measure: {clean: true}}
`
	weights := make([]any, 30)
	for i := range weights {
		weights[i] = i + 1
	}
	testkit.Write(t, fmt.Appendf(nil, text, weights...), file)
	estimate := func() Estimate {
		e, err := Plan(Options{Folder: t.TempDir(), Table: "many/table", Tier: "fast", Add: []string{file}})
		if err != nil {
			t.Fatal(err)
		}
		got, err := e.Estimate(t.Context(), false)
		if err != nil || len(got.Rates) != 1 || got.Jobs != 60 {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	first := estimate()
	if again := estimate(); again.Rates[0] != first.Rates[0] { // two timings never agree to the last digit
		t.Errorf("%+v, then %+v", first.Rates, again.Rates)
	}
	files, _ := filepath.Glob(filepath.Join(os.Getenv(cache.Variable), "rates", "*"))
	if len(files) != 1 {
		t.Fatal(files)
	}
	var recent []recentRate
	if _, err := measure.ReadJSON(files[0], &recent); err != nil || len(recent) != 1 {
		t.Fatalf("%+v, %v", recent, err)
	}
	recent[0].Training, recent[0].At = 12345, time.Now().Add(-rateHolds-time.Minute)
	if err := store.WriteJSON(files[0], recent); err != nil {
		t.Fatal(err)
	}
	if late := estimate(); late.Rates[0].Training == 12345 {
		t.Error("an old rate was taken")
	}
}

// compiling is a model whose clock stands still but for a second of compiling in its first call and a millisecond an image.
type compiling struct {
	now    time.Time
	called bool
}

func (c *compiling) Info() (classifier.Info, error) {
	return classifier.Info{Name: "compiling", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 2,
		Identity: classifier.Identity{Weights: "none", Engine: "toy"}}, nil
}

func (c *compiling) Classify(_ context.Context, b classifier.Batch, r *classifier.Result) error {
	if !c.called {
		c.now, c.called = c.now.Add(10*time.Second), true
	}
	c.now = c.now.Add(time.Duration(b.N) * time.Millisecond)
	clear(r.Classes[:b.N])
	return nil
}

// What an engine compiles is no part of what a noise sample takes.
func TestRatesAreOfCompiledNetworks(t *testing.T) {
	var c compiling
	images := &dataset.Images{Name: "grey", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: []string{"a", "b"},
		IDs: []int{0, 1, 2, 3, 4, 5, 6, 7}, Labels: make([]int, 8), Pixels: make([]byte, 8)}
	rate, err := certifyingRate(t.Context(), &c, images, 0.25, func() time.Time { return c.now })
	if err != nil || rate < 500 || rate > 1001 { // 1,000, less what fills a batch
		t.Errorf("%v noise samples/s, %v; want some 1,000", rate, err)
	}
}
