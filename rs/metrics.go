package rs

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/certspec/certspec/rs/rule"
)

// Row is one image with its outcome.
type Row struct {
	Image int `json:"image"` // stable id: index in the base set
	Label int `json:"label"` // -1: unknown
	rule.Outcome
}

// Certified reports whether the row names a class; Abstain is none.
func (r Row) Certified() bool { return r.Class != Abstain }

// Correct reports whether the row names the class that the label has.
func (r Row) Correct() bool { return r.Certified() && r.Class == r.Label }

// Rows are certified images. Metrics are over the images whose label is known; on these,
// abstentions and wrong classes count as failures with radius 0.
type Rows []Row

// Accuracy is the certified accuracy at one radius: the fraction of labelled images whose class is
// correct and whose radius is at least Radius,
//
//	CA(r) = 1/|D| · #{(x, y) ∈ D : class(x) = y and R(x) ≥ r}.
type Accuracy struct {
	Radius float64 `json:"radius"`
	Value  float64 `json:"value"` // Count/Images; 0 if there are no labelled images
	Count  int     `json:"count"`
	Images int     `json:"images"` // labelled
}

func (a Accuracy) String() string {
	if a.Images == 0 {
		return fmt.Sprintf("certified accuracy at %g: unknown, no labels", a.Radius)
	}
	return fmt.Sprintf("certified accuracy at %g: %.4f (%d of %d)", a.Radius, a.Value, a.Count, a.Images)
}

// Accuracies are certified accuracies at several radii.
type Accuracies []Accuracy

func (a Accuracies) String() string {
	lines := make([]string, len(a))
	for i := range a {
		lines[i] = a[i].String()
	}
	return strings.Join(lines, "\n")
}

// CertifiedAccuracy returns the certified accuracy at each radius, in the order given. The rows are sorted once; each
// radius is a binary search.
func (r Rows) CertifiedAccuracy(radii ...float64) Accuracies {
	correct, images := r.correctRadii()
	a := make(Accuracies, len(radii))
	for i, radius := range radii {
		count := len(correct) - sort.SearchFloat64s(correct, radius)
		a[i] = Accuracy{Radius: radius, Count: count, Images: images}
		if images > 0 {
			a[i].Value = float64(count) / float64(images)
		}
	}
	return a
}

// AverageRadius is the average certified radius.
type AverageRadius struct {
	Value  float64 `json:"value"`  // unit: full range of a value; 0 if there are no labelled images
	Images int     `json:"images"` // labelled
}

func (a AverageRadius) String() string {
	if a.Images == 0 {
		return "average certified radius: unknown, no labels"
	}
	return fmt.Sprintf("average certified radius: %.4f (%d images)", a.Value, a.Images)
}

// ACR is the average certified radius of Zhai et al. (MACER, 2020), the area under the curve of certified accuracy:
//
//	ACR = 1/|D| · Σ R(x)·[class(x) = y] = ∫₀^∞ CA(r) dr.
func (r Rows) ACR() AverageRadius {
	correct, images := r.correctRadii()
	a := AverageRadius{Images: images}
	for _, radius := range correct {
		a.Value += radius
	}
	if images > 0 {
		a.Value /= float64(images)
	}
	return a
}

// Vectors returns the images, the labels and the certified radii side by side, −1 for answers that are not right: the
// input of package compare.
func (r Rows) Vectors() (images, labels []int, radii []float64) {
	for _, row := range r {
		radius := -1.0
		if row.Correct() {
			radius = row.Radius
		}
		images, labels, radii = append(images, row.Image), append(labels, row.Label), append(radii, radius)
	}
	return images, labels, radii
}

// Curve is certified accuracy as a function of the radius, a step function:
// CA(r) = Accuracy[i] for Radii[i−1] < r ≤ Radii[i], with Radii[−1] read as −∞, and 0 above the last radius.
type Curve struct {
	Radii    []float64 `json:"radii"` // ascending, distinct
	Accuracy []float64 `json:"accuracy"`
}

// Curve gives the certified accuracy at every radius. It is empty where no image is correct.
func (r Rows) Curve() Curve {
	correct, images := r.correctRadii()
	var c Curve
	for i, radius := range correct {
		if i == 0 || radius != correct[i-1] {
			c.Radii = append(c.Radii, radius)
			c.Accuracy = append(c.Accuracy, float64(len(correct)-i)/float64(images))
		}
	}
	return c
}

// Abstained counts the images for which nothing is certified.
func (r Rows) Abstained() int {
	n := 0
	for i := range r {
		if !r[i].Certified() {
			n++
		}
	}
	return n
}

// AbstentionRate is the fraction of all images for which nothing is certified; 0 if there are none.
func (r Rows) AbstentionRate() float64 { return float64(r.Abstained()) / float64(max(1, len(r))) }

// Misses counts the samples whose output was not finite or whose noise could not be drawn. They are never hits.
func (r Rows) Misses() int {
	n := 0
	for i := range r {
		n += r[i].Misses
	}
	return n
}

// Passes counts the noise samples that went through the model, those of the selection included.
func (r Rows) Passes() int {
	n := 0
	for i := range r {
		n += r[i].Passes
	}
	return n
}

// Largest returns the k certified rows with the largest radii, or as many as there are. The largest is first; equal
// ones stand in the order of the images.
func (r Rows) Largest(k int) Rows {
	return r.sorted(k, func(a, b Row) int { return cmp.Compare(b.Radius, a.Radius) })
}

// Smallest returns the k certified rows with the smallest radii, or as many as there are. The smallest is first; equal
// ones stand in the order of the images.
func (r Rows) Smallest(k int) Rows {
	return r.sorted(k, func(a, b Row) int { return cmp.Compare(a.Radius, b.Radius) })
}

func (r Rows) sorted(k int, order func(a, b Row) int) Rows {
	s := slices.DeleteFunc(slices.Clone(r), func(row Row) bool { return !row.Certified() })
	slices.SortStableFunc(s, order)
	return s[:max(0, min(k, len(s)))]
}

// correctRadii are the radii of the correct rows, ascending, and the number of labelled rows.
func (r Rows) correctRadii() (radii []float64, labelled int) {
	for i := range r {
		if r[i].Label >= 0 {
			labelled++
		}
		if r[i].Correct() {
			radii = append(radii, r[i].Radius)
		}
	}
	slices.Sort(radii)
	return radii, labelled
}
