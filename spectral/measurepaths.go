package spectral

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/progress"
)

// PathOptions are the settings of MeasurePaths.
type PathOptions struct {
	Batch    int               // images in one call of the model; 0 means 100
	KeepLast bool              // the last bin counts above the line of the HFF, as in the paper
	Progress progress.Reporter // may be nil
}

// Estimate is a mean over paths or images with its 95 % interval, mean ± 1.96 s/√M, s the sample standard deviation.
type Estimate struct {
	Mean      float64   `json:"mean"`
	Deviation float64   `json:"deviation"`          // s; 0 of one path
	Interval  []float64 `json:"interval,omitempty"` // lower and upper end; none of one path
}

// PathMetrics describe a classifier along paths.
type PathMetrics struct {
	Paths   int       `json:"paths"`   // M, the paths that count
	Skipped int       `json:"skipped"` // pairs without a path, or with one of fewer than 4 points
	Missed  int       `json:"missed"`  // paths with an output that is not finite; they do not count
	HFF     Estimate  `json:"hff"`
	CD      *Estimate `json:"cd,omitempty"` // none where the paths differ in length
}

// MeasurePaths follows a classifier along the paths of all pairs. It returns the mean high frequency fraction of its
// scores and the mean consistent distance of its classes. image gives the pixels of an image of the data set, HWC.
// Paths are made as they are needed, a batch at a time, while the model works on the batch before.
func MeasurePaths(ctx context.Context, model classifier.Classifier, path Path, image func(i int) []uint8, pairs []Pair,
	o PathOptions) (*PathMetrics, error) {
	return measurePaths(ctx, model, path, func(i int) ([]uint8, error) { return image(i), nil }, pairs, o)
}

