package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/prune"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
)

// pruningOptions is a short run by a method of pruning.
func pruningOptions(t *testing.T, dir, out, method string, sparsity float64) Options {
	o := options(t, dir, out)
	o.Epochs, o.Prune, o.Sparsity = 2, method, &sparsity
	switch method {
	case "lth":
		o.PruneOptions = map[string]any{"levels": "0.5/0.8", "rewind": 3}
	case "lrr":
		o.PruneOptions = map[string]any{"levels": "0.5/0.8"}
	case "gmp":
		o.PruneOptions = map[string]any{"every": 2, "end": 0.8}
	}
	return o
}

func weightsOf(t *testing.T, path string) map[string][]float32 {
	t.Helper()
	m, err := modelfile.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]float32{}
	for _, w := range m.Weights {
		all[w.Name] = w.Values
	}
	return all
}

// Every method reaches its sparsity to within one weight, all together or in each layer; what is masked is zero after every step, and its
// momentum too, and does not come back; the frozen weights stay as they are, and those of biprop have one magnitude a layer.
func TestPruning(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for _, name := range prune.Names() {
		for _, layerwise := range []bool{false, true} {
			if layerwise && name != "lrr" && name != "biprop" {
				continue
			}
			t.Run(fmt.Sprintf("%s/layerwise=%v", name, layerwise), func(t *testing.T) {
				const sparsity = 0.8
				out := filepath.Join(t.TempDir(), "net")
				o := pruningOptions(t, dir, out, name, sparsity)
				if o.PruneOptions == nil {
					o.PruneOptions = map[string]any{}
				}
				o.PruneOptions["layerwise"] = layerwise
				steps, masked := 0, -1
				o.inspect = func(tr *trainer, s *state) {
					steps++
					if err := tr.read(s); err != nil {
						t.Fatal(err)
					}
					n := 0
					for k, mask := range s.masks {
						at := tr.plan.pruning.places[k]
						for j, keep := range mask {
							if keep {
								continue
							}
							n++
							if s.weights[at][j] != 0 || s.slots[0][at][j] != 0 {
								t.Fatalf("step %d: %s[%d] is masked, and its weight is %v, its momentum %v", s.Step, tr.plan.tensors[at].Name, j, s.weights[at][j], s.slots[0][at][j])
							}
						}
					}
					if n < masked {
						t.Errorf("step %d: %d weights are masked, %d before", s.Step, n, masked)
					}
					masked = n
				}
				card := run(t, o)
				want := map[string]int{"ft": 15, "lth": 30, "lrr": 30, "gmp": 10, "edgepopup": 10, "biprop": 10}[name]
				if steps != want {
					t.Errorf("%d steps; expected %d", steps, want)
				}
				c := card.Pruning
				if c == nil || math.Abs(float64(c.Kept)-(1-sparsity)*float64(c.Weights)) > 1 || math.Abs(c.Sparsity-sparsity) > 1/float64(c.Weights) {
					t.Fatalf("%+v", c)
				}
				if len(c.Layers) != 4 || layerwise {
					for _, l := range c.Layers {
						if math.Abs(float64(l.Kept)-(1-sparsity)*float64(l.Weights)) > 1 {
							t.Errorf("%+v", l)
						}
					}
				}
				weights := weightsOf(t, out)
				for _, info := range card.Architecture.Tensors() {
					if !prune.Scored(o.prunerOf(t)) {
						break
					}
					frozen, magnitudes := prune.Frozen(o.prunerOf(t), info, o.Seed), map[float32]bool{}
					sum, kept := 0., 0.
					for j, v := range weights[info.Name] {
						switch {
						case len(info.Shape) == 1 && !info.Running && v != frozen[j]:
							t.Errorf("%s[%d] is %v; began as %v", info.Name, j, v, frozen[j])
						case len(info.Shape) == 1 || v == 0:
						case name == "edgepopup" && math.Float32bits(v) != math.Float32bits(frozen[j]):
							t.Fatalf("%s[%d] is %v; began as %v", info.Name, j, v, frozen[j])
						case math.Signbit(float64(v)) != math.Signbit(float64(frozen[j])):
							t.Fatalf("%s[%d] has another sign", info.Name, j)
						default:
							magnitudes[float32(math.Abs(float64(v)))] = true
							sum += math.Abs(float64(frozen[j]))
							kept++
						}
					}
					if name == "biprop" && len(info.Shape) > 1 {
						if len(magnitudes) != 1 {
							t.Errorf("%s has the magnitudes %v", info.Name, magnitudes)
						}
						for alpha := range magnitudes {
							if math.Abs(float64(alpha)/(sum/kept)-1) > 1e-6 {
								t.Errorf("%s: α = %v; the mean of what stays is %v", info.Name, alpha, sum/kept)
							}
						}
					}
				}
			})
		}
	}
}

