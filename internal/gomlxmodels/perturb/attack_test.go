package perturb

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"

	. "github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"
)

const (
	pixels  = 6 // of an image of 2×3
	classes = 3
	images  = 40
)

// linear is the softmax of W·x, with its weights.
func linear(t *testing.T, w []float32) (*Network, []*tensors.Tensor) {
	t.Helper()
	b := engines.Backend(t, "go")
	return &Network{
		Backend: b,
		Forward: func(x *Node, lookup netgraph.Lookup) *Node { return MatMul(Reshape(x, -1, pixels), lookup("w")) },
		Tensors: []nets.Tensor{{Name: "w", Shape: []int{pixels, classes}}},
	}, []*tensors.Tensor{tensors.FromFlatDataAndDimensions(w, pixels, classes)}
}

// sample is weights, images in [0, 1], labels and noise of m samples.
func sample(m int, scale float64) (w, x []float32, labels []int32, delta []float32) {
	random := rand.New(rand.NewPCG(1, 2))
	for range pixels * classes {
		w = append(w, float32(scale*random.NormFloat64()))
	}
	for i := range images {
		labels = append(labels, int32(i%classes))
		for range pixels {
			x = append(x, float32(random.Float64()))
		}
	}
	x[0], x[1] = 0, 1 // on the border
	for range m * images * pixels {
		delta = append(delta, float32(0.3*random.NormFloat64()))
	}
	return w, x, labels, delta
}

func tensor(values []float32) *tensors.Tensor {
	return tensors.FromFlatDataAndDimensions(append([]float32(nil), values...), len(values)/pixels, 2, 3, 1)
}

func probabilities(w, x []float32) []float64 {
	p, total := make([]float64, classes), 0.0
	for c := range p {
		for i, v := range x {
			p[c] += float64(v) * float64(w[i*classes+c])
		}
		p[c] = math.Exp(p[c])
		total += p[c]
	}
	for c := range p {
		p[c] /= total
	}
	return p
}

// smoothed is the mean over the noises of an image.
func smoothed(w, x, gamma, delta []float32, image int) []float64 {
	mean := make([]float64, classes)
	m := len(delta) / len(x)
	for j := range m {
		moved := make([]float32, pixels)
		for k := range moved {
			moved[k] = x[image*pixels+k] + gamma[image*pixels+k] + delta[(j*images+image)*pixels+k]
		}
		for c, p := range probabilities(w, moved) {
			mean[c] += p / float64(m)
		}
	}
	return mean
}

func checkRange(t *testing.T, x, gamma []float32) {
	t.Helper()
	for i, v := range gamma {
		if moved := x[i] + v; !(moved >= 0 && moved <= 1) {
			t.Fatalf("value %d leaves [0, 1]: %g", i, moved)
		}
	}
}

func norm(gamma []float32) (length float64) {
	for _, v := range gamma {
		length += float64(v) * float64(v)
	}
	return math.Sqrt(length)
}

