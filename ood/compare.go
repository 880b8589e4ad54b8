package ood

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/resample"
)

// Side is the images of one side of a comparison.
type Side struct {
	Name    string  `json:"name"`
	Digest  string  `json:"digest"`
	Images  int     `json:"images"`
	Epsilon float64 `json:"epsilon"`
	NaN     int     `json:"nan"`
	// of the images; one that is not a number counts as 1 on the foreign side, as 0 on the other
	Confidence float64 `json:"mean_confidence"`
	// of the upper bounds on the foreign side, of the lower ones on the other
	Bound   *float64 `json:"mean_bound,omitempty"`
	HeldOut string   `json:"held_out,omitempty"` // the set of training that these images are another part of
}

// Subset is the metrics on the images that were attacked.
type Subset struct {
	Images int      `json:"images"`
	AUC    float64  `json:"auc"`
	CAUC   float64  `json:"cauc"`
	AAUC   float64  `json:"aauc"`
	CAAUC  float64  `json:"caauc"`
	GAUC   *float64 `json:"gauc"`
	CGAUC  *float64 `json:"cgauc"`
	Mean   float64  `json:"mean_attacked"` // confidence
}

// Estimate is the intervals of a metric at the level 95 %.
type Estimate struct {
	DeLong    *Interval `json:"delong,omitempty"` // of the forms with ties as one half
	Bootstrap *Interval `json:"bootstrap"`        // percentiles, images of both sides drawn again
}

// Comparison is how well the confidence tells foreign images from a network's own. AUC is of the images as they are,
// AAUC of the foreign ones as attacks found them, GAUC of their upper bounds. So no image of their balls ranks better
// for the attacker than GAUC says. In forms that begin with C, ties count as lost (Bitterwolf et al. 2020, equations 16
// and 17, appendix C). FPR95 is the share of foreign images that reach the confidence that 95 % of the own images
// reach, GFPR95 the rate by their bounds.
type Comparison struct {
	In        Side                `json:"in"`
	Foreign   Side                `json:"foreign"`
	Epsilon   float64             `json:"eps"`
	Inputs    string              `json:"inputs,omitempty"` // around a foreign image, where they are no ball around it
	AUC       float64             `json:"auc"`
	CAUC      float64             `json:"cauc"`
	AAUC      *float64            `json:"aauc"` // null without attacks; on their images alone
	CAAUC     *float64            `json:"caauc"`
	GAUC      *float64            `json:"gauc"` // null without bounds
	CGAUC     *float64            `json:"cgauc"`
	BothGAUC  *float64            `json:"gauc_both,omitempty"`  // own images by their lower bounds: both sides attacked
	BothCGAUC *float64            `json:"cgauc_both,omitempty"` // conservative
	FPR95     *float64            `json:"fpr95"`                // null where too few confidences are numbers
	GFPR95    *float64            `json:"gfpr95"`
	NaN       int                 `json:"nan"`
	Intervals map[string]Estimate `json:"intervals"`
	Attacked  *Subset             `json:"attack_subset"`
	Warnings  []string            `json:"warnings,omitempty"`

	in, foreign []float64 // scores, for figures
}

// CompareOptions say how intervals are made. The zero value works.
type CompareOptions struct {
	Resamples int // 0: 1000
	Seed      uint64
}

