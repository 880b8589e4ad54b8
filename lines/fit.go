package lines

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/stat"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/bound"
)

// Selection picks the models whose label has a value, or all others; the zero value is all models. The label "model" is
// the name, if models have no such label.
type Selection struct {
	Label, Value string
	Not          bool // all models but those
}

// ParseSelection reads "label=value" or "label!=value".
func ParseSelection(text string) (Selection, error) {
	label, value, ok := strings.Cut(text, "=")
	label, not := strings.CutSuffix(label, "!")
	if !ok || label == "" {
		return Selection{}, fmt.Errorf("lines: %q, want label=value, such as group=standard, or label!=value", text)
	}
	return Selection{label, value, not}, nil
}

// Has reports whether a model of this name and these labels is selected.
func (s Selection) Has(name string, labels map[string]string) bool {
	if s.Label == "" {
		return true
	}
	value, ok := labels[s.Label]
	if !ok && s.Label == nameLabel {
		value = name
	}
	return (value == s.Value) != s.Not
}

// nameLabel stands for the name of a model.
const nameLabel = "model"

// Over says what intervals take for random.
type Over string

// What may be random.
const (
	Nothing Over = "nothing"
	Images  Over = "images" // other images, the same models
	Both    Over = "both"   // other models, and other images where these are known
)

// Options say how lines are fitted.
type Options struct {
	X, Y     string    // fields; the zero values are the first and second accuracy where there are two alone
	By       string    // the label whose values get a line each; "": one line
	Baseline Selection // the models that the lines go through; all are measured above them
	Clip     Clip
	Over     Over // zero: Both

	Resamples  int     // of the bootstrap, 1 to 1,000,000; default 10,000
	Confidence float64 // of intervals, in (0, 1); default 0.95
	Seed       uint64  // of the bootstrap: equal seeds give equal intervals
}

// Result of Fit.
type Result struct {
	X        string    `json:"x"`
	Y        string    `json:"y"`
	Clip     string    `json:"clip"`
	Sampling string    `json:"sampling"` // what the intervals took for random, and how
	Lines    []Fitted  `json:"lines"`
	Models   []Located `json:"models"`
	Notes    []string  `json:"notes,omitempty"` // what else a reader must know, such as what certificates rest on
}

// Fitted is the line of one group.
type Fitted struct {
	Radius any    `json:"radius,omitempty"` // of certified accuracies
	Group  string `json:"group"`
	Line          // least squares in probit units
	// share of x's variance that is not sampling error; a least-squares slope is too flat by it
	Reliability float64 `json:"reliability,omitempty"`
	// the line that takes both axes' sampling errors for all the scatter
	Deming    *Line               `json:"deming,omitempty"`
	Intervals map[string]Interval `json:"intervals,omitempty"` // of slope, intercept, r2; nil: see Notes

	sampled bool // Reliability is known
}

// Located is a model with its place above the line of its group.
type Located struct {
	Name       string     `json:"name"`
	Radius     any        `json:"radius,omitempty"`
	Group      string     `json:"group"`
	X          Coordinate `json:"x"`
	Y          Coordinate `json:"y"`
	Robustness float64    `json:"effective_robustness"` // in accuracy
	Residual   float64    `json:"residual"`             // in probit units
	Interval   *Interval  `json:"interval,omitempty"`   // of the effective robustness; nil: Result.Notes says why
	Influence  *Influence `json:"influence,omitempty"`  // on the line, where the model is of its baseline
}

// Coordinate is an accuracy with its exact two-sided 95 % interval, where the number of images is known.
type Coordinate struct {
	K        int       `json:"k,omitempty"`
	N        int       `json:"n,omitempty"`
	Share    float64   `json:"share"`
	Interval *Interval `json:"interval,omitempty"` // Clopper and Pearson, rows taken as independent
}

// Point is one accuracy pair. A model may have several, say at several radii; they are drawn together.
type Point struct {
	Model string
	Group string // its line
	Fits  bool   // the line goes through it
	X, Y  Accuracy
	// by image: shares of correct answers, of the same images in the same order on both axes and in all points, as a
	// test set and its corruptions; nil: unknown; NaN: the image is not on this axis
	XImages []float64
	YImages []float64
	Radius  any // kept in the results
}

