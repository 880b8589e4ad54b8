package onnx

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
)

// hidden are networks whose bias lies in a second file, b.bin, in a place where a graph can hold
// constants besides its own list. The node that brings it there gives "bias".
func hidden() map[string]*onnxfile.Model {
	const classes = 3
	far := onnxfile.Tensor{Name: "far", Type: onnxfile.Float32, Dims: []int64{classes}}
	far.SetExternal("b.bin")
	value := []onnxfile.Value{{Name: "far", Type: onnxfile.Float32, Dims: []onnxfile.Dim{{Size: classes}}}}
	constant := onnxfile.Node{Op: "Constant", Outputs: []string{"bias"}, Attributes: []onnxfile.Attribute{onnxfile.TensorAttribute("value", far)}}
	yes := onnxfile.Tensor{Name: "yes", Type: onnxfile.Bool, Raw: []byte{1}}
	branch := func() *onnxfile.Graph {
		return &onnxfile.Graph{Name: "branch", Initializers: []onnxfile.Tensor{far}, Outputs: value}
	}
	choice := func(inner *onnxfile.Graph) onnxfile.Node {
		return onnxfile.Node{Op: "If", Inputs: []string{"yes"}, Outputs: []string{"bias"}, Attributes: []onnxfile.Attribute{
			{Name: "then_branch", Kind: onnxfile.KindGraph, Graph: inner}, {Name: "else_branch", Kind: onnxfile.KindGraph, Graph: inner}}}
	}
	nested := choice(branch())
	nested.Outputs = []string{"inner"}
	scalar := func(name string, kind onnxfile.Type) onnxfile.Value { return onnxfile.Value{Name: name, Type: kind} }
	loop := onnxfile.Node{Op: "Loop", Inputs: []string{"once", "yes", "zeros"}, Outputs: []string{"bias"}, Attributes: []onnxfile.Attribute{
		{Name: "body", Kind: onnxfile.KindGraph, Graph: &onnxfile.Graph{Name: "body", Initializers: []onnxfile.Tensor{far},
			Nodes:   []onnxfile.Node{{Op: "Identity", Inputs: []string{"on"}, Outputs: []string{"go on"}}, {Op: "Add", Inputs: []string{"state", "far"}, Outputs: []string{"next"}}},
			Inputs:  []onnxfile.Value{scalar("i", onnxfile.Int64), scalar("on", onnxfile.Bool), {Name: "state", Type: onnxfile.Float32, Dims: value[0].Dims}},
			Outputs: []onnxfile.Value{scalar("go on", onnxfile.Bool), {Name: "next", Type: onnxfile.Float32, Dims: value[0].Dims}}}}}}
	scan := onnxfile.Node{Op: "Scan", Inputs: []string{"zeros", "steps"}, Outputs: []string{"bias", "unused"}, Attributes: []onnxfile.Attribute{
		onnxfile.IntAttribute("num_scan_inputs", 1),
		{Name: "body", Kind: onnxfile.KindGraph, Graph: &onnxfile.Graph{Name: "body", Initializers: []onnxfile.Tensor{far},
			Nodes:   []onnxfile.Node{{Op: "Add", Inputs: []string{"state", "far"}, Outputs: []string{"next"}}, {Op: "Identity", Inputs: []string{"step"}, Outputs: []string{"kept"}}},
			Inputs:  []onnxfile.Value{{Name: "state", Type: onnxfile.Float32, Dims: value[0].Dims}, scalar("step", onnxfile.Float32)},
			Outputs: []onnxfile.Value{{Name: "next", Type: onnxfile.Float32, Dims: value[0].Dims}, scalar("kept", onnxfile.Float32)}}}}}
	sparse := onnxfile.SparseTensor{Values: far, Indices: onnxfile.Int64Tensor("", 0, 1, 2), Dims: []int64{classes}}
	dense := onnxfile.Node{Op: "Constant", Outputs: []string{"bias"}, Attributes: []onnxfile.Attribute{{Name: "sparse_value", Kind: onnxfile.KindSparseTensor, Sparse: &sparse}}}
	ownSparse := sparse
	ownSparse.Values.Name = "bias"

	models := map[string]*onnxfile.Model{}
	with := func(name string, change func(m *onnxfile.Model, g *onnxfile.Graph)) {
		l := &linear{shape: colour, classes: classes, form: "NCHW", kind: onnxfile.Float32}
		m := l.model()
		g := &m.Graph
		g.Initializers = append(g.Initializers[:1:1], yes, onnxfile.Int64Tensor("counts", 1), onnxfile.NewTensor("once", []int64{1}),
			onnxfile.Float32Tensor("zeros", make([]float32, classes), classes), onnxfile.Float32Tensor("steps", make([]float32, 1), 1))
		change(m, g)
		models[name] = m
	}
	first := func(node onnxfile.Node) func(*onnxfile.Model, *onnxfile.Graph) {
		return func(_ *onnxfile.Model, g *onnxfile.Graph) { g.Nodes = slices.Insert(g.Nodes, 0, node) }
	}
	with("a node Constant", first(constant))
	with("a branch of If", first(choice(branch())))
	with("a node in a branch", first(choice(&onnxfile.Graph{Name: "branch", Outputs: []onnxfile.Value{{Name: "bias", Type: onnxfile.Float32, Dims: value[0].Dims}}, Nodes: []onnxfile.Node{constant}})))
	with("a branch of a branch", first(choice(&onnxfile.Graph{Name: "outer", Outputs: []onnxfile.Value{{Name: "inner", Type: onnxfile.Float32, Dims: value[0].Dims}}, Nodes: []onnxfile.Node{nested}})))
	with("the body of Loop", first(loop))
	with("the body of Scan", first(scan))
	with("a sparse constant", first(dense))
	with("a sparse initializer", func(_ *onnxfile.Model, g *onnxfile.Graph) { g.Sparse = []onnxfile.SparseTensor{ownSparse} })
	with("a function", func(m *onnxfile.Model, g *onnxfile.Graph) {
		m.IRVersion = 9
		m.Opsets = append(m.Opsets, onnxfile.OperatorSet{Domain: "ours", Version: 1})
		m.Functions = []onnxfile.Function{{Domain: "ours", Name: "Bias", Outputs: []string{"bias"}, Nodes: []onnxfile.Node{constant}, Opsets: m.Opsets[:1]}}
		g.Nodes = slices.Insert(g.Nodes, 0, onnxfile.Node{Op: "Bias", Domain: "ours", Outputs: []string{"bias"}})
	})
	return models
}