// Compare compares the confidences on a network's own images with those on foreign ones. Of the foreign set there may
// be a measurement with bounds, one under attack, or both. The attacked images are then some or all of the bounded
// ones.
//
// Errors: measurements of other networks, unfinished ones, several of a kind, of other radii or
// sets; an image whose confidence under attack lies above its bound, which would be a mistake in
// either.
func Compare(ctx context.Context, o CompareOptions, in *Measurement, foreign ...*Measurement) (*Comparison, error) {
	bound, attacked, err := sides(in, foreign)
	if err != nil {
		return nil, err
	}
	first := bound
	if first == nil {
		first = attacked
	}
	own, clean := column(in, logs), column(first, logs)
	c := &Comparison{
		In: side(in), Foreign: side(first), Epsilon: first.Header.Epsilon, Intervals: map[string]Estimate{}, in: own,
		foreign: clean,
	}
	if first.Header.Probe != nil {
		c.Inputs = first.Header.Inputs()
	}
	c.NaN = c.In.NaN + c.Foreign.NaN
	c.In.Confidence, c.Foreign.Confidence = mean(own, 0), mean(clean, 1)
	if c.Foreign.HeldOut, err = Unseen(first.Header.Data, in.Header.Model.Trained); err != nil {
		return nil, err
	}
	c.warn(in, foreign)
	b := bootstrap{ctx: ctx, o: o, out: c.Intervals}
	c.AUC, c.CAUC = b.both("auc", "cauc", own, clean)
	c.FPR95 = fpr(own, clean)
	if bound != nil {
		upper := column(bound, func(l record.Line) float64 { return worst(l, l.Upper) })
		c.foreign = upper
		g, cg := b.both("gauc", "cgauc", own, upper)
		c.GAUC, c.CGAUC, c.GFPR95 = &g, &cg, fpr(own, upper)
		m := mean(upper, 1)
		c.Foreign.Bound = &m
		if in.Header.Epsilon > 0 && in.Header.Bound != nil {
			lower := column(in, func(l record.Line) float64 { return worst(l, l.Lower) })
			g, cg := b.both("gauc_both", "cgauc_both", lower, upper)
			m := mean(lower, 0)
			c.BothGAUC, c.BothCGAUC, c.In.Bound = &g, &cg, &m
		}
	}
	if attacked != nil {
		if c.Attacked, err = subset(own, bound, attacked); err != nil {
			return nil, err
		}
		a, ca := b.both("aauc", "caauc", own,
			column(attacked, func(l record.Line) float64 { return worst(l, l.Attacked) }))
		c.AAUC, c.CAAUC = &a, &ca
	}
	return c, b.err
}

// Threshold is a confidence above which images count as a network's own.
type Threshold struct {
	Log   float64 `json:"log"`   // ln Conf
	Value float64 `json:"value"` // Conf, rounded
	TPR   float64 `json:"tpr"`   // share of the validation images that reach it
	// with 95 % confidence, at least this share of images of their kind reaches it (Clopper and
	// Pearson, by the validation images asked for: ties add none)
	Least float64 `json:"least"`
	NaN   int     `json:"nan"` // validation images whose confidence is not a number: they do not reach it
}

// PickThreshold is the largest confidence that the share tpr of validation images of the network's
// own distribution reaches. What it guarantees: an image of a foreign ball whose upper bound lies
// below it is never taken for an own one. Errors: those of FPR; images that the network was trained
// on, of which it is too sure (*TrainedError).
func PickThreshold(validation *Measurement, tpr float64) (Threshold, error) {
	if _, err := Unseen(validation.Header.Data, validation.Header.Model.Trained); err != nil {
		return Threshold{}, err
	}
	scores := column(validation, logs)
	_, log, err := FPR(scores, scores, tpr)
	if err != nil {
		return Threshold{}, fmt.Errorf("a threshold from %s: %w", validation.Header.Data.Name, err)
	}
	t := Threshold{Log: log, Value: math.Exp(log)}
	hits := 0
	for _, s := range scores {
		if s >= log {
			hits++
		} else if math.IsNaN(s) {
			t.NaN++
		}
	}
	t.TPR = float64(hits) / float64(len(scores))
	// The threshold is an order statistic: the share above it is bounded by its rank, not by the
	// images that happen to tie with it.
	share, err := resample.Share(asked(tpr, len(scores)), len(scores), 0.9) // two-sided at 90 %, one-sided at 95 %
	t.Least = share.Low
	return t, err
}

// Reach is the share of images whose confidence, or with bounds its upper bound, is not below the threshold. A
// confidence that is not a number reaches it, which is safe for foreign images.
func (t Threshold) Reach(m *Measurement, bounds bool) float64 {
	n := 0
	for _, l := range m.Lines {
		v := l.Log
		if bounds {
			v = worst(l, l.Upper)
		}
		if !(v < t.Log) {
			n++
		}
	}
	return float64(n) / float64(len(m.Lines))
}

// Keeps is the share of own images whose confidence is not below the threshold; one that is no number is not kept.
func (t Threshold) Keeps(m *Measurement) float64 {
	n := 0
	for _, l := range m.Lines {
		if l.Log >= t.Log {
			n++
		}
	}
	return float64(n) / float64(len(m.Lines))
}

func logs(l record.Line) float64 { return l.Log }

// worst is a bound of an image, unless its own confidence is not a number.
func worst(l record.Line, v float64) float64 {
	if math.IsNaN(l.Log) {
		return math.NaN()
	}
	return v
}

func column(m *Measurement, of func(record.Line) float64) []float64 {
	out := make([]float64, len(m.Lines))
	for i, l := range m.Lines {
		out[i] = of(l)
	}
	return out
}

