package calib

import (
	"encoding/json"
	"math"
	"runtime"
	"sync"
)

// Bin is one bar of a reliability diagram.
type Bin struct {
	Lower float64 // edges
	Upper float64
	Count int // samples in the bin
	// Mean confidence, accuracy, and their difference: positive means over-confident. All are 0 in an empty
	// bin, which has no bar, and null in JSON.
	Confidence, Accuracy, Gap float64
}

// MarshalJSON writes null for what an empty bin does not have.
func (b Bin) MarshalJSON() ([]byte, error) {
	v := struct {
		Lower      float64  `json:"lower"`
		Upper      float64  `json:"upper"`
		Count      int      `json:"count"`
		Confidence *float64 `json:"confidence"`
		Accuracy   *float64 `json:"accuracy"`
		Gap        *float64 `json:"gap"`
	}{Lower: b.Lower, Upper: b.Upper, Count: b.Count}
	if b.Count > 0 {
		v.Confidence, v.Accuracy, v.Gap = &b.Confidence, &b.Accuracy, &b.Gap
	}
	return json.Marshal(v)
}

// Reliability returns the bars of the reliability diagram, one per bin (DeGroot and Fienberg 1983).
//
// Errors: those of CheckConfidences.
func Reliability(correct []bool, confidence []float64, bins *Bins) ([]Bin, error) {
	sums, err := binSums(correct, confidence, bins)
	if err != nil {
		return nil, err
	}
	bars := make([]Bin, bins.Len())
	for m, s := range sums {
		bar := Bin{Lower: bins.edges[m], Upper: bins.edges[m+1], Count: s.count()}
		if bar.Count > 0 {
			n := float64(bar.Count)
			bar.Confidence, bar.Accuracy = s.confidence/n, s.hits()/n
			bar.Gap = (s.confidence - s.hits()) / n
		}
		bars[m] = bar
	}
	return bars, nil
}

// ECE returns the expected calibration error (Naeini, Cooper and Hauskrecht 2015; Guo et al. 2017)
//
//	ECE = 1/N · Σ_m |Σ_{i in bin m} (z_i − c_i)|,  in [0, 1].
//
// Empty bins contribute 0. The work is spread over all cores for large N; the result does not depend on
// their number.
//
// Errors: those of CheckConfidences.
func ECE(correct []bool, confidence []float64, bins *Bins) (float64, error) {
	sums, err := binSums(correct, confidence, bins)
	if err != nil {
		return 0, err
	}
	total := 0.0
	for _, s := range sums {
		total += math.Abs(s.confidence - s.hits())
	}
	return total / float64(len(correct)), nil
}

// eceGaps are the signed parts of the ECE, (1/N)·Σ_{i in bin m} (z_i − c_i), one for each bin: ECE
// is the sum of their absolute values, and resampling does not bias them as it does that.
//
// Errors: those of CheckConfidences.
func eceGaps(correct []bool, confidence []float64, bins *Bins) ([]float64, error) {
	sums, err := binSums(correct, confidence, bins)
	if err != nil {
		return nil, err
	}
	gaps := make([]float64, len(sums))
	for m, s := range sums {
		gaps[m] = (s.confidence - s.hits()) / float64(len(correct))
	}
	return gaps, nil
}

// sum has the content of a bin: the sum of its confidences, and the number of samples and of correct ones.
type sum struct {
	confidence float64
	counts     uint64 // samples in the lower half, correct ones in the upper
}

func (s sum) count() int    { return int(s.counts & math.MaxUint32) }
func (s sum) hits() float64 { return float64(s.counts >> 32) }

// chunk is the number of samples that are summed at a time. It is fixed, so that sums do not depend on how
// many goroutines make them.
const chunk = 1 << 18

// binSums returns one sum per bin. The number of samples is below 2³².
func binSums(correct []bool, confidence []float64, bins *Bins) ([]sum, error) {
	if err := checkLengths(correct, "confidence", confidence); err != nil {
		return nil, err
	}
	n, size := len(correct), bins.Len()
	if n == 0 {
		return nil, ErrNoSamples
	}
	if n > math.MaxUint32 {
		return nil, inputError("len(correct)", n, "below 2³²")
	}
	chunks := (n + chunk - 1) / chunk
	sums := make([]sum, chunks*size)
	workers := min(chunks, runtime.GOMAXPROCS(0))
	bad := make([]int, chunks)
	work := func(first int) {
		scratch := make([]sum, 2*size)
		for k := first; k < chunks; k += workers {
			from, to := k*chunk, min(n, (k+1)*chunk)
			clear(scratch)
			bad[k] = addTo(scratch, correct[from:to], confidence[from:to], bins)
			for m := range size {
				even, odd := scratch[2*m], scratch[2*m+1]
				sums[k*size+m] = sum{even.confidence + odd.confidence, even.counts + odd.counts}
			}
		}
	}
	var wg sync.WaitGroup
	for first := 1; first < workers; first++ {
		wg.Go(func() { work(first) })
	}
	work(0)
	wg.Wait()
	for k, i := range bad {
		if i >= 0 {
			return nil, valueError("confidence", k*chunk+i, confidence[k*chunk+i])
		}
		for m := range size {
			if k > 0 {
				sums[m].confidence += sums[k*size+m].confidence
				sums[m].counts += sums[k*size+m].counts
			}
		}
	}
	return sums[:size], nil
}

// addTo adds samples to the sums of bin m at 2m and 2m+1, in turns: a sum then need not wait for the one
// just written. It returns the index of the first confidence outside [0, 1], else −1.
func addTo(sums []sum, correct []bool, confidence []float64, bins *Bins) (bad int) {
	confidence = confidence[:len(correct)]
	one := math.Float64bits(1)
	if bins.scale == 0 {
		for i, z := range confidence {
			if !(z >= 0 && z <= 1) {
				return i
			}
			s := &sums[2*bins.index(z)+i&1]
			s.confidence += z
			s.counts += 1 + bit(correct[i])<<32
		}
		return -1
	}
	thresholds, scale := bins.thresholds, bins.scale
	for i, z := range confidence {
		// As unsigned numbers, the bits of 0 … 1 are those up to the bits of 1; −0 is the one exception.
		if math.Float64bits(z) > one && z != 0 {
			return i
		}
		m := int(z * scale)
		m -= int(bit(z < thresholds[m]))
		s := &sums[2*m+i&1]
		s.confidence += z
		s.counts += 1 + bit(correct[i])<<32
	}
	return -1
}

// bit is 1 for true; the compiler makes no branch of it.
func bit(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}
