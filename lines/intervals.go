package lines

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/resample"
)

// intervals adds intervals to a result, and says what they took for random. TestCoverage counts how often they hold
// the truth.
func (f *fitter) intervals(ctx context.Context, o Options, r *Result) (string, error) {
	p, err := f.plan(o)
	if err != nil || p.what == "" {
		return "none", err
	}
	b, err := resample.Options{Resamples: o.Resamples, Confidence: o.Confidence, Seed: o.Seed}.Resolved()
	if err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	if b.Method == "" {
		b.Method = "moved"
	}
	p.reliability = slices.Repeat([]float64{1}, len(f.groups))
	why := make([]string, len(f.groups)) // there are no intervals
	for g, line := range r.Lines {
		if why[g] = p.refused(g, line); p.sampled() && line.sampled {
			p.reliability[g] = max(line.Reliability, leastReliability)
		}
	}
	estimates, err := resample.Run(ctx, p.design, p.count(), p.statistics, b)
	if err != nil {
		return "", fmt.Errorf("lines: %w", err)
	}
	for g := range f.groups {
		of := estimates[perGroup*g : perGroup*(g+1)]
		if why[g] == "" && math.IsInf(of[0].Interval.High, 1) {
			why[g] = "without one of its models the others have one accuracy"
		}
		if why[g] != "" {
			ofGroup := ""
			if f.groups[g] != "" {
				ofGroup = " of " + f.groups[g]
			}
			r.Notes = append(r.Notes, fmt.Sprintf("No intervals for the line of %d models%s: %s.", p.rests[g],
				ofGroup, why[g]))
			continue
		}
		r.Lines[g].Intervals = map[string]Interval{"slope": {of[0].Interval}, "intercept": {of[1].Interval},
			"r2": {p.squared(of[2], of[3])}}
	}
	for i := range f.points {
		if why[f.of[i]] == "" {
			r.Models[i].Interval = &Interval{estimates[perGroup*len(f.groups)+i].Interval}
		}
	}
	if !p.sampled() {
		return fmt.Sprintf("%s; %g %% intervals", p.what, 100*b.Confidence), nil
	}
	return fmt.Sprintf("%s; %d resamples, %g %% intervals, seed %d", p.what, b.Resamples, 100*b.Confidence, b.Seed), nil
}

const (
	leastModels      = 4   // that are left out: the rest must have a line
	leastReliability = 0.5 // of accuracies with intervals
)

// refused says why a line has no intervals; "" where it has them.
func (p *plan) refused(g int, line Fitted) string {
	switch {
	case p.nets && p.rests[g] < leastModels && (p.rests[g] > 1 || !p.sampled()):
		return fmt.Sprintf("over models they need at least %d", leastModels)
	case line.sampled && line.Reliability < leastReliability:
		return fmt.Sprintf("sampling error is %.0f %% of the variance of its accuracies on the x axis; take more "+
			"images, or models that differ more", 100*(1-line.Reliability))
	}
	return ""
}

// fisher is Fisher's transform of the correlation. Over models it is about symmetric where R² is not.
func fisher(l Line) float64 { return math.Copysign(math.Atanh(min(math.Sqrt(l.R2), 1-1e-12)), l.Slope) }

// squared is the interval of R²: over images its own, over models alone by that of fisher, over both the hull of the
// two.
func (p *plan) squared(r2, z resample.Estimate) resample.Interval {
	in := resample.Interval{Low: max(0, r2.Interval.Low), High: min(1, r2.Interval.High)}
	if !p.nets {
		return resample.Interval{Low: min(in.Low, 1), High: max(in.High, 0)}
	}
	a, b := math.Tanh(z.Interval.Low), math.Tanh(z.Interval.High)
	by := resample.Interval{Low: min(a*a, b*b), High: max(a*a, b*b)}
	if a < 0 && b > 0 {
		by.Low = 0
	}
	if !p.sampled() {
		return by
	}
	return resample.Interval{Low: min(in.Low, by.Low), High: max(in.High, by.High)}
}

// perGroup is the number of statistics of a group's line: slope, intercept, R² and fisher.
const perGroup = 4

// count is the number of statistics: those of each group, and each point's effective robustness.
func (p *plan) count() int { return perGroup*len(p.groups) + len(p.points) }

// group is that of a statistic.
func (p *plan) group(statistic int) int {
	if at := statistic - perGroup*len(p.groups); at >= 0 {
		return p.of[at]
	}
	return statistic / perGroup
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
	images  int    // of each axis, the same ones; 0: images are not known
	counted bool   // else: the number of images behind every accuracy is known
	nets    bool
	rests   []int // models that each group's line goes through
	x, y    axis
	sample  []float64 // the statistics of the sample itself, which stand for images without a line

	reliability []float64 // of each group
}

// plan chooses the design. With accuracies by image, both axes and all models share the drawn images; with
// numbers of images alone, each accuracy is drawn from its binomial law by itself.
func (f *fitter) plan(o Options) (*plan, error) {
	p := &plan{fitter: f, nets: o.Over != Images}
	if o.Over == Nothing {
		return p, nil
	}
	var err error
	if p.images, p.counted, err = f.imageCounts(); err != nil {
		return nil, err
	}
	images, models := 1, len(f.models)
	switch {
	case p.images > 0:
		p.what, images = "images, the same on both axes and for all models", p.images
		p.x = newAxis(p.points, func(pt Point) []float64 { return pt.XImages })
		p.y = newAxis(p.points, func(pt Point) []float64 { return pt.YImages })
	case p.counted:
		p.what = "binomial draws of each accuracy (images are not known)"
	case !p.nets:
		return nil, fmt.Errorf("lines: intervals over images need accuracies by image, or their numbers of images")
	}
	p.design = resample.Paired(images)
	if p.nets {
		p.design = resample.Crossed(images, models)
	}
	if p.counted {
		p.design = p.design.WithSeed()
	}
	p.rests = make([]int, len(p.groups))
	for g := range p.rests {
		p.rests[g] = p.fitted(g)
	}
	if p.nets {
		p.design = p.design.Fitted(func(statistic int) (models, parameters int) {
			return p.rests[p.group(statistic)], 2
		})
		if p.what != "" {
			p.what += ", and "
		}
		p.what += fmt.Sprintf("models (%d), each left out in turn", models)
	}
	return p, nil
}

