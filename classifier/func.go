package classifier

import (
	"context"
	"fmt"
	"reflect"
	"runtime"

	"github.com/certspec/certspec/pixel"
)

// Function is a Go function as a Classifier; see Func. The fields may be set before the first use.
type Function struct {
	Name    string // default: the Go function's name
	Weights string // its identity in ledgers; default: its name, which says nothing of what it computes

	shape   pixel.Shape
	classes int
	f       func(image []float32) []float32
}

// Func makes a Go function a model. f gets the values of one image (height × width × channel, unit: the full range, off
// the range under noise) and gives one logit per class. It must be a function of the image alone, keep nothing of it,
// and be safe for concurrent use.
//
//	dark := classifier.Func(shape, 2, func(x []float32) []float32 { return []float32{x[0], 0.5} })
//
// The code of f has no digest: set Weights to one if ledgers are to tell two functions apart.
//
// Errors, of Info and Classify: a shape without values, fewer than 1 class, a row of another length.
func Func(shape pixel.Shape, classes int, f func(image []float32) []float32) *Function {
	name := "function"
	if f != nil {
		if code := runtime.FuncForPC(reflect.ValueOf(f).Pointer()); code != nil {
			name = code.Name()
		}
	}
	return &Function{Name: name, shape: shape, classes: classes, f: f}
}

// Info implements Classifier.
func (m *Function) Info() (Info, error) {
	switch {
	case m.f == nil:
		return Info{}, fmt.Errorf("classifier: the function is nil; expected one from an image to logits")
	case !m.shape.Valid():
		return Info{}, fmt.Errorf("classifier: function %s for images of %v; expected positive sides", m.Name, m.shape)
	case m.classes < 1:
		return Info{}, fmt.Errorf("classifier: function %s with %d classes; expected at least 1", m.Name, m.classes)
	}
	weights := m.Weights
	if weights == "" {
		weights = "go function " + m.Name + ", without a digest"
	}
	return Info{
		Name: m.Name, Shape: m.shape, Classes: m.classes, Logits: true,
		Identity: Identity{Weights: weights, Engine: "go function", EngineVersion: runtime.Version(),
			InstructionSet: runtime.GOARCH},
	}, nil
}

// Classify implements Classifier.
func (m *Function) Classify(ctx context.Context, batch Batch, result *Result) error {
	info, err := m.Info()
	if err != nil {
		return err
	}
	if err := Check(info, batch, result); err != nil {
		return err
	}
	size := m.shape.Len()
	image, logits := make([]float32, size), make([]float32, 0, batch.N*m.classes)
	for i := range batch.N {
		if err := ctx.Err(); err != nil {
			return err
		}
		if batch.Grid != nil {
			for j, v := range batch.Grid[i*size : (i+1)*size] {
				image[j] = float32(v) / pixel.Steps
			}
		} else {
			copy(image, batch.Real[i*size:(i+1)*size])
		}
		row := m.f(image)
		if len(row) != m.classes {
			return fmt.Errorf("classifier: function %s gives %d logits; expected %d, one per class", m.Name, len(row),
				m.classes)
		}
		logits = append(logits, row...)
	}
	Decide(info, batch, logits, result)
	return nil
}
