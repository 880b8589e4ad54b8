package engine_test

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/spectral/jacobian"
	"github.com/certspec/certspec/spectral"
)

// Gradients of a network on XLA, of its layers in Go, and central differences of the model itself agree: it is one
// network.
func TestGradientsAgree(t *testing.T) {
	data, err := dataset.Open("synthetic/test[count=1]")
	if err != nil {
		t.Fatal(err)
	}
	images, err := data.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.Open("../notebooks/models/cifar10-resnet20-s025")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	xla, how, end, err := m.Gradients(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	if !strings.HasPrefix(how, "xla") {
		t.Skipf("gradients come from %s: no XLA plugin", how)
	}
	n, err := m.FeedForward(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o := jacobian.Options{Std: spectral.CIFAR10.Std}
	var norms []float64
	for _, g := range []classifier.Differentiable{xla, jacobian.Layers(n, 10)} {
		j, err := jacobian.Measure(t.Context(), m, g, images, o)
		if err != nil {
			t.Fatal(err)
		}
		norms = append(norms, j.Norm)
	}
	if math.Abs(norms[0]-norms[1]) > 1e-3*norms[0] {
		t.Errorf("XLA %v, layers %v", norms[0], norms[1])
	}
	o.Projections = 200
	j, err := jacobian.Measure(t.Context(), m, nil, images, o)
	if err != nil || math.Abs(j.Norm-norms[0]) > 0.25*norms[0] { // 200 directions of 3072: a standard error of some 7 %, and the distance h
		t.Errorf("differences %+v, exact %v, %v", j, norms[0], err)
	}
}
