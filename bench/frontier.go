package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"gonum.org/v1/gonum/stat/distuv"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/plotutil"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// frontier is the mean certified radius that a number of noise samples buys, under every rule and for an oracle.
type frontier struct {
	Ledger string          `json:"ledger"`
	Images int             `json:"images"`
	N      int             `json:"n"`
	Price  float64         `json:"price"` // of validity at any time: mean radius of anytime at n samples an image beside that of fixed
	Points []frontierPoint `json:"points"`
}

// frontierPoint is a number of noise samples, as a share of the fixed run's, and the mean radius that it buys.
type frontierPoint struct {
	Rule   string  `json:"rule"`
	Share  float64 `json:"share"`
	Radius float64 `json:"radius"`
	Oracle float64 `json:"oracle"` // at the same share
}

func frontierCommand(s *settings) *cobra.Command {
	var ledgers []string
	var n, runs int
	cmd := &cobra.Command{
		Use:   "frontier",
		Short: "Mean certified radius for a number of noise samples: the rules beside an oracle that knows the probabilities",
		Args:  cobra.NoArgs,
	}
	cmd.Flags().StringSliceVar(&ledgers, "ledger", []string{"notebooks/results/fmnist-cnn-s025-fixed.ledger", "notebooks/results/cifar10-resnet20-s025-staged.ledger"}, "ledgers whose shares of hits are taken for the true probabilities")
	cmd.Flags().IntVar(&n, "n", 100_000, "most noise samples of an image")
	cmd.Flags().IntVar(&runs, "runs", 5, "simulated runs that are averaged")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		var all []frontier
		for _, path := range ledgers {
			f, err := measureFrontier(cmd.Context(), path, n, runs)
			if err != nil {
				return err
			}
			all = append(all, f)
		}
		return writeFrontiers(cmp.Or(s.out, "bench/results/frontier"), all)
	}
	return cmd
}

func measureFrontier(ctx context.Context, path string, n, runs int) (frontier, error) {
	l, err := ledgerio.Read(path)
	if err != nil {
		return frontier{}, err
	}
	probabilities := hitShares(l)
	f := frontier{Ledger: path, Images: len(probabilities), N: n}
	sigma, alpha := l.Header.Sigma, l.Header.Alpha
	oracle := newOracle(probabilities, sigma, alpha, n)
	whole := float64(len(probabilities) * n)
	add := func(name string, samples, radius float64) {
		f.Points = append(f.Points, frontierPoint{name, samples / whole, radius, oracle.radius(samples)})
	}
	base := rule.Settings{Sigma: sigma, Alpha: alpha, MaxSamples: n}
	shares := []float64{.005, .01, .02, .03, .05, .07, .1, .15, .2, .3, .5, .75, 1}

	free := base
	free.Rule = rule.Anytime
	mean := make([]float64, len(shares))
	for run := range runs {
		radii, err := spread(ctx, free, probabilities, shares, whole, uint64(run))
		if err != nil {
			return f, err
		}
		for i, r := range radii {
			mean[i] += r / float64(runs)
		}
	}
	for i, share := range shares {
		add("anytime", share*whole, mean[i])
	}
	for _, share := range shares {
		s := base
		s.Rule, s.MaxSamples = rule.Fixed, stopping.RoundUp(int(share*float64(n)), stopping.DefaultBlock)
		samples, radius, err := simulate(s, probabilities, runs)
		if err != nil {
			return f, err
		}
		add("fixed", samples, radius)
	}
	for _, name := range []ledger.RuleName{rule.Staged, rule.ISS} {
		for _, tolerance := range []float64{.01, .02, .04, .08, .16} {
			s := base
			s.Rule, s.Tolerance = name, tolerance*sigma
			samples, radius, err := simulate(s, probabilities, runs)
			if err != nil {
				return f, err
			}
			add(string(name), samples, radius)
		}
	}
	for _, step := range []float64{1, .5, .25} {
		s := base
		s.Rule = rule.Betting
		for r := step; r <= 3.5; r += step {
			s.Radii = append(s.Radii, r*sigma)
		}
		samples, radius, err := simulate(s, probabilities, runs)
		if err != nil {
			return f, err
		}
		add(fmt.Sprintf("betting, radii %gσ apart", step), samples, radius)
	}
	f.Price, err = price(base, probabilities)
	return f, err
}

// hitShares are the shares of hits behind the selection, by image.
func hitShares(l *ledger.Ledger) (shares []float64) {
	for looks := range l.Images() {
		class, votes, hits, n := int32(-1), 0, 0, 0
		for _, c := range looks[0].Counts {
			if c.N > votes {
				class, votes = c.Class, c.N
			}
		}
		for _, look := range looks[1:] {
			n += (look.To - look.From) * l.Header.Block
			for _, c := range look.Counts {
				if c.Class == class {
					hits += c.N
				}
			}
		}
		if n > 0 {
			shares = append(shares, float64(hits)/float64(n))
		}
	}
	return shares
}

