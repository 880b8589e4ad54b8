package classifier

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/certspec/certspec/pixel"
)

// A Toy is a classifier whose answers under noise are known in closed form, for tests and
// for teaching. Toys live in real arithmetic on the values of an image, in units of the
// full range; they accept any input, off the range too.
type Toy interface {
	Classifier

	// Probabilities is, per class, the probability that image plus Gaussian noise of
	// standard deviation sigma (in units of the full range, in every value) is given
	// this class. What is missing to 1 is the probability of a Miss.
	Probabilities(image []uint8, sigma float64) []float64
}

// toyInfo describes a toy whose parameters are named or digested in weights.
func toyInfo(name string, shape pixel.Shape, classes int, weights string) (Info, error) {
	switch {
	case !shape.Valid():
		return Info{}, fmt.Errorf("classifier: %s model for images of %v; expected positive sides", name, shape)
	case classes < 1:
		return Info{}, fmt.Errorf("classifier: %s model of %d classes; expected at least 1", name, classes)
	}
	return Info{
		Name: name, Shape: shape, Classes: classes,
		Identity: Identity{Weights: name + ": " + weights, Engine: "toy", EngineVersion: "1"},
		Logits:   true,
	}, nil
}

// classifyToy evaluates logits image by image. The function value(i) is the i-th value of
// the image, in units of the full range, rounded to float32 as a real image has it.
func classifyToy(ctx context.Context, m Toy, batch Batch, result *Result, evaluate func(value func(int) float64,
	logits []float32)) error {
	info, err := m.Info()
	if err != nil {
		return err
	}
	if err := Check(info, batch, result); err != nil {
		return err
	}
	size, start := info.Shape.Len(), 0
	value := func(i int) float64 { return float64(batch.Real[start+i]) }
	if batch.Grid != nil {
		value = func(i int) float64 { return float64(float32(batch.Grid[start+i]) / pixel.Steps) }
	}
	logits := make([]float32, batch.N*info.Classes)
	for i := range batch.N {
		if err := ctx.Err(); err != nil {
			return err
		}
		start = i * size
		evaluate(value, logits[i*info.Classes:(i+1)*info.Classes])
	}
	Decide(info, batch, logits, result)
	return nil
}

func byteValues(image []uint8) func(int) float64 {
	return func(i int) float64 { return float64(float32(image[i]) / pixel.Steps) }
}

// normalCDF is Φ(x) = erfc(−x/√2)/2.
func normalCDF(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }

// digest names parameters that are too many to print.
func digest(values []float64) string {
	sum := sha256.New()
	for _, v := range values {
		_ = binary.Write(sum, binary.LittleEndian, v)
	}
	return fmt.Sprintf("sha256:%x", sum.Sum(nil))
}