func putBias(t *testing.T, path string, values ...float32) {
	t.Helper()
	var raw []byte
	for _, v := range values {
		raw = binary.LittleEndian.AppendUint32(raw, math.Float32bits(v))
	}
	testkit.Write(t, raw, filepath.Dir(path), "b.bin")
}

// The same graph with other weights beside it is another model, wherever in the graph they come in; and a
// run that one of them began is not finished by the other.
func TestHiddenWeights(t *testing.T) {
	needLibrary(t)
	for name, m := range hidden() {
		t.Run(name, func(t *testing.T) {
			path := write(t, m)
			ask := func() (weights string, class int32, err error) {
				model, err := Open(path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer model.Close()
				info, err := model.Info()
				if err != nil {
					return "", 0, err
				}
				result := classifier.Result{Classes: make([]int32, 1)}
				err = model.Classify(t.Context(), noisy(colour, 1), &result)
				return info.Identity.Weights, result.Classes[0], err
			}
			putBias(t, path, 1e4, 0, 0)
			first, class, err := ask()
			if err != nil {
				// This runtime takes no such file, and so must we.
				t.Logf("not taken: %v", err)
				if name == "a node Constant" || name == "a branch of If" || name == "the body of Loop" {
					t.Errorf("the test tests nothing")
				}
				return
			}
			if class != 0 {
				t.Errorf("class %d; the bias asks for 0", class)
			}

			ledger := filepath.Join(t.TempDir(), "half.ledger")
			certify := func(stop bool) error {
				model, err := Open(path, Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer model.Close()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				counting := &halting{Classifier: model, cancel: cancel, left: 8}
				if !stop {
					counting.left = 1 << 30
				}
				_, err = rs.Certify(ctx, counting, flat(6), rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: 200, Seed: 1, Ledger: ledger, Workers: 1})
				return err
			}
			if err := certify(true); !errors.Is(err, context.Canceled) {
				t.Fatalf("interrupted: %v", err)
			}
			putBias(t, path, 0, 1e4, 0)
			second, class, err := ask()
			if err != nil || class != 1 {
				t.Fatalf("class %d, %v; the other bias asks for 1", class, err)
			}
			if first == second {
				t.Errorf("other weights, and the identity is %s as before", first)
			}
			if err := certify(false); err == nil {
				t.Error("the run of the first network was finished by the second")
			}
			putBias(t, path, 1e4, 0, 0)
			if third, _, _ := ask(); third != first {
				t.Errorf("identity %s; expected %s, as the weights are the first ones", third, first)
			}
			if err := certify(false); err != nil {
				t.Errorf("the run of the first network does not go on with the first: %v", err)
			}
		})
	}
}

// halting stops a run after so many batches.
type halting struct {
	classifier.Classifier
	cancel context.CancelFunc
	left   int
}

func (h *halting) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if h.left--; h.left == 0 {
		h.cancel()
	}
	return h.Classifier.Classify(ctx, batch, result)
}

// flat is n grey images of several levels.
type flat int

