package lines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/resample"
)

// intervals adds the bootstrap's intervals to a result, and says what they took for random.
func (f *fitter) intervals(ctx context.Context, o Options, r *Result) (string, error) {
	p, err := f.plan(o)
	if err != nil || p.what == "" {
		return "none", err
	}
	of := func(d resample.Draw, values []float64) error { return p.statistics(d, values) }
	estimates, err := resample.Run(ctx, p.design, 3*len(f.groups)+len(f.points), of, o.Bootstrap)
	if err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	for g := range f.groups {
		r.Lines[g].Intervals = map[string]Interval{
			"slope": {estimates[3*g].Interval}, "intercept": {estimates[3*g+1].Interval}, "r2": {estimates[3*g+2].Interval},
		}
	}
	for i := range f.points {
		r.Models[i].Interval = &Interval{estimates[3*len(f.groups)+i].Interval}
	}
	b, _ := o.Bootstrap.Resolved()
	return fmt.Sprintf("%s; %d resamples, %g %% intervals, seed %d", p.what, b.Resamples, 100*b.Confidence, b.Seed), nil
}

// plan says how a resample changes the points.
type plan struct {
	*fitter
	design  resample.Design
	what    string // "": no intervals
	images  imageDraw
	nets    bool
	weights int       // images of x
	others  int       // images of y, where they are others
	sample  []float64 // the statistics of the sample itself, which stand for a resample without a line
}

// imageDraw says how accuracies are drawn again.
type imageDraw int

const (
	fixed imageDraw = iota
	shared
	separate
	binomial
)

// plan chooses the design. With accuracies by image, all models share the drawn images; with numbers of images alone, each
// accuracy is drawn from its binomial law by itself.
func (f *fitter) plan(o Options) (*plan, error) {
	p := &plan{fitter: f}
	nx, ny, counted := f.imageCounts()
	over := o.Over
	if over == "" {
		over = Nets
		if nx > 0 || counted {
			over = Both
		}
	}
	switch {
	case over == Nothing:
		return p, nil
	case over == Nets:
	case nx > 0 && o.SameImages && nx != ny:
		return nil, fmt.Errorf("lines: %d images on the x axis and %d on the y axis, which are said to be the same", nx, ny)
	case nx > 0 && o.SameImages:
		p.images = shared
	case nx > 0:
		p.images = separate
	case counted:
		p.images = binomial
	default:
		return nil, fmt.Errorf("lines: intervals over images need accuracies by image, or their numbers of images")
	}
	p.nets = over != Images
	p.weights, p.others = nx, ny
	models := len(f.models)
	what := map[imageDraw]string{shared: "images, the same on both axes and for all models", separate: "images of each axis, the same for all models",
		binomial: "binomial draws of each accuracy (images are not known)"}[p.images]
	switch {
	case p.images == shared && p.nets:
		p.design = resample.Crossed(nx, models)
	case p.images == shared:
		p.design = resample.Paired(nx)
	case p.images == separate && p.nets:
		p.design = resample.CrossedPair(nx, ny, models)
	case p.images == separate:
		p.design = resample.Independent(nx, ny)
	case p.images == binomial && p.nets:
		p.design = resample.Crossed(1, models).WithSeed()
	case p.images == binomial:
		p.design = resample.Paired(1).WithSeed()
	default:
		p.design = resample.Crossed(1, models)
	}
	if p.nets && what != "" {
		what += ", and "
	}
	if p.nets {
		what += fmt.Sprintf("models (%d)", models)
	}
	p.what = what
	return p, nil
}

// imageCounts are the images behind all points by axis, 0 where some have none or they differ, and whether every accuracy says
// its number.
func (f *fitter) imageCounts() (nx, ny int, counted bool) {
	nx, ny, counted = len(f.points[0].XImages), len(f.points[0].YImages), true
	for _, p := range f.points {
		if len(p.XImages) != nx || len(p.YImages) != ny {
			nx, ny = 0, 0
		}
		counted = counted && p.X.N > 0 && p.Y.N > 0
	}
	if nx == 0 || ny == 0 {
		nx, ny = 0, 0
	}
	return nx, ny, counted
}

