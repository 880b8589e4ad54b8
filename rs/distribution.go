package rs

import (
	"math"
	"slices"
	"sort"
)

// BoundQuantile says that a share of the certified images has a lower bound of at most Lower.
type BoundQuantile struct {
	Share float64 `json:"share"`
	Lower float64 `json:"lower"`
}

// BoundBin counts the certified images with From ≤ lower bound < To.
type BoundBin struct {
	From  float64 `json:"from"`
	To    float64 `json:"to"`
	Count int     `json:"count"`
}

// BoundDistribution is how the lower bounds of the probability of the class are distributed over the certified
// images, those of a wrong class included.
type BoundDistribution struct {
	Images    int             `json:"images"`    // with a bound; 0 for a log that names none
	Quantiles []BoundQuantile `json:"quantiles"` // least bound with at least that share at or below it
	Histogram []BoundBin      `json:"histogram"` // from ½ to 1, finer towards 1, where the radii are large
}

var (
	boundShares = []float64{0, .05, .25, .5, .75, .95, 1}
	boundEdges  = []float64{.5, .6, .7, .8, .9, .95, .99, .999, .9999, 1}
)

// Bounds gives the distribution of the lower bounds.
func (r Rows) Bounds() BoundDistribution {
	var bounds []float64
	for i := range r {
		if r[i].Certified() && r[i].Lower > 0 {
			bounds = append(bounds, r[i].Lower)
		}
	}
	slices.Sort(bounds)
	d := BoundDistribution{Images: len(bounds), Quantiles: []BoundQuantile{}, Histogram: []BoundBin{}}
	if len(bounds) == 0 {
		return d
	}
	for _, share := range boundShares {
		at := max(0, int(math.Ceil(share*float64(len(bounds))))-1)
		d.Quantiles = append(d.Quantiles, BoundQuantile{share, bounds[at]})
	}
	for i := 1; i < len(boundEdges); i++ {
		from, to := boundEdges[i-1], boundEdges[i]
		count := sort.SearchFloat64s(bounds, to) - sort.SearchFloat64s(bounds, from)
		d.Histogram = append(d.Histogram, BoundBin{from, to, count})
	}
	return d
}