func (n flat) Load(context.Context) (*dataset.Images, error) {
	data := &dataset.Images{Name: "flat", Shape: colour, Classes: []string{"a", "b", "c"}, Digest: "sha256:flat"}
	for i := range int(n) {
		data.IDs, data.Labels = append(data.IDs, i), append(data.Labels, 0)
		for range colour.Len() {
			data.Pixels = append(data.Pixels, uint8(20*i))
		}
	}
	return data, nil
}

// The former identity is the SHA-256 of the file, or of the file and the one with its weights, as it always was: ledgers of the versions 1
// and 2 rest on it. The identity is that of what computes in the file. With two files of weights, no byte can move from one to the other.
func TestIdentityOfFiles(t *testing.T) {
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	identity := func(m *onnxfile.Model, files map[string]string) string {
		path := write(t, m)
		for name, content := range files {
			testkit.Write(t, []byte(content), filepath.Dir(path), name)
		}
		file, err := readFile(path, nil, Card{})
		if err != nil {
			t.Fatal(err)
		}
		other := *m
		other.Producer, other.ProducerVersion = "somebody", "else"
		other.Metadata = append(slices.Clone(m.Metadata), onnxfile.Property{Key: "seconds", Value: "17"})
		path = filepath.Join(filepath.Dir(path), "other.onnx")
		testkit.Write(t, onnxfile.Encode(&other), path)
		again, err := readFile(path, nil, Card{})
		if err != nil {
			t.Fatal(err)
		}
		if again.digest != file.digest || again.former == file.former {
			t.Errorf("with other metadata and producer: identity %s and %s, former %s and %s", file.digest, again.digest, file.former, again.former)
		}
		return file.former
	}
	m := l.model()
	if got, want := identity(m, nil), fmt.Sprintf("sha256:%x", sha256.Sum256(onnxfile.Encode(m))); got != want {
		t.Errorf("a file alone: %s; expected %s", got, want)
	}
	m.Graph.Initializers[0].SetExternal("w.bin")
	m.Graph.Initializers[0].External = append(m.Graph.Initializers[0].External, onnxfile.Property{Key: "length", Value: "8"})
	joined := append(onnxfile.Encode(m), "abcdefgh"...)
	if got, want := identity(m, map[string]string{"w.bin": "abcdefgh"}), fmt.Sprintf("sha256:%x", sha256.Sum256(joined)); got != want {
		t.Errorf("weights beside it: %s; expected %s", got, want)
	}
	m.Graph.Initializers[1].SetExternal("x.bin")
	if a, b := identity(m, map[string]string{"w.bin": "abcdefghi", "x.bin": "jklmnopq"}), identity(m, map[string]string{"w.bin": "abcdefgh", "x.bin": "ijklmnopq"}); a == b {
		t.Errorf("a byte moved from one file of weights to the other, and the identity is %s as before", a)
	}
}

// A graph whose weights cannot be enumerated is no model.
func TestWeightsThatCannotBeEnumerated(t *testing.T) {
	l := &linear{shape: colour, classes: 3, form: "NCHW", kind: onnxfile.Float32}
	m := l.model()
	m.Graph.Nodes = append(m.Graph.Nodes, onnxfile.Node{Op: "EPContext", Domain: "com.microsoft", Name: "npu", Inputs: []string{"image"}, Outputs: []string{"o"}})
	model, err := Open(write(t, m), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Info(); err == nil || !strings.Contains(err.Error(), `node "npu" (EPContext)`) {
		t.Errorf("%v; expected a word on the node", err)
	}
}

// Where the model's path is a link, the weights that count are those beside the link: ONNX Runtime loads them.
func TestLinkedWeights(t *testing.T) {
	needLibrary(t)
	m := hidden()["a node Constant"]
	real, linked := write(t, m), filepath.Join(t.TempDir(), "model.onnx")
	putBias(t, real, 1e4, 0, 0)
	if err := os.Symlink(real, linked); err != nil {
		t.Skip(err)
	}
	ask := func(path string) (string, int32, error) {
		model, err := Open(path, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		info, err := model.Info()
		if err != nil {
			return "", 0, err
		}
		result := classifier.Result{Classes: make([]int32, 1)}
		err = model.Classify(t.Context(), noisy(colour, 1), &result)
		return info.Identity.Weights, result.Classes[0], err
	}
	identity, _, err := ask(real)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(linked); err == nil || !strings.Contains(err.Error(), "not beside it") {
		t.Errorf("a link without weights beside it: %v", err)
	}
	putBias(t, linked, 0, 1e4, 0)
	if other, class, err := ask(linked); err != nil || class != 1 || other == identity {
		t.Errorf("a link with other weights beside it: class %d, %v; identity %s, and %s of what it points at", class, err, other, identity)
	}
}