func values(t *testing.T, x *tensors.Tensor) []float32 {
	t.Helper()
	v, err := tensors.CopyFlatData[float32](x)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// Attacks on the smoothed confidence stay in the ball and in the range, and drive every confidence where their driver says.
func TestSmoothed(t *testing.T) {
	w, x, labels, delta := sample(4, 2)
	n, weights := linear(t, w)
	s, err := NewSmoothed(n, attack.L2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	still := make([]float32, len(x))
	run := func(a *attack.Adversary) ([]float32, *Found) {
		found, err := s.Run(a, a.Epsilon, 0.3, tensor(x), tensor(delta), labels, weights)
		if err != nil {
			t.Fatal(err)
		}
		return values(t, found.Gamma), found
	}
	const epsilon = 0.4
	for name, a := range map[string]*attack.Adversary{
		"lower": {Target: attack.Label, Driver: func() attack.Driver { return attack.Lower{} }},
		"brier": {Target: attack.Predicted, Driver: func() attack.Driver { return attack.Brier{} }},
	} {
		a.Epsilon, a.Steps, a.Rate = epsilon, 4, 1
		gamma, found := run(a)
		checkRange(t, x, gamma)
		moved := 0.0
		for i := range images {
			length := norm(gamma[i*pixels : (i+1)*pixels])
			if length > epsilon*(1+1e-6) {
				t.Errorf("%s: norm %g of image %d, want at most %g", name, length, i, epsilon)
			}
			moved += length
			before, after := smoothed(w, x, still, delta, i), smoothed(w, x, gamma, delta, i)
			class := int(labels[i])
			if a.Target == attack.Predicted {
				class = 0
				for c, p := range before {
					if p > before[class] {
						class = c
					}
				}
			}
			if found.Class[i] != int32(class) {
				t.Errorf("%s: image %d is driven in class %d, want %d", name, i, found.Class[i], class)
			}
			rises := name == "brier" && class != int(labels[i])
			if d := after[class] - before[class]; rises && d < 0 || !rises && d > 0 {
				t.Errorf("%s: the confidence of image %d goes from %g to %g", name, i, before[class], after[class])
			}
		}
		if moved < 0.9*epsilon*images {
			t.Errorf("%s: mean norm %g of a budget of %g", name, moved/images, epsilon)
		}
		a.Epsilon = 0
		if gamma, _ := run(a); !slices.Equal(gamma, still) {
			t.Errorf("%s: a perturbation without a budget", name)
		}
	}
}

// Of one noise that is zero, an attack in L∞ on the label is projected gradient ascent on the cross-entropy, step by step.
func TestSmoothedInLInf(t *testing.T) {
	w, x, labels, _ := sample(1, 2)
	n, weights := linear(t, w)
	s, err := NewSmoothed(n, attack.LInf)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	plain, err := NewPlain(n)
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	a := &attack.Adversary{Norm: attack.LInf, Epsilon: 0.1, Steps: 5, Rate: 1.5, Driver: func() attack.Driver { return attack.Lower{} }}
	found, err := s.Run(a, a.Epsilon, 0, tensor(x), tensor(make([]float32, len(x))), labels, weights)
	if err != nil {
		t.Fatal(err)
	}
	pgd := PGD{Norm: attack.LInf, Epsilon: a.Epsilon, Steps: a.Steps, Step: a.Rate * 2 * a.Epsilon / float64(a.Steps)}
	want, err := plain.PGD(t.Context(), pgd, tensor(x), labels, weights)
	if err != nil {
		t.Fatal(err)
	}
	got, still := values(t, found.Gamma), 0
	for i, v := range values(t, want) {
		if math.Abs(float64(got[i]-v)) > 1e-6 || math.Abs(float64(got[i])) > a.Epsilon*(1+1e-6) {
			t.Fatalf("value %d moves by %g, want %g", i, got[i], v)
		}
		if v == 0 {
			still++
		}
	}
	checkRange(t, x, got)
	if still > len(got)/2 {
		t.Errorf("%d of %d values do not move", still, len(got))
	}
}

// Where a network is flat, its image moves along its first noise.
func TestZeroGradient(t *testing.T) {
	_, x, labels, delta := sample(2, 0)
	for i := range x {
		x[i] = 0.5
	}
	n, weights := linear(t, make([]float32, pixels*classes))
	s, err := NewSmoothed(n, attack.L2)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	a := &attack.Adversary{Epsilon: 0.1, Steps: 1, Rate: 1, Driver: func() attack.Driver { return attack.Lower{} }}
	found, err := s.Run(a, 0.1, 0.3, tensor(x), tensor(delta), labels, weights)
	if err != nil {
		t.Fatal(err)
	}
	gamma := values(t, found.Gamma)
	for i := range images {
		first := delta[i*pixels : (i+1)*pixels]
		for k, v := range gamma[i*pixels : (i+1)*pixels] {
			if want := -0.1 * float64(first[k]) / norm(first); math.Abs(float64(v)-want) > 1e-6 {
				t.Fatalf("image %d moves by %v, noise %v", i, gamma[i*pixels:(i+1)*pixels], first)
			}
		}
	}
}

// Of two classes, the worst perturbation of a linear network is known: ε along the difference of the weights, or its signs.
func TestPGDOnLinear(t *testing.T) {
	w, x, labels, _ := sample(1, 1)
	for i := range x {
		x[i] = 0.3 + 0.4*x[i] // away from the border
		labels[i/pixels] = int32(i / pixels % 2)
	}
	for i := range pixels {
		w[i*classes+2] = -100 // the third class is out of the question
	}
	n, _ := linear(t, w)
	shape := pixel.Shape{Height: 2, Width: 3, Channels: 1}
	p, err := NewPlain(n)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	const epsilon = 0.2
	for _, kind := range []attack.Norm{attack.L2, attack.LInf} {
		gamma, err := p.Perturb(t.Context(), PGD{Norm: kind, Epsilon: epsilon}, shape, x, labels, [][]float32{w})
		if err != nil {
			t.Fatal(err)
		}
		checkRange(t, x, gamma)
		for i := range images {
			difference := make([]float32, pixels)
			for k := range difference {
				difference[k] = (w[k*classes+1] - w[k*classes]) * float32(1-2*labels[i])
			}
			for k, v := range gamma[i*pixels : (i+1)*pixels] {
				want := epsilon * float64(difference[k]) / norm(difference)
				if kind == attack.LInf {
					want = math.Copysign(epsilon, float64(difference[k]))
				}
				if math.Abs(float64(v)-want) > 1e-4 {
					t.Fatalf("%s, image %d, value %d: %g, want %g", kind, i, k, v, want)
				}
			}
		}
	}
	for _, bad := range []PGD{{Norm: "l1"}, {Norm: attack.L2, Epsilon: math.NaN()}, {Norm: attack.L2, Steps: -1}, {Norm: attack.L2, Step: -1}} {
		if _, err := p.Perturb(t.Context(), bad, shape, x, labels, [][]float32{w}); err == nil {
			t.Errorf("%+v was taken", bad)
		}
	}
	for name, bad := range map[string]func() ([]float32, error){
		"no image": func() ([]float32, error) {
			return p.Perturb(t.Context(), PGD{Norm: attack.L2}, shape, nil, nil, [][]float32{w})
		},
		"a short image": func() ([]float32, error) {
			return p.Perturb(t.Context(), PGD{Norm: attack.L2}, shape, x[1:], labels, [][]float32{w})
		},
		"no weights": func() ([]float32, error) { return p.Perturb(t.Context(), PGD{Norm: attack.L2}, shape, x, labels, nil) },
		"a weight missed": func() ([]float32, error) {
			return p.Perturb(t.Context(), PGD{Norm: attack.L2}, shape, x, labels, [][]float32{w[1:]})
		},
	} {
		if _, err := bad(); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

// No configuration changes a prediction, leaves ball or range, or ends with a loss below the loss of the image
// itself; the target does not matter where the prediction is right; and without a budget nothing moves.
func TestACE(t *testing.T) {
	w, x, labels, _ := sample(1, 2)
	n, weights := linear(t, w)
	p, err := NewPlain(n)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	predicted := make([]int32, images)
	for i := range predicted {
		for c, v := range probabilities(w, x[i*pixels:(i+1)*pixels]) {
			if v > probabilities(w, x[i*pixels:(i+1)*pixels])[predicted[i]] {
				predicted[i] = int32(c)
			}
		}
	}
	run := func(o ace.Attack) []float32 {
		o.Steps = 30
		gamma, err := p.ACE(t.Context(), o, tensor(x), labels, predicted, weights)
		if err != nil {
			t.Fatal(err)
		}
		return values(t, gamma)
	}
	const epsilon = 0.15
	at := func(gamma []float32, i int) []float64 {
		moved := make([]float32, pixels)
		for k := range moved {
			moved[k] = x[i*pixels+k] + gamma[i*pixels+k]
		}
		return probabilities(w, moved)
	}
	var all [][]float32
	still := make([]float32, len(x))
	for _, o := range ace.Attacks(epsilon) {
		gamma := run(o)
		all = append(all, gamma)
		checkRange(t, x, gamma)
		gained := 0.0
		for i := range images {
			before, after := at(still, i), at(gamma, i)
			for c, v := range after {
				if v > after[predicted[i]]+1e-6 {
					t.Errorf("%v: image %d changes from class %d to %d", o, i, predicted[i], c)
				}
			}
			omega := labels[i]
			if o.Predicted {
				omega = predicted[i]
			}
			gain := math.Log(before[omega]) - math.Log(after[omega])
			if !o.Raise {
				gain = -gain
			}
			gained += gain
			if gain < -1e-6 {
				t.Errorf("%v: the loss of image %d falls by %g", o, i, -gain)
			}
			for _, v := range gamma[i*pixels : (i+1)*pixels] {
				if math.Abs(float64(v)) > epsilon*(1+1e-6) {
					t.Errorf("%v: a value moves by %g", o, v)
				}
			}
		}
		if gained < 0.05*images {
			t.Errorf("%v gains %g on average", o, gained/images)
		}
		o.Epsilon = 0
		if gamma := run(o); !slices.Equal(gamma, still) {
			t.Errorf("%v moves without a budget", o)
		}
	}
	for i := range images {
		if labels[i] == predicted[i] && !slices.Equal(all[1][i*pixels:(i+1)*pixels], all[3][i*pixels:(i+1)*pixels]) {
			t.Errorf("image %d is right, but (1,y) and (1,ŷ) differ", i)
		}
	}
}

// Where the network can saturate, raising every confidence in the prediction, (−1, ŷ), drives the calibration error to the error
// rate: all confidences go to 1.
func TestACESaturates(t *testing.T) {
	w, x, labels, _ := sample(1, 2)
	for i := range w {
		w[i] *= 20
	}
	n, weights := linear(t, w)
	p, err := NewPlain(n)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	predicted, correct, right := make([]int32, images), make([]bool, images), 0.0
	for i := range predicted {
		z := probabilities(w, x[i*pixels:(i+1)*pixels])
		for c, v := range z {
			if v > z[predicted[i]] {
				predicted[i] = int32(c)
			}
		}
		if correct[i] = predicted[i] == labels[i]; correct[i] {
			right++
		}
	}
	o := ace.Attacks(1)[2]
	gamma, err := p.ACE(t.Context(), o, tensor(x), labels, predicted, weights)
	if err != nil {
		t.Fatal(err)
	}
	moved := values(t, gamma)
	confidence := make([]float64, images)
	for i := range confidence {
		for k := range moved[i*pixels : (i+1)*pixels] {
			moved[i*pixels+k] += x[i*pixels+k]
		}
		confidence[i] = probabilities(w, moved[i*pixels:(i+1)*pixels])[predicted[i]]
	}
	ece, err := calib.AdaECE(correct, confidence, 5)
	if err != nil {
		t.Fatal(err)
	}
	if want := 1 - right/images; want < 0.1 || math.Abs(ece-want) > 0.01 {
		t.Errorf("calibration error %g, want %g, the error rate; confidences %v", ece, want, confidence)
	}
}
