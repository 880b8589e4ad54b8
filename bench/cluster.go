package main

import (
	"cmp"
	"container/heap"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	prettytable "github.com/jedib0t/go-pretty/v6/table"
	"github.com/spf13/cobra"

	"github.com/certspec/certspec/rs"
)

func init() { extra = append(extra, clusterCommand) }

// cluster is a simulated one, in seconds of simulated time. A queue hands the next task to the next free worker; that
// is what HyperQueue does. An array with as many tasks as workers has nothing left to hand out.
type cluster struct {
	workers   int
	spread    float64 // σ of the logarithm of a worker's slowness, and of each task's
	fail      float64 // share of tasks that die once, somewhere
	dispatch  float64 // that the scheduler takes for a task, one after the other
	latency   float64 // of an operation on the shared file system
	perSecond float64 // operations that it serves, of all workers together
	start     float64 // of a task: program, model, index of the set
	sample    float64 // of a noise sample
	saved     float64 // time between two syncs of a ledger: what a task that dies loses
}

// operations on the shared file system: those of a task's start and end, and of a sync.
const taskOperations, syncOperations = 12, 2

// workerAt is a worker that is free at a time.
type workerAt struct {
	at, slow   float64
	operations float64 // at the end of its task, before it is free
}

type byTime []workerAt

func (q byTime) Len() int           { return len(q) }
func (q byTime) Less(i, j int) bool { return q[i].at < q[j].at }
func (q byTime) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *byTime) Push(x any)        { *q = append(*q, x.(workerAt)) }
func (q *byTime) Pop() any {
	last := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return last
}

// run gives the wall time of shards with so many noise samples each, and the ideal: all noise samples on all workers
// at their speeds, and one start.
func (c cluster) run(shards []float64, seed uint64) (wall, ideal float64) {
	random := rand.New(rand.NewPCG(seed, 43))
	lognormal := func() float64 { return math.Exp(c.spread*random.NormFloat64() - c.spread*c.spread/2) }
	queue := make(byTime, c.workers)
	speed := 0.0
	for i := range queue {
		queue[i].slow = lognormal()
		speed += 1 / queue[i].slow
	}
	heap.Init(&queue)
	var scheduler, server float64          // when each is free again
	files := func(at, n float64) float64 { // n operations from a time on
		server = max(server, at) + n/c.perSecond
		return max(server, at+n*c.latency)
	}
	tasks := slices.Clone(shards)
	for k := 0; len(queue) > 0; { // in the order of time
		w := heap.Pop(&queue).(workerAt)
		if w.operations > 0 {
			w.at = files(w.at, w.operations)
			wall = max(wall, w.at)
		}
		if k == len(tasks) {
			continue
		}
		scheduler = max(scheduler, w.at) + c.dispatch
		work := (c.start + tasks[k]*c.sample) * w.slow * lognormal()
		if k < len(shards) {
			ideal += tasks[k] * c.sample
			if random.Float64() < c.fail { // what was synced stays; the rest comes again, at the end of the queue
				done := random.Float64()
				left := min(1, 1-done+c.saved/max(work, c.saved))
				tasks = append(tasks, tasks[k]*left)
				work *= done
			}
		}
		w.at = files(scheduler, taskOperations/2) + work
		w.operations = taskOperations/2 + syncOperations*math.Floor(work/max(c.saved, 1))
		heap.Push(&queue, w)
		k++
	}
	return wall, ideal/speed + c.start
}

// stagedShards are the noise samples of shards of equal numbers of images under the rule staged, up to n = 100,000: the
// probability of an image's class is spread as in the pilot of a network of middling accuracy.
func stagedShards(shards, images int, seed uint64) ([]float64, error) {
	plan, err := rs.Options{Sigma: .25, MaxSamples: 100_000}.Plan()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 44))
	var cost []float64
	for i := range 1000 { // of an image, by its probability
		n, _ := plan.Forecast(.3 + .7*float64(i)/999)
		cost = append(cost, float64(n))
	}
	all := make([]float64, shards)
	for s := range all {
		for range images {
			all[s] += cost[int(999*math.Sqrt(random.Float64()))] // more images are sure than not
		}
	}
	return all, nil
}

func clusterCommand(s *settings) *cobra.Command {
	return &cobra.Command{Use: "cluster",
		Short: "Simulate shards on 1,000 workers: wall time over ideal, and what breaks first",
		Args:  cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
			list, err := clusters()
			if err != nil {
				return err
			}
			return writeClusters(*s, list)
		}}
}

