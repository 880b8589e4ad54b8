package train

import (
	"context"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/rs"
)

// toySoft are the soft labels of the toy images.
var toySoft = [][]float32{{0.75, 0.25, 0}, {0, 0, 1}, {0.125, 0.625, 0.25}, {0.5, 0, 0.5}}

// plus adds images, the second scaled.
func plus(a, b []float64, factor float64) []float64 {
	c := slices.Clone(a)
	for i := range c {
		c[i] += factor * b[i]
	}
	return c
}

// toyShake moves a noise d of an image x by the steps of attack.Noises, in float64.
func toyShake(m toyOptions, theta, x, d, soft []float64) []float64 {
	moments := func(v []float64) (mean, size float64) {
		for _, a := range v {
			mean += a / float64(len(v))
			size += a * a / float64(len(v))
		}
		return mean, math.Sqrt(size)
	}
	mean0, size0 := moments(d)
	delta := slices.Clone(d)
	for range m.Steps {
		g := central(delta, func(v []float64) float64 { return klSoft(soft, softmax(toyLogits(theta, plus(x, v, 1)))) })
		delta = plus(delta, g, 2*m.Epsilon/float64(m.Steps)/math.Sqrt(dot(g, g)))
		away := plus(delta, d, -1)
		if length := math.Sqrt(dot(away, away)); length > m.Epsilon {
			delta = plus(d, away, m.Epsilon/length)
		}
		mean, size := moments(delta)
		for i := range delta {
			delta[i] = mean0 + (delta[i]-mean)/size*size0
		}
	}
	return delta
}

func klSoft(p, q []float64) (d float64) {
	for i, v := range p {
		if v > 0 {
			d += v * math.Log(v/q[i])
		}
	}
	return d
}

// toyCATRS is the loss of one image by hand, of the noises as drawn and as moved.
func toyCATRS(m toyOptions, theta, x []float64, drawn, moved [][]float64, label int, soft []float64, draws []float32) float64 {
	var cross []float64
	right, worst := 0, math.Inf(-1)
	for i, d := range drawn {
		p := softmax(toyLogits(theta, plus(x, d, 1)))
		cross = append(cross, -math.Log(p[label]))
		if p[label] == slices.Max(p) {
			right++
		}
		worst = max(worst, klSoft(soft, softmax(toyLogits(theta, plus(x, moved[i], 1)))))
	}
	k := 0
	for _, u := range draws {
		if float64(u) < float64(right)/float64(len(drawn)) {
			k++
		}
	}
	k = max(k, 1)
	slices.Sort(cross)
	l := 0.0
	for _, c := range cross[:k] {
		l += c / float64(len(cross))
	}
	if k == len(cross) {
		l += m.Lambda * worst
	}
	return l
}

