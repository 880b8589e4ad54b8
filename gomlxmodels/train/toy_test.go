package train

import (
	"encoding/json"
	"math"
	"testing"

	. "github.com/gomlx/gomlx/core/graph"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
)

// toyNet has one hidden layer of three tanh units for images of 2×2 pixels, and three classes.
type toyNet struct{}

func (toyNet) Tensors() []nets.Tensor {
	return []nets.Tensor{{Name: "w", Shape: []int{4, 3}}, {Name: "b", Shape: []int{3}}, {Name: "v", Shape: []int{3, 3}}}
}

func (toyNet) Forward(images *Node, lookup netgraph.Lookup) *Node {
	h := Tanh(Add(MatMul(Reshape(images, -1, 4), lookup("w")), Reshape(lookup("b"), 1, 3)))
	return MatMul(h, lookup("v"))
}

func (n toyNet) ForwardTraining(images *Node, lookup netgraph.Lookup) (*Node, netgraph.Averages) {
	return n.Forward(images, lookup), nil
}

// toyLogits is the same network in float64; theta are all weights one after the other.
func toyLogits(theta, image []float64) []float64 {
	w, b, v := theta[:12], theta[12:15], theta[15:]
	z := make([]float64, 3)
	for j := range 3 {
		sum := b[j]
		for i, x := range image {
			sum += x * w[i*3+j]
		}
		for k := range z {
			z[k] += math.Tanh(sum) * v[j*3+k]
		}
	}
	return z
}

func softmax(z []float64) []float64 {
	p, total := make([]float64, len(z)), 0.0
	for i, v := range z {
		p[i] = math.Exp(v)
		total += p[i]
	}
	for i := range p {
		p[i] /= total
	}
	return p
}

func kl(p, q []float64) (d float64) {
	for i := range p {
		d += p[i] * math.Log(p[i]/q[i])
	}
	return d
}

func mean(list [][]float64) []float64 {
	m := make([]float64, len(list[0]))
	for _, p := range list {
		for i, v := range p {
			m[i] += v / float64(len(list))
		}
	}
	return m
}

// The losses of one image by hand: z are the logits by view and noise.
var toyLosses = map[string]func(z [][][]float64, y int) float64{
	"cross-entropy": func(z [][][]float64, y int) (l float64) {
		for _, s := range z[0] {
			l -= math.Log(softmax(s)[y]) / float64(len(z[0]))
		}
		return l
	},
	"consistency": func(z [][][]float64, y int) (l float64) {
		p := probabilities(z[0])
		m := mean(p)
		for _, q := range p {
			l += (-math.Log(q[y]) + 20*kl(m, q)) / float64(len(p))
		}
		for _, v := range m {
			l -= 0.5 * v * math.Log(v)
		}
		return l
	},
	"jsd": func(z [][][]float64, y int) float64 {
		p := [][]float64{softmax(z[0][0]), softmax(z[1][0]), softmax(z[2][0])}
		m := mean(p)
		return -math.Log(p[0][y]) + 12*(kl(p[0], m)+kl(p[1], m)+kl(p[2], m))/3
	},
	"hcr": func(z [][][]float64, y int) (l float64) {
		var views [][]float64
		for _, view := range z {
			views = append(views, mean(probabilities(view)))
		}
		all := mean(views)
		for j, view := range z {
			l += 40 * kl(views[j], all) / 3
			for _, s := range view {
				l += 10 * kl(softmax(s), views[j]) / 2 / 3
			}
		}
		for _, s := range z[0] {
			l -= math.Log(softmax(s)[y]) / 2
		}
		return l
	},
	"macer": func(z [][][]float64, y int) float64 {
		var hot [][]float64
		for _, s := range z[0] {
			scaled := make([]float64, len(s))
			for i, v := range s {
				scaled[i] = 16 * v
			}
			hot = append(hot, softmax(scaled))
		}
		q, top := mean(hot), 0
		for i, v := range q {
			if v > q[top] {
				top = i
			}
		}
		second := 0.0
		for i, v := range q {
			if i != top {
				second = math.Max(second, v)
			}
		}
		l := -math.Log(mean(probabilities(z[0]))[y] + 1e-10)
		quantile := func(p float64) float64 { return math.Sqrt2 * math.Erfinv(2*p-1) }
		if xi := quantile(q[top]) - quantile(second); top == y && xi <= 8 {
			l += 12 * toySigma / 2 * (8 - xi)
		}
		return l
	},
}

func probabilities(z [][]float64) (p [][]float64) {
	for _, s := range z {
		p = append(p, softmax(s))
	}
	return p
}

const (
	toySigma  = 0.3
	toyRate   = 0.1
	toyImages = 4
)

