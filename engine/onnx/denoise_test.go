package onnx

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// Steps and √ᾱ of the published schedules, computed apart from this code in extended precision; forgetting the factor 2
// would give 73, 145 and 259.
func TestSteps(t *testing.T) {
	for _, c := range []struct {
		schedule     string
		steps        int
		sigma        float64
		t            int
		root, sigmas float64
	}{
		{linearSteps, 1000, 0.25, 145, 0.893294373296, 0.251581},
		{linearSteps, 1000, 0.5, 259, 0.705417473569, 0.502392},
		{linearSteps, 1000, 1, 396, 0.447127401468, 1.000241},
		{cosineSteps, 4000, 0.25, 1158, 0, 0}, {cosineSteps, 4000, 0.5, 1984, 0, 0}, {cosineSteps, 4000, 1, 2809, 0, 0},
	} {
		at, alphaBar, err := stepOf(c.schedule, c.steps, c.sigma)
		if err != nil || at != c.t {
			t.Errorf("%s, σ %g: step %d, %v, want %d", c.schedule, c.sigma, at, err, c.t)
		}
		root := math.Sqrt(alphaBar)
		if c.root > 0 && (math.Abs(root-c.root) > 1e-9 ||
			math.Abs(math.Sqrt((1-alphaBar)/alphaBar)/2-c.sigmas) > 1e-6) {
			t.Errorf("%s, σ %g: √ᾱ = %.12f, want %.12f", c.schedule, c.sigma, root, c.root)
		}
	}
	for _, c := range []struct {
		schedule string
		steps    int
		sigma    float64
		want     string
	}{
		{"cubic", 1000, 0.25, `no schedule "cubic"`}, {linearSteps, 1, 0.25, "of 1 steps"}, {linearSteps, 1000, 0, "σ = 0"},
		{linearSteps, 1000, math.NaN(), "σ = NaN"}, {linearSteps, 1000, 80, "never reaches σ = 80"},
		{cosineSteps, 4000, 1e9, "never reaches"},
	} {
		if _, _, err := stepOf(c.schedule, c.steps, c.sigma); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// pointwise is a denoiser a·x + b·t of images of 4×4×3, where t is the step of a diffusion model or missing. Of
// channels behind the first three a is doubled.
func pointwise(a, b float32, channels int64, step onnxfile.Type) *onnxfile.Model {
	g := onnxfile.Graph{Name: "denoiser"}
	dims := func(c int64) []onnxfile.Dim { return []onnxfile.Dim{{Name: "n"}, {Size: c}, {Size: 4}, {Size: 4}} }
	g.Inputs = []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: dims(3)}}
	w := make([]float32, channels*3)
	for c := range int(channels) {
		w[3*c+c%3] = a * float32(1+c/3)
	}
	g.Initializers = append(g.Initializers, onnxfile.Float32Tensor("w", w, channels, 3, 1, 1))
	at := addNode(&g, "Conv", "y", []string{"x", "w"})
	if step != 0 {
		g.Inputs = append(g.Inputs, onnxfile.Value{Name: "t", Type: step, Dims: []onnxfile.Dim{{Name: "n"}}})
		g.Initializers = append(g.Initializers, onnxfile.Float32Tensor("b", []float32{b}),
			onnxfile.Int64Tensor("axes", 1, 2, 3))
		at = addNode(&g, "Add", "z", []string{at, addNode(&g, "Mul", "bt", []string{
			addNode(&g, "Unsqueeze", "t4", []string{addNode(&g, "Cast", "tf", []string{"t"},
				onnxfile.IntAttribute("to", 1)), "axes"}), "b"})})
	}
	g.Outputs = []onnxfile.Value{{Name: at, Type: onnxfile.Float32, Dims: dims(channels)}}
	return &onnxfile.Model{IRVersion: onnxfile.IRVersion, Opsets: []onnxfile.OperatorSet{{Version: 17}}, Graph: g}
}

// sums is a classifier whose logits are the first value of each channel.
func sums() *onnxfile.Model {
	rows := make([][]float32, 3)
	for c := range rows {
		rows[c] = make([]float32, 49)
		rows[c][16*c] = 1
	}
	return dense(17, []int64{3, 4, 4}, rows)
}

func denoised(d Denoiser, h, f *onnxfile.Model, card Card) (*onnxfile.Model, error) {
	d.Path, d.Contents = "h.onnx", onnxfile.Encode(h)
	m, p, err := joinDenoiser(d, Source{Path: "f.onnx", Contents: onnxfile.Encode(f), Options: Options{Card: card}}, "")
	if err == nil {
		err = p.tried("", onnxfile.Encode(m))
	}
	return m, err
}