func measurePaths(ctx context.Context, model classifier.Classifier, path Path, image func(i int) ([]uint8, error),
	pairs []Pair, o PathOptions) (*PathMetrics, error) {
	info, err := model.Info()
	if err != nil {
		return nil, err
	}
	if info.Shape != path.Shape() {
		return nil, &InputError{"shape of the paths", path.Shape().String(), fmt.Sprintf("the model's, %v", info.Shape)}
	}
	o.Batch = cmp.Or(o.Batch, 100)
	if o.Batch < 1 {
		return nil, &InputError{"batch", fmt.Sprint(o.Batch), "at least 1"}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	w := &walk{path: path, image: image, pairs: pairs, batches: make(chan walkBatch), free: make(chan []float32, 2),
		size: info.Shape.Len(), batch: o.Batch}
	for range cap(w.free) {
		w.free <- make([]float32, o.Batch*w.size)
	}
	go w.run(ctx)
	t := &tally{classes: info.Classes, fractions: newFractions(info.Classes, o.KeepLast)}
	result := classifier.Result{Classes: make([]int32, o.Batch), Scores: make([]float32, o.Batch*info.Classes)}
	start, shown := time.Now(), time.Time{}
	for b := range w.batches {
		if b.n > 0 {
			if err := model.Classify(ctx, classifier.Batch{N: b.n, Real: b.images[:b.n*w.size]}, &result); err != nil {
				return nil, err
			}
		}
		w.free <- b.images
		if err := t.add(b, &result); err != nil {
			return nil, err
		}
		if now := time.Now(); o.Progress != nil && now.Sub(shown) > 200*time.Millisecond {
			shown = now
			rate := float64(t.done+t.skipped) / now.Sub(start).Seconds()
			o.Progress(progress.State{Task: "paths", Done: float64(t.done + t.skipped), Total: float64(len(pairs)),
				Unit: "paths", Rate: rate,
				Left: time.Duration(float64(len(pairs)-t.done-t.skipped) / max(rate, 1e-9) * float64(time.Second))})
		}
	}
	if w.err != nil {
		return nil, w.err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if o.Progress != nil {
		o.Progress(progress.State{Task: "paths", Done: float64(len(pairs)), Total: float64(len(pairs)), Unit: "paths",
			Final: true})
	}
	return t.metrics()
}

// walk makes the images of all paths, batch by batch.
type walk struct {
	path        Path
	image       func(int) ([]uint8, error)
	pairs       []Pair
	batches     chan walkBatch
	free        chan []float32
	size, batch int
	err         error // after batches is closed
}

// walkBatch is a batch of path images, with the lengths of the paths that begin in it or are skipped.
type walkBatch struct {
	images  []float32
	n       int
	lengths []int
}

func (w *walk) run(ctx context.Context) {
	defer close(w.batches)
	var x0, x1 []float64
	point := make([]float64, w.size)
	var b walkBatch
	next := func() bool {
		if b.images != nil {
			select {
			case w.batches <- b:
			case <-ctx.Done():
				w.err = ctx.Err()
				return false
			}
		}
		select {
		case images := <-w.free:
			b = walkBatch{images: images}
			return true
		case <-ctx.Done():
			w.err = ctx.Err()
			return false
		}
	}
	if !next() {
		return
	}
	for i, pair := range w.pairs {
		for end, x := range []*[]float64{&x0, &x1} {
			pixels, err := w.image(pair[end])
			if err != nil {
				w.err = err
				return
			}
			*x = toUnit((*x)[:0], pixels)
		}
		points, err := w.path.Set(x0, x1)
		if err != nil {
			w.err = fmt.Errorf("pair %d, images %d and %d: %w", i, pair[0], pair[1], err)
			return
		}
		if points < 4 {
			points = 0
		}
		b.lengths = append(b.lengths, points)
		for j := range points {
			if b.n == w.batch && !next() {
				return
			}
			w.path.Point(point, j)
			for k, v := range point {
				b.images[b.n*w.size+k] = float32(v)
			}
			b.n++
		}
	}
	select {
	case w.batches <- b:
	case <-ctx.Done():
		w.err = ctx.Err()
	}
}

// toUnit appends bytes in units of the full range.
func toUnit(dst []float64, image []uint8) []float64 {
	for _, v := range image {
		dst = append(dst, unit[v])
	}
	return dst
}

// tally gathers the answers of a path and, when it is whole, its metrics.
type tally struct {
	classes       int
	fractions     *fractions
	lengths       []int // of paths that have begun or wait
	scores        []float64
	labels        []int32
	hff, cd       []float64
	done, skipped int
	missed        int
	length        int // of all paths; −1 where they differ
}

func (t *tally) add(b walkBatch, result *classifier.Result) error {
	t.lengths = append(t.lengths, b.lengths...)
	for j := 0; ; {
		for len(t.lengths) > 0 && t.lengths[0] == 0 {
			t.lengths = t.lengths[1:]
			t.skipped++
		}
		if j == b.n {
			return nil
		}
		take := min(t.lengths[0]-len(t.labels), b.n-j)
		t.labels = append(t.labels, result.Classes[j:j+take]...)
		for _, s := range result.Scores[j*t.classes : (j+take)*t.classes] {
			t.scores = append(t.scores, float64(s))
		}
		if j += take; len(t.labels) < t.lengths[0] {
			continue
		}
		if err := t.finish(); err != nil {
			return err
		}
	}
}

func (t *tally) finish() error {
	t.done++
	length := t.lengths[0]
	miss := false
	for _, c := range t.labels {
		miss = miss || c == classifier.Miss
	}
	if miss {
		t.missed++
	} else {
		hff, err := t.fractions.of(t.scores)
		if err != nil {
			return err
		}
		t.hff, t.cd = append(t.hff, hff), append(t.cd, float64(consistentDistance(t.labels)))
		switch t.length {
		case 0, length:
			t.length = length
		default:
			t.length = -1
		}
	}
	t.lengths, t.labels, t.scores = t.lengths[1:], t.labels[:0], t.scores[:0]
	return nil
}

func (t *tally) metrics() (*PathMetrics, error) {
	if len(t.hff) == 0 {
		return nil, fmt.Errorf("spectral: no path to measure: %d pairs have none of at least 4 points, and %d have "+
			"outputs that are not finite", t.skipped, t.missed)
	}
	m := &PathMetrics{Paths: len(t.hff), Skipped: t.skipped, Missed: t.missed, HFF: EstimateOf(t.hff)}
	if t.length > 0 {
		cd := EstimateOf(t.cd)
		m.CD = &cd
	}
	return m, nil
}

// EstimateOf is the estimate of the mean that the values, of one path or image each, are drawn around.
func EstimateOf(values []float64) Estimate {
	if len(values) == 1 {
		return Estimate{Mean: values[0]}
	}
	mean, deviation := stat.MeanStdDev(values, nil)
	margin := 1.96 * deviation / math.Sqrt(float64(len(values)))
	return Estimate{mean, deviation, []float64{mean - margin, mean + margin}}
}
