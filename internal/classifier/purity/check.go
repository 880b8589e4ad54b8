package purity

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
)

// missed bounds the probability that Check misses a model of random answers; half of it is for each of its
// two decisions. reducedMiss is the bound of a Check that may ask few images.
const (
	missed      = 1e-6
	reducedMiss = 1e-3
)

// randomShare is the share of random answers that these bounds are about.
const randomShare = 0.05

// Comparisons is the number of comparisons that Check makes at least, of a model of so many classes. With n
// comparisons against answers that are right, the changes that a model causes which draws a class at random,
// independently, in a share of 0.05 of its answers, follow Bin(n, 0.05·(1−1/classes)), and more against an answer that
// is wrong: the smallest n at which nearTies or fewer have a probability of at most 5·10⁻⁷.
func Comparisons(classes int) int { return comparisons(classes, missed) }

func comparisons(classes int, miss float64) int {
	n := nearTies + 1
	for missProbability(n, classes) > miss {
		n++
	}
	return n
}

// Missed bounds the probability that these comparisons miss a model of so many classes that draws a
// class at random in a share of 0.05 of its answers.
func (f *Found) Missed(classes int) float64 { return missProbability(f.Comparisons, classes) }

func missProbability(n, classes int) float64 {
	q := randomShare * (1 - 1/float64(max(2, classes)))
	return min(1, 2*atMost(nearTies, n, q))
}

// manyComparisons decide where near ties were found: nearTieShare of them or fewer have a
// probability below 5·10⁻⁷ at the q of two classes.
const manyComparisons = 2500

// atMost is P(X ≤ k) of X ~ Bin(n, q) = I_{1−q}(n−k, k+1).
func atMost(k, n int, q float64) float64 {
	if k >= n {
		return 1
	}
	return mathext.RegIncBeta(float64(n-k), float64(k+1), 1-q)
}

// References is how many blocks of a size Check wants: at least three, and 200 images.
func References(block int) int { return max(3, (referenceImages+block-1)/block) }

// Images of a Check that no Effort limits, about 1,250 answers in all.
const (
	fullAnswers     = 1250
	referenceImages = 200
	againImages     = 100 // asked again in place, and in reverse order
	besideImages    = 25  // beside each kind of extreme neighbour
	aloneImages     = 32  // without neighbours
	clockImages     = 2   // of these, asked first to see how long one takes
	answersEach     = 2   // for a comparison
)

// Effort limits what Check asks. The zero value sets no limit.
type Effort struct {
	// about so many, and more where fewer miss a model of random answers with a probability above
	// 0.001; 0: no limit
	Answers int
	Time    time.Duration           // about so long, and then fewer than Answers; 0: no limit
	Least   int                     // so many answers whatever the time
	Report  func(asked, of float64) // told of the answers so far; may be nil
	Now     func() time.Time        // nil: time.Now
}

// Check compares the answers to the images of some blocks, each as a run asks it (noise samples of
// one image, all blocks of one size and form), with those to the same images in other arrangements:
//
//	the same block again, and in reverse order
//	all images, shuffled into blocks: beside those of other images, of other classes
//	a quarter of a block beside three quarters of black or white images, of uniform noise, or of negatives
//	alone, as a batch of one
//
// There are at least Comparisons(classes) of them, so that a model whose answers are random in a
// share of 0.05 is found with probability 1 − 10⁻⁶; where near ties show, 2,500. Found says what
// came out; Contradicted decides. The cost, for blocks of 100 and ten classes: 1,232 answers in 44
// calls, of which 32 are of one image. An Effort asks parts of the blocks instead, and Found.Missed
// has the probability then. The Witness keeps the first answers for later.
//
// Errors: those of the model and of ctx.
func Check(ctx context.Context, m classifier.Classifier, blocks []classifier.Batch, seed uint64, effort Effort) (Found,
	*Witness, error) {
	w, err := New(m)
	if err != nil {
		return Found{}, nil, err
	}
	if len(blocks) == 0 || blocks[0].N < 1 {
		return Found{}, nil, fmt.Errorf("purity: no images to compare")
	}
	if effort.Now == nil {
		effort.Now = time.Now
	}
	c := &checker{
		model: w, blocks: blocks, n: blocks[0].N, size: w.Info.Shape.Len(), share: 1,
		random: rand.New(rand.NewPCG(seed, 0)), effort: effort, began: effort.Now(),
	}
	err = c.run(ctx)
	return c.found, c.witness(), err
}

type checker struct {
	model   *Model
	blocks  []classifier.Batch
	answers []Answers // to the blocks as a run asks them
	n, size int       // images of a block, values of an image
	random  *rand.Rand
	found   Found

	effort Effort
	began  time.Time
	share  float64   // of the answers of a full check
	want   int       // comparisons
	lone   []Answers // to the first image without neighbours
	rushed bool      // the time made them fewer
}

// place is an image: number i of a block.
type place struct{ block, i int }

