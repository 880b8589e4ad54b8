package mip

import "math"

// softBins computes the differentiable calibration error
//
//	dECE_T(z) = 1/N · Σ_m |S_m|,  S_m = Σ_n o_nm (z_n − c_n),  o_n = softmax over m of (m·z_n − Σ_{j<m} e_j)/T,
//
// whose soft assignment o becomes that to bins as the temperature T falls: the logits of neighbouring bins
// differ by (z − e)/T, where e is the edge between them.
type softBins struct {
	p       *Program
	first   []int // per sample, the first bin whose weight counts, and their number
	count   []int
	weights []float64 // o of these bins, M per sample at most
	sums    []float64
}

func (p *Program) newSoftBins() *softBins {
	n, size := len(p.Correct), p.Bins.Len()
	return &softBins{p: p, first: make([]int, n), count: make([]int, n), weights: make([]float64, n*size),
		sums: make([]float64, size)}
}

// negligible is the logarithm of a weight, relative to the largest, that changes no float64 sum.
const negligible = -45.

// assign fills in the weights of all samples, and the sums S. It returns dECE.
func (s *softBins) assign(z []float64, temperature float64) float64 {
	clear(s.sums)
	edges, size := s.p.edges, s.p.Bins.Len()
	for i, v := range z {
		// The logits rise up to the bin of v and fall from there on, so that the weights are made outwards from
		// it until they no longer count.
		row := s.weights[i*size : (i+1)*size]
		top := s.p.Bins.Index(v)
		first, last := top, top
		row[top] = 1
		total := 1.
		for logit := 0.; first > 0; first-- {
			if logit += (edges[first] - v) / temperature; logit < negligible {
				break
			}
			row[first-1] = math.Exp(logit)
			total += row[first-1]
		}
		for logit := 0.; last+1 < size; last++ {
			if logit += (v - edges[last+1]) / temperature; logit < negligible {
				break
			}
			row[last+1] = math.Exp(logit)
			total += row[last+1]
		}
		s.first[i], s.count[i] = first, last-first+1
		gap := v
		if s.p.Correct[i] {
			gap--
		}
		for m := first; m <= last; m++ {
			row[m] /= total
			s.sums[m] += row[m] * gap
		}
	}
	total := 0.0
	for _, v := range s.sums {
		total += math.Abs(v)
	}
	return total / float64(len(z))
}

// gradient writes ∂dECE/∂z, which is
//
//	1/N · Σ_m sign(S_m) o_nm [1 + (z_n − c_n)(m − Σ_j j·o_nj)/T].
func (s *softBins) gradient(dst, z []float64, temperature float64) {
	s.assign(z, temperature)
	size := s.p.Bins.Len()
	for i, v := range z {
		gap := v
		if s.p.Correct[i] {
			gap--
		}
		first := s.first[i]
		weights := s.weights[i*size+first : i*size+first+s.count[i]]
		mean := 0.0
		for k, o := range weights {
			mean += float64(k) * o
		}
		total := 0.0
		for k, o := range weights {
			slope := o * (1 + gap*(float64(k)-mean)/temperature)
			if sum := s.sums[first+k]; sum > 0 {
				total += slope
			} else if sum < 0 {
				total -= slope
			}
		}
		dst[i] = total / float64(len(z))
	}
}