// mean is the mean of exp, what is not a number counting as other.
func mean(scores []float64, other float64) float64 {
	sum := 0.0
	for _, s := range scores {
		if math.IsNaN(s) {
			sum += other
		} else {
			sum += math.Exp(s)
		}
	}
	return sum / float64(len(scores))
}

func fpr(in, foreign []float64) *float64 {
	rate, _, err := FPR(in, foreign, 0.95)
	if err != nil {
		return nil
	}
	return &rate
}

// GuaranteedArea is the area under the ROC curve of own confidences against the upper bounds of
// foreign images, alone. Errors: those of Compare, foreign images without bounds.
func GuaranteedArea(in, foreign *Measurement) (AUC, error) {
	bound, _, err := sides(in, []*Measurement{foreign})
	if err != nil {
		return AUC{}, err
	}
	if bound == nil {
		return AUC{}, fmt.Errorf("ood: %s has attacks; want bounds", foreign.Path)
	}
	return Area(column(in, logs), column(bound, func(l record.Line) float64 { return worst(l, l.Upper) }))
}

func side(m *Measurement) Side {
	return Side{Name: m.Header.Data.Name, Digest: m.Header.Data.Digest, Images: len(m.Lines), Epsilon: m.Header.Epsilon,
		NaN: m.Claims.NaN}
}

// sides sorts the measurements of the foreign side, and checks that all are finished and of one network.
func sides(in *Measurement, foreign []*Measurement) (bound, attacked *Measurement, err error) {
	if in == nil || len(foreign) == 0 {
		return nil, nil, fmt.Errorf("%w: name own images, and foreign ones with bounds, under attack, or both",
			ErrEmpty)
	}
	for _, m := range append([]*Measurement{in}, foreign...) {
		switch {
		case m.Claims == nil:
			return nil, nil, fmt.Errorf("ood: %s is not finished: run its command again", m.Path)
		case len(m.Lines) == 0:
			return nil, nil, fmt.Errorf("%w: %s", ErrEmpty, m.Path)
		case m.Header.Model.Network != in.Header.Model.Network:
			return nil, nil, fmt.Errorf("ood: %s is of another network (%s, %s) than %s (%s, %s)", m.Path,
				m.Header.Model.Name, m.Header.Model.Network, in.Path, in.Header.Model.Name, in.Header.Model.Network)
		}
	}
	for _, m := range foreign {
		if m.Header.Data.Digest == in.Header.Data.Digest {
			return nil, nil, fmt.Errorf("ood: %s has the own images themselves, %s; name a set of other images", m.Path,
				in.Header.Data.Name)
		}
		if _, err := Unseen(m.Header.Data, in.Header.Model.Trained); err != nil {
			return nil, nil, err
		}
		to := &bound
		if m.Header.Attack != nil {
			to = &attacked
		}
		if *to != nil {
			return nil, nil, fmt.Errorf("ood: %s and %s are of one kind; of the foreign set there is one file of "+
				"bounds and one of attacks", (*to).Path, m.Path)
		}
		*to = m
	}
	if bound != nil && attacked != nil && bound.Header.Inputs() != attacked.Header.Inputs() {
		return nil, nil, fmt.Errorf("ood: %s is of %s, %s of %s", bound.Path, bound.Header.Inputs(), attacked.Path,
			attacked.Header.Inputs())
	}
	return bound, attacked, nil
}

// subset is the metrics on the attacked images. Every one must be among the bounded ones, with Conf ≤ Conf_adv ≤ bound.
func subset(own []float64, bound, attacked *Measurement) (*Subset, error) {
	s := &Subset{Images: len(attacked.Lines)}
	clean := column(attacked, logs)
	found := column(attacked, func(l record.Line) float64 { return worst(l, l.Attacked) })
	area := func(foreign []float64) (v, conservative float64) {
		a, _ := Area(own, foreign)
		return a.Value, a.Conservative
	}
	s.AUC, s.CAUC = area(clean)
	s.AAUC, s.CAAUC = area(found)
	s.Mean = mean(found, 1)
	if bound == nil {
		return s, nil
	}
	at, err := ordered(bound, attacked)
	if err != nil {
		return nil, err
	}
	upper := make([]float64, len(attacked.Lines))
	for i, l := range attacked.Lines {
		upper[i] = worst(at[l.Image], at[l.Image].Upper)
	}
	g, cg := area(upper)
	s.GAUC, s.CGAUC = &g, &cg
	return s, nil
}

