package train

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
)

// linearNet has the logits z = xᵀW of images of 2×2 pixels.
type linearNet struct{}

func (linearNet) Tensors() []nets.Tensor { return []nets.Tensor{{Name: "w", Shape: []int{4, 3}}} }
func (linearNet) Forward(images *Node, lookup netgraph.Lookup) *Node {
	return MatMul(Reshape(images, -1, 4), lookup("w"))
}
func (n linearNet) ForwardTraining(images *Node, lookup netgraph.Lookup) (*Node, netgraph.Averages) {
	return n.Forward(images, lookup), nil
}

// shrinking adds λ/(2N) Σ ‖z‖² to the cross-entropy.
type shrinking struct{ Lambda float64 }

func (shrinking) Name() string        { return "shrinking" }
func (shrinking) Needs() method.Needs { return method.Needs{Views: 1, Noises: 1} }
func (m shrinking) Loss(b *method.Batch) []loss.Term {
	return []loss.Term{
		{Name: "cross-entropy", Value: loss.CrossEntropy(b.Logits, b.Labels)},
		{Name: "logits", Value: MulScalar(ReduceAllSum(Square(b.Logits)), m.Lambda/2/float64(b.Images))},
	}
}

// Gradients by hand of a linear network: (1/N) Σ x (p − e_y)ᵀ of the cross-entropy, and (λ/N) Σ x zᵀ of the other term.
func TestDiagnosisByHand(t *testing.T) {
	for _, lambda := range []float64{0, 0.5, 5} {
		p := toyPlan(shrinking{lambda}, nil)
		p.net, p.tensors = linearNet{}, linearNet{}.Tensors()
		p.options.Diagnose = func(Diagnosis) {}
		w := make([]float32, 12)
		for i := range w {
			w[i] = float32(math.Sin(float64(2*i + 1)))
		}
		tr, err := newTrainer(engines.Backend(t, "go"), p, &state{weights: [][]float32{w}, slots: [][][]float32{{make([]float32, 12)}}})
		if err != nil {
			t.Fatal(err)
		}
		defer tr.close()
		batch := p.batch(3, 0, order(toyImages))
		var entropy, square [12]float64
		values := make([]float64, 2)
		for i, x := range wide(batch.images) {
			z := make([]float64, 3)
			for k := range z {
				for j := range x {
					z[k] += x[j] * float64(w[3*j+k])
				}
			}
			q, y := softmax(z), int(batch.labels[i])
			values[0] -= math.Log(q[y]) / toyImages
			for k := range z {
				values[1] += lambda / 2 * z[k] * z[k] / toyImages
				for j := range x {
					gap := q[k]
					if k == y {
						gap--
					}
					entropy[3*j+k] += x[j] * gap / toyImages
					square[3*j+k] += lambda * x[j] * z[k] / toyImages
				}
			}
		}
		d, err := tr.diagnose(batch, 3)
		if err != nil {
			t.Fatal(err)
		}
		if d.Step != 4 || d.Epoch != 4 || len(d.Terms) != 2 || d.Terms[0].Name != "cross-entropy" || d.Terms[1].Name != "logits" {
			t.Fatalf("%+v", d)
		}
		for i, gradient := range [][]float64{entropy[:], square[:]} {
			want := math.Sqrt(dot(gradient, gradient))
			if got := d.Terms[i]; math.Abs(got.Value-values[i]) > 1e-5 || math.Abs(got.Gradient-want) > 1e-5*(1+want) {
				t.Errorf("λ = %g: %+v; want the value %g and a gradient of %g", lambda, got, values[i], want)
			}
		}
	}
}

// A term is warned of at its largest share, and only above twice the first one's gradient; one without a gradient never.
func TestWarnings(t *testing.T) {
	at := func(step int, gradients ...float64) Diagnosis {
		d := Diagnosis{Step: step}
		for i, name := range []string{"cross-entropy", "views", "noises"} {
			d.Terms = append(d.Terms, TermSizes{Name: name, Value: 1, Gradient: gradients[i]})
		}
		return d
	}
	if w := Warnings([]Diagnosis{at(1, 2, 4, 0), at(2, 0, 0, 0)}); w != nil {
		t.Errorf("warned of equal to twice: %q", w)
	}
	w := Warnings([]Diagnosis{at(1, 2, 5, 1), at(2, 2, 11, 1), at(4, 2, 6, 1)})
	if len(w) != 1 || !strings.Contains(w[0], "the gradient of views is 5.5 times that of cross-entropy at step 2") {
		t.Errorf("%q", w)
	}
	if got, want := at(2, 2, 11, 1).String(), "step 2: cross-entropy 1, gradient 2; views 1, gradient 11 (5.5 times cross-entropy's); noises 1, gradient 1 (0.5 times cross-entropy's)"; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A diagnosis changes neither checkpoint nor weights, and comes before the steps 1, 2, 4, 8, … of a run.
func TestDiagnosisChangesNothing(t *testing.T) {
	dir := t.TempDir()
	pictures(t, dir)
	for _, c := range []struct {
		method method.Method
		views  augment.Augmentation
	}{
		{newMethod(t, "hcr", "noises=1"), augment.FourierMix{}},
		{newMethod(t, "acce-act-star", "noises=2", "warm_up=2"), nil},
	} {
		var steps []int
		until := func(diagnose bool) (card *modelfile.Card, tensors []modelfile.Tensor, metadata map[string]string) {
			o := options(t, dir, filepath.Join(t.TempDir(), "net"))
			o.Own.Method, o.Own.Views, o.Epochs = c.method, c.views, 3
			if diagnose {
				o.Diagnose = func(d Diagnosis) {
					steps = append(steps, d.Step)
					for _, term := range d.Terms {
						if !(term.Gradient > 0) && term.Value != 0 {
							t.Errorf("%s: %+v", c.method.Name(), d)
						}
					}
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			o.afterStep = func(step int) {
				if step == 5 {
					cancel()
				}
			}
			if _, err := Run(ctx, o); !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
			data := testkit.Read(t, o.Out+".checkpoint")
			var err error
			if tensors, metadata, err = modelfile.Decode(data); err != nil {
				t.Fatal(err)
			}
			metadata[stateKey] = clock.ReplaceAllString(metadata[stateKey], "")
			o.afterStep, o.Diagnose = nil, nil
			return run(t, o), tensors, metadata
		}
		card, tensors, metadata := until(false)
		card2, tensors2, metadata2 := until(true)
		if card.Weights != card2.Weights || !reflect.DeepEqual(tensors, tensors2) || !reflect.DeepEqual(metadata, metadata2) {
			t.Errorf("%s: a diagnosis changes the run: %v and %v", c.method.Name(), metadata, metadata2)
		}
		if !slices.Equal(steps, []int{1, 2, 4}) {
			t.Errorf("%s: diagnoses of the steps %v", c.method.Name(), steps)
		}
	}
}

// clock finds the times in the state of a checkpoint, which no two runs share.
var clock = regexp.MustCompile(`"(Seconds|Waiting)":[^,}]*`)
