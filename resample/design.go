package resample

import (
	"math/rand/v2"
	"slices"
)

// Design says how a resample is drawn.
type Design struct {
	units    [3]int // that are drawn: places of one or two samples, images and models, or clusters
	clusters [][]int
	models   int // which of the units are models; 0: none, as models never come first
	seeded   bool
}

// Paired is a design of one sample of n places, or of several samples that are paired by place.
func Paired(n int) Design { return Design{units: [3]int{n}} }

// Independent is a design of two samples that have nothing to do with each other.
func Independent(n, m int) Design { return Design{units: [3]int{n, m}} }

// Crossed is a design of two levels: images and models, or seeds, each drawn with replacement, where every model has seen every image.
// Intervals of means err on the wide side for many models (Owen 2007, "the pigeonhole bootstrap"), and on the narrow side for fewer than
// five, whose spread is hardly known. With one model it is the interval for that model.
func Crossed(images, models int) Design { return Design{units: [3]int{images, models}, models: 1} }

// CrossedPair is Crossed with two sets of images that have nothing to do with each other, as a test set and one from another source. The
// models are the third level.
func CrossedPair(images, others, models int) Design {
	return Design{units: [3]int{images, others, models}, models: 2}
}

// WithSeed gives each resample a seed, for statistics that draw something besides, as counts from a binomial law where the images
// behind them are not known (the parametric bootstrap).
func (d Design) WithSeed() Design {
	d.seeded = true
	return d
}

// Clustered is a design of one sample in which places that bear the same number belong together, as views of one image: whole
// clusters are drawn.
func Clustered(of []int) Design {
	d := Design{clusters: [][]int{}}
	at := map[int]int{}
	for place, cluster := range of {
		k, known := at[cluster]
		if !known {
			k = len(d.clusters)
			at[cluster] = k
			d.clusters = append(d.clusters, nil)
		}
		d.clusters[k] = append(d.clusters[k], place)
	}
	d.units[0] = len(d.clusters)
	return d
}

func (d Design) check() error {
	if d.units[0] < 1 || d.units[1] < 0 || d.units[2] < 0 || d.models == 2 && (d.units[1] < 1 || d.units[2] < 1) {
		return optionErrorf("a design of %v places, want at least 1", d.units)
	}
	return nil
}

// drawn are how many units of each level a resample has: all, but of the models one less than there are, so that the variance of a
// mean is not too small by one part of their number (Rao and Wu 1988).
func (d Design) drawn() [3]int {
	sizes := d.units
	if d.models > 0 && sizes[d.models] > 1 {
		sizes[d.models]--
	}
	return sizes
}

// all is the sample itself.
func (d Design) all() Draw {
	drawn := d.newDraw(d.units)
	for level := range drawn.units {
		for i := range drawn.units[level] {
			drawn.units[level][i] = i
		}
	}
	return drawn.expand()
}

// drawing is the memory of a resample.
type drawing struct {
	Design
	units [3][]int
	first []int // of clusters
	seed  uint64
}

func (d Design) newDraw(sizes [3]int) *drawing {
	w := &drawing{Design: d}
	for level, n := range sizes {
		if n > 0 {
			w.units[level] = make([]int, n)
		}
	}
	return w
}

func (d *drawing) draw(random *rand.PCG) {
	if d.seeded {
		d.seed = random.Uint64() | 1
	}
	for level, units := range d.units {
		for i := range units {
			units[i] = below(random, d.Design.units[level])
		}
	}
}

// expand gives the places of the units.
func (d *drawing) expand() Draw {
	if d.clusters == nil {
		return Draw{d.units[0], d.units[1], d.units[2], d.seed}
	}
	d.first = d.first[:0]
	for _, cluster := range d.units[0] {
		d.first = append(d.first, d.clusters[cluster]...)
	}
	return Draw{First: d.first, Seed: d.seed}
}

// without is the sample but for one unit of a level.
func (d Design) without(level, unit int) Draw {
	sizes := d.units
	sizes[level]--
	drawn := d.newDraw(sizes)
	for l := range drawn.units {
		all := slices.Collect(func(yield func(int) bool) {
			for i := range d.units[l] {
				if (l != level || i != unit) && !yield(i) {
					return
				}
			}
		})
		copy(drawn.units[l], all)
	}
	return drawn.expand()
}
