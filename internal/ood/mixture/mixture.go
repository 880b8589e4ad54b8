// Package mixture is the density side of CCU (Meinke and Hein 2020; Bitterwolf, Meinke and Hein 2020, equations 12 to
// 15). Two Gaussian mixtures, one of own images and one of foreign images, are round in a metric of their principal
// components and fitted by EM. They bound the confidence
//
//	p(k|x) = (p(k|x, in)·p(x|in) + (1/K)·p(x|out)) / (p(x|in) + p(x|out))
//
// in balls of that metric and of the largest change of a value.
package mixture

import "math"

// Mixture is Σ_k exp(Weights_k) N(Means_k, exp(LogVariances_k)·I) in the coordinates of a metric.
type Mixture struct {
	Means        [][]float64
	LogVariances []float64
	LogWeights   []float64
}

// LogDensity returns ln p at a point of these coordinates, without the constant −d/2·ln 2π. Every distance to a mean is
// changed by moved, but not below 0.
func (m *Mixture) LogDensity(point []float64, moved float64) float64 {
	terms := make([]float64, len(m.Means))
	top := math.Inf(-1)
	for k, mean := range m.Means {
		square := 0.0
		for j, v := range point {
			square += (v - mean[j]) * (v - mean[j])
		}
		far := max(math.Sqrt(square)+moved, 0)
		terms[k] = m.LogWeights[k] - float64(len(point))/2*m.LogVariances[k] - far*far/2*math.Exp(-m.LogVariances[k])
		top = max(top, terms[k])
	}
	if math.IsInf(top, 0) {
		return top
	}
	sum := 0.0
	for _, t := range terms {
		sum += math.Exp(t - top)
	}
	return top + math.Log(sum)
}

// LogOdds bounds ln b (equation 13), b = p(z|in)/p(z|out), from above for all z within a distance of the point. For a
// distance of 0 it is ln of that ratio, and it grows with the distance.
func LogOdds(in, out *Mixture, point []float64, distance float64) float64 {
	return in.LogDensity(point, -distance) - out.LogDensity(point, distance)
}

// LogConfidence is ln of the bound (1 + K·b)/(K·(1 + b)) on the confidence of K classes, of ln b.
func LogConfidence(logOdds float64, classes int) float64 {
	k := math.Log(float64(classes))
	if logOdds > 0 { // both divided by b
		return math.Log1p(math.Exp(-logOdds-k)) - math.Log1p(math.Exp(-logOdds))
	}
	return math.Log1p(math.Exp(logOdds+k)) - k - math.Log1p(math.Exp(logOdds))
}

// radius is the largest distance, to within 2^-40 of it and not above it, in which the confidence
// is at most factor/K, for 1 < factor < K; 0 where the point itself is above.
func radius(in, out *Mixture, point []float64, classes int, factor float64) float64 {
	target := math.Log((factor - 1) / (float64(classes) - factor))
	proven := func(distance float64) bool { return LogOdds(in, out, point, distance) <= target }
	if !proven(0) {
		return 0
	}
	low, high := 0.0, 1.0
	for proven(high) {
		if low, high = high, 2*high; math.IsInf(high, 1) {
			return low
		}
	}
	for range 40 {
		if middle := (low + high) / 2; proven(middle) {
			low = middle
		} else {
			high = middle
		}
	}
	return low
}