// Fit fits a line of Y on X, in probit units, for each group, and finds each model's effective robustness above the
// baseline's line.
//
// Errors: a field or label that no model has (with the nearest), fields that are no accuracies, a group with fewer than
// three baseline models or with one x (*FewPoints), accuracies that have no probit, options of the bootstrap, that of
// ctx.
func Fit(ctx context.Context, models Models, o Options) (*Result, error) {
	if err := models.Check(); err != nil {
		return nil, err
	}
	if err := o.fields(models); err != nil {
		return nil, err
	}
	for _, label := range []string{o.By, o.Baseline.Label} {
		if label != "" && label != nameLabel {
			if err := models.needLabel(label); err != nil {
				return nil, err
			}
		}
	}
	var points []Point
	for _, m := range models {
		x, okX := m.Accuracies[o.X]
		y, okY := m.Accuracies[o.Y]
		if okX && okY {
			points = append(points, Point{Model: m.Name, Group: m.Labels[o.By], Fits: o.Baseline.Has(m.Name, m.Labels),
				X: x, Y: y})
		}
	}
	r, err := FitPoints(ctx, points, o)
	if left := len(models) - len(points); err == nil && left > 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("%d of %d models are left out, as they have no %s or no %s.", left,
			len(models), o.X, o.Y))
	}
	return r, err
}

// fields checks X and Y, and finds them where there is no choice.
func (o *Options) fields(models Models) error {
	accuracies := map[string]bool{}
	for _, m := range models {
		for f := range m.Accuracies {
			accuracies[f] = true
		}
	}
	names := slices.Sorted(maps.Keys(accuracies))
	if o.X == "" && o.Y == "" && len(names) == 2 {
		o.X, o.Y = names[0], names[1]
	}
	for _, f := range []string{o.X, o.Y} {
		if !accuracies[f] {
			if f == "" {
				return fmt.Errorf("lines: name the accuracies of both axes; there are %s", list(names))
			}
			return unknown("accuracy", f, names)
		}
	}
	return nil
}

// FitPoints is Fit on points; of the options it takes Clip, Over and Bootstrap, and X and Y as names.
func FitPoints(ctx context.Context, points []Point, o Options) (*Result, error) {
	if err := o.Clip.check(); err != nil {
		return nil, err
	}
	if !slices.Contains([]Over{"", Nothing, Images, Both}, o.Over) {
		return nil, fmt.Errorf("lines: intervals over %q, want %s, %s or %s", o.Over, Nothing, Images, Both)
	}
	f, err := newFitter(points, o)
	if err != nil {
		return nil, err
	}
	r := &Result{X: o.X, Y: o.Y, Clip: o.Clip.String()}
	for g := range f.groups {
		line, err := f.describe(g)
		if err != nil {
			return nil, err
		}
		r.Lines = append(r.Lines, line)
	}
	if err := f.locate(r); err != nil {
		return nil, err
	}
	if r.Sampling, err = f.intervals(ctx, o, r); err != nil {
		return nil, err
	}
	return r, nil
}

// fitter holds the points by group, and their accuracies as they are now drawn.
type fitter struct {
	points []Point
	clip   Clip
	groups []string
	of     []int // group of each point
	models []string
	model  []int // of each point
}

func newFitter(points []Point, o Options) (*fitter, error) {
	f := &fitter{points: points, clip: o.Clip}
	groups, models := map[string]int{}, map[string]int{}
	place := func(at map[string]int, names *[]string, name string) int {
		if _, ok := at[name]; !ok {
			at[name] = len(*names)
			*names = append(*names, name)
		}
		return at[name]
	}
	for _, p := range points {
		f.of = append(f.of, place(groups, &f.groups, p.Group))
		f.model = append(f.model, place(models, &f.models, p.Model))
		for _, a := range []Accuracy{p.X, p.Y} {
			if _, err := o.Clip.share(a); err != nil {
				return nil, fmt.Errorf("lines: model %q: %w", p.Model, err)
			}
		}
	}
	if len(points) == 0 {
		return nil, fmt.Errorf("lines: no model has both %s and %s", o.X, o.Y)
	}
	return f, nil
}

