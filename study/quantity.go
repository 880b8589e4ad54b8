package study

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/certspec/certspec/internal/nearest"
)

// Unit of a number. Numbers of two units are never compared.
type Unit string

// The units.
const (
	radius Unit = "radius" // ℓ₂, of values in [0, 1]
	share  Unit = "share"  // of images, from 0 to 1
)

// Quantity is a number that columns of a network give, for all of their images or for some that are
// drawn.
type Quantity struct {
	Name    string // as in acr; an argument follows, as in "ca 0.25"
	Unit    Unit
	Greater bool     // the greater, the better
	Capped  bool     // no value lies above the largest radius that the noise samples can prove
	Columns []string // names of the columns that it is made of

	// One of the two is set. Each is its part on one image, by the place of the image: the quantity
	// is the mean.
	Each func(columns []*Column, at int) float64
	// Of is a statistic of drawn images, by their places; an image may be drawn several times.
	Of func(columns []*Column, drawn []int) (float64, error)
}

var quantities = map[string]func(argument float64) Quantity{}

// register makes a quantity known by its first word. The number behind the word is its argument,
// NaN where there is none.
func register(word string, of func(argument float64) Quantity) { quantities[word] = of }

// registerMean makes a mean over images known. A right answer counts as each says; others count as
// 0.
func registerMean(word string, unit Unit, column string, each func(argument, value float64) float64) {
	register(word, func(argument float64) Quantity {
		return Quantity{Unit: unit, Greater: true, Capped: unit == radius, Columns: []string{column},
			Each: func(c []*Column, at int) float64 {
				if c[0].Marks[at] != "" {
					return 0
				}
				return each(argument, c[0].Values[at])
			}}
	})
}

// Find finds a quantity by its name, as in acr or "ca 0.25".
//
// Errors: a word that no measure registered; an argument that is no number.
func Find(name string) (Quantity, error) {
	word, text, found := strings.Cut(name, " ")
	of, ok := quantities[word]
	if !ok {
		known := slices.Sorted(maps.Keys(quantities))
		return Quantity{}, fmt.Errorf("study: no measure gives %q; expected one of %s%s", name,
			strings.Join(known, ", "), nearest.DidYouMean(word, known))
	}
	argument := math.NaN()
	if found {
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(v) || math.IsInf(v, 0) {
			return Quantity{}, fmt.Errorf("study: %s: %q is no number; expected one, as in %s 0.25", name, text, word)
		}
		argument = v
	}
	q := of(argument)
	q.Name = name
	return q, nil
}
