package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/compare"
)

// radiiWorld is a law of images that two models are certified on, σ = 0.25, α = 0.001, with 300 noise samples.
type radiiWorld struct {
	Name   string  `json:"name"`
	Images int     `json:"images"`
	Top    float64 `json:"top"`   // share of images whose votes all agree
	Moved  float64 `json:"moved"` // share of images that the second model answers worse
	By     float64 `json:"by"`    // by how much, of the normal quantile of the share of votes
}

const (
	worldSamples = 300
	worldWrong   = 0.03 // share of images with a wrong class
)

// radiiWorlds have most images at the cap.
func radiiWorlds() (all []radiiWorld) {
	for _, kind := range []radiiWorld{{Name: "seeds alone"}, {Name: "all a little worse", Moved: .3, By: .3},
		{Name: "few much worse", Moved: .05, By: 3}} {
		for _, images := range []int{30, 60, 100, 500} {
			for _, top := range []float64{.95, .8, .6, .3} {
				kind.Images, kind.Top = images, top
				all = append(all, kind)
			}
		}
	}
	return all
}

// image draws the probability of the right class under noise for both models.
func (w radiiWorld) image(random *rand.Rand) (a, b float64) {
	quantile := quantileAt(random.Float64())
	switch x := random.Float64(); {
	case x < w.Top:
		quantile = agreed
	case x < w.Top+worldWrong:
		quantile = wrong
	}
	worse := quantile
	if random.Float64() < w.Moved {
		worse = w.worse(quantile)
	}
	return lines.Phi(quantile), lines.Phi(worse)
}

// Normal quantiles of the probability of the right class: where all votes agree, of a wrong class, and of all others.
const agreed, wrong = 6, -2

func quantileAt(u float64) float64 { return -1 + 4*u }

func (w radiiWorld) worse(quantile float64) float64 { return min(quantile, 3.5) - w.By }

// truth is the average radius of infinitely many images, and by how much the second model's is larger.
func (w radiiWorld) truth(radii []float64) (average, difference float64) {
	add := func(share, quantile float64) {
		x := expected(lines.Phi(quantile), radii)
		average += share * x
		difference += share * w.Moved * (expected(lines.Phi(w.worse(quantile)), radii) - x)
	}
	rest := 1 - w.Top
	add(w.Top, agreed)
	add(min(rest, worldWrong), wrong)
	const steps = 2000
	for i := range steps {
		add(max(0, rest-worldWrong)/steps, quantileAt((float64(i)+.5)/steps))
	}
	return average, difference
}

// radiiCoverage counts intervals that hold the truth, by what compare takes and by percentiles of the bootstrap.
type radiiCoverage struct {
	radiiWorld
	Trials      int    `json:"trials"`
	Differences [2]int `json:"differences"` // of the average radius
	Averages    [2]int `json:"averages"`
}

// cover draws images and counts for both models.
func (w radiiWorld) cover(ctx context.Context, trials int, radii []float64, b resample.Options) (radiiCoverage,
	error) {
	c := radiiCoverage{radiiWorld: w, Trials: trials}
	random := rand.New(rand.NewPCG(b.Seed, 79))
	truth, difference := w.truth(radii)
	for trial := range trials {
		var ids, labels []int
		var first, second, apart []float64
		for i := range w.Images {
			p, q := w.image(random)
			x, y := drawRadius(p, radii, random), drawRadius(q, radii, random)
			ids, labels, apart = append(ids, i), append(labels, 0), append(apart, y-x)
			first, second = append(first, x), append(second, y)
		}
		b.Seed = uint64(trial)
		x, y := compare.Of(ids, labels, first), compare.Of(ids, labels, second)
		both, err := compare.Runs(ctx, x, y, nil, b)
		if err != nil {
			return c, err
		}
		average, err := compare.ACR(ctx, x, b)
		if err != nil {
			return c, err
		}
		count := func(hits *int, i resample.Interval, truth float64) {
			const rounding = 1e-12
			if i.Low-rounding <= truth && truth <= i.High+rounding {
				*hits++
			}
		}
		count(&c.Differences[0], both.ACR.Interval, difference)
		count(&c.Averages[0], average, truth)
		for _, o := range []struct {
			hits   *int
			values []float64
			truth  float64
		}{{&c.Differences[1], apart, difference}, {&c.Averages[1], first, truth}} {
			found, err := resample.Means(ctx, o.values, 1, b)
			if err != nil {
				return c, err
			}
			count(o.hits, found[0].Interval, o.truth)
		}
	}
	return c, nil
}