// statistics are, of a resample, slope, intercept and R² of each group's line, then each point's effective robustness. A
// resample in which a group has no line, as it holds fewer than three models, or without an image on an axis, counts as the
// sample itself.
func (p *plan) statistics(d resample.Draw, values []float64) error {
	x, y := make([]float64, len(p.points)), make([]float64, len(p.points))
	p.draw(d, x, y)
	for i := range x {
		if math.IsNaN(x[i] + y[i]) {
			copy(values, p.sample)
			return nil
		}
	}
	times := make([]int, len(p.models))
	switch models := p.drawnModels(d); models {
	case nil:
		for m := range times {
			times[m] = 1
		}
	default:
		for _, m := range models {
			times[m]++
		}
	}
	lines := make([]Line, len(p.groups))
	for g := range p.groups {
		line, err := p.line(g, x, y, times)
		if degenerate(err) && p.sample != nil {
			line = Line{Slope: p.sample[3*g], Intercept: p.sample[3*g+1], R2: p.sample[3*g+2]}
		} else if err != nil {
			return err
		}
		lines[g] = line
		values[3*g], values[3*g+1], values[3*g+2] = line.Slope, line.Intercept, line.R2
	}
	for i := range p.points {
		e, err := EffectiveRobustness(lines[p.of[i]], Accuracy{x[i], p.points[i].X.N}, Accuracy{y[i], p.points[i].Y.N}, p.clip)
		if err != nil {
			return err
		}
		values[3*len(p.groups)+i] = e.Accuracy
	}
	if p.sample == nil { // resample evaluates the sample itself first, alone
		p.sample = append([]float64(nil), values...)
	}
	return nil
}

func (p *plan) drawnModels(d resample.Draw) []int {
	switch {
	case !p.nets:
		return nil
	case p.images == separate:
		return d.Third
	}
	return d.Second
}

// draw gives the accuracies of a resample.
func (p *plan) draw(d resample.Draw, x, y []float64) {
	switch p.images {
	case shared, separate:
		second := d.First
		if p.images == separate {
			second = d.Second
		}
		wx, wy := weigh(d.First, p.weights), weigh(second, p.others)
		for i, pt := range p.points {
			x[i], y[i] = meanOf(wx, pt.XImages), meanOf(wy, pt.YImages)
		}
	case binomial:
		rng := rand.New(rand.NewPCG(d.Seed, 1))
		for i, pt := range p.points {
			x[i], y[i] = pt.X.Share, pt.Y.Share
			if d.Seed != 0 {
				x[i], y[i] = binomialShare(pt.X, rng), binomialShare(pt.Y, rng)
			}
		}
	default:
		for i, pt := range p.points {
			x[i], y[i] = pt.X.Share, pt.Y.Share
		}
	}
}

// weigh turns drawn places into the weight of each image.
func weigh(places []int, n int) []float64 {
	w := make([]float64, n)
	for _, i := range places {
		w[i] += 1 / float64(len(places))
	}
	return w
}

// meanOf is the weighted mean of the images that are on the axis; NaN where none of them was drawn.
func meanOf(w, v []float64) float64 {
	s, total := 0.0, 0.0
	for i, a := range w {
		if b := v[i]; b == b {
			s += a * b
			total += a
		}
	}
	if total == 0 {
		return math.NaN()
	}
	return min(max(s/total, 0), 1)
}

func binomialShare(a Accuracy, rng *rand.Rand) float64 {
	return distuv.Binomial{N: float64(a.N), P: a.Share, Src: rng}.Rand() / float64(a.N)
}

// line is that of a group, each model counted as often as it was drawn.
func (p *plan) line(g int, x, y []float64, times []int) (Line, error) {
	var px, py []float64
	distinct := map[int]bool{}
	for i, pt := range p.points {
		if p.of[i] != g || !pt.Fits {
			continue
		}
		for range times[p.model[i]] {
			distinct[p.model[i]] = true
			a, err := p.clip.share(Accuracy{x[i], pt.X.N})
			if err != nil {
				return Line{}, err
			}
			b, err := p.clip.share(Accuracy{y[i], pt.Y.N})
			if err != nil {
				return Line{}, err
			}
			px, py = append(px, Probit(a)), append(py, Probit(b))
		}
	}
	if p.nets && len(distinct) < 3 {
		return Line{}, &FewPoints{N: len(distinct)}
	}
	return LeastSquares(px, py)
}