func (o Options) prunerOf(t *testing.T) prune.Method {
	_, p, err := o.recipe()
	if err != nil {
		t.Fatal(err)
	}
	return p.pruner
}

// In rounds of lth what is left goes back to its values at a step of the first training, with all else; in those of lrr it stays. Both
// begin with a momentum of zero and the first learning rate.
func TestRewinding(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for _, name := range []string{"lth", "lrr"} {
		o := pruningOptions(t, dir, filepath.Join(t.TempDir(), "net"), name, 0.8)
		var at3, at10 [][]float32
		o.inspect = func(tr *trainer, s *state) {
			if err := tr.read(s); err != nil {
				t.Fatal(err)
			}
			switch s.Step {
			case 3:
				at3 = slices.Clone(s.weights)
			case 10:
				at10 = slices.Clone(s.weights)
				if tr.plan.rate(10) != tr.plan.rate(0) || tr.plan.rate(9) >= tr.plan.rate(0) {
					t.Error("the schedule does not begin again")
				}
				// The state as the next step finds it.
				if err := tr.plan.pruneBefore(tr, s); err != nil {
					t.Fatal(err)
				}
				if err := tr.read(s); err != nil {
					t.Fatal(err)
				}
				from := map[string][][]float32{"lth": at3, "lrr": at10}[name]
				for i, info := range tr.plan.tensors {
					k := slices.Index(tr.plan.pruning.places, i)
					for j, v := range s.weights[i] {
						want := from[i][j]
						if k >= 0 && !s.masks[k][j] {
							want = 0
						}
						if v != want {
							t.Fatalf("%s: %s[%d] is %v; expected %v", name, info.Name, j, v, want)
						}
						if !info.Running && s.slots[0][i][j] != 0 {
							t.Fatalf("%s: a momentum of %v", name, s.slots[0][i][j])
						}
					}
				}
			}
		}
		card := run(t, o)
		if !slices.Equal(card.Pruning.Rounds, []float64{0, 0.5, 0.8}) {
			t.Errorf("%+v", card.Pruning)
		}
	}
}

