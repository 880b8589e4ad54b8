package resample

import (
	"math/rand/v2"
	"slices"
)

// Design says how a resample is drawn.
type Design struct {
	units  [3]int // places of one or two samples, or of images and models
	models bool   // the second level and the third are models
	seeded bool
	fitted func(statistic int) (models, parameters int)
}

// Paired is a design of one sample of n places, or of several samples that are paired by place.
func Paired(n int) Design { return Design{units: [3]int{n}} }

// Independent is a design of two samples that have nothing to do with each other.
func Independent(n, m int) Design { return Design{units: [3]int{n, m}} }

// Crossed is a design of two levels: images, which are drawn, and models, or starts of one method, where every
// model has seen every image. Models are left out in turn, not drawn; see Run. With one model the interval is for
// that model.
func Crossed(images, models int) Design {
	return Design{units: [3]int{images, models}, models: true}
}

// CrossedApart is Crossed with two sets of models that were trained apart, as the starts of two methods. They are
// the second and the third level.
func CrossedApart(images, models, others int) Design {
	return Design{units: [3]int{images, models, others}, models: true}
}

// WithSeed gives each resample a seed, for statistics that draw something besides, such as counts from a binomial law
// where the images behind them are not known (the parametric bootstrap).
func (d Design) WithSeed() Design {
	d.seeded = true
	return d
}

// Fitted says on how many models a statistic rests, and how many of its parameters are fitted to them: two of a
// line. Without it a statistic rests on all models and has one, as a mean.
func (d Design) Fitted(of func(statistic int) (models, parameters int)) Design {
	d.fitted = of
	return d
}

func (d Design) check() error {
	if d.units[0] < 1 || d.units[1] < 0 || d.units[2] < 0 {
		return optionErrorf("a design of %v places, want at least 1", d.units)
	}
	return nil
}

// fewest is the number of members from which a level of places is drawn. Percentiles over fewer are too
// short.
const fewest = 10

// leftOut are the levels whose units are left out in turn. A level of one unit is given.
func (d Design) leftOut() (levels []int) {
	for level, n := range d.units {
		if n > 1 && (n < fewest || d.isModels(level)) {
			levels = append(levels, level)
		}
	}
	return levels
}

func (d Design) isModels(level int) bool { return d.models && level > 0 }

// isDrawn reports whether a level is drawn again.
func (d Design) isDrawn(level int) bool { return d.units[level] >= fewest && !d.isModels(level) }

// anyDrawn reports whether resamples differ from the sample.
func (d Design) anyDrawn() bool { return d.seeded || d.isDrawn(0) || d.isDrawn(1) || d.isDrawn(2) }

// all is the sample itself.
func (d Design) all() *drawing {
	drawn := d.newDraw()
	for level := range drawn.units {
		for i := range drawn.units[level] {
			drawn.units[level][i] = i
		}
	}
	return drawn
}

// drawing is the memory of a resample.
type drawing struct {
	Design
	units [3][]int
	seed  uint64
}

func (d Design) newDraw() *drawing {
	w := &drawing{Design: d}
	for level, n := range d.units {
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
			if units[i] = i; d.isDrawn(level) {
				units[i] = below(random, d.Design.units[level])
			}
		}
	}
}

// expand gives the places of the units.
func (d *drawing) expand() Draw {
	return Draw{d.units[0], d.units[1], d.units[2], d.seed}
}

// without is the drawing but for one unit of a level, which must not be drawn itself.
func (d *drawing) without(level, unit int) Draw {
	left := *d
	left.units[level] = slices.Delete(slices.Clone(d.units[level]), unit, unit+1)
	return left.expand()
}
