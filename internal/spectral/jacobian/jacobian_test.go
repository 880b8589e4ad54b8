package jacobian

import (
	"context"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/spectral"
)

// linear is f = s·Wx with gradients; bend adds a square, so that differences have an error.
type linear struct {
	*classifier.Function
	w [][]float64
}

func newLinear(shape pixel.Shape, w [][]float64) linear {
	m := classifier.Func(shape, len(w), func(x []float32) []float32 {
		out := make([]float32, len(w))
		for c, row := range w {
			for k, v := range row {
				out[c] += float32(v) * x[k]
			}
		}
		return out
	})
	m.Name = "linear"
	return linear{m, w}
}

func (l linear) VectorJacobian(_ context.Context, images, v, gradient []float32) error {
	classes, size := len(l.w), len(l.w[0])
	for i := range len(v) / classes {
		for k := range size {
			g := 0.0
			for c := range classes {
				g += float64(v[i*classes+c]) * l.w[c][k]
			}
			gradient[i*size+k] = float32(g)
		}
	}
	return nil
}

func someImages(shape pixel.Shape, n, classes int) *dataset.Images {
	rng := rand.New(rand.NewPCG(1, 2))
	im := &dataset.Images{Name: "some", Shape: shape, Classes: make([]string, classes)}
	for i := range n {
		im.IDs, im.Labels = append(im.IDs, 3*i), append(im.Labels, i%classes)
		for range shape.Len() {
			im.Pixels = append(im.Pixels, uint8(rng.IntN(256)))
		}
	}
	return im
}

func randomMatrix(rng *rand.Rand, rows, columns int) ([][]float64, float64) {
	w, sum := make([][]float64, rows), 0.0
	for c := range w {
		w[c] = make([]float64, columns)
		for k := range w[c] {
			w[c][k] = rng.NormFloat64()
			sum += w[c][k] * w[c][k]
		}
	}
	return w, math.Sqrt(sum)
}

// Of a linear model the norm equals its matrix's at every image, and the scaled matrix's with respect to
// normalised values.
func TestJacobianOfLinear(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 3, Channels: 2}
	w, norm := randomMatrix(rand.New(rand.NewPCG(3, 4)), 5, shape.Len())
	model, images := newLinear(shape, w), someImages(shape, 7, 5)
	std := []float64{0.25, 2}
	scaled := 0.0
	for _, row := range w {
		for k, v := range row {
			scaled += v * v * std[k%2] * std[k%2]
		}
	}
	for _, c := range []struct {
		o    Options
		want float64
	}{{Options{Batch: 3}, norm}, {Options{Std: std}, math.Sqrt(scaled)}} {
		j, err := Measure(t.Context(), model, model, images, c.o)
		if err != nil || math.Abs(j.Norm-c.want) > 1e-5*c.want || j.Mode != Exact || j.Images != 7 || j.Interval[1]-j.Interval[0] > 1e-5 {
			t.Errorf("%+v, %v; expected %v", j, err, c.want)
		}
		for _, gradients := range []classifier.Differentiable{model, nil} { // projections, and differences
			o := c.o
			o.Projections = 400
			j, err := Measure(t.Context(), model, gradients, images, o)
			// The squares of one direction have a standard error below their mean: a 95 % interval, at 3 of its standard errors.
			if err != nil || math.Abs(j.Norm-c.want) > 3/1.96*(j.Interval[1]-j.Interval[0])/2+1e-3*c.want || math.Abs(j.Norm-c.want) > 0.05*c.want {
				t.Errorf("%+v, %v; expected %v", j, err, c.want)
			}
		}
	}
}

// Where W·Wᵀ = c·1, each single projection is exact, √(c·C); a constant model has norm 0.
func TestJacobianOfOrthogonalRows(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	w := [][]float64{{3, 0, 0, 0}, {0, 3, 0, 0}, {0, 0, 0, 3}}
	model, images := newLinear(shape, w), someImages(shape, 4, 3)
	j, err := Measure(t.Context(), model, model, images, Options{Projections: 1})
	if err != nil || math.Abs(j.Norm-math.Sqrt(9*3)) > 1e-6 {
		t.Errorf("%+v, %v", j, err)
	}
	still := newLinear(shape, [][]float64{make([]float64, 4), make([]float64, 4)})
	if j, err = Measure(t.Context(), still, still, images, Options{}); err != nil || j.Norm != 0 {
		t.Errorf("%+v, %v", j, err)
	}
	one := newLinear(shape, [][]float64{{1, 2, 0, 2}})
	if j, err = Measure(t.Context(), one, one, images, Options{Projections: 1}); err != nil || math.Abs(j.Norm-3) > 1e-6 {
		t.Errorf("one class: %+v, %v", j, err)
	}
}

// A model whose logits are basis images of one frequency has all the energy of its gradient there.
func TestGradientBands(t *testing.T) {
	shape := pixel.Shape{Height: 12, Width: 12, Channels: 1}
	half, err := fourier.NewHalf(12, 12)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ u, v, band int }{{0, 0, 0}, {1, 1, 0}, {0, 2, 1}, {2, 3, 1}, {-4, 0, 2}, {3, 3, 2}, {6, 6, 2}} {
		basis, err := fourier.Basis(half, c.u, c.v, 0)
		if err != nil {
			t.Fatal(err)
		}
		model := newLinear(shape, [][]float64{basis, make([]float64, len(basis))})
		g, err := MeasureBands(t.Context(), model, model, someImages(shape, 5, 2), Options{Batch: 2})
		if err != nil {
			t.Fatal(err)
		}
		for b, e := range []spectral.Estimate{g.Low, g.Middle, g.High} {
			want := 0.0
			if b == c.band {
				want = 1
			}
			if math.Abs(e.Mean-want) > 1e-6 {
				t.Errorf("(%d, %d): band %d has %v; expected %v", c.u, c.v, b, e.Mean, want)
			}
		}
	}
}

func TestJacobianRefuses(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	images := someImages(shape, 4, 3)
	model := newLinear(shape, [][]float64{{1, 0, 0, 0}, {0, 1, 0, 0}})
	for want, f := range map[string]func() error{
		"gives no logits": func() error {
			_, err := Measure(t.Context(), noLogits{model}, nil, images, Options{})
			return err
		},
		"deviations": func() error {
			_, err := Measure(t.Context(), model, model, images, Options{Std: []float64{1, 1}})
			return err
		},
		"positive numbers": func() error {
			_, err := Measure(t.Context(), model, model, images, Options{Std: []float64{0}})
			return err
		},
		"at least 0": func() error {
			_, err := Measure(t.Context(), model, model, images, Options{Projections: -1})
			return err
		},
		"the model 2 classes": func() error {
			_, err := MeasureBands(t.Context(), model, model, images, Options{})
			return err
		},
		"takes images of": func() error {
			_, err := Measure(t.Context(), model, model, someImages(pixel.Shape{Height: 3, Width: 2, Channels: 1}, 1, 2), Options{})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

type noLogits struct{ classifier.Classifier }

func (m noLogits) Info() (classifier.Info, error) {
	info, err := m.Classifier.Info()
	info.Logits = false
	return info, err
}