// A run that is interrupted at any steps and started again ends with the same weights and card, by every method.
func TestPruningResumes(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for _, name := range prune.Names() {
		t.Run(name, func(t *testing.T) {
			whole := run(t, pruningOptions(t, dir, filepath.Join(t.TempDir(), "whole"), name, 0.8))
			out, random := filepath.Join(t.TempDir(), "parts"), rand.New(rand.NewPCG(1, uint64(len(name))))
			for at, stops := 0, 0; ; stops++ {
				o := pruningOptions(t, dir, out, name, 0.8)
				ctx, cancel := context.WithCancel(t.Context())
				at += 1 + random.IntN(5)
				o.afterStep = func(step int) {
					if step == at {
						cancel()
					}
				}
				card, err := Run(ctx, o)
				cancel()
				if errors.Is(err, context.Canceled) {
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				if stops < 2 || card.Weights != whole.Weights || !reflect.DeepEqual(card.Pruning, whole.Pruning) || card.Accuracy != whole.Accuracy {
					t.Errorf("after %d interrupts %+v\nwithout %+v", stops, card, whole)
				}
				return
			}
		})
	}
}

// Rounds as starts of each other: from a dense model, and from what a round left. The masks only lose weights.
func TestPruningFromStart(t *testing.T) {
	dir, at := t.TempDir(), t.TempDir()
	pictures(t, dir)
	path := func(name string) string { return filepath.Join(at, name) }
	dense := options(t, dir, path("dense"))
	dense.Epochs = 2
	run(t, dense)
	from := func(name, method, start string, sparsity float64, options map[string]any) Options {
		o := pruningOptions(t, dir, path(name), method, sparsity)
		o.From, o.PruneOptions = path(start), options
		return o
	}
	whole := map[string]any{"levels": "0.5/0.8", "rewind": 0}
	run(t, from("ft", "ft", "dense", 0.5, nil))
	first := run(t, from("first", "lth", "dense", 0.5, whole))
	second := run(t, from("second", "lth", "first", 0.8, whole))
	if first.Pruning.Rewind == "" || first.Pruning.Rewind != second.Pruning.Rewind || math.Abs(second.Pruning.Start-0.5) > 1e-4 || !slices.Equal(second.Pruning.Rounds, []float64{0.8}) {
		t.Errorf("%+v, %+v", first.Pruning, second.Pruning)
	}
	// The same in one run, from scratch: the dense training is then the first.
	one := pruningOptions(t, dir, path("one"), "lth", 0.8)
	one.PruneOptions = whole
	at0 := run(t, one)
	if at0.Pruning.Rewind != first.Pruning.Rewind {
		t.Error("the weights that a dense model began with are others")
	}
	before, after := weightsOf(t, path("first")), weightsOf(t, path("second"))
	for name, values := range after {
		for j, v := range values {
			if strings.HasSuffix(name, "/kernel") && v != 0 && before[name][j] == 0 {
				t.Fatalf("%s[%d] came back", name, j)
			}
		}
	}
	for want, o := range map[string]Options{
		"the network to start from has a sparsity of 0.8":       from("less", "lrr", "second", 0.5, nil),
		"are not known; train it by certspec train --prune lth": from("late", "lth", "dense", 0.5, map[string]any{"rewind": 2}),
		"has the weights of step 0 of the training":             from("other", "lth", "first", 0.8, map[string]any{"rewind": 2}),
	} {
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	testkit.Write(t, []byte("other"), path("first.rewind.safetensors"))
	if _, err := Run(t.Context(), from("damaged", "lth", "first", 0.8, whole)); err == nil || !strings.Contains(err.Error(), "first.rewind.safetensors") {
		t.Error(err)
	}
}

func TestBadPruning(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for want, change := range map[string]func(o *Options){
		"no method of it; there are [ft":                      func(o *Options) { o.Prune = "" },
		"pruning by lrr, but no sparsity":                     func(o *Options) { o.Sparsity = nil },
		"sparsity 1; expected the share of zero weights":      func(o *Options) { o.Sparsity = new(1.0) },
		"sparsity -0.1":                                       func(o *Options) { o.Sparsity = new(-0.1) },
		"sparsity NaN":                                        func(o *Options) { o.Sparsity = new(math.NaN()) },
		`unknown pruning "lxr"`:                               func(o *Options) { o.Prune = "lxr" },
		`unknown option "ramp"`:                               func(o *Options) { o.PruneOptions = map[string]any{"ramp": 1} },
		"goes back to step 10 of the first training":          func(o *Options) { o.Prune, o.PruneOptions = "lth", map[string]any{"rewind": 10} },
		"grows over more epochs than the 2 of the run":        func(o *Options) { o.Prune, o.Sparsity, o.PruneOptions = "biprop", new(0.9), map[string]any{"ramp": 3} },
		"leaves none of the 432 weights of conv1/kernel":      func(o *Options) { o.Sparsity, o.PruneOptions = new(0.999), map[string]any{"layerwise": true} },
		"step 11: pruning: the mask leaves none of the 18432": func(o *Options) { o.Sparsity = new(0.9999) },
		"none of the 4608 weights of conv2/kernel at a sparsity of 0.9999": func(o *Options) {
			o.Prune, o.Sparsity, o.PruneOptions = "edgepopup", new(0.9999), nil
		},
	} {
		o := pruningOptions(t, dir, filepath.Join(t.TempDir(), "net"), "lrr", 0.5)
		o.PruneOptions = map[string]any{"levels": "0.9999"}
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// twoDense is logits = images·A·B, so that its gradients can be written down.
type twoDense struct{}

func (twoDense) Name() string { return "two-dense" }

func (twoDense) Layers(b *nets.Builder, x nets.Value, classes int) nets.Value {
	return b.Dense("b", b.Dense("a", x, 5), classes)
}

// Two steps of a method that learns scores, against one written down in float64, on both backends.
func TestScoreStep(t *testing.T) {
	nets.Register(twoDense{})
	const images, momentum, decay, rate, sparsity = 8, 0.9, 0.01, 0.5, 0.6
	for _, engine := range []string{"go", "xla"} {
		b, err := backend.Open(engine)
		if err != nil {
			t.Logf("not on %s: %v", engine, err)
			continue
		}
		for _, name := range []string{"edgepopup", "biprop"} {
			for _, layerwise := range []bool{false, true} {
				if engine == "xla" && layerwise != (name == "biprop") {
					continue // it compiles for long
				}
				p := benchPlan(twoDense{}.Name(), pixel.Shape{Height: 3, Width: 2, Channels: 1})
				p.stepsPerEpoch, p.steps = 2, 2
				p.set(modelfile.Recipe{Epochs: 1, Momentum: new(momentum), WeightDecay: new(decay), LearningRate: rate, Schedule: "constant",
					Prune: name, Sparsity: new(sparsity), PruneOptions: map[string]any{"layerwise": layerwise}}, Own{})
				if err := p.planPruning(); err != nil {
					t.Fatal(err)
				}
				s := p.newState()
				if err := p.newPruned(s); err != nil {
					t.Fatal(err)
				}
				s.slots = p.newSlots()
				h := newHand(p, s, name == "biprop", layerwise, sparsity)
				tr, err := newTrainer(b, p, s)
				if err != nil {
					t.Fatal(err)
				}
				for step := range 2 {
					one := p.batch(step, 0, order(images))
					if _, err := tr.step(one, step); err != nil {
						t.Fatal(err)
					}
					h.step(one, momentum, decay, rate)
					for k, at := range p.pruning.places {
						scores := tensors.MustCopyFlatData[float32](tr.scores[k])
						weights := tensors.MustCopyFlatData[float32](tr.weights[at])
						for j := range scores {
							if math.Abs(float64(scores[j])-h.scores[k][j]) > 1e-5 || math.Abs(float64(weights[j])-h.effective[k][j]) > 1e-5 {
								t.Fatalf("%s, %s, layerwise=%v, step %d: %s[%d] has score %v and weight %v; expected %v and %v", engine, name, layerwise, step,
									p.pruning.tensors[k].Name, j, scores[j], weights[j], h.scores[k][j], h.effective[k][j])
							}
						}
					}
				}
				tr.close()
			}
		}
	}
}

// hand is that step: two matrices, [in, hidden] and [hidden, out], row by row.
type hand struct {
	in, hidden, out          int
	frozen, scores, velocity [2][]float64
	effective                [2][]float64
	binary, layerwise        bool
	sparsity                 float64
}

func newHand(p *plan, s *state, binary, layerwise bool, sparsity float64) *hand {
	shape := func(k int) []int { return p.pruning.tensors[k].Shape }
	h := &hand{in: shape(0)[0], hidden: shape(0)[1], out: shape(1)[1], binary: binary, layerwise: layerwise, sparsity: sparsity}
	for k := range 2 {
		for j, w := range s.frozen[k] {
			h.frozen[k] = append(h.frozen[k], float64(w))
			h.scores[k] = append(h.scores[k], float64(s.scores[k][j]))
		}
		h.velocity[k] = make([]float64, len(h.frozen[k]))
	}
	h.mask()
	return h
}

// mask sorts the magnitudes of the scores.
func (h *hand) mask() {
	var all []float64
	for k := range 2 {
		for _, v := range h.scores[k] {
			all = append(all, math.Abs(v))
		}
	}
	least := func(of []float64) float64 {
		of = slices.Clone(of)
		slices.Sort(of)
		return of[int(math.Round(h.sparsity*float64(len(of))))]
	}
	for k := range 2 {
		among := all
		if h.layerwise {
			among = all[:len(h.scores[0])]
			if k == 1 {
				among = all[len(h.scores[0]):]
			}
		}
		threshold, sum, n := least(among), 0., 0.
		h.effective[k] = make([]float64, len(h.scores[k]))
		for j, v := range h.scores[k] {
			if math.Abs(v) >= threshold {
				h.effective[k][j] = h.frozen[k][j]
				sum += math.Abs(h.frozen[k][j])
				n++
			}
		}
		for j, w := range h.effective[k] {
			if h.binary && w != 0 {
				h.effective[k][j] = math.Copysign(sum/n, w)
			}
		}
	}
}

func (h *hand) step(b batch, momentum, decay, rate float64) {
	n := len(b.labels)
	var gradient [2][]float64
	for k := range 2 {
		gradient[k] = make([]float64, len(h.frozen[k]))
	}
	A, B := h.effective[0], h.effective[1]
	for i := range n {
		x := b.images[i*h.in:][:h.in]
		middle, d := make([]float64, h.hidden), make([]float64, h.out)
		for m := range middle {
			for a, v := range x {
				middle[m] += float64(v) * A[a*h.hidden+m]
			}
		}
		sum := 0.
		for c := range d {
			z := 0.
			for m, v := range middle {
				z += v * B[m*h.out+c]
			}
			d[c] = math.Exp(z)
			sum += d[c]
		}
		for c := range d {
			d[c] /= sum * float64(n)
		}
		d[b.labels[i]] -= 1 / float64(n)
		for m, v := range middle {
			back := 0.
			for c := range d {
				gradient[1][m*h.out+c] += v * d[c]
				back += d[c] * B[m*h.out+c]
			}
			for a, v := range x {
				gradient[0][a*h.hidden+m] += float64(v) * back
			}
		}
	}
	for k := range 2 {
		for j, g := range gradient[k] {
			s := h.scores[k][j]
			g *= h.frozen[k][j] * math.Copysign(1, s) // sign(W)·|W| = W
			h.velocity[k][j] = momentum*h.velocity[k][j] + g + decay*s
			h.scores[k][j] -= rate * h.velocity[k][j]
		}
	}
	h.mask()
}

// Pruning composes with every method of training.
func TestPruningWithEveryMethod(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for name, set := range map[string]func(o *Options){
		"lrr":    func(o *Options) { o.Method, o.Views, o.PruneOptions = "jsd", "augmix", map[string]any{"levels": "0.5"} },
		"biprop": func(o *Options) { o.Method = "acce-act" },
		"gmp":    func(o *Options) { o.Nesterov, o.Optimizer = false, "adam" },
	} {
		o := pruningOptions(t, dir, filepath.Join(t.TempDir(), "net"), name, 0.5)
		set(&o)
		card := run(t, o)
		if c := card.Pruning; math.Abs(float64(c.Kept)-0.5*float64(c.Weights)) > 1 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// The graph marks the same values as Go, on both backends.
func TestKeepInGraph(t *testing.T) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, math.MaxFloat32, 0.5, -0.5, 0.5}
	for _, engine := range []string{"go", "xla"} {
		b, err := backend.Open(engine)
		if err != nil {
			t.Logf("not on %s: %v", engine, err)
			continue
		}
		exec, err := graph.NewExec(b.Backend, func(in []*graph.Node) (out []*graph.Node) {
			for _, mask := range keepInGraph(in[1:], in[0]) {
				out = append(out, graph.ConvertDType(mask, dtypes.Int32))
			}
			return out
		})
		if err != nil {
			t.Fatal(err)
		}
		random := rand.New(rand.NewPCG(3, 4))
		for keep := 1; keep <= 23; keep++ {
			values := make([][]float32, 3)
			for i, size := range []int{12, 10, 1} {
				for range size {
					v := float32(random.NormFloat64())
					if random.IntN(2) == 0 {
						v = special[random.IntN(len(special))]
					}
					values[i] = append(values[i], v)
				}
			}
			want := prune.Keep(values, nil, keep)
			out, err := exec.Call(int32(keep), tensors.FromFlatDataAndDimensions(values[0], 3, 4), values[1], values[2])
			if err != nil {
				t.Fatal(err)
			}
			for i, o := range out {
				for j, v := range tensors.MustCopyFlatData[int32](o) {
					if (v != 0) != want[i][j] {
						t.Fatalf("%s: %d of %v: tensor %d, value %d: %v", engine, keep, values, i, j, v)
					}
				}
			}
		}
		exec.Finalize()
	}
}
