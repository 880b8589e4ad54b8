package rs

import "fmt"

// Difference is a metric of two runs on the same images, and B − A with its interval.
type Difference struct {
	A          float64  `json:"a"`
	B          float64  `json:"b"`
	Difference float64  `json:"difference"` // B − A
	Interval   Interval `json:"interval"`
}

// AccuracyDifference is a difference of certified accuracies at one radius.
type AccuracyDifference struct {
	Radius float64 `json:"radius"`
	Difference
}

// Comparison is two runs image by image.
type Comparison struct {
	Images            int                  `json:"images"`     // in both, with a label: those compared
	Unlabelled        int                  `json:"unlabelled"` // in both, without a label in one of them
	OnlyA             []int                `json:"only_a"`     // images that the other one lacks
	OnlyB             []int                `json:"only_b"`
	ACR               Difference           `json:"acr"`
	CertifiedAccuracy []AccuracyDifference `json:"certified_accuracy"`
	Bootstrap         Bootstrap            `json:"bootstrap"` // behind the intervals, defaults filled in
}

// Compare pairs the images of two runs by their ids and gives the differences B − A of the average certified
// radius and of the certified accuracy at each radius, over the images that both have with a label. The intervals are those of
// the paired bootstrap, percentile form: images are resampled, and an image brings its results in both runs. So what makes an image
// hard for both cancels, and intervals are narrower than those of two independent sets.
//
// Errors: an image twice in one run, an image with two labels, no image in common, options out of range.
func Compare(a, b Rows, radii []float64, o Bootstrap) (*Comparison, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &Comparison{OnlyA: []int{}, OnlyB: []int{}, CertifiedAccuracy: []AccuracyDifference{}, Bootstrap: o}
	of, err := b.byImage("the second")
	if err != nil {
		return nil, err
	}
	inA, err := a.byImage("the first")
	if err != nil {
		return nil, err
	}
	var left, right Rows
	for _, row := range a {
		i, both := of[row.Image]
		switch {
		case !both:
			c.OnlyA = append(c.OnlyA, row.Image)
		case row.Label < 0 || b[i].Label < 0:
			c.Unlabelled++
		case row.Label != b[i].Label:
			return nil, fmt.Errorf("rs: image %d has label %d in the first run and %d in the second: the runs are of different data", row.Image, row.Label, b[i].Label)
		default:
			left, right = append(left, row), append(right, b[i])
		}
	}
	for _, row := range b {
		if _, both := inA[row.Image]; !both {
			c.OnlyB = append(c.OnlyB, row.Image)
		}
	}
	if c.Images = len(left); c.Images == 0 {
		return nil, fmt.Errorf("rs: nothing to compare: no image with a label is in both runs; the first has %d images, the second %d", len(a), len(b))
	}
	metrics := 1 + len(radii)
	values := make([]float64, 0, metrics*c.Images)
	for i := range left {
		values = append(values, right[i].correctRadius()-left[i].correctRadius())
		for _, r := range radii {
			values = append(values, right[i].certifiedAt(r)-left[i].certifiedAt(r))
		}
	}
	intervals, err := o.intervals(values, metrics)
	if err != nil {
		return nil, err
	}
	c.ACR = difference(left.ACR().Value, right.ACR().Value, intervals[0])
	of1, of2 := left.CertifiedAccuracy(radii...), right.CertifiedAccuracy(radii...)
	for i, r := range radii {
		c.CertifiedAccuracy = append(c.CertifiedAccuracy, AccuracyDifference{r, difference(of1[i].Value, of2[i].Value, intervals[1+i])})
	}
	return c, nil
}

func difference(a, b float64, i Interval) Difference { return Difference{a, b, b - a, i} }

// byImage finds rows by their image.
func (r Rows) byImage(name string) (map[int]int, error) {
	at := make(map[int]int, len(r))
	for i := range r {
		if _, twice := at[r[i].Image]; twice {
			return nil, fmt.Errorf("rs: image %d is twice in %s run", r[i].Image, name)
		}
		at[r[i].Image] = i
	}
	return at, nil
}

// correctRadius is the radius where the class is correct, else 0.
func (r Row) correctRadius() float64 {
	if r.Correct() {
		return r.Radius
	}
	return 0
}

// certifiedAt is 1 where the class is correct and certified at least that far, else 0.
func (r Row) certifiedAt(radius float64) float64 {
	if r.Correct() && r.Radius >= radius {
		return 1
	}
	return 0
}
