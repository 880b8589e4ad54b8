package experiment

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/resample"
)

// results/DATA-SET-EPSILON.areas.json, of the files in ood/, which are large.
type Areas struct {
	Data    string  `json:"data"`
	Set     string  `json:"set"`
	Epsilon float64 `json:"epsilon"`
	// By is empty but for bounds that are not those by rigorous intervals, as in crown or plain,
	// and for attacks from the points of some networks alone; it stands behind EPSILON.
	By       string         `json:"by,omitempty"`
	Networks []networkAreas `json:"networks"`
	// All compares AUC and GAUC over all images of the set, Attacked AUC, AAUC and GAUC over those that were attacked.
	All      Compared `json:"all"`
	Attacked Compared `json:"attacked"`
}

// Compared are areas with their covariance, by which differences are paired by image.
type Compared struct {
	Networks []string `json:"networks"`
	Kinds    []string `json:"kinds"` // of each network, one after the other
	Images   int      `json:"images"`
	// Values are the areas, ties as one half, those of the first network first; Covariance is the
	// lower triangle of their covariance by DeLong, DeLong and Clarke-Pearson 1988: of the images,
	// not of the training.
	Values     []float64   `json:"values"`
	Covariance [][]float64 `json:"covariance"`
}

const (
	aucKind  = "AUC"
	aaucKind = "AAUC"
	gaucKind = "GAUC"

	intervalsKind = "GAUC by intervals" // beside that by other bounds, of the same images
)

// Contrast is a weighted sum of areas with its standard error over the images. A weight is that of
// a kind of a network by its name.
//
// Errors: a network or a kind that is not there.
func (c *Compared) Contrast(weights map[[2]string]float64) (value, deviation float64, err error) {
	w := make([]float64, len(c.Values))
	for of, weight := range weights {
		network, kind := slices.Index(c.Networks, of[0]), slices.Index(c.Kinds, of[1])
		if network < 0 || kind < 0 {
			return 0, 0, fmt.Errorf("experiment: no %s of %s; there are %v of %v", of[1], of[0], c.Kinds, c.Networks)
		}
		w[network*len(c.Kinds)+kind] += weight
	}
	variance := 0.
	for i, row := range c.Covariance {
		value += w[i] * c.Values[i]
		for j, v := range row {
			if j < i {
				v *= 2
			}
			variance += w[i] * w[j] * v
		}
	}
	return value, math.Sqrt(max(variance, 0)), nil
}

// ReadAreas reads those that a folder keeps, in the order of their files' names.
func ReadAreas(folder string) (all []*Areas, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "results", "*"+areasSuffix))
	if err != nil {
		return nil, fmt.Errorf("experiment: %w", err)
	}
	for _, file := range files {
		a := &Areas{}
		if _, err := readJSON(file, a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}

const areasSuffix = ".areas.json"

func areasPath(s foreignSets, folder, data, part string) string {
	return filepath.Join(folder, "results", fmt.Sprintf("%s-%s-%s%s", data, part, strconv.FormatFloat(s.Epsilon, 'g',
		-1, 64), suffixed(s.by(), areasSuffix)))
}

// networkAreas are how well a network tells a set of foreign images from its own.
type networkAreas struct {
	Network  string      `json:"network"`
	Images   int         `json:"images"`         // of its own
	Accuracy float64     `json:"accuracy"`       // on its own images
	Own      float64     `json:"mean_own"`       // confidence
	OwnError float64     `json:"mean_own_error"` // its standard error over the images
	Bound    *separation `json:"bound,omitempty"`
	Attack   *separation `json:"attack,omitempty"` // of the images that were attacked
	Transfer bool        `json:"transfer,omitempty"`
}

// separation are the areas of a foreign set as it is, and at its worst: by bounds, or under attack.
type separation struct {
	Images     int     `json:"images"`
	Confidence float64 `json:"mean_confidence"`
	Worst      float64 `json:"mean_worst"`

	AUC      area `json:"auc"`
	WorstAUC area `json:"worst_auc"` // GAUC, or AAUC
	// of attacked images, and of those with other bounds: GAUC by rigorous intervals on them alone
	BoundAUC *area `json:"bound_auc,omitempty"`

	// Of other bounds than those by rigorous intervals: the mean of these, and the largest distance
	// between the two of an image.
	Intervals float64 `json:"mean_intervals,omitempty"`
	Apart     float64 `json:"most_apart,omitempty"`
}

func (a *separation) add(b *separation) {
	a.Images, a.Confidence, a.Worst = b.Images, a.Confidence+b.Confidence, a.Worst+b.Worst
	a.Intervals, a.Apart = a.Intervals+b.Intervals, max(a.Apart, b.Apart)
	a.AUC.add(b.AUC)
	a.WorstAUC.add(b.WorstAUC)
	if b.BoundAUC != nil {
		if a.BoundAUC == nil {
			a.BoundAUC = new(area)
		}
		a.BoundAUC.add(*b.BoundAUC)
	}
}

func (a *separation) over(models int) {
	n := float64(models)
	a.Confidence, a.Worst, a.Intervals = a.Confidence/n, a.Worst/n, a.Intervals/n
	for _, of := range []*area{&a.AUC, &a.WorstAUC, a.BoundAUC} {
		if of != nil {
			of.over(n)
		}
	}
}

// area is an AUC, in its conservative form, with ties as one half, and with the ends of an interval of 95 %.
type area struct {
	Conservative float64 `json:"conservative"`
	Value        float64 `json:"value"`
	Low          float64 `json:"low"`
	High         float64 `json:"high"`

	starts []float64 // values of the starts of a mean
}

func areaOf(own, foreign []float64) (area, error) {
	v, err := ood.Area(own, foreign)
	if err != nil {
		return area{}, err
	}
	_, deviation, err := ood.DeLong(own, foreign)
	half := resample.Normal95 * deviation
	return area{Conservative: v.Conservative, Value: v.Value, Low: max(v.Value-half, 0), High: min(v.Value+half,
		1)}, err
}

func (a *area) add(b area) {
	*a = area{a.Conservative + b.Conservative, a.Value + b.Value, a.Low + b.Low, a.High + b.High, append(a.starts,
		b.Value)}
}

func (a *area) over(n float64) {
	value := a.Value / n
	in := resample.Members(resample.Interval{Low: a.Low / n, High: a.High / n}, value, resample.DefaultConfidence,
		a.starts)
	*a = area{Conservative: a.Conservative / n, Value: value, Low: max(0, in.Low), High: min(1, in.High)}
}

func areaCells(a *area) []any {
	return []any{percent(a.Conservative), percent(a.Value), percent(a.Low), percent(a.High)}
}
