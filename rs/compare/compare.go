// Package compare compares certified radii image by image, with bootstrap intervals over the images. It takes two runs
// on the same images, one run under many corruptions, or two of those. It works on plain vectors; rs.Rows.Vectors gives
// those of a run.
package compare

import (
	"context"
	"fmt"
	"slices"

	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// Radii are what a run certifies, image by image: three vectors of one length.
type Radii struct {
	Images []int     // ids
	Labels []int     // −1: unknown
	Values []float64 // certified radius where the answer is right, else −1

	Header *ledger.Header // of the run; nil: its settings are not known, as of most published logs
	Cap    float64        // largest radius that the run can certify; 0: not known
}

// Of makes Radii of vectors, as in Of(rows.Vectors()).
func Of(images, labels []int, values []float64) Radii {
	return Radii{Images: images, Labels: labels, Values: values}
}

// OfRun makes Radii of a run, with its header and its cap.
func OfRun(run *rs.Run) Radii {
	r := Of(run.Rows.Vectors())
	r.Header, r.Cap = &run.Header, run.RadiusCap()
	return r
}

// cut has no radius above a cap, which 0 is not.
func (r Radii) cut(most float64) Radii {
	if most > 0 && len(r.Values) > 0 && slices.Max(r.Values) > most {
		r.Values = slices.Clone(r.Values)
		for i, v := range r.Values {
			r.Values[i] = min(v, most)
		}
	}
	return r
}

// radius counts what is not certified right as 0.
func (r Radii) radius(i int) float64 { return max(r.Values[i], 0) }

// reaches is 1 where image i is certified right at least as far as a radius, else 0.
func (r Radii) reaches(i int, radius float64) float64 {
	if v := r.Values[i]; v >= 0 && v >= radius {
		return 1
	}
	return 0
}

// byImage finds places by images.
func (r Radii) byImage(name string) (map[int]int, error) {
	if len(r.Labels) != len(r.Images) || len(r.Values) != len(r.Images) {
		return nil, fmt.Errorf("compare: %s run has %d images, %d labels and %d radii", name, len(r.Images),
			len(r.Labels), len(r.Values))
	}
	at := make(map[int]int, len(r.Images))
	for i, image := range r.Images {
		if _, twice := at[image]; twice {
			return nil, fmt.Errorf("compare: image %d is twice in %s run", image, name)
		}
		at[image] = i
	}
	return at, nil
}

// labelled are the radii of the images with a label.
func (r Radii) labelled() (radii []float64) {
	for i, label := range r.Labels {
		if label >= 0 {
			radii = append(radii, r.radius(i))
		}
	}
	return radii
}

// ACR returns the bootstrap interval (Efron 1979, percentile form) for the average certified radius of the population
// of which the labelled images are a random sample. For fewer than LeastImages images it is Student's. Where fewer than
// ten images, and less than half, are below the largest radius, it reaches as far down as the Clopper-Pearson bound on
// their share allows. Without images it is [0, 0].
//
// Errors: options out of range, as *resample.OptionError; that of ctx.
func ACR(ctx context.Context, r Radii, o resample.Options) (resample.Interval, error) {
	radii := r.labelled()
	o, err := o.Resolved()
	if err != nil || len(radii) == 0 {
		return resample.Interval{}, err
	}
	found, err := averages(ctx, radii, 1, o)
	if err != nil {
		return resample.Interval{}, err
	}
	return positive(found[0].Interval), nil
}

// positive is an interval of radii, of which none is below 0.
func positive(i resample.Interval) resample.Interval {
	return resample.Interval{Low: max(0, i.Low), High: i.High}
}

// Difference is a metric of two runs on the same images, and B − A with its interval.
type Difference struct {
	A          float64           `json:"a"`
	B          float64           `json:"b"`
	Difference float64           `json:"difference"` // B − A
	Interval   resample.Interval `json:"interval"`
	// of the hypothesis that there is no difference; see resample.Holm
	P    float64  `json:"-"`
	Holm *float64 `json:"p_holm,omitempty"` // P corrected for all differences of a table; nil: of none

	// Starts is the number of starts of the method with fewer, that Interval is over; 1: it is for this start;
	// 0: of two runs.
	Starts int         `json:"starts,omitempty"`
	Given  *Difference `json:"given,omitempty"` // of two starts: for these alone, over images
}

// Corrected is the p-value that a verdict rests on: corrected for all differences of a table where
// there are more.
func (d Difference) Corrected() float64 {
	if d.Holm != nil {
		return *d.Holm
	}
	return d.P
}

func difference(a, b float64, e resample.Estimate) Difference {
	return Difference{A: a, B: b, Difference: b - a, Interval: e.Interval, P: e.P}
}

// AtRadius is a difference of certified accuracies at one radius.
type AtRadius struct {
	Radius float64 `json:"radius"`
	Difference
}

// Comparison is two runs image by image.
type Comparison struct {
	Images            int              `json:"images"`     // in both, with a label: those compared
	Unlabelled        int              `json:"unlabelled"` // in both, without a label in one of them
	OnlyA             []int            `json:"only_a"`     // images that the other one lacks
	OnlyB             []int            `json:"only_b"`
	ACR               Difference       `json:"acr"`
	CertifiedAccuracy []AtRadius       `json:"certified_accuracy"`
	Bootstrap         resample.Options `json:"bootstrap"` // behind the intervals, defaults filled in

	Differ   []Setting `json:"differ"`        // fields of the two headers that differ
	Cap      float64   `json:"cap,omitempty"` // the smaller cap: all radii are cut at it; 0: none is known
	Beyond   []float64 `json:"beyond_cap"`    // radii above it, at which nothing is compared
	Verdicts []Verdict `json:"verdicts"`      // by metric
}

// Runs pairs the images of two runs by their ids. It returns the differences B − A of the average certified radius and
// of the certified accuracy at each radius, over the images that both have with a label. The intervals come from the
// paired bootstrap, percentile form: an image that is drawn brings its results in both runs. So what makes an image
// hard for both cancels, and intervals are narrower than those of two independent sets. Over fewer than LeastImages
// images they are Student's, with fewer degrees of freedom where fewer than ten images differ.
//
// Where the headers of both are known, fields that differ are listed. A difference is claimed of
// the models only where nothing else differs. Radii are cut at the smaller cap.
//
// Errors: runs of different images, as *DataError; an image twice in one run, an image with two
// labels, no image in common; options out of range, as *resample.OptionError; that of ctx.
func Runs(ctx context.Context, a, b Radii, radii []float64, o resample.Options) (*Comparison, error) {
	o, err := o.Resolved()
	if err != nil {
		return nil, err
	}
	if err := pairable(a.Header, b.Header); err != nil {
		return nil, err
	}
	c := &Comparison{OnlyA: []int{}, OnlyB: []int{}, CertifiedAccuracy: []AtRadius{}, Bootstrap: o,
		Differ: Differ(a.Header, b.Header), Cap: smallestCap(a.Cap, b.Cap), Beyond: []float64{}}
	a, b = a.cut(c.Cap), b.cut(c.Cap)
	if c.Cap > 0 {
		all := radii
		c.Beyond = slices.DeleteFunc(slices.Clone(all), func(r float64) bool { return r <= c.Cap })
		radii = slices.DeleteFunc(slices.Clone(all), func(r float64) bool { return !(r <= c.Cap) })
	}
	of, err := b.byImage("the second")
	if err != nil {
		return nil, err
	}
	inA, err := a.byImage("the first")
	if err != nil {
		return nil, err
	}
	metrics := 1 + len(radii)
	var values []float64
	left, right := make([][]float64, metrics), make([][]float64, metrics)
	for i, image := range a.Images {
		j, both := of[image]
		switch {
		case !both:
			c.OnlyA = append(c.OnlyA, image)
			continue
		case a.Labels[i] < 0 || b.Labels[j] < 0:
			c.Unlabelled++
			continue
		case a.Labels[i] != b.Labels[j]:
			return nil, fmt.Errorf("compare: image %d has label %d in the first run and %d in the second: the runs "+
				"are of different data", image, a.Labels[i], b.Labels[j])
		}
		c.Images++
		for k := range metrics {
			x, y := a.radius(i), b.radius(j)
			if k > 0 {
				x, y = a.reaches(i, radii[k-1]), b.reaches(j, radii[k-1])
			}
			left[k], right[k], values = append(left[k], x), append(right[k], y), append(values, y-x)
		}
	}
	for _, image := range b.Images {
		if _, both := inA[image]; !both {
			c.OnlyB = append(c.OnlyB, image)
		}
	}
	if c.Images == 0 {
		return nil, fmt.Errorf("compare: nothing to compare: no image with a label is in both runs; the first has "+
			"%d images, the second %d", len(a.Images), len(b.Images))
	}
	found, err := meanDifferences(ctx, values, metrics, o)
	if err != nil {
		return nil, err
	}
	for k, e := range found {
		slices.Sort(left[k]) // sums as in rs.Rows.ACR
		slices.Sort(right[k])
		d := difference(mean(left[k]), mean(right[k]), e)
		if k == 0 {
			c.ACR = d
		} else {
			c.CertifiedAccuracy = append(c.CertifiedAccuracy, AtRadius{radii[k-1], d})
		}
	}
	names, all := []string{"ACR"}, []*Difference{&c.ACR}
	for i, at := range c.CertifiedAccuracy {
		names = append(names, fmt.Sprintf("r = %g", at.Radius))
		all = append(all, &c.CertifiedAccuracy[i].Difference)
	}
	together(all)
	c.Verdicts = verdicts(names, all, o.Confidence, c.Differ)
	return c, nil
}

// together corrects the p-values of two or more differences that stand side by side, by Holm's method.
func together(all []*Difference) {
	if len(all) < 2 {
		return
	}
	p := make([]float64, len(all))
	for i, d := range all {
		p[i] = d.P
	}
	holm, err := resample.Holm(p)
	if err != nil {
		panic("compare: " + err.Error()) // shares of resamples
	}
	for i, d := range all {
		d.Holm = &holm[i]
	}
}