// spread simulates a run under anytime, and gives the mean radius at each share of the samples, those of the selection included.
func spread(ctx context.Context, s rule.Settings, probabilities, shares []float64, whole float64, seed uint64) (radii []float64, err error) {
	plan, err := stopping.New(s)
	if err != nil {
		return nil, err
	}
	queue, err := plan.NewSpread()
	if err != nil {
		return nil, err
	}
	random := rand.New(rand.NewPCG(seed, 1))
	hits, n := make([]int, len(probabilities)), make([]int, len(probabilities))
	used := 0
	draw := func(i, samples int) {
		hits[i] += int(distuv.Binomial{N: float64(samples), P: probabilities[i], Src: random}.Rand())
		n[i] += samples
		used += samples
	}
	for i := range probabilities {
		draw(i, plan.Block())
		used += plan.Selection()
		queue.Put(i, hits[i], n[i])
	}
	state := func() float64 {
		sum := 0.0
		for i := range probabilities {
			if o := outcome(plan, hits[i], n[i]); o.Class != stopping.Abstain {
				sum += o.Radius
			}
		}
		return sum / float64(len(probabilities))
	}
	round := queue.Next()
	for _, share := range shares {
		for ; round != nil; round = queue.Next() {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			size := 0
			for _, part := range round {
				size += part.Samples
			}
			if float64(used+size) > share*whole {
				break
			}
			for _, part := range round {
				draw(part.Image, part.Samples)
				queue.Put(part.Image, hits[part.Image], n[part.Image])
			}
		}
		radii = append(radii, state())
	}
	return radii, nil
}

// outcome is the claim that hits of n samples prove under a plan with one look.
func outcome(plan *stopping.Plan, hits, n int) rule.Outcome {
	selected := plan.Selection() / plan.Block()
	looks := []ledger.Look{
		{To: selected, Counts: []ledger.Count{{N: plan.Selection()}}},
		{From: selected, To: selected + n/plan.Block(), Misses: n - hits, Counts: []ledger.Count{{N: hits}}},
	}
	if hits == 0 {
		looks[1].Counts = nil
	}
	o, err := plan.Judge(looks)
	if err != nil {
		panic(err)
	}
	return o
}

// simulate gives the samples of all images, and their mean radius, averaged over some runs.
func simulate(s rule.Settings, probabilities []float64, runs int) (samples, radius float64, err error) {
	plan, err := stopping.New(s)
	if err != nil {
		return 0, 0, err
	}
	for run := range runs {
		random := rand.New(rand.NewPCG(uint64(run), 2))
		for i, p := range probabilities {
			t := plan.Trial(i, 0)
			for !t.Done() {
				from, to := t.Blocks()
				look := ledger.Look{Image: i, From: from, To: to}
				n := (to - from) * plan.Block()
				hits := int(distuv.Binomial{N: float64(n), P: p, Src: random}.Rand())
				if from == 0 { // the class is the one whose probability is known
					hits = max(1, hits)
				}
				if look.Misses = n - hits; hits > 0 {
					look.Counts = []ledger.Count{{N: hits}}
				}
				if err := t.Add(look); err != nil {
					return 0, 0, err
				}
			}
			samples += float64(t.Passes)
			if t.Class != stopping.Abstain {
				radius += t.Radius
			}
		}
	}
	return samples / float64(runs), radius / float64(runs*len(probabilities)), nil
}

// price is the part of the mean radius that a bound which holds at any time gives up at n samples for every image.
func price(s rule.Settings, probabilities []float64) (float64, error) {
	var mean [2]float64
	for i, name := range []ledger.RuleName{rule.Fixed, rule.Anytime} {
		s.Rule = name
		plan, err := stopping.New(s)
		if err != nil {
			return 0, err
		}
		for _, p := range probabilities {
			if o := outcome(plan, int(p*float64(s.MaxSamples)+.5), s.MaxSamples); o.Class != stopping.Abstain {
				mean[i] += o.Radius
			}
		}
	}
	return 1 - mean[1]/mean[0], nil
}

// oracle knows the probability of every image, and how many samples each should get: by Clopper-Pearson bounds that need no
// correction, since the numbers are fixed beforehand. Its steps follow the concave hulls of radius over
// samples, the steepest first.
type oracle struct {
	images int
	steps  []step
}

type step struct{ samples, radius float64 } // of one image, between two corners of its hull