// coordinates are the probits of a group's points that its line goes through, and their numbers.
func (f *fitter) coordinates(g int) (x, y []float64, which []int, err error) {
	for i, p := range f.points {
		if f.of[i] != g || !p.Fits {
			continue
		}
		a, err := f.clip.share(p.X)
		if err != nil {
			return nil, nil, nil, err
		}
		b, err := f.clip.share(p.Y)
		if err != nil {
			return nil, nil, nil, err
		}
		x, y, which = append(x, Probit(a)), append(y, Probit(b)), append(which, i)
	}
	return x, y, which, nil
}

func (f *fitter) describe(g int) (Fitted, error) {
	out := Fitted{Group: f.groups[g]}
	x, y, which, err := f.coordinates(g)
	if err != nil {
		return out, err
	}
	if out.Line, err = LeastSquares(x, y); err != nil {
		return out, fmt.Errorf("%w (group %q)", err, f.groups[g])
	}
	out.Radius = f.points[which[0]].Radius
	for _, i := range which {
		if f.points[i].Radius != out.Radius {
			out.Radius = "all"
		}
	}
	var vx, vy []float64
	for _, i := range which {
		p := f.points[i]
		a, _ := f.clip.share(p.X)
		b, _ := f.clip.share(p.Y)
		if len(p.XImages) > 0 && len(p.YImages) > 0 {
			vx, vy = append(vx, imageVariance(p.XImages, a)), append(vy, imageVariance(p.YImages, b))
		} else if p.X.N > 0 && p.Y.N > 0 {
			vx, vy = append(vx, probitVariance(a, p.X.N)), append(vy, probitVariance(b, p.Y.N))
		}
	}
	if len(vx) == len(which) {
		out.sampled, out.Reliability = true, reliability(x, vx)
		if ratio := stat.Mean(vy, nil) / stat.Mean(vx, nil); ratio > 0 && !math.IsInf(ratio, 0) {
			if d, err := Deming(x, y, ratio); err == nil {
				out.Deming = &d
			}
		}
	}
	return out, nil
}

// imageVariance is the variance of the probit of a mean over images, by the delta method.
func imageVariance(images []float64, p float64) float64 {
	images = slices.DeleteFunc(slices.Clone(images), math.IsNaN)
	z := Probit(p)
	phi := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi)
	if len(images) < 2 {
		return 0
	}
	return stat.Variance(images, nil) / float64(len(images)) / (phi * phi)
}

// locate fills in the models.
func (f *fitter) locate(r *Result) error {
	influences := make(map[int]Influence)
	for g := range f.groups {
		x, y, which, err := f.coordinates(g)
		if err != nil {
			return err
		}
		_, all, err := Influences(x, y)
		if err != nil {
			return err
		}
		for k, i := range which {
			influences[i] = all[k]
		}
	}
	for i, p := range f.points {
		e, err := EffectiveRobustness(r.Lines[f.of[i]].Line, p.X, p.Y, f.clip)
		if err != nil {
			return err
		}
		l := Located{Name: p.Model, Radius: p.Radius, Group: p.Group, Robustness: e.Accuracy, Residual: e.Residual}
		if l.X, err = p.X.Coordinate(); err != nil {
			return err
		}
		if l.Y, err = p.Y.Coordinate(); err != nil {
			return err
		}
		if in, ok := influences[i]; ok {
			l.Influence = &in
		}
		r.Models = append(r.Models, l)
	}
	return nil
}

// Coordinate is the accuracy with its interval.
func (a Accuracy) Coordinate() (Coordinate, error) {
	c := Coordinate{Share: a.Share, N: a.N, K: a.Correct()}
	if a.N == 0 {
		return c, nil
	}
	lower, upper, err := bound.ClopperPearson{Alpha: 0.05}.Interval(c.K, c.N)
	if err != nil {
		return c, fmt.Errorf("lines: %w", err)
	}
	c.Interval = &Interval{resample.Interval{Low: lower.P, High: upper.P}}
	return c, nil
}

// degenerate says that a resample has no line.
func degenerate(err error) bool {
	var few *FewPoints
	return errors.As(err, &few)
}
