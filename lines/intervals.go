package lines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/resample"
)

// intervals adds the bootstrap's intervals to a result, and says what they took for random.
func (f *fitter) intervals(ctx context.Context, o Options, r *Result) (string, error) {
	p, err := f.plan(o)
	if err != nil || p.what == "" {
		return "none", err
	}
	b, err := o.Bootstrap.Resolved()
	if err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	of := func(d resample.Draw, values []float64) error { return p.statistics(d, values) }
	count := p.count()
	if p.nets && p.images != fixed {
		count *= 2
	}
	estimates, err := resample.Run(ctx, p.design, count, of, b)
	if err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	ends := func(k, group int) Interval {
		if b.Method != "" {
			return Interval{estimates[k].Interval}
		}
		return Interval{p.interval(estimates, k, group, b.Confidence)}
	}
	few := make([]bool, len(f.groups)) // too few models to draw them again
	for g := range f.groups {
		if few[g] = p.nets && p.fitted(g) < leastDrawn; few[g] {
			ofGroup := ""
			if f.groups[g] != "" {
				ofGroup = " of " + f.groups[g]
			}
			r.Notes = append(r.Notes, fmt.Sprintf("No intervals for the line of %d models%s: drawing models again wants at least %d.", p.fitted(g), ofGroup, leastDrawn))
			continue
		}
		r2 := ends(3*g+2, g)
		r2.Low, r2.High = min(max(r2.Low, 0), 1), min(max(r2.High, 0), 1)
		r.Lines[g].Intervals = map[string]Interval{"slope": ends(3*g, g), "intercept": ends(3*g+1, g), "r2": r2}
	}
	for i := range f.points {
		if few[f.of[i]] {
			continue
		}
		in := ends(3*len(f.groups)+i, f.of[i])
		r.Models[i].Interval = &in
	}
	return fmt.Sprintf("%s; %d resamples, %g %% intervals, seed %d", p.what, b.Resamples, 100*b.Confidence, b.Seed), nil
}

// leastDrawn is the least number of models that are drawn again: of three, a resample has a line only where it is the sample itself.
const leastDrawn = 4

// count is the number of statistics: slope, intercept and R² of each group, and each point's effective robustness.
func (p *plan) count() int { return 3*len(p.groups) + len(p.points) }

// interval is that of percentiles, mended twice (TestCoverage counts what that does). Drawing images again adds sampling error to points that have
// theirs already, which flattens lines and lowers R² a second time: the interval is moved by twice the bias that images give. Percentiles over few
// models are too narrow: they are taken at the level that Student's t asks (Hesterberg 2015, section 4.3.3), with the degrees of
// freedom of the variance that models give, of all variance (Satterthwaite 1946); of it the line through m models leaves m − 2.
func (p *plan) interval(estimates []resample.Estimate, k, group int, confidence float64) resample.Interval {
	e := estimates[k]
	var images resample.Estimate // of images alone
	switch {
	case p.images != fixed && p.nets:
		images = estimates[p.count()+k]
	case p.images != fixed:
		images = e
	}
	if p.nets {
		variance := e.Error * e.Error
		if nets := variance - images.Error*images.Error; nets > 0 {
			t := distuv.StudentsT{Sigma: 1, Nu: float64(p.fitted(group)-2) * (variance / nets) * (variance / nets)}
			confidence = 1 - 2*Phi(-t.Quantile((1+confidence)/2))
		}
	}
	in := e.Percentiles(confidence)
	return resample.Interval{Low: in.Low - 2*images.Bias, High: in.High - 2*images.Bias}
}

// fitted is the number of models that a group's line goes through.
func (p *plan) fitted(group int) int {
	n, seen := 0, make([]bool, len(p.models))
	for i, pt := range p.points {
		if m := p.model[i]; p.of[i] == group && pt.Fits && !seen[m] {
			n, seen[m] = n+1, true
		}
	}
	return n
}

