package classifier

import (
	"fmt"
	"math"
)

// Check reports what is wrong with a batch and a result for a model, in words.
// Every Classifier calls it first.
func Check(info Info, batch Batch, result *Result) error {
	want := batch.N * info.Shape.Len()
	switch {
	case batch.N < 1:
		return fmt.Errorf("classifier: batch of %d images; expected at least 1", batch.N)
	case batch.Grid == nil && batch.Real == nil:
		return fmt.Errorf("classifier: batch of %d images has neither grid nor real values", batch.N)
	case batch.Grid != nil && batch.Real != nil:
		return fmt.Errorf("classifier: batch of %d images has both grid and real values; expected one of them", batch.N)
	case batch.Grid != nil && len(batch.Grid) != want:
		return fmt.Errorf("classifier: batch has %d grid values; %d images of %v have %d", len(batch.Grid), batch.N,
			info.Shape, want)
	case batch.Real != nil && len(batch.Real) != want:
		return fmt.Errorf("classifier: batch has %d real values; %d images of %v have %d", len(batch.Real), batch.N,
			info.Shape, want)
	case result == nil:
		return fmt.Errorf("classifier: no result to fill")
	case len(result.Classes) < batch.N:
		return fmt.Errorf("classifier: result has room for %d classes; the batch has %d images", len(result.Classes),
			batch.N)
	case result.Scores != nil && len(result.Scores) < batch.N*info.Classes:
		return fmt.Errorf("classifier: result has room for %d scores; %d images of %d classes have %d",
			len(result.Scores), batch.N, info.Classes, batch.N*info.Classes)
	case result.Logits != nil && !info.Logits:
		return fmt.Errorf("classifier: logits are wanted, and model %s has none", info.Name)
	case result.Logits != nil && len(result.Logits) < batch.N*info.Classes:
		return fmt.Errorf("classifier: result has room for %d logits; %d images of %d classes have %d",
			len(result.Logits), batch.N, info.Classes, batch.N*info.Classes)
	}
	return nil
}

// Decide fills result from logits, batch.N rows of info.Classes values:
//
//	class = the smallest index of a largest logit
//	score of class c = exp(logit_c − max) / Σ_j exp(logit_j − max)
//
// A row with a NaN or an infinity, or of an image with one, is a Miss with zero scores and logits.
// The batch and result have passed Check; Decide panics where logits has another length.
func Decide(info Info, batch Batch, logits []float32, result *Result) {
	if len(logits) != batch.N*info.Classes {
		panic(fmt.Sprintf("classifier: %d logits for %d images of %d classes", len(logits), batch.N, info.Classes))
	}
	size := info.Shape.Len()
	for i := range batch.N {
		row := logits[i*info.Classes : (i+1)*info.Classes]
		var scores, kept []float32
		if result.Scores != nil {
			scores = result.Scores[i*info.Classes : (i+1)*info.Classes]
		}
		if result.Logits != nil {
			kept = result.Logits[i*info.Classes : (i+1)*info.Classes]
		}
		if !finite(row) || batch.Real != nil && !finite(batch.Real[i*size:(i+1)*size]) {
			result.Classes[i] = Miss
			clear(scores)
			clear(kept)
			continue
		}
		best := 0
		for c, v := range row {
			if v > row[best] {
				best = c
			}
		}
		result.Classes[i] = int32(best)
		copy(kept, row)
		if scores != nil {
			softmax(row, float64(row[best]), scores)
		}
	}
}

func softmax(logits []float32, largest float64, scores []float32) {
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(float64(v) - largest)
	}
	for c, v := range logits {
		scores[c] = float32(math.Exp(float64(v)-largest) / sum)
	}
}

func finite(values []float32) bool {
	const exponent = 0x7f800000 // all ones in a NaN and an infinity
	for _, v := range values {
		if math.Float32bits(v)&exponent == exponent {
			return false
		}
	}
	return true
}