// Constants beyond what a file holds are in a second one, whether they were in one before or not.
func TestJoinBesideConstants(t *testing.T) {
	needLibrary(t)
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(1, 2))
	layer := func(outputs, inputs int) [][]float32 {
		rows := make([][]float32, outputs)
		for i := range rows {
			for range inputs + 1 {
				rows[i] = append(rows[i], random.Float32()-0.5)
			}
		}
		return rows
	}
	f := dense(17, []int64{3, 4, 4}, layer(30, 48), layer(10, 30), layer(26, 10))
	source := Source{Path: filepath.Join(dir, "f.onnx")}
	testkit.Write(t, f.Graph.Initializers[0].Raw, dir, "f.bin")
	f.Graph.Initializers[0].SetExternal("f.bin")
	testkit.Write(t, onnxfile.Encode(f), source.Path)
	join := func(name string, h *onnxfile.Model, most int) (string, error) {
		defer func(was int) { mostConstants = was }(mostConstants)
		mostConstants = most
		path := filepath.Join(dir, name)
		return path, JoinDenoiser(Denoiser{Source: Source{Path: "h", Contents: onnxfile.Encode(h)}, Sigma: 1}, source, "",
			nil, path)
	}
	logits := func(path string) []float32 {
		m, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		r := classifier.Result{Classes: make([]int32, 1), Logits: make([]float32, 26)}
		batch := classifier.Batch{N: 1, Grid: make([]int16, 48)}
		for i := range batch.Grid {
			batch.Grid[i] = int16(5 * i)
		}
		if err := m.Classify(t.Context(), batch, &r); err != nil {
			t.Fatal(err)
		}
		return r.Logits
	}
	h := pointwise(0.5, 0, 3, 0)
	whole, err := join("new/whole.onnx", h, mostConstants)
	if err != nil {
		t.Fatal(err)
	}
	parted, err := join("other/parted.onnx", h, 5000)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(parted + ".data"); err != nil || info.Size() != 5760+1216+1088 {
		t.Errorf("%v, %v; expected the weights beside the file", info, err)
	}
	if _, err := os.Stat(whole + ".data"); err == nil {
		t.Error("what one file holds is in two")
	}
	if a, b := logits(whole), logits(parted); !slices.Equal(a, b) {
		t.Errorf("logits %v of one file, %v of two", a, b)
	}
	addNode(&h.Graph, "MaxPool", "small", []string{"y"}, onnxfile.IntsAttribute("kernel_shape", 2, 2))
	h.Graph.Outputs[0].Name = "small"
	h.Graph.Outputs[0].Dims[2].Size, h.Graph.Outputs[0].Dims[3].Size = 0, 0
	refused, err := join("refused.onnx", h, 5000)
	if left, _ := filepath.Glob(refused + "*"); err == nil || len(left) > 0 {
		t.Errorf("%v, and %v is left", err, left)
	}
}

