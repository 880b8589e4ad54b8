package main

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

// fixed is a contender with given rates, one per round; it logs its turns.
type fixed struct {
	name  string
	rates []float64
	err   error // of Prepare
	log   *[]string
	turn  int
}

func (f *fixed) Prepare(context.Context) error { return f.err }
func (f *fixed) Version() string               { return "v1" }
func (f *fixed) Close()                        { *f.log = append(*f.log, "close "+f.name) }
func (f *fixed) Run(_ context.Context, d time.Duration) (float64, time.Duration, error) {
	*f.log = append(*f.log, f.name)
	if f.turn >= len(f.rates) {
		return 0, 0, errors.New("worn out")
	}
	f.turn++
	return f.rates[f.turn-1] * 2, 2 * time.Second, nil
}

func TestMeasure(t *testing.T) {
	var log []string
	a := &fixed{name: "a", rates: []float64{100, 60, 80}, log: &log}
	b := &fixed{name: "b", rates: []float64{50, 20, 80}, log: &log}
	c := &fixed{name: "c", err: errors.New("no compiler"), log: &log}
	d := &fixed{name: "d", rates: []float64{1}, log: &log}
	var written []int
	got, err := measure(context.Background(), comparison{"test", 1, []entry{{"a", a}, {"b", b}, {"c", c}, {"d", d}}}, 3, time.Second, func(t table) error {
		written = append(written, len(t.Rows[0].Rates))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(written, []int{1, 2, 3, 3}) { // rounds behind what was kept
		t.Errorf("kept after rounds %v", written)
	}
	// Turns within a round, every other round reversed; a contender that failed is not asked again.
	want := "a b d d b a a b close d close c close b close a"
	if turns := strings.Join(log, " "); turns != want {
		t.Errorf("turns: %s\nwant:  %s", turns, want)
	}
	// By hand: ratios of a to b are 100/50, 60/20, 80/80.
	for i, want := range []row{
		{Rate: 80, Ratios: []ratio{{"a", 1, 1, 1}}},
		{Rate: 50, Ratios: []ratio{{"a", 2, 1, 3}}},
		{Failed: "no compiler"},
		{Failed: "worn out"},
	} {
		r := got.Rows[i]
		if r.Rate != want.Rate || !slices.Equal(r.Ratios, want.Ratios) || r.Failed != want.Failed {
			t.Errorf("row %s: got %+v, want %+v", r.Name, r, want)
		}
	}
}

func TestMeasureStops(t *testing.T) {
	var log []string
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := measure(ctx, comparison{"test", 1, []entry{{"a", &fixed{name: "a", log: &log}}}}, 1, time.Second, func(table) error { return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if !slices.Equal(log, []string{"close a"}) {
		t.Errorf("log %v, want the contender closed and never run", log)
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{{[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}, {[]float64{7}, 7}} {
		if got := median(c.values); got != c.want {
			t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
		}
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median of nothing = %v, want NaN", got)
	}
}

func TestReportMarkdown(t *testing.T) {
	r := report{
		Benchmark: "certify", Command: "go run ./bench certify", Date: "2026-01-02", Unit: "noise samples", Rounds: 3, Turn: "1s",
		Tables: []table{{Title: "ResNet-20", References: 2, Rows: []row{
			{Name: "ours", Rate: 4180, Ratios: []ratio{{"ours", 1, 1, 1}}},
			{Name: "ours, other", Failed: "no library"},
			{Name: "theirs", Version: "1.2", Rate: 2600.4, Ratios: []ratio{{"ours", 1.607, 1.5, 1.7}}},
		}}},
	}
	got := string(r.markdown())
	for _, want := range []string{
		"`go run ./bench certify` on 2026-01-02",
		"## ResNet-20",
		"|  | contender | noise samples/s | ratio of 1 | ratio of 2 | version |",
		"| 1 | ours | 4180 | 1.00 (1.00–1.00) |  |  |",
		"| 2 | ours, other | failed |  |  | no library |",
		"| 3 | theirs | 2600 | 1.61 (1.50–1.70) |  | 1.2 |",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
}

func TestKeep(t *testing.T) {
	cases := func() []comparison {
		return []comparison{{"one", 1, []entry{{name: "PyTorch eager"}, {name: "JAX"}}}, {"two", 1, []entry{{name: "JAX"}}}}
	}
	kept, err := keep(cases(), "Torch")
	if err != nil || len(kept) != 1 || len(kept[0].entries) != 1 || kept[0].entries[0].name != "PyTorch eager" || kept[0].references != 1 {
		t.Errorf("kept %v, %v; want PyTorch of the first comparison only", kept, err)
	}
	for _, pattern := range []string{"Keras", "("} {
		if _, err := keep(cases(), pattern); err == nil {
			t.Errorf("pattern %q: no error", pattern)
		}
	}
}
