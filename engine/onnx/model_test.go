package onnx

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/classifiertest"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

var colour = pixel.Shape{Height: 5, Width: 4, Channels: 3}

func TestConformance(t *testing.T) {
	needLibrary(t)
	for name, c := range map[string]struct {
		linear
		options classifiertest.Options
	}{
		"any batch": {linear: linear{shape: colour, form: "NCHW", kind: onnxfile.Float32}},
		"batch 16":  {linear: linear{shape: colour, form: "NHWC", kind: onnxfile.Float32, batch: 16}},
		"softmax":   {linear: linear{shape: colour, form: "NCHW", kind: onnxfile.Float32, softmax: true}},
		"uint8":     {linear: linear{shape: colour, form: "NHWC", kind: onnxfile.Uint8}},
		"narrow softmax": {
			linear:  linear{shape: colour, form: "NHWC", kind: onnxfile.Float32, softmax: true, output: onnxfile.Float16},
			options: classifiertest.Options{Tolerance: 1e-3},
		},
	} {
		t.Run(name, func(t *testing.T) {
			c.classes = 4
			path := write(t, c.model())
			classifiertest.Run(t, func(t *testing.T) classifier.Classifier {
				model, err := Open(path, Options{Card: c.card})
				if err != nil {
					t.Fatal(err)
				}
				return model
			}, c.options)
		})
	}
}

// What fills up the last part of a batch is fixed: a network that mixes the images of a
// batch gives the same answers whatever it saw before.
func TestPadding(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32, batch: 4, tail: []onnxfile.Node{
		{Op: "ReduceMean", Inputs: []string{"scores"}, Outputs: []string{"mean"}, Attributes: []onnxfile.Attribute{{Name: "axes", Kind: onnxfile.KindInts, Ints: []int64{0}}}},
		{Op: "Sub", Inputs: []string{"scores", "mean"}, Outputs: []string{"out"}},
	}}
	model, err := Open(write(t, l.model()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	classify := func(batch classifier.Batch) []float32 {
		result := classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, batch.N*3)}
		if err := model.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		return result.Scores
	}
	first := classify(noisy(colour, 2))
	classify(noisy(colour, 8))
	if second := classify(noisy(colour, 2)); !slices.Equal(first, second) {
		t.Errorf("scores %v, and %v after another batch", first, second)
	}
}