func newOracle(probabilities []float64, sigma, alpha float64, n int) *oracle {
	o := &oracle{images: len(probabilities)}
	for _, p := range probabilities {
		hull := []step{{}}
		for m := 10; m <= n; m = max(m+1, m*103/100) {
			low, err := bound.Lower(int(p*float64(m)), m, alpha)
			if err != nil {
				panic(err)
			}
			radius, err := bound.Radius(sigma, low)
			if err != nil {
				panic(err)
			}
			at := step{float64(m), radius}
			for len(hull) > 1 && slope(hull[len(hull)-2], hull[len(hull)-1]) <= slope(hull[len(hull)-2], at) {
				hull = hull[:len(hull)-1]
			}
			hull = append(hull, at)
		}
		for i := 1; i < len(hull); i++ {
			if d := (step{hull[i].samples - hull[i-1].samples, hull[i].radius - hull[i-1].radius}); d.radius > 0 {
				o.steps = append(o.steps, d)
			}
		}
	}
	slices.SortStableFunc(o.steps, func(a, b step) int { return cmp.Compare(b.radius/b.samples, a.radius/a.samples) })
	return o
}

func slope(a, b step) float64 { return (b.radius - a.radius) / (b.samples - a.samples) }

// radius is the largest mean radius of so many samples.
func (o *oracle) radius(samples float64) float64 {
	sum := 0.0
	for _, d := range o.steps {
		if d.samples > samples {
			sum += d.radius * samples / d.samples
			break
		}
		sum += d.radius
		samples -= d.samples
	}
	return sum / float64(o.images)
}

func writeFrontiers(out string, all []frontier) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Mean certified radius for a number of noise samples\n\nMade by `go run ./bench frontier`: runs are simulated with the shares of hits of a ledger as the true probabilities. Samples are a share of those of a\nfixed run, the selection counted with ours. The oracle knows the probabilities, spends its samples best, and needs no selection.\n")
	for _, f := range all {
		fmt.Fprintf(&b, "\n## %s, %d images, n ≤ %d\n\nAt %d samples for every image, validity at any time costs %.2f %% of the mean radius.\n\n| rule | samples | mean radius | oracle | share of it |\n| --- | ---: | ---: | ---: | ---: |\n",
			f.Ledger, f.Images, f.N, f.N, 100*f.Price)
		for _, p := range f.Points {
			fmt.Fprintf(&b, "| %s | %.2f %% | %.4f | %.4f | %.1f %% |\n", p.Rule, 100*p.Share, p.Radius, p.Oracle, 100*p.Radius/p.Oracle)
		}
	}
	fmt.Print(b.String())
	for i, f := range all {
		if err := f.draw(fmt.Sprintf("%s-%d.svg", out, i+1)); err != nil {
			return err
		}
	}
	return writeResults(out, all, " ", b.Bytes())
}

// draw draws the oracle and anytime as curves, the other rules as points.
func (f frontier) draw(path string) error {
	p := plot.New()
	p.Title.Text = fmt.Sprintf("%s: mean radius for noise samples", strings.TrimSuffix(filepath.Base(f.Ledger), ".ledger"))
	p.X.Label.Text, p.Y.Label.Text = "noise samples, share of the fixed run's", "mean certified radius"
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.ConstantTicks([]plot.Tick{{Value: .005, Label: "0.5 %"}, {Value: .01, Label: "1 %"}, {Value: .05, Label: "5 %"}, {Value: .1, Label: "10 %"}, {Value: .5, Label: "50 %"}, {Value: 1, Label: "100 %"}})
	lines := []struct {
		name string
		plotter.XYs
	}{{name: "oracle"}, {name: "anytime"}}
	points := map[string]plotter.XYs{}
	for _, at := range f.Points {
		if name, _, _ := strings.Cut(at.Rule, ","); name == "anytime" {
			lines[0].XYs = append(lines[0].XYs, plotter.XY{X: at.Share, Y: at.Oracle})
			lines[1].XYs = append(lines[1].XYs, plotter.XY{X: at.Share, Y: at.Radius})
		} else {
			points[name] = append(points[name], plotter.XY{X: at.Share, Y: at.Radius})
		}
	}
	for i := range lines {
		line, err := plotter.NewLine(lines[i].XYs)
		if err != nil {
			return err
		}
		line.Color, line.Dashes = plotutil.Color(i), plotutil.Dashes(i)
		p.Add(line)
		p.Legend.Add(lines[i].name, line)
	}
	for i, name := range []string{"fixed", "staged", "iss", "betting"} {
		marks, err := plotter.NewScatter(points[name])
		if err != nil {
			return err
		}
		marks.Shape, marks.Color = plotutil.Shape(i), plotutil.Color(2+i)
		p.Add(marks)
		p.Legend.Add(name, marks)
	}
	p.Legend.Left, p.Legend.Top = true, true
	c := vgsvg.New(6*vg.Inch, 4*vg.Inch)
	p.Draw(draw.New(c))
	return atomicfile.Build(path, func(w io.Writer) error {
		_, err := c.WriteTo(w)
		return err
	})
}