// One step of CAT-RS and of SmoothMix on the toy network equals the same step in float64, written out by hand.
func TestStepsWithSecondPassByHand(t *testing.T) {
	const epoch = 1 // SmoothMix's weight is 2/3 of η by then
	cat := newMethod(t, "cat-rs", "noises=3", "epsilon=0.4", "steps=3")
	mix := newMethod(t, "smoothmix", "steps=3", "alpha=0.2", "warm_up=3")
	ofCat, ofMix := optionsOf(t, cat), optionsOf(t, mix)
	for _, engine := range []string{"go", "xla"} {
		b, err := backend.Open(engine)
		if err != nil {
			t.Run(engine, func(t *testing.T) { t.Skipf("needs the backend %s: %v", engine, err) })
			continue
		}
		for _, m := range []method.Method{cat, mix} {
			p := toyPlan(m, nil)
			p.soft = toySoft
			theta, s := toyWeights(), toyState(p)
			for i := range 2 { // of two images the network is surer, of the others as it happens
				image := make([]float64, 4)
				for k := range image {
					image[k] = float64(p.images.Whole().Image(i)[k]) / 255
				}
				z := toyLogits(theta, image)
				p.images.Labels[i] = slices.Index(z, slices.Max(z))
			}
			at := 0
			for _, values := range s.weights { // those that theta means
				for i := range values {
					values[i] = float32(theta[at])
					at++
				}
			}
			batch := p.batchOf(epoch, 0, order(toyImages), nil)
			tr, err := newTrainer(b, p, s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tr.step(batch, epoch)
			if err != nil {
				t.Fatalf("%s on %s: %v", m.Name(), engine, err)
			}
			if err := tr.read(s); err != nil {
				t.Fatal(err)
			}
			tr.close()

			x, noise, noises := wide(batch.images), wide(batch.noise), p.needs.Noises
			var delta [][][]float64 // [noise][image]
			for j := range noises {
				delta = append(delta, noise[j*toyImages:(j+1)*toyImages])
			}
			of := func(delta [][][]float64, i int) (list [][]float64) {
				for _, d := range delta {
					list = append(list, d[i])
				}
				return list
			}
			var total func(theta []float64) float64
			if m == method.Method(cat) {
				moved := make([][][]float64, toyImages)
				soft := make([][]float64, toyImages)
				for i := range x {
					for _, v := range toySoft[i] {
						soft[i] = append(soft[i], float64(v))
					}
					for _, d := range of(delta, i) {
						moved[i] = append(moved[i], toyShake(ofCat, theta, x[i], d, soft[i]))
					}
				}
				total = func(theta []float64) (l float64) {
					for i, label := range batch.labels {
						l += toyCATRS(ofCat, theta, x[i], of(delta, i), moved[i], int(label), soft[i], batch.draws[i*noises:(i+1)*noises]) / toyImages
					}
					return l
				}
			} else {
				moved, _, _ := toyAttack(t, p.needs.Adversary, p.budget(epoch), theta, x, delta, batch.labels)
				total = func(theta []float64) (l float64) {
					for i, label := range batch.labels {
						u := float64(batch.draws[i]) / 2
						var clean, mixed [][]float64
						for _, d := range of(delta, i) {
							clean = append(clean, toyLogits(theta, plus(x[i], d, 1)))
							mixed = append(mixed, toyLogits(theta, plus(plus(x[i], plus(moved[i], x[i], -1), u), d, 1)))
						}
						l += toyLosses["cross-entropy"]([][][]float64{clean}, int(label)) / toyImages
						target := mean(probabilities(clean))
						if target[label] != slices.Max(target) {
							continue
						}
						for k := range target {
							target[k] = (1-u)*target[k] + u/3
						}
						for _, q := range probabilities(mixed) {
							l += ofMix.Eta * 2 / 3 * kl(target, q) / float64(noises) / toyImages
						}
					}
					return l
				}
			}
			if m == method.Method(cat) && (len(got.terms) != 2 || got.terms[1] == 0) {
				t.Fatalf("terms %v: no image is sure, which tests nothing of the attack", got.terms)
			}
			if want := total(theta); math.Abs(got.loss-want) > 1e-5*want {
				t.Errorf("%s on %s: loss %g, want %g", m.Name(), engine, got.loss, want)
			}
			gradient := central(theta, total)
			for k, w := range slices.Concat(s.weights...) {
				if want := theta[k] - toyRate*(gradient[k]+0.01*theta[k]); math.Abs(float64(w)-want) > 1e-5 {
					t.Errorf("%s on %s: weight %d is %g, want %g", m.Name(), engine, k, w, want)
					break
				}
			}
		}
	}
}

// counting is the toy network with a running average: of all rows of a pass, 0.1 of their number's logarithm and 0.9 of what it was.
type counting struct{ toyNet }

func (counting) Tensors() []nets.Tensor {
	return append(toyNet{}.Tensors(), nets.Tensor{Name: "seen", Shape: []int{1}, Running: true})
}

func (c counting) ForwardTraining(images *Node, lookup netgraph.Lookup) (*Node, netgraph.Averages) {
	first := Reshape(ReduceAllMean(images), 1)
	return c.Forward(images, lookup), netgraph.Averages{"seen": Add(MulScalar(lookup("seen"), 0.9), MulScalar(first, 0.1))}
}

// twice sees its rows, and then their doubles.
type twice struct{}

func (twice) Name() string        { return "twice" }
func (twice) Needs() method.Needs { return method.Needs{Views: 1, Noises: 1, Again: true} }
func (twice) Loss(b *method.Batch) []loss.Term {
	again := b.Forward(MulScalar(b.Rows, 2))
	return []loss.Term{{Name: "cross-entropy", Value: loss.CrossEntropy(b.Logits, b.Labels)}, {Name: "again", Value: ReduceAllMean(again)}}
}

// Running averages follow both passes, the second after the first.
func TestAveragesOfTwoPasses(t *testing.T) {
	p := toyPlan(twice{}, nil)
	p.net, p.tensors = counting{}, counting{}.Tensors()
	s := toyState(&plan{tensors: p.tensors[:3], parts: p.parts})
	s.weights = append(s.weights, []float32{5})
	s.slots = p.newSlots()
	b := p.batchOf(1, 0, order(toyImages), nil)
	mean := 0.0
	for _, v := range b.images {
		mean += float64(v) / float64(len(b.images))
	}
	tr, err := newTrainer(engines.Backend(t, "go"), p, s)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.close()
	if _, err := tr.step(b, 1); err != nil {
		t.Fatal(err)
	}
	if err := tr.read(s); err != nil {
		t.Fatal(err)
	}
	if want := 0.9*(0.9*5+0.1*mean) + 0.1*2*mean; math.Abs(float64(s.weights[3][0])-want) > 1e-5 {
		t.Errorf("the running average is %g, want %g", s.weights[3][0], want)
	}
}

// The draws of an image depend on seed, epoch and image alone, and the soft labels are its ledger's shares.
func TestDrawsAndSoftLabels(t *testing.T) {
	p := toyPlan(newMethod(t, "cat-rs"), nil)
	a, b := p.draws(3, []int{2, 0}), p.draws(3, []int{0, 1, 2})
	if !slices.Equal(a[:4], b[8:]) || !slices.Equal(a[4:], b[:4]) || slices.Equal(a, p.draws(4, []int{2, 0})) {
		t.Errorf("draws %v and %v", a, b)
	}
	if got := p.softLabels([]int{1, 0}); !slices.Equal(got, []float32{0, 0, 1, 1, 0, 0}) {
		t.Errorf("without soft labels: %v, want the labels", got)
	}
	p.soft = toySoft
	if got := p.softLabels([]int{2}); !slices.Equal(got, toySoft[2]) {
		t.Errorf("soft labels %v, want %v", got, toySoft[2])
	}
}

// Soft labels come from a finished ledger of all the images, stand on the card, and are refused where they cannot be meant.
func TestSoftLabelsOfALedger(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	o := options(t, dir, filepath.Join(t.TempDir(), "net"))
	o.Own.Method, o.Epochs = newMethod(t, "cat-rs", "noises=2", "steps=1"), 1
	plain := run(t, o)
	if plain.Recipe.Soft != "" || plain.Recipe.Method != "cat-rs" {
		t.Errorf("recipe %+v", plain.Recipe)
	}
	o.Out, o.Soft = filepath.Join(t.TempDir(), "soft"), softLedger(t, o, nil)
	if card := run(t, o); !strings.HasPrefix(card.Recipe.Soft, "sha256:") || card.Weights == plain.Weights {
		t.Errorf("card %+v with the weights of a run without soft labels: %v", card.Recipe, card.Weights == plain.Weights)
	}
	for want, change := range map[string]func(o *Options){
		"the method gaussian takes none": func(o *Options) { o.Own.Method = newMethod(t, "gaussian") },
		"no such file":                   func(o *Options) { o.Soft += "x" },
		"it is of other images":          func(o *Options) { o.Soft = softLedger(t, *o, func(label int) int { return 1 - label }) },
		"it is not finished": func(o *Options) {
			text := testkit.Read(t, o.Soft)
			lines := strings.SplitAfter(string(text), "\n")
			o.Soft = writeLines(t, lines[:5])
		},
	} {
		o := o
		o.Out = filepath.Join(t.TempDir(), "bad")
		change(&o)
		if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
		if modelfile.Exists(o.Out) {
			t.Error("a model was written")
		}
	}
}

// relabelled are the images of a run with other labels.
type relabelled struct {
	*dataset.Dataset
	label func(int) int
}

func (r relabelled) Load(ctx context.Context) (*dataset.Images, error) {
	images, err := r.Dataset.Load(ctx)
	if err != nil || r.label == nil {
		return images, err
	}
	other := *images
	other.Labels = slices.Clone(images.Labels)
	for i, l := range other.Labels {
		other.Labels[i] = r.label(l)
	}
	return &other, nil
}

// softLedger certifies a network that answers at random on the images of a run, and gives the ledger's path.
func softLedger(t *testing.T, o Options, label func(int) int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "soft.ledger")
	images, err := o.Train.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = rs.Certify(t.Context(), classifier.Random{Shape: images.Shape, Classes: len(images.Classes)}, relabelled{o.Train, label},
		rs.Options{Sigma: 0.1, MaxSamples: 40, Selection: 20, Block: 20, Rule: "fixed", Ledger: path})
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func writeLines(t *testing.T, lines []string) string {
	t.Helper()
	return testkit.Write(t, []byte(strings.Join(lines, "")), t.TempDir(), "part.ledger")
}