// A file whose weights hold a NaN opens, and every image is a Miss.
func TestNaNWeights(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	l.fill()
	l.bias[1] = float32(math.NaN())
	model, err := Open(write(t, l.model()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	result := classifier.Result{Classes: make([]int32, 3), Scores: make([]float32, 9)}
	if err := model.Classify(t.Context(), noisy(colour, 3), &result); err != nil {
		t.Fatal(err)
	}
	for i, class := range result.Classes {
		if class != classifier.Miss {
			t.Errorf("image %d: class %d; expected a Miss", i, class)
		}
	}
}

func TestIdentity(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	path := write(t, l.model())
	weights := func(path string, options Options) string {
		model, err := Open(path, options)
		if err != nil {
			t.Fatal(err)
		}
		info, err := model.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Name != "model" || info.Shape.Channels != 3 || info.Classes != 3 || info.Identity.Engine != "onnxruntime" {
			t.Errorf("info %+v", info)
		}
		return info.Identity.Weights
	}
	plain := weights(path, Options{})
	if again := weights(path, Options{Card: Card{Mean: []float64{0}, Scale: 1, ChannelOrder: rgb, Layout: nchw, Scores: logits, Input: "image", Output: "out"}}); again != plain {
		t.Errorf("defaults written out change the identity: %s, %s", plain, again)
	}
	seen := map[string]string{plain: "plain"}
	two := l.model()
	two.Graph.Outputs = append(two.Graph.Outputs, onnxfile.Value{Name: "product", Type: onnxfile.Float32, Dims: two.Graph.Outputs[0].Dims})
	outputs := write(t, two)
	square := &linear{shape: pixel.Shape{Height: 3, Width: 3, Channels: 3}, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	open := write(t, square.model())
	l.bias[0]++
	for name, weights := range map[string]string{
		"mean":          weights(path, Options{Card: Card{Mean: []float64{.5}}}),
		"std":           weights(path, Options{Card: Card{Std: []float64{.5}}}),
		"bgr":           weights(path, Options{Card: Card{ChannelOrder: bgr}}),
		"scale":         weights(path, Options{Card: Card{Scale: 255}}),
		"one mean":      weights(path, Options{Card: Card{Mean: []float64{.5, 0, 0}}}),
		"probabilities": weights(path, Options{Card: Card{Scores: probabilities}}),
		"first output":  weights(outputs, Options{Card: Card{Output: "out"}}),
		"second output": weights(outputs, Options{Card: Card{Output: "product"}}),
		"channel first": weights(open, Options{Card: Card{Layout: nchw}}),
		"channel last":  weights(open, Options{Card: Card{Layout: nhwc}}),
		"other weights": weights(write(t, l.model()), Options{}),
	} {
		if other := seen[weights]; other != "" {
			t.Errorf("%s and %s have one identity, %s", name, other, weights)
		}
		seen[weights] = name
	}
}

func TestCard(t *testing.T) {
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	path := write(t, l.model())
	put := func(text string) {
		testkit.Write(t, []byte(text), path+".json")
	}
	put("\ufeff" + `{"mean": [0.5], "std": [0.25], "channel_order": "bgr", "class_names": ["cat", "dog", "owl"]}`)
	model, err := Open(path, Options{Card: Card{Mean: []float64{.1, .2, .3}}})
	if err != nil {
		t.Fatal(err)
	}
	got, _ := json.Marshal(model.options.Card)
	if want := `{"channel_order":"bgr","mean":[0.1,0.2,0.3],"std":[0.25],"class_names":["cat","dog","owl"]}`; string(got) != want {
		t.Errorf("options and card give %s; expected %s", got, want)
	}
	for text, want := range map[string]string{
		`{"mena": [0.5]}`:           `unknown field "mena"`,
		`{"std": [0]}`:              "std 0 of channel 0",
		`{"mean": ["a"]}`:           "mean",
		`{"layout": "CHWN"}`:        `layout "CHWN"; expected NCHW or NHWC`,
		`{"channel_order": "grb"}`:  `channel order "grb"`,
		`{"scores": "percent"}`:     `scores "percent"`,
		`{"scale": -1}`:             "scale -1",
		`{"shape": {"height": 32}}`: "shape 32×0×0",
		`{`:                         "unexpected EOF",
	} {
		put(text)
		if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path+".json") {
			t.Errorf("card %s: %v; expected an error with %q", text, err, want)
		}
	}
}

func TestBadOptions(t *testing.T) {
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	path := write(t, l.model())
	for want, options := range map[string]Options{
		"provider \"tpu\"": {Provider: "tpu"},
		`engine "openvino,precision=x"; expected openvino, or`: {Provider: "openvino,precision=x"},
		`engine "openvino:bf16"; expected openvino, or`:        {Provider: "openvino:bf16"},
		"-1 threads": {Threads: -1},
		"std NaN":    {Card: Card{Std: []float64{math.NaN()}}},
		"mean +Inf":  {Card: Card{Mean: []float64{0, math.Inf(1)}}},
	} {
		if _, err := Open(path, options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected an error with %q", err, want)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.onnx"), Options{}); err == nil || !strings.Contains(err.Error(), "none.onnx: no such file") {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "is a folder") {
		t.Errorf("folder: %v", err)
	}
}

// Every file that cannot be used gives one clear sentence that names the file.
func TestBadFiles(t *testing.T) {
	needLibrary(t)
	edit := func(change func(m *onnxfile.Model, g *onnxfile.Graph)) []byte {
		l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
		m := l.model()
		change(m, &m.Graph)
		return onnxfile.Encode(m)
	}
	dims := func(sides ...int64) (dims []onnxfile.Dim) {
		for _, s := range sides {
			dims = append(dims, onnxfile.Dim{Size: s})
		}
		return dims
	}
	good := edit(func(*onnxfile.Model, *onnxfile.Graph) {})
	for name, c := range map[string]struct {
		data    []byte
		options Options
		want    string
	}{
		"empty":     {nil, Options{}, "the file is empty"},
		"not ONNX":  {[]byte("<html>404</html>"), Options{}, "not an ONNX file"},
		"git lfs":   {[]byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n"), Options{}, "Git LFS"},
		"PyTorch":   {[]byte("PK\x03\x04archive/data.pkl"), Options{}, "zip file, such as a PyTorch checkpoint"},
		"truncated": {good[:len(good)/2], Options{}, "damaged ONNX file"},
		"header":    {good[:2], Options{}, "truncated"},
		"newer opset": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { m.Opsets[0].Version = 99 }), Options{},
			"it uses version 99 of ONNX's operators and this runtime knows them up to 26"},
		"newer IR": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { m.IRVersion = 99 }), Options{},
			"its format is IR version 99 and this runtime knows them up to 13"},
		"unknown operator": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Nodes[0].Op = "Frobnicate" }), Options{},
			"there is no operator Frobnicate in version 17 of ONNX's operators"},
		"foreign operator": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Nodes[0].Domain = "my.domain" }), Options{},
			"it uses operators of domain my.domain and names no version of them"},
		"two inputs": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs = append(g.Inputs, onnxfile.Value{Name: "mask"}) }), Options{},
			`2 inputs; expected one image: "image" float32[batch, 3, 5, 4], "mask"`},
		"two outputs": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Outputs = append(g.Outputs, onnxfile.Value{Name: "scores", Type: onnxfile.Float32, Dims: dims(0, 3)})
		}), Options{}, `2 outputs; name the one`},
		"no such output": {good, Options{Card: Card{Output: "logits"}}, `no output "logits" in the graph; it has "out" float32[batch, 3]`},
		"no such input":  {good, Options{Card: Card{Input: "x"}}, `no input "x" in the graph; it has "image"`},
		"missing weights": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Initializers[0].SetExternal("weights.bin") }), Options{},
			`second file, "weights.bin", which is not beside it`},
		"weights elsewhere": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Initializers[0].SetExternal("../../weights.bin") }), Options{},
			`expected a file beside the model`},
		"ambiguous layout": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Dims = dims(0, 3, 4, 3) }), Options{},
			`float32[?, 3, 4, 3]: the graph does not tell which axis is the channel; set layout`},
		"open sides": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Dims = dims(0, 3, 0, 0) }), Options{},
			`set the size of an image`},
		"other shape": {good, Options{Card: Card{Shape: &pixel.Shape{Height: 32, Width: 32, Channels: 3}}},
			"images of 32×32×3 were asked for; the graph has height 5"},
		"rank 5":    {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Dims = dims(0, 1, 3, 5, 4) }), Options{}, "expected batch, channel, height and width"},
		"huge side": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Dims = dims(0, 3, 1<<40, 4) }), Options{}, "axis 2 has no sensible size"},
		"tokens":    {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Type = onnxfile.Int64 }), Options{}, "int64[batch, 3, 5, 4]: expected float32, float64, float16 or uint8"},
		"labels": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Outputs[0].Type = onnxfile.Int64 }), Options{},
			`output "out" is int64[batch, 3]; expected float32`},
		"wrong sides": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) { g.Inputs[0].Dims = dims(0, 3, 6, 4) }), Options{},
			"cannot load it: Node () Op (MatMul) [ShapeInferenceError] Incompatible dimensions"},
		"unregistered domain": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Nodes[0].Domain = "my.domain"
			m.Opsets = append(m.Opsets, onnxfile.OperatorSet{Domain: "my.domain", Version: 1})
		}), Options{}, "this runtime has no operator my.domain:Flatten"},
		"fails at run": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Nodes[0] = onnxfile.Node{Op: "Reshape", Inputs: []string{"image", "shape"}, Outputs: []string{"flat"}}
			g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("shape", 3, 60))
		}), Options{}, "cannot run it:"},
		"one score": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Nodes[len(g.Nodes)-1] = onnxfile.Node{Op: "ReduceSum", Inputs: []string{"scores", "axis"}, Outputs: []string{"out"}}
			g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("axis", 1))
			g.Outputs[0].Dims = nil
		}), Options{}, "one output value per image"},
		"per pixel": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Nodes = []onnxfile.Node{{Op: "Identity", Inputs: []string{"image"}, Outputs: []string{"out"}}}
			g.Outputs[0].Dims = nil
		}), Options{}, "not per pixel"},
		"batch lost": {edit(func(m *onnxfile.Model, g *onnxfile.Graph) {
			g.Nodes[len(g.Nodes)-1] = onnxfile.Node{Op: "ReduceSum", Inputs: []string{"scores", "axis"}, Outputs: []string{"out"}}
			g.Initializers = append(g.Initializers, onnxfile.Int64Tensor("axis", 0))
			g.Outputs[0].Dims = nil
		}), Options{}, "expected a row of scores per image"},
		"class names": {good, Options{Card: Card{ClassNames: []string{"cat", "dog"}}}, "2 class names for a network with 3 outputs"},
		"std":         {good, Options{Card: Card{Std: []float64{1, 2}}}, "std has 2 values; images of 5×4×3 have 3 channels"},
	} {
		path := testkit.Write(t, c.data, t.TempDir(), "bad.onnx")
		model, err := Open(path, c.options)
		if err == nil {
			_, err = model.Info()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Count(err.Error(), path) < 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v; expected one line with %q", name, err, c.want)
		}
		t.Logf("%-18s %v", name, err)
	}
}

