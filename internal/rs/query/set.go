package query

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/rule"
)

// Set is a claim on all labelled images at once: it is false with probability at most Level. Each claim on an image
// is false with probability at most α, by its own noise alone. So the number of false ones is at most False, but with
// probability Level at most: the tail of the binomial law of that many images and α. Which ones are false is not
// known, so the worst is assumed.
type Set struct {
	Budget  float64 `json:"budget"` // average norm of the perturbation of an image that an adversary may spend
	Level   float64 `json:"level"`
	False   int     `json:"false"`   // claims that may be false
	Broken  int     `json:"broken"`  // further images that the budget reaches
	Correct int     `json:"correct"` // images that stay correct, at least
	Images  int     `json:"images"`  // labelled
}

// Class is a claim on the images of one class at one radius. All classes and all radii hold at once, but with
// probability Level at most.
type Class struct {
	Class   int     `json:"class"`
	Radius  float64 `json:"radius"`
	Level   float64 `json:"level"`
	False   int     `json:"false"`   // claims of the class that may be false
	Correct int     `json:"correct"` // images that are correct within the radius, at least
	Images  int     `json:"images"`  // of the class
}

// Rows are the claims in the form that has metrics.
func (a *Answer) Rows() rs.Rows {
	rows := make(rs.Rows, len(a.Claims))
	for i, c := range a.Claims {
		out := rule.Outcome{Class: c.Class, Lower: c.Lower, Radius: c.Radius}
		rows[i] = rs.Row{Image: c.Image, Label: c.Label, Outcome: out}
	}
	return rows
}

// Under returns the accuracy that is left where an adversary who knows all radii moves each image by any amount, of
// budget on average over the labelled images. Moving an image by its radius or more breaks it, so the smallest radii
// go first. The sum of radii is exact.
//
// Errors: a budget that is negative or not finite, a level outside (0, ½), no labelled images.
func (a *Answer) Under(budget, level float64) (Set, error) {
	if !(budget >= 0) || math.IsInf(budget, 0) {
		return Set{}, fmt.Errorf("the budget is %v: expected a norm of at least 0", budget)
	}
	s := Set{Budget: budget, Level: level}
	var radii []float64
	for _, c := range a.Claims {
		if c.Label >= 0 {
			s.Images++
			if c.Class == c.Label {
				radii = append(radii, c.Radius)
			}
		}
	}
	var err error
	if s.False, err = a.allowance(s.Images, level); err != nil {
		return s, err
	}
	slices.Sort(radii)
	left := new(big.Rat).Mul(decimal(budget), big.NewRat(int64(s.Images), 1))
	for _, r := range radii {
		if left.Sub(left, decimal(r)).Sign() < 0 {
			break
		}
		s.Broken++
	}
	s.Correct = max(0, len(radii)-s.Broken-s.False)
	return s, nil
}

// ByClass returns what holds for every class with a label at every radius.
//
// Errors: those of Under.
func (a *Answer) ByClass(radii []float64, level float64) (all []Class, err error) {
	images := map[int]int{}
	for _, c := range a.Claims {
		if c.Label >= 0 {
			images[c.Label]++
		}
	}
	if err := checkLevel(level); err != nil {
		return nil, err
	}
	classes := make([]int, 0, len(images))
	for class := range images {
		classes = append(classes, class)
	}
	slices.Sort(classes)
	for _, class := range classes {
		wrong, err := a.allowance(images[class], level/float64(len(classes)))
		if err != nil {
			return nil, err
		}
		for _, r := range radii {
			certified := 0
			for _, c := range a.Claims {
				if c.Label == class && c.Class == class && c.Radius >= r {
					certified++
				}
			}
			all = append(all, Class{class, r, level, wrong, max(0, certified-wrong), images[class]})
		}
	}
	if all == nil {
		_, err = a.allowance(0, level)
	}
	return all, err
}

// allowance is the least f with P[Bin(images, α) > f] ≤ level.
func (a *Answer) allowance(images int, level float64) (f int, err error) {
	if err := checkLevel(level); err != nil {
		return 0, err
	}
	if images == 0 {
		return 0, fmt.Errorf("no image has a label: nothing can be said of accuracy")
	}
	for ; f < images; f++ {
		p, err := bound.Lower(f+1, images, level)
		if err != nil {
			return 0, err
		}
		if p.P >= a.Header.Alpha { // more than f are rarer than level
			break
		}
	}
	return f, nil
}

func checkLevel(level float64) error {
	if !(level > 0 && level < 0.5) {
		return fmt.Errorf("the level is %v: expected a number above 0 and below 0.5", level)
	}
	return nil
}

func decimal(x float64) *big.Rat {
	r, _ := new(big.Rat).SetString(stopping.RadiusText(x))
	return r
}

// Write writes the answer as text that certcheck derives again: the ledger's digest, the question, the list of figures
// that were asked, a line for each image (image, class, lower bound, upper bounds, radius), the certified accuracies,
// and claims on the set. The classes are ByClass's.
func (a *Answer) Write(w io.Writer, radii []float64, sets []Set, classes []Class) error {
	b := bufio.NewWriter(w)
	norm := "l2"
	if a.LInf {
		norm = "linf"
	}
	number := func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }
	asked := [3][]string{}
	for _, r := range radii {
		asked[0] = append(asked[0], number(r))
	}
	for _, s := range sets {
		asked[1] = append(asked[1], number(s.Budget)+":"+number(s.Level))
	}
	for _, c := range classes {
		if c.Class != classes[0].Class {
			break
		}
		asked[2] = append(asked[2], number(c.Radius))
	}
	list := func(i int) string { return cmp.Or(strings.Join(asked[i], ","), "none") }
	of := list(2)
	if len(classes) > 0 {
		of = number(classes[0].Level) + ":" + of
	}
	fmt.Fprintf(b, "certspec-claims 2 %s\nquestion top-k %d share %s norm %s\nasked radii %s budgets %s classes %s\n"+
		"claims %d\n", a.Digest, a.TopK, number(a.Share), norm, list(0), list(1), of, len(a.Claims))
	for _, c := range a.Claims {
		fmt.Fprintf(b, "%d %d %.15f", c.Image, c.Class, c.Lower)
		for _, u := range c.Uppers {
			fmt.Fprintf(b, " %.15f", u)
		}
		fmt.Fprintf(b, " %s\n", number(c.Radius))
	}
	for _, at := range a.Rows().CertifiedAccuracy(radii...) {
		fmt.Fprintf(b, "certified %s %d %d\n", number(at.Radius), at.Count, at.Images)
	}
	for _, s := range sets {
		fmt.Fprintf(b, "budget %s %s %d %d %d %d\n",
			number(s.Budget), number(s.Level), s.False, s.Broken, s.Correct, s.Images)
	}
	for _, c := range classes {
		fmt.Fprintf(b, "class %d %s %s %d %d %d\n", c.Class, number(c.Radius), number(c.Level), c.False, c.Correct,
			c.Images)
	}
	return b.Flush()
}
