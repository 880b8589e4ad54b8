package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"time"
)

type row struct {
	Name    string    `json:"name"`
	Version string    `json:"version,omitempty"`
	Rates   []float64 `json:"rates,omitempty"` // units per second, one per round
	Rate    float64   `json:"rate,omitempty"`  // their median
	Ratios  []ratio   `json:"ratios,omitempty"`
	Faults  float64   `json:"page_faults,omitempty"` // per unit
	Failed  string    `json:"failed,omitempty"`
}

// ratio compares a row with a reference: the reference's rate by the row's, round by round.
type ratio struct {
	Of     string  `json:"of"` // name of the reference
	Median float64 `json:"median"`
	Low    float64 `json:"low"`
	High   float64 `json:"high"`
}

// table is the outcome of a comparison.
type table struct {
	Title      string `json:"title"`
	References int    `json:"references"`
	Rows       []row  `json:"rows"`
}

// measure lets the contenders take turns, and gives the table after each round to keep, so that nothing is lost where it
// is stopped. One that fails stays in the table with its error.
// Every other round runs in reverse order, so that none always follows the same one.
func measure(ctx context.Context, c comparison, rounds int, turn time.Duration, keep func(table) error) (table,
	error) {
	t := table{Title: c.title, References: c.references, Rows: make([]row, len(c.entries))}
	fail := func(i int, err error) {
		t.Rows[i].Failed = err.Error()
		fmt.Fprintf(os.Stderr, "%s: %s: %v\n", c.title, c.entries[i].name, err)
	}
	for i, e := range c.entries {
		fmt.Fprintf(os.Stderr, "%s: preparing %s\n", c.title, e.name)
		t.Rows[i].Name = e.name
		defer e.Close()
		if err := e.Prepare(ctx); err != nil {
			fail(i, err)
		}
		t.Rows[i].Version = e.Version()
		if err := ctx.Err(); err != nil {
			return t, err
		}
	}
	for round := range rounds {
		for k := range c.entries {
			i := k
			if round%2 == 1 {
				i = len(c.entries) - 1 - k
			}
			if t.Rows[i].Failed != "" {
				continue
			}
			units, elapsed, err := c.entries[i].Run(ctx, turn)
			if ctx.Err() != nil {
				return t, ctx.Err()
			}
			if err != nil {
				fail(i, err)
				continue
			}
			t.Rows[i].Rates = append(t.Rows[i].Rates, units/elapsed.Seconds())
		}
		fmt.Fprintf(os.Stderr, "%s: round %d of %d\n", c.title, round+1, rounds)
		t.compare()
		if err := keep(t); err != nil {
			return t, err
		}
	}
	for i, e := range c.entries {
		if w, ok := e.contender.(*worker); ok {
			t.Rows[i].Faults = w.faultsPerUnit()
		}
	}
	return t, keep(t)
}

// compare fills in medians and ratios.
func (t *table) compare() {
	for i := range t.Rows {
		r := &t.Rows[i]
		if r.Failed != "" {
			r.Rate, r.Ratios = 0, nil
			continue
		}
		r.Rate, r.Ratios = median(r.Rates), nil
		for _, reference := range t.Rows[:t.References] {
			if reference.Failed != "" {
				continue
			}
			ratios := make([]float64, len(r.Rates))
			for k := range ratios {
				ratios[k] = reference.Rates[k] / r.Rates[k]
			}
			r.Ratios = append(r.Ratios, ratio{reference.Name, median(ratios), slices.Min(ratios), slices.Max(ratios)})
		}
	}
}

// median is the middle value, or the mean of the middle two; NaN of none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// keep drops the contenders whose name does not match.
func keep(cases []comparison, pattern string) ([]comparison, error) {
	only, err := regexp.Compile(pattern)
	if err != nil {
		return nil, fmt.Errorf("--only: %w", err)
	}
	var kept []comparison
	for _, c := range cases {
		k := comparison{title: c.title}
		for i, e := range c.entries {
			if !only.MatchString(e.name) {
				continue
			}
			k.entries = append(k.entries, e)
			if i < c.references {
				k.references++
			}
		}
		if len(k.entries) > 0 {
			kept = append(kept, k)
		}
	}
	if len(kept) == 0 {
		return nil, fmt.Errorf("--only %q: no contender has such a name", pattern)
	}
	return kept, nil
}
