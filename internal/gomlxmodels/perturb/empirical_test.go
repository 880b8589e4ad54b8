package perturb

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

type source struct{ *dataset.Images }

func (s source) Load(context.Context) (*dataset.Images, error) { return s.Images, nil }

// The empirical accuracy of a smoothed network under attack is nowhere below its certified accuracy, and no image
// breaks within its certified radius; with a large budget the attack breaks most.
func TestEmpiricalIsNotBelowCertified(t *testing.T) {
	b := engines.Backend(t, "go")
	shape := pixel.Shape{Height: 6, Width: 6, Channels: 1}
	m := &modelfile.Model{Card: modelfile.Card{Architecture: nets.Architecture{Name: "small-cnn", Shape: shape, Classes: 3}, Classes: []string{"a", "b", "c"}}}
	for _, tensor := range m.Card.Architecture.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: tensor.Name, Shape: tensor.Shape, Values: tensor.Initialize(11)})
	}
	network, err := infer.Load(b, "net", m)
	if err != nil {
		t.Fatal(err)
	}
	defer network.Close()

	// The labels are what the smoothed network says of the images, so that it is right without being trained.
	const n, sigma = 12, 0.25
	random := rand.New(rand.NewPCG(8, 9))
	images := &dataset.Images{Name: "noise", Shape: shape, Classes: m.Card.Classes, Digest: "sha256:0", Pixels: make([]uint8, n*shape.Len())}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(random.IntN(256))
	}
	for i := range n {
		images.IDs, images.Labels = append(images.IDs, 10*i), append(images.Labels, 0)
		p, err := rs.Predict(t.Context(), network, images.Image(i), rs.PredictOptions{Sigma: sigma, Samples: 200})
		if err != nil {
			t.Fatal(err)
		}
		if p.Class != rs.Abstain {
			images.Labels[i] = p.Class
		}
	}
	run, err := rs.Certify(t.Context(), network, source{images}, rs.Options{Sigma: sigma, MaxSamples: 500, Rule: rs.Fixed})
	if err != nil {
		t.Fatal(err)
	}
	o := EmpiricalOptions{Radii: []float64{0, 0.2, 0.4, 0.8, 2}, Steps: 5, Noises: 4, Predict: rs.PredictOptions{Sigma: sigma, Samples: 200, Seed: 3}}
	type place struct {
		image  int
		radius float64
	}
	found := [2]map[place][]uint8{{}, {}}
	keep := func(k int) func(Outcome, []uint8) {
		return func(out Outcome, pixels []uint8) { found[k][place{out.Image, out.Radius}] = pixels }
	}
	o.Found = keep(0)
	outcomes, err := Empirical(t.Context(), b, m, network, images.Indexed(), o)
	if err != nil {
		t.Fatal(err)
	}
	// On its layers in float64 the network is attacked in the same way.
	data, err := export.Encode(m)
	if err != nil {
		t.Fatal(err)
	}
	layers, err := onnx.FeedForwardBytes("net", data, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	o.Found = keep(1)
	again, err := EmpiricalBy(t.Context(), layers, network, images.Indexed(), o)
	if err != nil || len(again) != len(outcomes) {
		t.Fatalf("%d outcomes of layers, %v", len(again), err)
	}
	o.Found = nil
	same := 0
	for at, pixels := range found[0] {
		if slices.Equal(pixels, found[1][at]) {
			same++
		}
		if d := distance(pixels, found[1][at]) / pixel.Steps; d > 0.1*at.radius+1e-9 {
			t.Errorf("%+v: on layers the image is %v away", at, d)
		}
	}
	if same < len(outcomes)/2 {
		t.Errorf("%d of %d attacked images are the same on layers", same, len(outcomes))
	}
	if len(outcomes) != n*len(o.Radii) {
		t.Fatalf("%d outcomes", len(outcomes))
	}
	robust := make([]int, len(o.Radii))
	for k, out := range outcomes {
		row := run.Rows[k/len(o.Radii)]
		if out.Image != row.Image || out.Radius != o.Radii[k%len(o.Radii)] || out.Norm > out.Radius {
			t.Fatalf("outcome %+v for row %+v", out, row)
		}
		if out.Radius > 0 && !out.Broken() && out.Norm < 0.8*out.Radius && out.Radius < 0.5 {
			t.Errorf("%+v uses little of its budget", out)
		}
		if !out.Broken() {
			robust[k%len(o.Radii)]++
		} else if row.Class == row.Label && row.Radius >= out.Radius {
			t.Errorf("%+v is broken within its certified radius: %+v", out, row)
		}
	}
	for i, certified := range run.Rows.CertifiedAccuracy(o.Radii...) {
		if robust[i] < certified.Count {
			t.Errorf("at radius %g %d images are certified, and %d stand", o.Radii[i], certified.Count, robust[i])
		}
		t.Logf("radius %g: %d certified, %d stand of %d", o.Radii[i], certified.Count, robust[i], n)
	}
	if certified := run.Rows.CertifiedAccuracy(0.2)[0].Count; certified == 0 || robust[len(robust)-1] > n/2 {
		t.Errorf("%d certified at the smallest radius, %d of %d stand at the largest: the test shows little", certified, robust[len(robust)-1], n)
	}

	for want, change := range map[string]func(*EmpiricalOptions){
		"radii [0.2 0.1]": func(o *EmpiricalOptions) { o.Radii = []float64{0.2, 0.1} },
		"radii []":        func(o *EmpiricalOptions) { o.Radii = nil },
		"-1 steps":        func(o *EmpiricalOptions) { o.Steps = -1 },
		"-1 noises":       func(o *EmpiricalOptions) { o.Noises = -1 },
		"rate is -1":      func(o *EmpiricalOptions) { o.Rate = -1 },
	} {
		bad := o
		change(&bad)
		if _, err := Empirical(t.Context(), b, m, network, images.Indexed(), bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	images.Labels[3] = -1
	if _, err := Empirical(t.Context(), b, m, network, images.Indexed(), o); err == nil || !strings.Contains(err.Error(), "image 30 of noise has the label -1") {
		t.Errorf("error %v", err)
	}
}

// An attacked image stays within its budget in bytes, however γ is rounded.
func TestOnGrid(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		pixels, gamma := make([]uint8, 30), make([]float32, 30)
		for i := range pixels {
			pixels[i], gamma[i] = uint8(random.IntN(256)), float32(random.NormFloat64())
		}
		radius := 0.001 + 0.3*random.Float64()
		length := norm(gamma)
		for i := range gamma {
			gamma[i] *= float32(radius / length)
		}
		if d := distance(pixels, onGrid(pixels, gamma, radius)) / 255; d > radius || math.IsNaN(d) {
			t.Errorf("%g with a budget of %g", d, radius)
		}
	}
}