// Rows that are taken for probabilities and are none are no scores to rest on.
func TestFalseProbabilities(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	model, err := Open(write(t, l.model()), Options{Card: Card{Scores: probabilities}})
	if err != nil {
		t.Fatal(err)
	}
	result := classifier.Result{Classes: make([]int32, 5)}
	if err := model.Classify(t.Context(), noisy(colour, 5), &result); err != nil {
		t.Errorf("classes alone: %v", err)
	}
	result.Scores = make([]float32, 15)
	if err := model.Classify(t.Context(), noisy(colour, 5), &result); err == nil || !strings.Contains(err.Error(), "no distribution") {
		t.Errorf("scores: %v", err)
	}
}

// The library of the package index has no CUDA, and says so.
func TestNoCUDA(t *testing.T) {
	needLibrary(t)
	if os.Getenv(Variable) != "" {
		t.Skipf("%s names a library that may have CUDA", Variable)
	}
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	path := write(t, l.model())
	model, err := Open(path, Options{Provider: "cuda"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = model.Info()
	if err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "CUDA") || strings.Contains(err.Error(), "\n") {
		t.Errorf("%v; expected one line on CUDA", err)
	}
}

// From bytes as from the file; weights in a second file cannot come along.
func TestFromBytes(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	file := l.model()
	digest := func(m *Model, err error) string {
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		info, err := m.Info()
		if err != nil {
			t.Fatal(err)
		}
		return info.Identity.Weights
	}
	fromFile, fromBytes := digest(Open(write(t, file), Options{})), digest(FromBytes("net", onnxfile.Encode(file), Options{}))
	if fromFile != fromBytes {
		t.Errorf("%s from the file, %s from its bytes", fromFile, fromBytes)
	}
	file.Graph.Initializers[0].SetExternal("weights.bin")
	for want, data := range map[string][]byte{"weights.bin": onnxfile.Encode(file), "the file is empty": nil} {
		m, err := FromBytes("net", data, Options{})
		if err == nil {
			_, err = m.Info()
		}
		if err == nil || !strings.Contains(err.Error(), "net: ") || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected an error with %q", err, want)
		}
	}
}