func toyPlan(m method.Method, views augment.Augmentation) *plan {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	images := &dataset.Images{Shape: shape, Classes: make([]string, 3), IDs: order(toyImages), Labels: []int{0, 2, 1, 2}, Pixels: make([]uint8, 4*toyImages)}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(i*83 + 40)
	}
	p := &plan{net: toyNet{}, tensors: toyNet{}.Tensors(), images: whole(images), stepsPerEpoch: 1, steps: 30}
	p.set(modelfile.Recipe{
		Sigma: new(toySigma), Epochs: 30, BatchSize: toyImages, LearningRate: toyRate, Schedule: "constant", Momentum: new(0.9), WeightDecay: new(0.01),
	}, Own{Method: m, Views: views})
	return p
}

func toyWeights() []float64 {
	theta := make([]float64, 24)
	for i := range theta {
		theta[i] = float64(float32(1.3 * math.Sin(float64(3*i+1))))
	}
	return theta
}

// central is the gradient of f by central differences.
func central(x []float64, f func(x []float64) float64) []float64 {
	const h = 1e-5
	x = append([]float64(nil), x...)
	g := make([]float64, len(x))
	for i, v := range x {
		x[i] = v + h
		up := f(x)
		x[i] = v - h
		g[i] = (up - f(x)) / (2 * h)
		x[i] = v
	}
	return g
}

// toyAttack disturbs images x under noises delta [noise][image], in float64, and returns x + γ and the classes it drove.
func toyAttack(t *testing.T, a *attack.Adversary, epsilon float64, theta []float64, x [][]float64, delta [][][]float64, labels []int32) (moved [][]float64, class []int, assignment []float32) {
	n := len(x)
	confidence := func(gamma []float64, i, class int) (z float64) {
		for _, d := range delta {
			image := make([]float64, len(gamma))
			for k := range image {
				image[k] = x[i][k] + gamma[k] + d[i][k]
			}
			z += softmax(toyLogits(theta, image))[class] / float64(len(delta))
		}
		return z
	}
	state := &attack.State{Sigma: toySigma, Epsilon: epsilon, Length: a.Rate * 2 * epsilon / float64(a.Steps), Confidence: make([]float64, n), Correct: make([]bool, n), Direction: make([]float32, n)}
	gamma := make([][]float64, n)
	for i := range n {
		gamma[i] = make([]float64, len(x[i]))
		best := int(labels[i])
		for k := range 3 {
			if a.Target == attack.Predicted && confidence(gamma[i], i, k) > confidence(gamma[i], i, best) {
				best = k
			}
		}
		class = append(class, best)
		state.Correct[i] = best == int(labels[i])
	}
	driver := a.Driver()
	for state.Step = range a.Steps {
		for i := range n {
			state.Confidence[i] = confidence(gamma[i], i, class[i])
		}
		if err := driver.Drive(state); err != nil {
			t.Fatal(err)
		}
		for i := range n {
			g := central(gamma[i], func(v []float64) float64 { return confidence(v, i, class[i]) })
			length := math.Sqrt(dot(g, g))
			for k := range g {
				v := x[i][k] + gamma[i][k] + state.Length*float64(state.Direction[i])*g[k]/length
				gamma[i][k] = math.Max(0, math.Min(1, v)) - x[i][k]
			}
			if length := math.Sqrt(dot(gamma[i], gamma[i])); length > epsilon {
				for k := range gamma[i] {
					gamma[i][k] *= epsilon / length
				}
			}
		}
	}
	for i := range n {
		for k := range gamma[i] {
			gamma[i][k] += x[i][k]
		}
	}
	if d, ok := driver.(attack.Assigner); ok {
		assignment = d.Assignment()
	}
	return gamma, class, assignment
}

// toyOptions are the options of methods that the references by hand take.
type toyOptions struct {
	Noises  int     `json:"noises"`
	Steps   int     `json:"steps"`
	WarmUp  int     `json:"warm_up"`
	Epsilon float64 `json:"epsilon"`
	Lambda  float64 `json:"lambda"`
	Alpha   float64 `json:"alpha"`
	Eta     float64 `json:"eta"`
	Beta    float64 `json:"beta"`
	Density float64 `json:"density"`
	Shift   float64 `json:"shift"`
	Clip    bool    `json:"clip"`
}

