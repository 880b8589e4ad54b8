package mix

import (
	"bytes"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// linear is logits = images·kernel + bias.
type linear struct{}

func (linear) Name() string { return "mixed-linear" }

func (linear) Layers(b *nets.Builder, x nets.Value, classes int) nets.Value {
	return b.Dense("head", x, classes)
}

func architecture(name string) nets.Architecture {
	nets.Register(linear{})
	return nets.Architecture{Name: name, Shape: pixel.Shape{Height: 4, Width: 5, Channels: 3}, Classes: 3}
}

// model has random weights.
func model(name string, seed uint64) *modelfile.Model {
	random := rand.New(rand.NewPCG(seed, 1))
	m := &modelfile.Model{Card: modelfile.Card{Architecture: architecture(name), Classes: []string{"a", "b", "c"}, Recipe: modelfile.Unknown(0.25)}}
	m.Card.Recipe.Complete()
	for _, t := range m.Card.Architecture.Tensors() {
		values := make([]float32, t.Size())
		for i := range values {
			values[i] = float32(0.3*random.NormFloat64()) + 1
		}
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: values})
	}
	return m
}

// write writes two networks in a form, and gives their paths.
func write(t *testing.T, form string, a, b *modelfile.Model) (from, to string) {
	t.Helper()
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	for i, m := range []*modelfile.Model{a, b} {
		var err error
		switch paths[i] += form; form {
		case onnxKind:
			err = export.ONNX(m, paths[i])
		case safetensorsKind:
			err = torch.Write(paths[i], torch.ExportWeights(m), map[string]string{"net": "x"})
		default:
			err = modelfile.Write(paths[i], m)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return paths[0], paths[1]
}

// The ends are the files themselves, what lies between two equal networks is the network, and every value lies where it should.
func TestEnds(t *testing.T) {
	a, b := model("small-cnn", 1), model("small-cnn", 2)
	for _, form := range []string{"", onnxKind, safetensorsKind} {
		from, to := write(t, form, a, b)
		p, err := Open(from, to)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "mixed")
		ending := form
		if form == "" {
			ending = ".safetensors"
		}
		for alpha, want := range map[float64]string{0: from, 1: to} {
			if err := p.Write(out, alpha); err != nil {
				t.Fatal(err)
			}
			want = strings.TrimSuffix(want, ending) + ending
			if !bytes.Equal(testkit.Read(t, out+ending), testkit.Read(t, want)) {
				t.Errorf("%s: the file at α = %v is another than %s", form, alpha, want)
			}
		}
		if p, err = Open(from, from); err != nil {
			t.Fatal(err)
		}
		if err := p.Write(out, 0.3); err != nil {
			t.Fatal(err)
		}
		same := bytes.Equal(testkit.Read(t, out+ending), testkit.Read(t, strings.TrimSuffix(from, ending)+ending))
		if form == onnxKind { // the card is gone
			same = len(testkit.Read(t, out+ending)) < len(testkit.Read(t, from))
		}
		if !same {
			t.Errorf("%s: between a network and itself lies another", form)
		}
	}
	from, to := write(t, "", a, b)
	p, err := Open(from, to)
	if err != nil {
		t.Fatal(err)
	}
	m, err := p.Model(0.3)
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range m.Weights {
		for j, v := range w.Values {
			want := 0.7*float64(a.Weights[i].Values[j]) + 0.3*float64(b.Weights[i].Values[j])
			if math.Abs(float64(v)-want) > 1e-7*math.Abs(want) {
				t.Fatalf("%s[%d] is %v; expected %v", w.Name, j, v, want)
			}
		}
	}
	if c := m.Card; c.Mixture == nil || c.Mixture.Alpha != 0.3 || c.Mixture.From == c.Mixture.To || c.Recipe.Noise() != 0.25 || c.Accuracy != 0 {
		t.Errorf("card %+v", c)
	}
}

// The logits of a linear model are linear in α, of a model file and of an ONNX file.
func TestLinear(t *testing.T) {
	a, b := model(linear{}.Name(), 1), model(linear{}.Name(), 2)
	engine := engines.Backend(t, "go")
	shape := a.Card.Architecture.Shape
	random := rand.New(rand.NewPCG(5, 6))
	image := make([]float64, shape.Len())
	for i := range image {
		image[i] = random.Float64()
	}
	byModel := func(path string) []float64 {
		m, err := modelfile.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		net, err := infer.Load(engine, "net", m)
		if err != nil {
			t.Fatal(err)
		}
		defer net.Close()
		real := make([]float32, len(image))
		for i, v := range image {
			real[i] = float32(v)
		}
		r := classifier.Result{Classes: make([]int32, 1), Scores: make([]float32, 3)}
		if err := net.Classify(t.Context(), classifier.Batch{N: 1, Real: real}, &r); err != nil {
			t.Fatal(err)
		}
		return []float64{math.Log(float64(r.Scores[1] / r.Scores[0])), math.Log(float64(r.Scores[2] / r.Scores[0]))}
	}
	byONNX := func(path string) []float64 {
		net, err := feedforward.Read(path+onnxKind, nil)
		if err != nil {
			t.Fatal(err)
		}
		nchw := make([]float64, len(image))
		for i, v := range image {
			pixels := shape.Height * shape.Width
			nchw[i%shape.Channels*pixels+i/shape.Channels] = v
		}
		z, err := net.Forward(nchw)
		if err != nil {
			t.Fatal(err)
		}
		return []float64{z[1] - z[0], z[2] - z[0]}
	}
	for form, logits := range map[string]func(path string) []float64{"": byModel, onnxKind: byONNX} {
		from, to := write(t, form, a, b)
		p, err := Open(from, to)
		if err != nil {
			t.Fatal(err)
		}
		out := filepath.Join(t.TempDir(), "mixed")
		at := map[float64][]float64{}
		for _, alpha := range []float64{0, 0.25, 0.9, 1} {
			if err := p.Write(out, alpha); err != nil {
				t.Fatal(err)
			}
			at[alpha] = logits(out)
		}
		for alpha, got := range at {
			for k := range got {
				// Probabilities of the Go engine are off by some 1e-6, by its exponential in float32, which differs between processors.
				if want := (1-alpha)*at[0][k] + alpha*at[1][k]; math.Abs(got[k]-want) > 1e-4 {
					t.Errorf("%s: α = %v: logit %v; expected %v", form, alpha, got[k], want)
				}
			}
		}
	}
}

func TestErrors(t *testing.T) {
	a, wider := model("small-cnn", 1), model("small-cnn", 2)
	wider.Card.Architecture.Width = 2
	wider.Weights = nil
	for _, t := range wider.Card.Architecture.Tensors() {
		wider.Weights = append(wider.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: make([]float32, t.Size())})
	}
	other, broken := model(linear{}.Name(), 3), model("small-cnn", 4)
	broken.Weights[0].Values[0] = float32(math.NaN())
	halved := filepath.Join(t.TempDir(), "half.safetensors")
	header := `{"w":{"dtype":"F16","shape":[1],"data_offsets":[0,2]}}`
	testkit.Write(t, append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header+"\x00\x3c"...), halved)
	single := filepath.Join(t.TempDir(), "single.safetensors")
	if err := torch.Write(single, []modelfile.Tensor{{Name: "w", Shape: []int{1}, Values: []float32{1}}}, nil); err != nil {
		t.Fatal(err)
	}
	onnx, _ := write(t, onnxKind, a, a)
	plain, _ := write(t, "", a, a)
	for _, c := range []struct {
		form string
		with *modelfile.Model
		want string
	}{
		{"", wider, "expected one architecture"},
		{"", broken, "1 weights that are not finite"},
		{onnxKind, wider, "expected two files of one graph"},
		{onnxKind, other, "expected two files of one graph"},
		{safetensorsKind, wider, `tensor "bn1.bias" is of shape [16] in`},
		{safetensorsKind, other, "is not in"},
		{safetensorsKind, broken, "is NaN; expected finite values"},
	} {
		from, to := write(t, c.form, a, c.with)
		if _, err := Open(from, to); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v; want it to say %q", c.form, err, c.want)
		}
	}
	for want, paths := range map[string][2]string{
		"expected two of one kind":          {plain, onnx},
		`"w" is of type F32 in`:             {single, halved},
		"expected a model file of certspec": {filepath.Join(t.TempDir(), "none"), filepath.Join(t.TempDir(), "none")},
	} {
		if _, err := Open(paths[0], paths[1]); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	p, err := Open(plain, plain)
	if err != nil {
		t.Fatal(err)
	}
	for _, alpha := range []float64{-0.1, 1.1, math.NaN()} {
		if err := p.Write(filepath.Join(t.TempDir(), "x"), alpha); err == nil {
			t.Errorf("α = %v", alpha)
		}
	}
}