// simulated is one line of the table.
type simulated struct {
	What   string  `json:"what"`
	Shards int     `json:"shards"`
	Images int     `json:"images_each"`
	Ideal  float64 `json:"ideal_hours"`
	Ratio  float64 `json:"wall_over_ideal"`
	Most   float64 `json:"most_wall_over_ideal"` // of five seeds
}

// usual is a cluster of 1,000 GPUs: 500 noise samples a second, 5 s to start, a file system of 5 ms and 5,000
// operations a second, 1 ms of the scheduler for a task.
var usual = cluster{workers: 1000, spread: .2, fail: .01, dispatch: .001, latency: .005, perSecond: 5000, start: 5,
	sample: 1. / 500, saved: 60}

func clusters() (list []simulated, err error) {
	with := func(change func(c *cluster)) cluster {
		c := usual
		change(&c)
		return c
	}
	few := with(func(c *cluster) { c.workers = 16 })
	for _, of := range []struct {
		what           string
		c              cluster
		shards, images int
	}{
		{"an array of as many tasks as workers", usual, 1000, 50},
		{"an array of 16 tasks on 16 workers", few, 16, 3125},
		{"the queue, 16 workers", few, 1000, 50},
		{"the queue", usual, 10_000, 5},
		{"the queue", usual, 100_000, 5},
		{"no stragglers", with(func(c *cluster) { c.spread = 0 }), 10_000, 5},
		{"no failures", with(func(c *cluster) { c.fail = 0 }), 10_000, 5},
		{"stragglers with σ = 1", with(func(c *cluster) { c.spread = 1 }), 10_000, 5},
		{"10 % fail", with(func(c *cluster) { c.fail = .1 }), 10_000, 5},
		{"file system of 500 operations a second", with(func(c *cluster) { c.perSecond = 500 }), 100_000, 5},
		{"file system of 50 operations a second", with(func(c *cluster) { c.perSecond = 50 }), 100_000, 5},
		{"latency of 1 s", with(func(c *cluster) { c.latency = 1 }), 10_000, 5},
		{"scheduler that takes .1 s for a task", with(func(c *cluster) { c.dispatch = .1 }), 100_000, 5},
		{"shards of one image", usual, 100_000, 1},
	} {
		one := simulated{What: of.what, Shards: of.shards, Images: of.images}
		const seeds = 5
		for seed := range uint64(seeds) {
			shards, err := stagedShards(of.shards, of.images, seed)
			if err != nil {
				return nil, err
			}
			wall, ideal := of.c.run(shards, seed)
			one.Ratio += wall / ideal / seeds
			one.Ideal += ideal / 3600 / seeds
			one.Most = max(one.Most, wall/ideal)
		}
		fmt.Fprintf(os.Stderr, "%s, %d shards: %.3f\n", one.What, one.Shards, one.Ratio)
		list = append(list, one)
	}
	return list, nil
}

func writeClusters(s settings, list []simulated) error {
	w := prettytable.NewWriter()
	w.AppendHeader(prettytable.Row{"what", "shards", "images each", "ideal, h", "wall/ideal", "largest of 5"})
	for _, one := range list {
		w.AppendRow(prettytable.Row{one.What, one.Shards, one.Images, fmt.Sprintf("%.2f", one.Ideal),
			fmt.Sprintf("%.2f", one.Ratio), fmt.Sprintf("%.2f", one.Most)})
	}
	worst := slices.SortedFunc(slices.Values(list[3:]), func(a, b simulated) int {
		return cmp.Compare(b.Ratio, a.Ratio)
	})
	var breaks []string
	for _, one := range worst[:3] {
		breaks = append(breaks, fmt.Sprintf("%s (%.1f)", one.What, one.Ratio))
	}
	return writeMeasured(s, "cluster",
		fmt.Sprintf("Simulated time, not measured: %d workers, the rule staged up to n = 100,000, 500 noise samples a "+
			"second, 5 s to start a task. The slowness of workers and of tasks is lognormal with σ = %.1f "+
			"each; %.0f %% of tasks die once and lose what their ledger had not synced (every 60 s). A shared "+
			"file system answers in 5 ms and serves 5,000 operations a second, %d for a task and %d for a "+
			"sync; the scheduler takes 1 ms for a task. Other lines change one number. “Ideal” is all noise "+
			"samples on all workers at their speeds, and one start. What costs most: %s.",
			usual.workers, usual.spread, 100*usual.fail, taskOperations, syncOperations,
			strings.Join(breaks, ", ")), w, list)
}