// plan says how a resample changes the points.
type plan struct {
	*fitter
	design  resample.Design
	what    string // "": no intervals
	images  imageDraw
	nets    bool
	weights int // images of x
	others  int // images of y, where they are others
	x, y    axis
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
	if p.images == shared || p.images == separate {
		p.x = newAxis(p.points, func(pt Point) []float64 { return pt.XImages })
		p.y = newAxis(p.points, func(pt Point) []float64 { return pt.YImages })
	}
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
	for i, pt := range p.points {
		if math.IsNaN(x[i] + y[i]) {
			for n := 0; n < len(values); n += copy(values[n:], p.sample) {
			}
			return nil
		}
		a, err := p.clip.share(Accuracy{x[i], pt.X.N})
		if err != nil {
			return err
		}
		b, err := p.clip.share(Accuracy{y[i], pt.Y.N})
		if err != nil {
			return err
		}
		values[3*len(p.groups)+i] = y[i] // from which the line is taken below
		x[i], y[i] = Probit(a), Probit(b)
	}
	once := slices.Repeat([]int{1}, len(p.models))
	models := p.drawnModels(d)
	if models == nil {
		return p.measure(x, y, once, values)
	}
	times := make([]int, len(p.models))
	for _, m := range models {
		times[m]++
	}
	if n := p.count(); len(values) > n { // the same images, under all models
		copy(values[n:], values[:n])
		if err := p.measure(x, y, once, values[n:]); err != nil {
			return err
		}
		values = values[:n]
	}
	return p.measure(x, y, times, values)
}

// measure sets the values of points in probit units, of which models count so many times; values has the accuracies under the shift of the points.
func (p *plan) measure(x, y []float64, times []int, values []float64) error {
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
		values[3*len(p.groups)+i] -= Phi(lines[p.of[i]].At(x[i]))
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
		means(x, wx, p.x)
		means(y, wy, p.y)
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
		w[i]++
	}
	return w
}

// axis holds the images of all points, each vector once: at many radii, or under many corruptions, models stand at one x.
type axis struct {
	vectors [][]float64 // the values of images that are on the axis, else 0
	there   [][]float64 // 1 for those; nil: all
	of      []int       // vector of each point
}

func newAxis(points []Point, images func(Point) []float64) axis {
	var a axis
	at := map[*float64]int{}
	for _, p := range points {
		v := images(p)
		k, ok := at[&v[0]]
		if !ok {
			k = len(a.vectors)
			at[&v[0]] = k
			there := make([]float64, len(v))
			for i, b := range v {
				if b == b {
					there[i] = 1
				}
			}
			if slices.Contains(there, 0) {
				v = slices.Clone(v)
				for i := range v {
					if there[i] == 0 {
						v[i] = 0
					}
				}
			} else {
				there = nil
			}
			a.vectors, a.there = append(a.vectors, v), append(a.there, there)
		}
		a.of = append(a.of, k)
	}
	return a
}

// means are the weighted means of the points' images that are on the axis; NaN where none of them was drawn.
func means(out, weights []float64, a axis) {
	all := floats.Sum(weights)
	of := make([]float64, len(a.vectors))
	for k, v := range a.vectors {
		total := all
		if a.there[k] != nil {
			total = floats.Dot(weights, a.there[k])
		}
		of[k] = math.NaN()
		if total > 0 {
			of[k] = min(max(floats.Dot(weights, v)/total, 0), 1)
		}
	}
	for i, k := range a.of {
		out[i] = of[k]
	}
}

func binomialShare(a Accuracy, rng *rand.Rand) float64 {
	return distuv.Binomial{N: float64(a.N), P: a.Share, Src: rng}.Rand() / float64(a.N)
}

// line is that of a group, each model counted as often as it was drawn; x and y are in probit units.
func (p *plan) line(g int, x, y []float64, times []int) (Line, error) {
	var px, py []float64
	distinct, seen := 0, make([]bool, len(p.models))
	for i, pt := range p.points {
		if p.of[i] != g || !pt.Fits {
			continue
		}
		for range times[p.model[i]] {
			px, py = append(px, x[i]), append(py, y[i])
		}
		if m := p.model[i]; times[m] > 0 && !seen[m] {
			seen[m] = true
			distinct++
		}
	}
	if p.nets && distinct < 3 {
		return Line{}, &FewPoints{N: distinct}
	}
	return LeastSquares(px, py)
}
