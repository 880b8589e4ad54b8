package calib

import (
	"fmt"
	"math"
	"slices"
)

// maxBins is the largest number of bins.
const maxBins = 1000

// Convention says which edge belongs to a bin.
type Convention int

const (
	// LeftClosed bins are [L, U), the last one [L, 1].
	LeftClosed Convention = iota
	// RightClosed bins are (L, U], the first one [0, U]. Much public calibration code uses this convention.
	RightClosed
)

// Bins is a partition of [0, 1] into bins with fixed edges 0 = e₀ < e₁ < … < e_M = 1. Bin m, counted from 0,
// has the edges e_m and e_{m+1}. The bin of a confidence is decided by comparison with these edges.
type Bins struct {
	edges []float64
	// A confidence lies in the bin whose number is the number of inner thresholds that do not exceed it. The
	// outer ones are below and above everything.
	thresholds []float64
	scale      float64 // of a confidence to the number of its bin, or one more; 0 where the bins differ in width
}

// UniformEdges returns the edges m/bins, m = 0 … bins, each rounded once.
//
// Errors: bins outside [1, maxBins], as *InputError.
func UniformEdges(bins int) ([]float64, error) {
	if bins < 1 || bins > maxBins {
		return nil, inputError("bins", bins, fmt.Sprintf("a number of bins in [1, %d]", maxBins))
	}
	edges := make([]float64, bins+1)
	for m := range edges {
		edges[m] = float64(m) / float64(bins)
	}
	return edges, nil
}

// Uniform returns bins of equal width.
//
// Errors: those of UniformEdges.
func Uniform(bins int, convention Convention) (*Bins, error) {
	edges, err := UniformEdges(bins)
	if err != nil {
		return nil, err
	}
	return NewBins(edges, convention)
}

// NewBins returns the bins between the given edges.
//
// Errors: edges that do not increase strictly from 0 to 1, or make more than maxBins bins; an unknown
// convention; as *InputError.
func NewBins(edges []float64, convention Convention) (*Bins, error) {
	last := len(edges) - 1
	if last < 1 || last > maxBins {
		return nil, inputError("len(edges)", len(edges), fmt.Sprintf("a number of edges in [2, %d]", maxBins+1))
	}
	if convention != LeftClosed && convention != RightClosed {
		return nil, inputError("convention", int(convention), "LeftClosed or RightClosed")
	}
	if edges[0] != 0 {
		return nil, inputError("edges[0]", edges[0], "0")
	}
	if edges[last] != 1 {
		return nil, inputError(fmt.Sprintf("edges[%d]", last), edges[last], "1, the last edge")
	}
	uniform := true
	for m := 1; m <= last; m++ {
		if !(edges[m] > edges[m-1]) {
			return nil, inputError(fmt.Sprintf("edges[%d]", m), edges[m],
				fmt.Sprintf("more than the edge before it, %v", edges[m-1]))
		}
		uniform = uniform && edges[m] == float64(m)/float64(last)
	}
	b := &Bins{edges: slices.Clone(edges), thresholds: slices.Clone(edges)}
	if convention == RightClosed {
		for m, e := range edges {
			b.thresholds[m] = math.Nextafter(e, 2)
		}
	}
	b.thresholds[0], b.thresholds[last] = math.Inf(-1), math.Inf(1)
	if uniform {
		// A little above the number of bins: z·scale, rounded, is then never below m for a z in bin m, and
		// stays below m+2, however its edges and the product are rounded.
		b.scale = float64(last) * (1 + 0x1p-50)
	}
	return b, nil
}

// Len returns the number of bins.
func (b *Bins) Len() int { return len(b.edges) - 1 }

// Edges returns a copy of the edges, Len()+1 of them.
func (b *Bins) Edges() []float64 { return slices.Clone(b.edges) }

// Index returns the bin of a confidence z in [0, 1], counted from 0. It panics for a z outside.
func (b *Bins) Index(z float64) int {
	if !(z >= 0 && z <= 1) {
		panic(fmt.Sprintf("calib: bin of %v, expected a confidence in [0, 1]", z))
	}
	return b.index(z)
}

// index is Index for a z that has been checked.
func (b *Bins) index(z float64) int {
	if b.scale != 0 {
		m := int(z * b.scale)
		if z < b.thresholds[m] {
			m--
		}
		return m
	}
	low := 0
	for n := b.Len(); n > 1; {
		half := n / 2
		if b.thresholds[low+half] <= z {
			low += half
		}
		n -= half
	}
	return low
}

// Inside returns the confidence nearest to z that lies in bin m, for a z on the edge of bin m or inside it.
// It turns a supremum, which an open edge keeps a confidence from attaining, into a confidence whose bin is m.
func (b *Bins) Inside(m int, z float64) float64 {
	switch k := b.Index(z); {
	case k > m:
		return math.Nextafter(b.edges[m+1], 0)
	case k < m:
		return math.Nextafter(b.edges[m], 1)
	}
	return z
}