func (c *checker) run(ctx context.Context) error {
	if err := c.limit(ctx); err != nil {
		return err
	}
	for _, b := range c.blocks {
		a, err := c.take(ctx, b)
		if err != nil {
			return err
		}
		c.answers = append(c.answers, a)
	}
	for _, step := range []func(context.Context) error{c.inPlace, c.besideOthers, c.alone, c.more} {
		if err := step(ctx); err != nil || c.found.Beyond > 0 {
			return err
		}
	}
	return nil
}

// limit asks for the first image alone to see how long it takes, and keeps as much of the blocks as the effort allows.
func (c *checker) limit(ctx context.Context) error {
	full, least := Comparisons(c.model.Info.Classes), comparisons(c.model.Info.Classes, reducedMiss)
	c.want = full
	if most := c.effort.Answers; most > 0 {
		c.share = min(1, float64(max(most, answersEach*least))/fullAnswers)
		c.want = min(full, max(least, most/answersEach))
	}
	took, err := c.clock(ctx)
	if err != nil {
		return err
	}
	if most := c.effort.Time; most > 0 && took > 0 {
		if share := max(most.Seconds()/took.Seconds(), float64(c.effort.Least)) / fullAnswers; share < c.share {
			c.share, c.rushed = share, true
		}
	}
	c.blocks = slices.Clone(c.blocks[:min(len(c.blocks), max(3, c.part(len(c.blocks))))])
	c.n = min(c.n, max(2, c.part(c.n)))
	for i, b := range c.blocks {
		c.blocks[i] = head(b, c.n, c.size)
	}
	return nil
}

// clock is how long the model takes for one image. The first call may compile, and does not count.
func (c *checker) clock(ctx context.Context) (took time.Duration, err error) {
	if c.n == 1 {
		return 0, nil
	}
	first := c.empty(1)
	c.copy(first, 0, c.blocks[0], 0)
	for range clockImages {
		start := c.effort.Now()
		a, err := c.take(ctx, first)
		if err != nil {
			return 0, err
		}
		c.lone, took = append(c.lone, a), c.effort.Now().Sub(start)
	}
	return took, nil
}

// part is the share of a number that the effort allows, at least 1.
func (c *checker) part(n int) int { return max(1, int(math.Round(c.share*float64(n)))) }

// take asks the model, counts its answers and tells of them.
func (c *checker) take(ctx context.Context, b classifier.Batch) (Answers, error) {
	a, err := c.model.Ask(ctx, b)
	if err != nil {
		return a, err
	}
	c.found.Count(a)
	if c.effort.Report != nil {
		c.effort.Report(float64(c.found.Answers), max(float64(c.found.Answers), c.share*fullAnswers))
	}
	return a, nil
}

// alone asks for images without neighbours.
func (c *checker) alone(ctx context.Context) error {
	for _, a := range c.lone {
		c.found.Compare(c.answers[0], 0, a, 0, "alone")
	}
	if c.n == 1 {
		return nil
	}
	for k := range min(c.part(aloneImages), c.n*len(c.blocks)) - clockImages {
		at := place{k % len(c.blocks), c.random.IntN(c.n)}
		if err := c.ask(ctx, []place{at}, nil, "alone"); err != nil || c.found.Beyond > 0 {
			return err
		}
	}
	return nil
}

// more shuffles until there are enough comparisons, or the time is over.
func (c *checker) more(ctx context.Context) error {
	for c.found.Beyond == 0 {
		want := c.want
		if c.found.Changed > nearTies {
			want = max(want, int(c.share*manyComparisons))
		} else if c.rushed && c.found.Answers >= c.effort.Least && c.effort.Now().Sub(c.began) >= c.effort.Time {
			return nil
		}
		if c.found.Comparisons >= want {
			return nil
		}
		if err := c.shuffled(ctx); err != nil {
			return err
		}
	}
	return nil
}

// inPlace asks about some images again as they were, and in reverse order.
func (c *checker) inPlace(ctx context.Context) error {
	for b := range min(len(c.blocks), (c.part(againImages)+c.n-1)/c.n) {
		same, reverse := make([]place, c.n), make([]place, c.n)
		for i := range c.n {
			same[i], reverse[c.n-1-i] = place{b, i}, place{b, i}
		}
		if err := c.ask(ctx, same, nil, "asked again"); err != nil || c.found.Beyond > 0 {
			return err
		}
		c.found.Again = c.found.Largest // nothing else was asked before
		if c.n > 1 {
			if err := c.ask(ctx, reverse, nil, "in reverse order"); err != nil || c.found.Beyond > 0 {
				return err
			}
		}
	}
	return c.shuffled(ctx)
}

// shuffled asks all images in blocks of another mixture.
func (c *checker) shuffled(ctx context.Context) error {
	all := make([]place, 0, c.n*len(c.blocks))
	for b := range c.blocks {
		for i := range c.n {
			all = append(all, place{b, i})
		}
	}
	c.random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for ; len(all) > 0 && c.found.Beyond == 0; all = all[c.n:] {
		if err := c.ask(ctx, all[:c.n], nil, "beside other images"); err != nil {
			return err
		}
	}
	return nil
}

