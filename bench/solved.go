package main

import (
	"context"
	"math"
	"math/rand/v2"
	"sync/atomic"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

// solvedSigma is the noise of the soundness bench, in units of the full range.
const solvedSigma = 0.25

// solved is a classifier whose smoothed answer is known exactly. But for float traps it sees its input through the levels
// clamp(round(255 v), −255, 510), so that real noise and noise on the grid of levels are the same to it.
type solved struct {
	Name    string    `json:"name"`
	Kind    string    `json:"kind"` // of the formula, which bench/python/soundness.py has too
	With    []float64 `json:"with"` // what the formula takes
	Image   []uint8   `json:"image"`
	Classes int       `json:"classes"`
	Before  bool      `json:"before"` // the others get the image as (x − ½)/¼, as after a loader that normalises
	Trap    bool      `json:"-"`      // what it answers under real noise is not what it answers on the grid
	Impure  bool      `json:"-"`      // its answer depends on more than one image

	alone int // class that an impure one gives to an image alone or, of chance, most often
	state *atomic.Int64
}

const (
	levelLow, levelHigh = -255, 510
	levelCount          = levelHigh - levelLow + 1
)

var thirty = []solved{
	{Name: "half-space, half a level away (p = .503)", Kind: "half", With: []float64{127.5}, Image: []uint8{128}, Classes: 2},
	{Name: "half-space, .1σ away", Kind: "half", With: []float64{121.5}, Image: []uint8{128}, Classes: 2},
	{Name: "half-space, ½σ away", Kind: "half", With: []float64{96.5}, Image: []uint8{128}, Classes: 2},
	{Name: "half-space, 1σ away", Kind: "half", With: []float64{64.5}, Image: []uint8{128}, Classes: 2},
	{Name: "half-space, 2σ away", Kind: "half", With: []float64{72.5}, Image: []uint8{200}, Classes: 2},
	{Name: "half-space, 3σ away", Kind: "half", With: []float64{29.5}, Image: []uint8{220}, Classes: 2},
	{Name: "half-space, oblique", Kind: "oblique", With: []float64{3, -2, 60}, Image: []uint8{128, 100}, Classes: 2},
	{Name: "slab, narrow (p < ½)", Kind: "slab", With: []float64{100.5, 155.5}, Image: []uint8{128}, Classes: 2},
	{Name: "slab, off its middle", Kind: "slab", With: []float64{100.5, 300.5}, Image: []uint8{160}, Classes: 2},
	{Name: "steps, four classes", Kind: "steps", With: []float64{60.5, 120.5, 260.5}, Image: []uint8{190}, Classes: 4},
	{Name: "steps, most frequent class with p < ½", Kind: "steps", With: []float64{90.5, 160.5}, Image: []uint8{125}, Classes: 3},
	{Name: "ball, inside", Kind: "ball", With: []float64{128, 128, 120.5}, Image: []uint8{140, 120}, Classes: 2},
	{Name: "ball, outside", Kind: "ball", With: []float64{60, 60, 80.5}, Image: []uint8{140, 140}, Classes: 2},
	{Name: "wave", Kind: "wave", With: []float64{90, 30, 120}, Image: []uint8{128, 128}, Classes: 2},
	{Name: "corner (AND)", Kind: "and", With: []float64{60.5, 80.5}, Image: []uint8{140, 150}, Classes: 2},
	{Name: "squares (XOR)", Kind: "xor", With: []float64{60.5, 80.5}, Image: []uint8{200, 200}, Classes: 2},
	{Name: "stripes of one level (all but a tie of votes)", Kind: "parity", Image: []uint8{128}, Classes: 2},
	{Name: "equal logits (a tie of classes)", Kind: "equal", Image: []uint8{128}, Classes: 3},
	{Name: "logits equal but for rounding to float32", Kind: "large", Image: []uint8{128}, Classes: 2},
	{Name: "constant (p = 1, saturated)", Kind: "constant", Image: []uint8{128}, Classes: 2},
	{Name: "half-space behind a cancellation in float32", Kind: "cancel", With: []float64{90}, Image: []uint8{128}, Classes: 2},
	{Name: "float trap: is the value a float32?", Kind: "float32", Image: []uint8{0}, Classes: 2, Trap: true},
	{Name: "float trap: a multiple of 2⁻³²?", Kind: "multiple", Image: []uint8{0}, Classes: 2, Trap: true},
	{Name: "NaN for one sample in six", Kind: "nan", With: []float64{191.5}, Image: []uint8{128}, Classes: 3},
	{Name: "NaN for five samples in six", Kind: "nan", With: []float64{64.5}, Image: []uint8{128}, Classes: 3},
	{Name: "half-space, ½σ away, normalised before the noise", Kind: "half", With: []float64{96.5}, Image: []uint8{128}, Classes: 2, Before: true},
	{Name: "batch-dependent: mean of the batch", Kind: "mean", With: []float64{120.5}, Image: []uint8{128}, Classes: 2, Impure: true, alone: 1},
	{Name: "batch-dependent: place in the batch", Kind: "place", Image: []uint8{128}, Classes: 2, Impure: true},
	{Name: "random: a coin for each call (.6 for class 0)", Kind: "coin", With: []float64{.6}, Image: []uint8{128}, Classes: 2, Impure: true},
	{Name: "random: another class every 5,000 answers", Kind: "drift", With: []float64{5000}, Image: []uint8{128}, Classes: 2, Impure: true},
}

func (k solved) shape() pixel.Shape { return pixel.Shape{Height: 1, Width: 1, Channels: len(k.Image)} }

func (k solved) Info() (classifier.Info, error) {
	return classifier.Info{Name: k.Name, Shape: k.shape(), Classes: k.Classes, Identity: classifier.Identity{Weights: k.Name, Engine: "toy", EngineVersion: "1"}}, nil
}

// Classify implements classifier.Classifier, for noise on the grid.
func (k solved) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	info, _ := k.Info()
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	logits := make([]float32, batch.N*k.Classes)
	size := len(k.Image)
	mean, coin := 0.0, rand.Float64()
	for _, v := range batch.Grid {
		mean += float64(v) / float64(len(batch.Grid))
	}
	for i := range batch.N {
		row := logits[i*k.Classes : (i+1)*k.Classes]
		class := -1
		switch k.Kind {
		case "mean":
			class = index(mean > k.With[0])
		case "place":
			class = index(i > 0)
		case "coin":
			class = index(coin > k.With[0])
		case "drift":
			class = int(k.state.Add(1)/int64(k.With[0])+1) % 2
		}
		if class >= 0 {
			row[class] = 1
		} else {
			k.logits(batch.Grid[i*size:(i+1)*size], row)
		}
	}
	classifier.Decide(info, batch, logits, result)
	return nil
}