// FuzzFile: whatever a file holds, reading it without ONNX Runtime ends with a layout of
// sensible size or an error.
func FuzzFile(f *testing.F) {
	for _, l := range []*linear{ // of few weights: the search first shortens each byte of what it keeps
		{shape: pixel.Shape{Height: 1, Width: 1, Channels: 3}, classes: 2, form: "NCHW", kind: onnxfile.Float32, softmax: true},
		{shape: pixel.Shape{Height: 2, Width: 1, Channels: 1}, classes: 1, form: "NHWC", kind: onnxfile.Uint8, batch: 8},
	} {
		m := l.model()
		m.Metadata = []onnxfile.Property{{Key: cardKey, Value: `{"layout":"NCHW","class_names":["a"]}`}}
		f.Add(onnxfile.Encode(m))
	}
	// Of two outputs the one is a softmax of nothing.
	twoRows := (&linear{shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, classes: 2, form: "NCHW", kind: onnxfile.Float32}).model()
	twoRows.Graph.Nodes[len(twoRows.Graph.Nodes)-1] = onnxfile.Node{Op: "Softmax", Outputs: []string{"out"}}
	twoRows.Graph.Outputs = append(twoRows.Graph.Outputs, onnxfile.Value{Name: "scores", Type: onnxfile.Float32, Dims: twoRows.Graph.Outputs[0].Dims})
	f.Add(onnxfile.Encode(twoRows))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readFile("", append([]byte{}, data...), Card{})
		if err != nil {
			return
		}
		l, err := findLayout(file.input, file.card)
		if err != nil {
			return
		}
		if n := l.shape.Len(); !l.shape.Valid() || n <= 0 || l.batch < 0 {
			t.Errorf("layout %+v", l)
		}
		_, _ = file.card.complete(l)
	})
}