func optionsOf(t *testing.T, m method.Method) (o toyOptions) {
	t.Helper()
	options, err := method.Options(m)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(options)
	if err == nil {
		err = json.Unmarshal(text, &o)
	}
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func dot(a, b []float64) (s float64) {
	for i := range a {
		s += a[i] * b[i]
	}
	return s
}

// wide turns rows of float32 images into float64.
func wide(values []float32) (rows [][]float64) {
	for i := 0; i < len(values); i += 4 {
		row := make([]float64, 4)
		for k := range row {
			row[k] = float64(values[i+k])
		}
		rows = append(rows, row)
	}
	return rows
}

func newMethod(t *testing.T, name string, options ...string) method.Method {
	t.Helper()
	m, err := method.New(name, options...)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// One step of every method on the toy network equals the same step in float64, written out by hand: attack, loss,
// gradient by central differences, momentum and weight decay.
func TestStepByHand(t *testing.T) {
	const rate, epoch = toyRate, 20
	attacked := []string{"noises=2", "epsilon=0.3", "steps=3"}
	cases := []struct {
		method method.Method
		loss   string
	}{
		{newMethod(t, "gaussian"), "cross-entropy"},
		{newMethod(t, "gaussian", "share=half_exact"), "cross-entropy"},
		{newMethod(t, "consistency"), "consistency"},
		{newMethod(t, "jsd"), "jsd"},
		{newMethod(t, "hcr"), "hcr"},
		{newMethod(t, "macer", "noises=3"), "macer"},
		{newMethod(t, "smoothadv", attacked...), "cross-entropy"},
		{newMethod(t, "smoothadv", append(attacked, "delay=21")...), "cross-entropy"},
		{newMethod(t, "brier-act", attacked...), "cross-entropy"},
		{newMethod(t, "exact-act", attacked...), "cross-entropy"},
		{newMethod(t, "acce-act", attacked...), "cross-entropy"},
		{newMethod(t, "acce-act-star", append(attacked, "beta=0.3")...), "cross-entropy"},
		{newMethod(t, "exact-start", append(attacked, "beta=0.3")...), "cross-entropy"},
	}
	for _, engine := range []string{"go", "xla"} {
		b, err := backend.Open(engine)
		if err != nil {
			t.Run(engine, func(t *testing.T) { t.Skipf("needs the backend %s: %v", engine, err) })
			continue
		}
		for _, c := range cases {
			p := toyPlan(c.method, augment.Flip{})
			theta := toyWeights()
			s := &state{weights: [][]float32{make([]float32, 12), make([]float32, 3), make([]float32, 9)}, slots: [][][]float32{{make([]float32, 12), make([]float32, 3), make([]float32, 9)}}}
			k := 0
			for i := range s.weights {
				for j := range s.weights[i] {
					s.weights[i][j] = float32(theta[k])
					k++
				}
			}
			batch := p.batch(epoch, 0, order(toyImages))
			tr, err := newTrainer(b, p, s)
			if err != nil {
				t.Fatal(err)
			}
			got, err := tr.step(batch, epoch)
			if err != nil {
				t.Fatalf("%s on %s: %v", c.method.Name(), engine, err)
			}
			if err := tr.read(s); err != nil {
				t.Fatal(err)
			}
			tr.close()

			rows, views, noises := wide(batch.images), p.needs.Views, p.needs.Noises
			var class []int
			var assignment []float32
			if a := p.needs.Adversary; a != nil {
				var delta [][][]float64
				for j := range noises {
					delta = append(delta, wide(batch.noise)[j*toyImages:(j+1)*toyImages])
				}
				moved := rows
				if epsilon := p.budget(epoch); epsilon > 0 {
					moved, class, assignment = toyAttack(t, a, epsilon, theta, rows, delta, batch.labels)
				}
				rows = nil
				for _, d := range delta {
					for i, image := range moved {
						row := make([]float64, 4)
						for k := range row {
							row[k] = image[k] + d[i][k]
						}
						rows = append(rows, row)
					}
				}
			}
			total := func(theta []float64) (l float64) {
				gaps := make([]float64, attack.Bins)
				for i, label := range batch.labels {
					z := make([][][]float64, views)
					for v := range z {
						for s := range noises {
							z[v] = append(z[v], toyLogits(theta, rows[(v*noises+s)*toyImages+i]))
						}
					}
					l += toyLosses[c.loss](z, int(label)) / toyImages
					if beta := optionsOf(t, c.method).Beta; beta > 0 && c.method.Name() != "macer" {
						gap := mean(probabilities(z[0]))[class[i]]
						if class[i] == int(label) {
							gap--
						}
						for k := range gaps {
							gaps[k] += beta * gap * float64(assignment[i*attack.Bins+k])
						}
					}
				}
				for _, g := range gaps {
					l += math.Abs(g)
				}
				return l
			}
			if want := total(theta); math.Abs(got.loss-want) > 1e-5*want {
				t.Errorf("%s on %s: loss %g, want %g", c.method.Name(), engine, got.loss, want)
			}
			gradient, k := central(theta, total), 0
			for i := range s.weights {
				for _, w := range s.weights[i] {
					want := theta[k] - rate*(gradient[k]+0.01*theta[k])
					if math.Abs(float64(w)-want) > 1e-5 {
						t.Errorf("%s on %s: weight %d is %g, want %g", c.method.Name(), engine, k, w, want)
						break
					}
					k++
				}
			}
		}
	}
}