// besideOthers asks about some images beside each of the extremes; where a block is one image, after it.
func (c *checker) besideOthers(ctx context.Context) error {
	own := max(1, c.n/4)
	images := c.part(besideImages) / own * own // whole calls
	for _, kind := range extremes {
		for asked := 0; asked < max(images, own); asked += own {
			places := make([]place, 0, own)
			for k := range own {
				places = append(places, place{(asked + k) % len(c.blocks), c.random.IntN(c.n)})
			}
			if err := c.ask(ctx, places, kind.fill, kind.name); err != nil || c.found.Beyond > 0 {
				return err
			}
		}
	}
	return nil
}

// extremes are neighbours that are unlike any image: each fills one from an image, in units of 1/255.
var extremes = []struct {
	name string
	fill func(random *rand.Rand, image func(i int) float64, out func(i int, v float64), size int)
}{
	{"beside black images", func(_ *rand.Rand, _ func(int) float64, out func(int, float64), size int) {
		for i := range size {
			out(i, 0)
		}
	}},
	{"beside white images", func(_ *rand.Rand, _ func(int) float64, out func(int, float64), size int) {
		for i := range size {
			out(i, pixel.Steps)
		}
	}},
	{"beside uniform noise", func(random *rand.Rand, _ func(int) float64, out func(int, float64), size int) {
		for i := range size {
			out(i, float64(random.IntN(pixel.Steps+1)))
		}
	}},
	{"beside negatives of images", func(_ *rand.Rand, image func(int) float64, out func(int, float64), size int) {
		for i := range size {
			out(i, pixel.Steps-image(i))
		}
	}},
}

// ask compares the answers to some images with those that were given before. With fill, the block
// is filled up with such neighbours, among which the images are spread; a block of one image
// follows on a call of the neighbour.
func (c *checker) ask(ctx context.Context, places []place, fill func(*rand.Rand, func(int) float64, func(int, float64),
	int), how string) error {
	total := len(places)
	if fill != nil {
		total = max(c.n, len(places))
	}
	batch := c.empty(total)
	at := c.random.Perm(total)[:len(places)]
	if fill == nil {
		for k := range at {
			at[k] = k
		}
	} else {
		neighbour := c.empty(1)
		for i := range total {
			if i == 0 || c.random.IntN(8) == 0 { // a few different ones
				from := c.blocks[c.random.IntN(len(c.blocks))]
				start := c.random.IntN(c.n) * c.size
				fill(c.random, func(j int) float64 { return valueOf(from, start+j) },
					func(j int, v float64) { set(neighbour, j, v) }, c.size)
			}
			c.copy(batch, i, neighbour, 0)
		}
		if c.n == 1 {
			if _, err := c.take(ctx, neighbour); err != nil {
				return err
			}
		}
	}
	for k, p := range places {
		c.copy(batch, at[k], c.blocks[p.block], p.i)
	}
	a, err := c.take(ctx, batch)
	if err != nil {
		return err
	}
	for k, p := range places {
		c.found.Compare(c.answers[p.block], p.i, a, at[k], how)
	}
	return nil
}

// head is the first n images of a batch.
func head(b classifier.Batch, n, size int) classifier.Batch {
	if b.Grid != nil {
		return classifier.Batch{N: n, Grid: b.Grid[:n*size]}
	}
	return classifier.Batch{N: n, Real: b.Real[:n*size]}
}

// empty is a batch in the form of the blocks.
func (c *checker) empty(n int) classifier.Batch {
	if c.blocks[0].Grid != nil {
		return classifier.Batch{N: n, Grid: make([]int16, n*c.size)}
	}
	return classifier.Batch{N: n, Real: make([]float32, n*c.size)}
}

func (c *checker) copy(to classifier.Batch, i int, from classifier.Batch, j int) {
	Copy(to, i, from, j, c.size)
}

// Copy puts image j of a batch at place i of another of the same form, with so many values in an image.
func Copy(to classifier.Batch, i int, from classifier.Batch, j, size int) {
	if to.Grid != nil {
		copy(to.Grid[i*size:(i+1)*size], from.Grid[j*size:(j+1)*size])
		return
	}
	copy(to.Real[i*size:(i+1)*size], from.Real[j*size:(j+1)*size])
}

// valueOf and set are in units of 1/255.
func valueOf(b classifier.Batch, i int) float64 {
	if b.Grid != nil {
		return float64(b.Grid[i])
	}
	if v := float64(b.Real[i]) * pixel.Steps; !math.IsNaN(v) {
		return v
	}
	return 0
}

func set(b classifier.Batch, i int, v float64) {
	if b.Grid != nil {
		b.Grid[i] = int16(min(max(v, math.MinInt16), math.MaxInt16))
		return
	}
	b.Real[i] = float32(v / pixel.Steps)
}

// Extreme fills a batch with black images, white ones, uniform noise or negatives of image 0 of
// another batch of the same form, by turns of kind.
func Extreme(batch, of classifier.Batch, size int, kind uint64) {
	random := rand.New(rand.NewPCG(kind, 1))
	fill := extremes[kind%uint64(len(extremes))].fill
	from := 0
	image, out := func(j int) float64 { return valueOf(of, j) }, func(j int, v float64) { set(batch, from+j, v) }
	for i := range batch.N {
		from = i * size
		fill(random, image, out, size)
	}
}
