package classifier_test

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/pixel"
)

func TestFuncPassesTheSuite(t *testing.T) {
	f := func(x []float32) []float32 { return []float32{x[0], 2 * x[3], x[5] - .2} }
	classifiertest.Run(t, func(*testing.T) classifier.Classifier { return classifier.Func(small, 3, f) },
		classifiertest.Options{ArrangementFree: true})
	miss := classifier.Func(one, 2, func(x []float32) []float32 { return []float32{float32(math.NaN()), x[0]} })
	result := classifier.Result{Classes: []int32{5}, Logits: []float32{1, 2}}
	if err := miss.Classify(t.Context(), classifier.Batch{N: 1, Grid: []int16{3}}, &result); err != nil || result.Classes[0] != classifier.Miss || result.Logits[1] != 0 {
		t.Errorf("%+v, %v; expected a miss with zeros", result, err)
	}
}

func TestFuncSaysWhatIsWrong(t *testing.T) {
	zero := func([]float32) []float32 { return []float32{0} }
	for name, m := range map[string]*classifier.Function{
		"nil": classifier.Func(one, 2, nil), "sides": classifier.Func(pixel.Shape{}, 2, zero), "at least 1": classifier.Func(one, 0, zero),
		"gives 1 logits": classifier.Func(one, 2, zero),
	} {
		err := m.Classify(t.Context(), classifier.Batch{N: 1, Grid: []int16{3}}, &classifier.Result{Classes: make([]int32, 1)})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v; expected %q", err, name)
		}
	}
	m := classifier.Func(one, 1, zero)
	m.Weights = "sha256:mine"
	if info, err := m.Info(); err != nil || info.Identity.Weights != "sha256:mine" || !strings.Contains(info.Name, "TestFuncSaysWhatIsWrong") {
		t.Errorf("%+v, %v", info, err)
	}
}