func index(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (k solved) logits(z []int16, row []float32) {
	v := func(i int) float64 { return float64(z[i]) }
	class := 0
	switch w := k.With; k.Kind {
	case "half":
		class = index(v(0) > w[0])
	case "oblique":
		class = index(w[0]*v(0)+w[1]*v(1) > w[2])
	case "slab":
		class = index(w[0] < v(0) && v(0) < w[1])
	case "steps":
		for _, t := range w {
			class += index(v(0) > t)
		}
	case "ball":
		class = index((v(0)-w[0])*(v(0)-w[0])+(v(1)-w[1])*(v(1)-w[1]) < w[2]*w[2])
	case "wave":
		class = index(v(1) > w[0]+w[1]*math.Sin(2*math.Pi*v(0)/w[2]))
	case "and":
		class = index(v(0) > w[0] && v(1) > w[1])
	case "xor":
		class = index((v(0) > w[0]) == (v(1) > w[1]))
	case "parity":
		class = int(z[0]) & 1
	case "equal":
		return
	case "large":
		row[0], row[1] = 1e8, float32(1e8+v(0)/255)
		return
	case "cancel":
		row[1] = (float32(v(0)) + 0x1p27) - 0x1p27 - float32(k.With[0]) // a multiple of 16 levels
		return
	case "float32":
		x := float64(float32(v(0)) / pixel.Steps)
		class = index(float64(float32(x)) == x)
	case "multiple":
		x := math.Ldexp(float64(float32(v(0))/pixel.Steps), 32)
		class = index(math.Trunc(x) == x)
	case "nan":
		if v(0) > w[0] {
			row[k.Classes-1] = float32(math.NaN())
		}
	}
	row[class]++
}

type truth struct {
	Class   int       `json:"class"`   // the most probable; classifier.Miss for no answer or a tie
	P       []float64 `json:"p"`       // of each class
	Nearest *float64  `json:"nearest"` // ℓ2 distance of the nearest input with another class; nil: none within 4σ
}

// refutes reports whether a claim is false.
func (t truth) refutes(class int, radius float64) bool {
	return class != t.Class || t.Nearest != nil && radius > *t.Nearest
}

// onGrid is the truth behind rounding to levels, which for all but float traps is that of real noise too.
func (k solved) onGrid() truth {
	if k.Impure {
		t := truth{Class: k.alone, P: make([]float64, k.Classes)}
		t.P[k.alone] = 1
		switch k.Kind {
		case "mean":
			return solved{Kind: "half", With: k.With, Image: k.Image, Classes: 2}.onGrid()
		case "coin":
			t.P[0], t.P[1] = k.With[0], 1-k.With[0]
		case "drift":
			t = truth{Class: -1, P: []float64{.5, .5}, Nearest: new(float64)}
		}
		return t
	}
	table := k.table()
	at := [2]float64{float64(k.Image[0]), float64(k.Image[len(k.Image)-1])}
	p := table.probabilities(at)
	t := truth{Class: -1, P: p[1:]}
	best := 0.0
	for class, q := range p {
		if q > best+1e-12 {
			t.Class, best = class-1, q
		} else if q > best-1e-12 {
			t.Class = -1 // a tie
		}
	}
	if t.Class < 0 {
		t.Nearest = new(float64)
		return t
	}
	if d := table.nearest(at, t.Class); d < math.Inf(1) {
		t.Nearest = &d
	}
	return t
}

// underReal is the truth under real Gaussian noise.
func (k solved) underReal() truth {
	if k.Trap { // floats have probability 0
		return truth{Class: 0, P: []float64{1, 0}}
	}
	return k.onGrid()
}

// levelRun is a class, 0 for no answer, at the levels of a row up to an end.
type levelRun struct{ end, class int }

// levelTable holds the answers at all levels as runs, row by row; a classifier of one value has one row.
type levelTable struct {
	rows    [][]levelRun
	classes int
}

func (k solved) table() levelTable {
	t := levelTable{classes: k.Classes}
	height := 1
	if len(k.Image) == 2 {
		height = levelCount
	}
	info, _ := k.Info()
	for y := range height {
		z, logits := make([]int16, 0, levelCount*len(k.Image)), make([]float32, levelCount*k.Classes)
		for x := range levelCount {
			at := []int16{int16(x + levelLow), int16(y + levelLow)}[:len(k.Image)]
			z = append(z, at...)
			k.logits(at, logits[x*k.Classes:(x+1)*k.Classes])
		}
		result := classifier.Result{Classes: make([]int32, levelCount)}
		classifier.Decide(info, classifier.Batch{N: levelCount, Grid: z}, logits, &result)
		var row []levelRun
		for x, class := range result.Classes {
			if n := len(row); n == 0 || row[n-1].class != int(class)+1 {
				row = append(row, levelRun{class: int(class) + 1})
			}
			row[len(row)-1].end = x + 1
		}
		t.rows = append(t.rows, row)
	}
	return t
}

// probabilities of no answer and of each class around a point in levels, summed over cells of levels.
func (t levelTable) probabilities(at [2]float64) []float64 {
	p := make([]float64, t.classes+1)
	across, down := cells(at[0]), cells(at[1])
	for y, row := range t.rows {
		weight := 1.0
		if len(t.rows) > 1 {
			weight = down[y+1] - down[y]
		}
		from := 0
		for _, r := range row {
			p[r.class] += weight * (across[r.end] - across[from])
			from = r.end
		}
	}
	return p
}

// cells are the probabilities of a level below each of −255 … 511; those at the ends take the tails.
func cells(at float64) []float64 {
	c := make([]float64, levelCount+1)
	for i := 1; i < levelCount; i++ {
		c[i] = math.Erfc((at-float64(levelLow+i)+.5)/(255*solvedSigma*math.Sqrt2)) / 2
	}
	c[levelCount] = 1
	return c
}

// nearest is the least distance, in units of the full range, at which another class is as probable: along rays, of which the best is refined.
func (t levelTable) nearest(at [2]float64, class int) float64 {
	lost := func(angle, d float64) bool {
		p := t.probabilities([2]float64{at[0] + 255*d*math.Cos(angle), at[1] + 255*d*math.Sin(angle)})
		for c, q := range p {
			if c != class+1 && q >= p[class+1] {
				return true
			}
		}
		return false
	}
	const rays, steps, reach = 72, 40, 4 * solvedSigma
	along := func(angle float64) float64 {
		for s := 1; s <= steps; s++ {
			if d := reach * float64(s) / steps; lost(angle, d) {
				low, high := d-reach/steps, d
				for range 40 {
					if middle := (low + high) / 2; lost(angle, middle) {
						high = middle
					} else {
						low = middle
					}
				}
				return high
			}
		}
		return math.Inf(1)
	}
	if len(t.rows) == 1 {
		return min(along(0), along(math.Pi))
	}
	best, direction, width := math.Inf(1), 0.0, 2*math.Pi/rays
	for i := range rays {
		if d := along(float64(i) * width); d < best {
			best, direction = d, float64(i)*width
		}
	}
	for ; width > 1e-5; width /= 2 {
		for _, angle := range []float64{direction - width, direction + width} {
			if d := along(angle); d < best {
				best, direction = d, angle
			}
		}
	}
	return best
}