func TestLargeBatch(t *testing.T) {
	needLibrary(t)
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	model, err := Open(write(t, l.model()), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	classify := func(batch classifier.Batch) []float32 {
		result := classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, batch.N*3)}
		if err := model.Classify(t.Context(), batch, &result); err != nil {
			t.Fatal(err)
		}
		return result.Scores
	}
	batch := noisy(colour, 2*cachedPart+44)
	want := make([]float32, 0, 3*batch.N)
	for i := range batch.N {
		want = append(want, classify(classifier.Batch{N: 1, Grid: batch.Grid[i*colour.Len() : (i+1)*colour.Len()]})...)
	}
	for i, got := range classify(batch) {
		if math.Abs(float64(got-want[i])) > 1e-6 {
			t.Fatalf("score %d is %v in a batch of %d and %v alone", i, got, batch.N, want[i])
		}
	}
}

// What OpenVINO says becomes one sentence without its sources.
func TestOpenVINOExplained(t *testing.T) {
	for text, want := range map[string]string{
		"Exception from src/inference/src/cpp/core.cpp:105:\nCheck 'false' failed at src/frontends/report.cpp:151:\n" +
			"FrontEnd API failed with OpConversionFailure:\nModel wasn't fully converted.\nSummary:\n" +
			"-- No conversion rule found for operations: Det-17\nTo facilitate the conversion of unsupported operations, " +
			"refer to Frontend Extension documentation: https://docs.openvino.ai/x.html \n\n\n": "Model wasn't fully converted. No conversion rule found for operations: Det-17",
		"no reason given": "no reason given",
	} {
		if got := explain(errors.New(text)).Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