// Logits by hand: the denoiser sees values in [0, 1], or of a diffusion model √ᾱ·(2x − 1) and t; the classifier's mean and
// deviation come behind it.
func TestJoinDenoiser(t *testing.T) {
	needLibrary(t)
	card := Card{Mean: []float64{0.5, 0.4, 0.3}, Std: []float64{0.2, 0.25, 0.5}}
	root := 0.893294373296
	rest := math.Sqrt(1 - root*root)
	diffusion := Denoiser{Sigma: 0.25, Schedule: linearSteps, Steps: 1000}
	with := func(predicts string, rescaled bool) Denoiser {
		d := diffusion
		d.Predicts, d.Rescaled = predicts, rescaled
		return d
	}
	clip := func(v float64) float64 { return (min(max(v, -1), 1) + 1) / 2 }
	for name, c := range map[string]struct {
		d    Denoiser
		step onnxfile.Type
		b    float64
		want func(x float64) float64 // the denoised value
	}{
		"epsilon and variances": {with(ofNoise, false), onnxfile.Int64, 1e-3, func(x float64) float64 {
			noisy := root * (2*x - 1)
			return clip((noisy - rest*(0.5*noisy+0.145)) / root)
		}},
		"plain": {Denoiser{Sigma: 0.25}, 0, 0, func(x float64) float64 { return 0.5 * x }},
		"epsilon": {with(ofNoise, false), onnxfile.Int64, 1e-3, func(x float64) float64 {
			noisy := root * (2*x - 1)
			return clip((noisy - rest*(0.5*noisy+0.145)) / root)
		}},
		"sample": {with(ofImage, false), onnxfile.Float32, 1e-3, func(x float64) float64 {
			return clip(0.5*root*(2*x-1) + 0.145)
		}},
		"v": {with(ofVelocity, true), onnxfile.Float32, 1e-3, func(x float64) float64 {
			noisy := root * (2*x - 1)
			return clip(root*noisy - rest*(0.5*noisy+0.145))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			channels := int64(3)
			if strings.Contains(name, "variances") {
				channels = 6
			}
			m, err := denoised(c.d, pointwise(0.5, float32(c.b), channels, c.step), sums(), card)
			if err != nil {
				t.Fatal(err)
			}
			net, err := FromBytes("joined", onnxfile.Encode(m), Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer net.Close()
			real := make([]float32, 2*48)
			for i := range real {
				real[i] = float32(i%31)/15 - 0.6 // beyond [0, 1], as noise is not clipped
			}
			r := classifier.Result{Classes: make([]int32, 2), Logits: make([]float32, 6)}
			if err := net.Classify(t.Context(), classifier.Batch{N: 2, Real: real}, &r); err != nil {
				t.Fatal(err)
			}
			for i, got := range r.Logits {
				n, channel := i/3, i%3
				want := (c.want(float64(real[48*n+channel])) - card.Mean[channel]) / card.Std[channel]
				if math.Abs(float64(got)-want) > 1e-5 {
					t.Errorf("image %d, logit %d: %v, want %v", n, channel, got, want)
				}
			}
			if p := m.Metadata[1]; p.Key != DenoiserKey || p.Value != "0.25" {
				t.Errorf("metadata %+v", p)
			}
		})
	}
}

// Images between a denoiser and a classifier of another size equal PyTorch 2.15's,
// interpolate(x, (7, 5), mode="bicubic", antialias=True).
func TestJoinDenoiserResizes(t *testing.T) {
	needLibrary(t)
	x := []float32{0, .25, .5, 1, 1, .75, .125, 0, .5, .5, 0, .25, .375, 0, 1, .875}
	want := []float64{-0.0918606, 0.1062799, 0.3537973, 0.7067519, 1.1031071, 0.3172744, 0.3868319, 0.3880703,
		0.4734712, 0.7012480, 0.9802667, 0.8430027, 0.4325051, 0.0734524, 0.0329010, 0.8260592,
		0.7754332, 0.3208008, -0.0609398, 0.0254657, 0.4793831, 0.5028116, 0.2396908, 0.0795426,
		0.2965522, 0.4045780, 0.1729482, 0.4014045, 0.7332117, 0.6958740, 0.3825972, -0.0058015,
		0.5042068, 1.1156299, 0.9178836}
	rows := make([][]float32, len(want))
	for i := range rows {
		rows[i] = make([]float32, 3*len(want)+1)
		rows[i][len(want)+i] = 1 // the second channel
	}
	old := dense(17, []int64{3, 7, 5}, rows)
	if _, err := denoised(Denoiser{Sigma: 1}, pointwise(1, 0, 3, 0), old, Card{}); err == nil ||
		!strings.Contains(err.Error(), "export it with opset 18") {
		t.Errorf("opset 17: %v", err)
	}
	m, err := denoised(Denoiser{Sigma: 1}, pointwise(1, 0, 3, 0), dense(18, []int64{3, 7, 5}, rows), Card{})
	if err != nil {
		t.Fatal(err)
	}
	net, err := FromBytes("joined", onnxfile.Encode(m), Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	real := make([]float32, 48)
	for i, v := range x {
		real[3*i+1] = v
	}
	r := classifier.Result{Classes: make([]int32, 1), Logits: make([]float32, len(want))}
	if err := net.Classify(t.Context(), classifier.Batch{N: 1, Real: real}, &r); err != nil {
		t.Fatal(err)
	}
	for i, v := range want {
		if math.Abs(float64(r.Logits[i])-v) > 1e-5 {
			t.Errorf("value %d: %v, PyTorch has %v", i, r.Logits[i], v)
		}
	}
}

func TestJoinDenoiserRefuses(t *testing.T) {
	plain := func(change func(g *onnxfile.Graph)) *onnxfile.Model {
		m := pointwise(0.5, 0, 3, 0)
		change(&m.Graph)
		return m
	}
	behind := func(op string, outputs int, attributes ...onnxfile.Attribute) func(g *onnxfile.Graph) {
		return func(g *onnxfile.Graph) {
			inputs := []string{"y"}
			if op == "BatchNormalization" {
				for _, name := range []string{"scale", "shift", "mean", "variance"} {
					g.Initializers = append(g.Initializers, onnxfile.Float32Tensor(name, []float32{1, 1, 1}, 3))
					inputs = append(inputs, name)
				}
			}
			if op == "Dropout" {
				g.Initializers = append(g.Initializers, onnxfile.Float32Tensor("ratio", []float32{0.5}),
					onnxfile.Tensor{Name: "training", Type: onnxfile.Bool, Raw: []byte{1}})
				inputs = append(inputs, "ratio", "training")
			}
			addNode(g, op, "last", inputs, attributes...)
			if op == "RandomNormalLike" {
				addNode(g, "Add", "more", []string{"y", "last"})
				g.Outputs[0].Name = "more"
				return
			}
			for i := range outputs - 1 {
				n := &g.Nodes[len(g.Nodes)-1]
				n.Outputs = append(n.Outputs, []string{"m", "v"}[i])
			}
			g.Outputs[0].Name = "last"
		}
	}
	good, diffusion := pointwise(0.5, 0, 3, 0), Denoiser{Sigma: 0.25, Schedule: linearSteps, Steps: 1000, Predicts: ofNoise}
	far := diffusion
	far.Sigma = 100
	for name, c := range map[string]struct {
		d    Denoiser
		h    *onnxfile.Model
		want string
	}{
		"no σ":          {Denoiser{}, good, "expected that of the denoiser's noise"},
		"a draw":        {Denoiser{Sigma: 1}, plain(behind("RandomNormalLike", 1)), "draws random numbers"},
		"training":      {Denoiser{Sigma: 1}, plain(behind("BatchNormalization", 3, onnxfile.IntAttribute("training_mode", 1))), "in training mode: answers depend on the batch"},
		"dropout":       {Denoiser{Sigma: 1}, plain(behind("Dropout", 1)), "dropout that may be in training mode"},
		"six channels":  {Denoiser{Sigma: 1}, pointwise(0.5, 0, 6, 0), "learned variances"},
		"four channels": {Denoiser{Sigma: 1}, pointwise(0.5, 0, 4, 0), "has no 3 channels"},
		"no step":       {diffusion, good, "it has 1 inputs; expected the noisy image and the step"},
		"a step":        {Denoiser{Sigma: 1}, pointwise(0.5, 0, 3, onnxfile.Int64), "it has 2 inputs; expected the noisy image alone"},
		"never reached": {far, pointwise(0.5, 0, 3, onnxfile.Int64), "never reaches σ = 100"},
		"a row": {Denoiser{Sigma: 1}, plain(func(g *onnxfile.Graph) {
			g.Outputs[0].Name, g.Outputs[0].Dims = addNode(g, "Flatten", "f", []string{"y"}), g.Outputs[0].Dims[:2]
		}), "is no image"},
		"sides":          {Denoiser{Sigma: 1}, plain(func(g *onnxfile.Graph) { g.Outputs[0].Dims[2].Size = 8 }), "no multiples of what it halves"},
		"other images":   {Denoiser{Sigma: 1}, plain(func(g *onnxfile.Graph) { g.Inputs[0].Dims[2].Size = 6 }), "no multiples of what it halves"},
		"other channels": {Denoiser{Sigma: 1}, plain(func(g *onnxfile.Graph) { g.Inputs[0].Dims[1].Size = 1 }), "channels must agree"},
		"what is not read": {Denoiser{Sigma: 1}, plain(func(g *onnxfile.Graph) {
			addNode(g, "Transpose", "turned", []string{"y"}, onnxfile.IntsAttribute("perm", 0, 1, 3, 2))
			addNode(g, "MaxPool", "small", []string{"turned"}, onnxfile.IntsAttribute("kernel_shape", 2, 2))
			g.Outputs[0].Name = "small"
			g.Outputs[0].Dims[2].Size, g.Outputs[0].Dims[3].Size = 0, 0
		}), "needs sides that it gives back"},
	} {
		t.Run(name, func(t *testing.T) {
			if strings.Contains(c.want, "gives back") {
				needLibrary(t)
			}
			_, err := denoised(c.d, c.h, sums(), Card{})
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
	if _, err := denoised(Denoiser{Sigma: 1}, good, pointwise(1, 0, 3, 0), Card{}); err == nil {
		t.Error("a denoiser behind a denoiser is joined")
	}
}
