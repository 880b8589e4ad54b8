package main

import (
	"math"
	"slices"
	"testing"
)

// Without stragglers wall times are known: whole rounds of equal tasks, and what each limit costs.
func TestClusterOfKnownTimes(t *testing.T) {
	known := cluster{workers: 10, perSecond: math.Inf(1), sample: .01, saved: 1e9}
	for _, of := range []struct {
		shards    int
		change    func(c *cluster)
		want, err float64
	}{
		{10, func(*cluster) {}, 3, 0},
		{15, func(*cluster) {}, 6, 0},
		{1000, func(c *cluster) { c.start = 2 }, 500, 0},
		{10_000, func(c *cluster) { c.start, c.fail, c.saved = 2, 1, 0 }, 6000, 60}, // half of 5 s, then 2 s and half of 3 s
		{1000, func(c *cluster) { c.perSecond = 1 }, 12_000, 20},                    // 12 operations a task
		{1000, func(c *cluster) { c.dispatch = 3 }, 3003, 1},
		{10, func(c *cluster) { c.latency = 2 }, 27, 0}, // 6 operations before and 6 behind it
	} {
		c := known
		of.change(&c)
		wall, ideal := c.run(slices.Repeat([]float64{300}, of.shards), 1)
		if math.Abs(wall-of.want) > of.err+1e-6 || math.Abs(ideal-(float64(of.shards)*.3+c.start)) > 1e-6 {
			t.Errorf("%d shards, %+v: %v s, want %v; ideal %v", of.shards, c, wall, of.want, ideal)
		}
	}
}

// A queue of 1,000 shards is within 1.1 of ideal where an array of as many tasks as workers takes more than 1.3.
func TestClusterBalances(t *testing.T) {
	c := usual
	c.workers = 16
	ratio := func(shards, images int) float64 {
		all, err := stagedShards(shards, images, 3)
		if err != nil {
			t.Fatal(err)
		}
		wall, ideal := c.run(all, 3)
		return wall / ideal
	}
	if array, queue := ratio(16, 3125), ratio(1000, 50); array < 1.3 || queue > 1.1 {
		t.Errorf("an array takes %v of ideal, a queue %v", array, queue)
	}
}