// sampled reports whether accuracies are drawn again.
func (p *plan) sampled() bool { return p.images > 0 || p.counted }

// imageCounts is the number of images behind all points, 0 where some have none, and whether every accuracy says at
// least its number.
func (f *fitter) imageCounts() (images int, counted bool, err error) {
	images, counted = len(f.points[0].XImages), true
	for _, p := range f.points {
		counted = counted && p.X.N > 0 && p.Y.N > 0
		if len(p.XImages) == 0 || len(p.YImages) == 0 {
			images = 0
		}
	}
	if images == 0 {
		return 0, counted, nil
	}
	for _, p := range f.points {
		for _, of := range []struct {
			images []float64
			share  float64
		}{{p.XImages, p.X.Share}, {p.YImages, p.Y.Share}} {
			known := slices.DeleteFunc(slices.Clone(of.images), math.IsNaN)
			switch mean := stat.Mean(known, nil); {
			case len(of.images) != images:
				return 0, false, fmt.Errorf("lines: model %q has %d images on an axis, others have %d; want the same "+
					"images on both axes and for all models", p.Model, len(of.images), images)
			case len(known) == 0 || slices.Min(known) < 0 || slices.Max(known) > 1 || math.Abs(mean-of.share) > 1e-9:
				return 0, false, fmt.Errorf("lines: model %q: images of mean %v; want shares between 0 and 1 whose "+
					"mean is its accuracy, %v", p.Model, mean, of.share)
			}
		}
	}
	return images, false, nil
}

// statistics are, of a resample, slope, intercept, R² and fisher of each group's line, then each point's effective
// robustness. Images that give a group no line, or an axis no image, count as the sample itself; a group without
// one model may have none, NaN.
//
// Sampling error flattens lines. With a reliability of λ a resample flattens them again, by 1/(2−λ): deviations
// from the sample are multiplied by (2−λ)/λ, so that moving by twice the bias brings the slope to 1/λ of itself.
func (p *plan) statistics(d resample.Draw, values []float64) error {
	x, y := make([]float64, len(p.points)), make([]float64, len(p.points))
	p.draw(d, x, y)
	first := perGroup * len(p.groups)
	for i, pt := range p.points {
		if math.IsNaN(x[i] + y[i]) {
			copy(values, p.sample)
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
		values[first+i] = y[i] // from which the line is taken below
		x[i], y[i] = Probit(a), Probit(b)
	}
	there := slices.Repeat([]bool{!p.nets}, len(p.models))
	for _, m := range d.Second { // none where models are given
		there[m] = true
	}
	all := !slices.Contains(there, false)
	lines := make([]Line, len(p.groups))
	for g := range p.groups {
		line, err := p.line(g, x, y, there)
		of := values[perGroup*g : perGroup*(g+1)]
		copy(of, []float64{line.Slope, line.Intercept, line.R2, fisher(line)})
		switch {
		case degenerate(err) && !all:
			line.Slope = math.NaN()
			copy(of, slices.Repeat([]float64{line.Slope}, perGroup))
		case degenerate(err) && p.sample != nil:
			copy(of, p.sample[perGroup*g:])
			line = Line{Slope: of[0], Intercept: of[1]}
		case err != nil:
			return err
		}
		lines[g] = line
	}
	for i := range p.points {
		values[first+i] -= Phi(lines[p.of[i]].At(x[i]))
	}
	if p.sample == nil { // resample evaluates the sample itself first, alone
		p.sample = slices.Clone(values)
		return nil
	}
	for k, own := range p.sample {
		l := p.reliability[p.group(k)]
		values[k] = own + (values[k]-own)*(2-l)/l
	}
	return nil
}

// draw gives the accuracies of a resample.
func (p *plan) draw(d resample.Draw, x, y []float64) {
	if p.images > 0 {
		w := weigh(d.First, p.images)
		means(x, w, p.x)
		means(y, w, p.y)
		return
	}
	rng := rand.New(rand.NewPCG(d.Seed, 1))
	for i, pt := range p.points {
		x[i], y[i] = pt.X.Share, pt.Y.Share
		if d.Seed != 0 {
			x[i], y[i] = binomialShare(pt.X, rng), binomialShare(pt.Y, rng)
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

// axis holds the images of all points, each vector once: at many radii, or under many corruptions,
// models stand at one x.
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

// line is that of a group, through the models that are there; x and y are in probit units. A line through points of
// one model is that model's, which is given.
func (p *plan) line(g int, x, y []float64, there []bool) (Line, error) {
	var px, py []float64
	distinct, given := map[int]bool{}, p.rests[g] == 1
	for i, pt := range p.points {
		if m := p.model[i]; p.of[i] == g && pt.Fits && (there[m] || given) {
			px, py, distinct[m] = append(px, x[i]), append(py, y[i]), true
		}
	}
	if p.nets && len(distinct) < 3 && !given {
		return Line{}, &FewPoints{N: len(distinct)}
	}
	return LeastSquares(px, py)
}
