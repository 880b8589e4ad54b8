package export

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/ood/mixture"
	"github.com/certspec/certspec/pixel"
)

// What a CCU network gives as logits is its posterior: the classifier's probabilities and the densities of the two mixtures, computed apart
// and put together by equation 12. The confidence of any point of a ball lies below the bound (13) with the radius of (15).
func TestPosteriorOfCCU(t *testing.T) {
	shape := pixel.Shape{Height: 4, Width: 3, Channels: 2}
	const k = 3
	m := untrained(nets.Architecture{Name: "l", Shape: shape, Classes: k, Width: 1. / 16, Posterior: nets.CCU})
	weights := map[string][]float32{}
	for i, w := range m.Weights {
		weights[w.Name] = w.Values
		switch w.Name {
		case "mixture/transform": // no identity, so that a wrong order of channels shows
			for j := range w.Values {
				w.Values[j] += .3 * float32(math.Sin(float64(j)))
			}
		case "mixture/in/means", "mixture/out/means":
			for j := range w.Values {
				w.Values[j] = float32(math.Sin(float64(3*j+i))) / 2
			}
		}
	}
	network := func(posterior bool) *feedforward.Network {
		file := *m
		if !posterior {
			file.Card.Architecture.Posterior = ""
			file.Weights = nil
			for _, w := range m.Weights {
				if len(w.Name) < 7 || w.Name[:7] != "mixture" {
					file.Weights = append(file.Weights, w)
				}
			}
		}
		data, err := Encode(&file)
		if err != nil {
			t.Fatal(err)
		}
		n, err := onnx.FeedForwardBytes("ccu", data, onnx.Options{})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	joined, classifier := network(true), network(false)
	d := shape.Len()
	sides := map[string]*mixture.Mixture{}
	for _, side := range []string{"in", "out"} {
		of := &mixture.Mixture{}
		for c := range netparts.MixtureComponents {
			of.Means = append(of.Means, wide(weights["mixture/"+side+"/means"][c*d:][:d]))
		}
		of.LogVariances, of.LogWeights = wide(weights["mixture/"+side+"/log-variances"]), wide(weights["mixture/"+side+"/log-weights"])
		sides[side] = of
	}
	transform := mat.NewDense(d, d, wide(weights["mixture/transform"]))
	white := func(x []float64) []float64 {
		var w mat.VecDense
		w.MulVec(transform.T(), mat.NewVecDense(d, x))
		return w.RawVector().Data
	}
	images := someImages(shape, 4)
	for i := range 4 {
		x := wide(images[i*d:][:d])
		f, err := classifier.Forward(x)
		if err != nil {
			t.Fatal(err)
		}
		z, err := joined.Forward(x)
		if err != nil {
			t.Fatal(err)
		}
		pi, po := math.Exp(sides["in"].LogDensity(white(x), 0)), math.Exp(sides["out"].LogDensity(white(x), 0))
		sumF, sumZ := 0., 0.
		for c := range k {
			sumF, sumZ = sumF+math.Exp(f[c]), sumZ+math.Exp(z[c])
		}
		for c := range k {
			want := (math.Exp(f[c])/sumF*pi + po/k) / (pi + po)
			if got := math.Exp(z[c]) / sumZ; math.Abs(got-want) > 1e-6 {
				t.Errorf("image %d, class %d: %v, want %v", i, c, got, want)
			}
		}
		// Rigorous intervals of the whole network hold the same points as (13), which is far below them.
		const r = .01
		box, err := feedforward.Ball(x, r, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		c, err := joined.Confidence(t.Context(), x, box, feedforward.IBP, feedforward.Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		var svd mat.SVD
		svd.Factorize(transform, mat.SVDNone)
		distance := r * math.Sqrt(float64(d)) * svd.Values(nil)[0]
		bound := mixture.LogConfidence(mixture.LogOdds(sides["in"], sides["out"], white(x), distance), k)
		for corner := range 64 {
			y := make([]float64, d)
			for j := range y {
				y[j] = box.Lower[j]
				if math.Sin(float64(corner*d+j)) > 0 {
					y[j] = box.Upper[j]
				}
			}
			f, err := joined.Forward(y)
			if err != nil {
				t.Fatal(err)
			}
			if _, log := feedforward.LogConfidence(f); log > bound || log > c.LogUpper {
				t.Errorf("image %d: ln Conf %v at a corner, bounds %v and %v", i, log, bound, c.LogUpper)
			}
		}
	}
}

func wide(values []float32) []float64 {
	out := make([]float64, len(values))
	for i, v := range values {
		out[i] = float64(v)
	}
	return out
}