// Ordered makes sure that Conf ≤ Conf under attack ≤ bound holds image by image, and that every
// attacked image is among the bounded ones.
func Ordered(bound, attacked *Measurement) error {
	_, err := ordered(bound, attacked)
	return err
}

// ordered are the lines of the bounds by image.
func ordered(bound, attacked *Measurement) (map[int]record.Line, error) {
	at := make(map[int]record.Line, len(bound.Lines))
	for _, l := range bound.Lines {
		at[l.Image] = l
	}
	if base(bound.Header.Data.Name) != base(attacked.Header.Data.Name) {
		return nil, fmt.Errorf("ood: %s is of %s, %s of %s, which is another set: attacked images are some of the "+
			"bounded ones; attack %s, or a part of it, as with [count=100]", attacked.Path, attacked.Header.Data.Name,
			bound.Path, bound.Header.Data.Name, bound.Header.Data.Name)
	}
	for _, l := range attacked.Lines {
		b, ok := at[l.Image]
		switch {
		case !ok:
			return nil, fmt.Errorf("ood: image %d of %s is not in %s: attacked images are some of the bounded ones",
				l.Image, attacked.Path, bound.Path)
		case math.IsNaN(b.Log) != math.IsNaN(l.Log) || !math.IsNaN(l.Log) && (b.Log != l.Log || b.Class != l.Class):
			return nil, fmt.Errorf("ood: image %d has ln Conf %v in %s and %v in %s: they are not of the same images",
				l.Image, l.Log, attacked.Path, b.Log, bound.Path)
		case l.Attacked < l.Log:
			return nil, fmt.Errorf("ood: image %d of %s: ln Conf is %v, and %v under attack, which never gives less "+
				"than the image itself", l.Image, attacked.Path, l.Log, l.Attacked)
		case l.Attacked > b.Upper:
			return nil, fmt.Errorf("ood: image %d: under attack (%s) ln Conf is %v, above its bound, %v: the bound "+
				"of %s is wrong, or the point lies outside its ball", l.Image, l.By, l.Attacked, b.Upper, bound.Path)
		}
	}
	return at, nil
}

// warn says what a reader of the numbers should know.
func (c *Comparison) warn(in *Measurement, foreign []*Measurement) {
	if c.NaN > 0 {
		c.Warnings = append(c.Warnings,
			fmt.Sprintf("%d confidences are not numbers; on the own side they lose, on the foreign side they win",
				c.NaN))
	}
	for _, m := range append([]*Measurement{in}, foreign...) {
		if s := m.Header.Shard; s != nil {
			c.Warnings = append(c.Warnings,
				fmt.Sprintf("%s is shard %d of %d alone, %d of the images of %s; certspec merge joins the shards",
					m.Path, s.Index, s.Count, len(m.Lines), m.Header.Data.Name))
		}
	}
	c.Warnings = append(c.Warnings, Caveats(in.Header.Model.Trained, c.Foreign.HeldOut)...)
}

// bootstrap adds the intervals of metrics to out; the first error is kept.
type bootstrap struct {
	ctx context.Context
	o   CompareOptions
	out map[string]Estimate
	err error
}

func (b *bootstrap) both(name, conservative string, in, foreign []float64) (value, least float64) {
	a, err := Area(in, foreign)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return 0, 0
	}
	intervals, err := areaIntervals(b.ctx, in, foreign, b.o)
	if err != nil {
		b.err = errors.Join(b.err, err)
		return a.Value, a.Conservative
	}
	e := Estimate{Bootstrap: &intervals[0]}
	if _, deviation, err := DeLong(in, foreign); err == nil {
		half := resample.Normal95 * deviation
		e.DeLong = &Interval{resample.Interval{Low: max(a.Value-half, 0), High: min(a.Value+half, 1)}, 0.95}
	}
	b.out[name], b.out[conservative] = e, Estimate{Bootstrap: &intervals[1]}
	return a.Value, a.Conservative
}

// String is the metrics in a few lines, in percent.
func (c *Comparison) String() string {
	text := fmt.Sprintf("%s against %s, ε = %v\nAUC %.1f", c.In.Name, c.Foreign.Name, c.Epsilon, 100*c.AUC)
	for _, v := range []struct {
		name  string
		value *float64
	}{{"AAUC", c.AAUC}, {"GAUC", c.GAUC}, {"FPR95", c.FPR95}, {"guaranteed FPR95", c.GFPR95}} {
		if v.value != nil {
			text += fmt.Sprintf(", %s %.1f", v.name, 100**v.value)
		}
	}
	for _, w := range c.Warnings {
		text += "\n" + w
	}
	return text
}