// radiiByHits are the radii of 0 to all hits.
func radiiByHits() (radii []float64, err error) {
	for hits := range worldSamples + 1 {
		lower, err := bound.Lower(hits, worldSamples, .001)
		if err != nil {
			return nil, err
		}
		radius, err := bound.Radius(.25, lower)
		if err != nil {
			return nil, err
		}
		radii = append(radii, radius)
	}
	return radii, nil
}

func drawRadius(p float64, radii []float64, random *rand.Rand) float64 {
	return radii[int(distuv.Binomial{N: worldSamples, P: p, Src: random}.Rand())]
}

// expected is the mean radius of an image with this probability.
func expected(p float64, radii []float64) (mean float64) {
	law := distuv.Binomial{N: worldSamples, P: p}
	for hits := worldSamples; hits >= 0 && radii[hits] > 0; hits-- {
		mean += radii[hits] * law.Prob(float64(hits))
	}
	return mean
}

// coverRadii counts for all worlds, and writes after each.
func (c *coverage) coverRadii(ctx context.Context, path string) error {
	radii, err := radiiByHits()
	if err != nil {
		return err
	}
	var all []radiiCoverage
	for _, w := range radiiWorlds() {
		found, err := w.cover(ctx, c.Trials, radii, resample.Options{Resamples: c.Resamples, Seed: 1})
		if err != nil {
			return fmt.Errorf("coverage: %s, %d images: %w", w.Name, w.Images, err)
		}
		all = append(all, found)
		say("%d of %d: %s, %d images", len(all), len(radiiWorlds()), w.Name, w.Images)
		if err := c.writeRadii(path, all); err != nil {
			return err
		}
	}
	return nil
}

func (c *coverage) writeRadii(path string, all []radiiCoverage) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "# Coverage of the intervals of average radii\n\n"+
		"Made by `go run ./bench coverage --radii --trials %d --resamples %d`. Share of 95 %% intervals that hold the "+
		"truth, over sets of images that are drawn: a share of 95 %% has a standard error of %.1f %%. σ = 0.25, α = "+
		"0.001, n = 300. “At the cap” is the share of images whose votes all agree; 3 %% of the images are wrong. "+
		"“Seeds alone” are two runs of one network: its intervals should hold 0.\n\n"+
		"`certspec ledger compare` and `certspec report` take Student's t for fewer than %d images, with fewer "+
		"degrees of freedom where fewer than ten images differ, and count images at the cap; else percentiles of "+
		"the bootstrap. Beside it those percentiles alone. Where few images are much worse, a small set may have "+
		"none of them, and no interval knows: take at least %[4]d images.\n\n"+
		"| world | images | at the cap | difference | by percentiles | average | by percentiles |\n"+
		"|---|---|---|---|---|---|---|\n",
		c.Trials, c.Resamples, 100*math.Sqrt(0.95*0.05/float64(c.Trials)), compare.LeastImages)
	for _, r := range all {
		fmt.Fprintf(&b, "| %s | %d | %g %% |", r.Name, r.Images, 100*r.Top)
		for _, k := range []int{r.Differences[0], r.Differences[1], r.Averages[0], r.Averages[1]} {
			fmt.Fprintf(&b, " %.1f %% |", 100*float64(k)/float64(r.Trials))
		}
		b.WriteString("\n")
	}
	return writeResults(path, all, "  ", b.Bytes())
}
