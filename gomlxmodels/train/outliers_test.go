package train

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
)

const outImages = 5

// outPlan is a run of a method with out-images on a narrow network L, for images of 3×3 pixels in three classes.
func outPlan(m method.Method) *plan {
	shape := pixel.Shape{Height: 3, Width: 3, Channels: 1}
	images := func(n, step int) *dataset.Images {
		im := &dataset.Images{Shape: shape, Classes: make([]string, 3), IDs: order(n), Labels: make([]int, n), Pixels: make([]uint8, n*shape.Len())}
		for i := range im.Pixels {
			im.Pixels[i] = uint8(i*step + 40)
		}
		for i := range im.Labels {
			im.Labels[i] = i % 3
		}
		return im
	}
	a := nets.Architecture{Name: "l", Shape: shape, Classes: 3, Width: 1. / 64}
	a.Posterior, a.Shift = m.Needs().Posterior, m.Needs().Shift
	p := &plan{run: identity{Architecture: a, Classes: make([]string, 3)}, net: netgraph.Network{Architecture: a}, tensors: a.Tensors(), images: whole(images(toyImages, 83)), stepsPerEpoch: 1, steps: 30}
	p.set(modelfile.Recipe{
		Sigma: new(0.0), Epochs: 30, BatchSize: toyImages, LearningRate: 0.1, Schedule: "constant", Momentum: new(0.9), WeightDecay: new(0.01),
	}, Own{Method: m})
	for i := range p.more {
		p.more[i].images, p.more[i].batch = whole(images(outImages, 59)), outImages
	}
	return p
}

// onHost is the network L with weights in float64, as package feedforward has it; or, of the tensors from the discriminator on, that one.
func onHost(t *testing.T, p *plan, theta [][]float64, discriminator bool) *feedforward.Network {
	t.Helper()
	shape := p.images.Shape
	b := feedforward.NewBuilder(shape.Channels, shape.Height, shape.Width)
	list, strided := p.tensors, 4
	if first := slices.IndexFunc(list, func(t nets.Tensor) bool { return strings.HasPrefix(t.Name, "discriminator/") }); first >= 0 && discriminator {
		list, theta, strided = list[first:], theta[first:], 2
	} else if first >= 0 {
		list = list[:first]
	}
	if first := slices.IndexFunc(list, func(t nets.Tensor) bool { return strings.HasPrefix(t.Name, "mixture/") }); first >= 0 {
		list = list[:first]
	}
	layer := 0
	for i := 0; i < len(list); i += 2 {
		d, w, bias := list[i].Shape, theta[i], theta[i+1]
		if len(d) == 4 {
			kernel := make([]float64, len(w))
			for place := range 9 {
				for in := range d[2] {
					for out := range d[3] {
						kernel[(out*d[2]+in)*9+place] = w[(place*d[2]+in)*d[3]+out]
					}
				}
			}
			o := feedforward.ConvOptions{Kernel: [2]int{3, 3}, Pad: [4]int{1, 1, 1, 1}, Stride: [2]int{1, 1}}
			if i == strided {
				o.Stride = [2]int{2, 2}
			}
			layer = b.ReLU(b.Conv(layer, d[3], o, kernel, bias))
			continue
		}
		if len(b.Shape(layer)) == 3 && discriminator {
			layer = b.AveragePool(layer, feedforward.PoolOptions{Kernel: [2]int{2, 2}, Stride: [2]int{2, 2}})
		}
		if len(b.Shape(layer)) == 3 {
			layer = b.Transpose(layer, 1, 2, 0)
		}
		kernel := make([]float64, len(w))
		for in := range d[0] {
			for out := range d[1] {
				kernel[out*d[0]+in] = w[in*d[1]+out]
				if d[1] == 1 {
					kernel[in] = -math.Exp(w[in])
				}
			}
		}
		if layer = b.Dense(layer, d[1], kernel, bias); i+2 < len(list) {
			layer = b.ReLU(layer)
		}
	}
	n, err := b.Network(layer)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// uniformLoss is −(1/K) Σ log p of logits, and its gradient p − 1/K.
func uniformLoss(f []float64) (l float64, g []float64) {
	p := softmax(f)
	for _, v := range p {
		l -= math.Log(v) / float64(len(p))
		g = append(g, v-1/float64(len(p)))
	}
	return l, g
}

// spread gives some first values of mixtures that are not all alike: of a transform, of densities.
func spread(values []float32) []float64 {
	out := make([]float64, len(values))
	for i := range values {
		values[i] += 0.1 * float32(math.Sin(float64(i)))
		out[i] = float64(values[i])
	}
	return out
}

// densities are p(x|in) and p(x|out) of a CCU network, without the constant, from their definition.
func densities(p *plan, theta [][]float64, x []float64) (d [2]float64) {
	at := func(name string) []float64 { return theta[indexOf(p.tensors, "mixture/"+name)] }
	transform, w := at("transform"), slices.Clone(at("shift"))
	for i, v := range x {
		for j := range w {
			w[j] += v * transform[i*len(w)+j]
		}
	}
	for side, name := range []string{"in/", "out/"} {
		means, variances, weights := at(name+"means"), at(name+"log-variances"), at(name+"log-weights")
		for k, v := range variances {
			square := 0.0
			for j := range w {
				square += (w[j] - means[k*len(w)+j]) * (w[j] - means[k*len(w)+j])
			}
			d[side] += math.Exp(weights[k] - float64(len(w))/2*v - square/2*math.Exp(-v))
		}
	}
	return d
}

// within is the box of what differs from x by at most ε, with clip within [0, 1].
func within(x []float64, epsilon float64, clip bool) feedforward.Box {
	box := feedforward.Box{Lower: slices.Clone(x), Upper: slices.Clone(x)}
	for i := range x {
		box.Lower[i], box.Upper[i] = x[i]-epsilon, x[i]+epsilon
		if clip {
			box.Lower[i], box.Upper[i] = max(box.Lower[i], 0), min(box.Upper[i], 1)
		}
	}
	return box
}

// climbed is the attack of ACET, in float64.
func climbed(t *testing.T, n *feedforward.Network, x []float64, epsilon float64, steps int) []float64 {
	z, best, highest := slices.Clone(x), slices.Clone(x), math.Inf(-1)
	for range steps + 1 {
		var value float64
		_, gradient, err := n.VectorJacobian(z, func(f []float64) (v []float64) {
			value, v = uniformLoss(f)
			return v
		})
		if err != nil {
			t.Fatal(err)
		}
		if value > highest {
			best, highest = slices.Clone(z), value
		}
		for i, g := range gradient {
			step := 2 * epsilon / float64(steps+1) * float64(cmp.Compare(g, 0))
			z[i] = min(max(z[i]+step, x[i]-epsilon, 0), x[i]+epsilon, 1)
		}
	}
	return best
}

// One step of every method that learns from out-images equals the same step in float64, written out by hand on package feedforward: bounds,
// ranks, losses, attack; the gradient by central differences at some weights of every tensor.
func TestOutStepByHand(t *testing.T) {
	const epoch, rate, epsilon, kappa = 20, 0.1, 0.1, 0.3
	upperBound := func(v float64) float64 { return math.Log(1 + v*v/2) }
	cases := []struct {
		method   method.Method
		quantile int // of GOOD
	}{
		{newMethod(t, "plain"), 0}, {newMethod(t, "ceda"), 0}, {newMethod(t, "oe"), 0}, {newMethod(t, "acet", "steps=4"), 0},
		{newMethod(t, "good", "quantile=0"), 0}, {newMethod(t, "good", "quantile=79"), 3}, {newMethod(t, "good", "quantile=80"), 4}, {newMethod(t, "good", "quantile=100", "clip=true"), 5},
		{newMethod(t, "mixed", "alpha=0", "steps=4"), 0}, {newMethod(t, "mixed", "alpha=0.7", "steps=4"), 0}, {newMethod(t, "mixed", "alpha=1", "clip=true"), 0},
		{newMethod(t, "prood", "kappa=0.3"), 0}, {newMethod(t, "prood", "kappa=0.3", "shift=1.5"), 0},
		{newMethod(t, "ccu", "kappa=0.3", "kappa_start=0", "kappa_over=0", "mixture_rate=0.5"), 0},
	}
	for _, engine := range []string{"go", "xla"} {
		b, err := backend.Open(engine)
		if err != nil {
			t.Run(engine, func(t *testing.T) { t.Skipf("needs the backend %s: %v", engine, err) })
			continue
		}
		for i, c := range cases {
			if engine == "xla" && i != 3 && i != 6 && i != 9 {
				continue // of which each compiles for seconds: one with an attack, one with bounds, one with both
			}
			p := outPlan(c.method)
			s := p.newState()
			theta := make([][]float64, len(s.weights))
			for i := range s.weights {
				if strings.HasPrefix(p.tensors[i].Name, "mixture/") {
					theta[i] = spread(s.weights[i])
					continue
				}
				for j := range s.weights[i] {
					s.weights[i][j] *= 1.5 // else the classes hardly differ
					theta[i] = append(theta[i], float64(s.weights[i][j]))
				}
			}
			var before [][]float64
			for _, w := range theta {
				before = append(before, slices.Clone(w))
			}
			tr, err := newTrainer(b, p, s)
			if err != nil {
				t.Fatal(err)
			}
			one := p.batchOf(epoch, 0, order(toyImages), p.nextMore(epoch))
			got, err := tr.step(one, epoch)
			if err != nil {
				t.Fatalf("%s on %s: %v", c.method.Name(), engine, err)
			}
			if err := tr.read(s); err != nil {
				t.Fatal(err)
			}
			tr.close()

			rows := func(values []float32) (list [][]float64) {
				for image := range slices.Chunk(values, p.images.Shape.Len()) {
					x := make([]float64, len(image))
					for i, v := range image {
						x[i] = float64(v)
					}
					list = append(list, x)
				}
				return list
			}
			var out [][]float64
			if len(one.more) > 0 {
				out = rows(one.more[0].images)
			}
			clean, steps := slices.Clone(out), 0
			o := optionsOf(t, c.method)
			if kind := c.method.Name(); kind == "acet" || kind == "mixed" {
				steps = o.Steps
			}
			if n := onHost(t, p, theta, false); steps > 0 {
				for j := range out {
					out[j] = climbed(t, n, out[j], epsilon, steps)
				}
			}
			total := func(theta [][]float64) (l float64) {
				n := onHost(t, p, theta, false)
				value := func(n *feedforward.Network, x []float64) []float64 {
					f, err := n.Forward(x)
					if err != nil {
						t.Fatal(err)
					}
					return f
				}
				forward := func(x []float64) []float64 { return value(n, x) }
				if c.method.Name() == "prood" {
					// The posterior takes h as it was before the step: no gradient goes from it to the discriminator.
					h, fixed := onHost(t, p, theta, true), onHost(t, p, before, true)
					forward = func(x []float64) []float64 {
						p, pi := softmax(value(n, x)), 1/(1+math.Exp(-value(fixed, x)[0]-o.Shift))
						for k := range p {
							p[k] = math.Log(pi*p[k] + (1-pi)/float64(len(p)))
						}
						return p
					}
					for _, x := range rows(one.images) {
						l += math.Log1p(math.Exp(-value(h, x)[0])) / toyImages
					}
					for _, x := range out {
						bounds, err := h.Intervals(within(x, epsilon, false), feedforward.Plain)
						if err != nil {
							t.Fatal(err)
						}
						l += kappa / outImages * math.Log1p(math.Exp(bounds.Upper[0]))
					}
				}
				if c.method.Name() == "ccu" {
					forward = func(x []float64) []float64 {
						p, d := softmax(value(n, x)), densities(p, theta, x)
						for k := range p {
							p[k] = math.Log((p[k]*d[0] + d[1]/float64(len(p))) / (d[0] + d[1]))
						}
						return p
					}
					for _, x := range rows(one.images) {
						d := densities(p, theta, x)
						l -= o.Density * math.Log((d[0]+d[1])/2) / toyImages
					}
					for _, x := range out {
						d := densities(p, theta, x)
						l -= o.Density * math.Log((d[0]+d[1])/2) / outImages
					}
				}
				for i, x := range rows(one.images) {
					l -= math.Log(softmax(forward(x))[one.labels[i]]) / toyImages
				}
				bounds := make([]float64, len(out))
				for j, x := range out {
					f := forward(x)
					switch c.method.Name() {
					case "ceda":
						l += kappa / outImages * math.Log(slices.Max(softmax(f)))
					case "oe", "acet", "prood", "ccu":
						v, _ := uniformLoss(f)
						l += kappa / outImages * v
					case "mixed":
						v, _ := uniformLoss(f)
						u, err := n.Differences(t.Context(), within(clean[j], epsilon, o.Clip), feedforward.IBP, feedforward.Plain)
						if err != nil {
							t.Fatal(err)
						}
						l += kappa / outImages * ((1-o.Alpha)*v + o.Alpha*upperBound(slices.Max(u)))
					case "good":
						u, err := n.Differences(t.Context(), within(x, epsilon, o.Clip), feedforward.IBP, feedforward.Plain)
						if err != nil {
							t.Fatal(err)
						}
						bounds[j] = slices.Max(u)
					}
				}
				if c.method.Name() == "good" {
					places := order(len(out))
					slices.SortStableFunc(places, func(i, j int) int { return cmp.Compare(bounds[i], bounds[j]) })
					for at, j := range places {
						v := bounds[j]
						if at >= c.quantile {
							f := forward(out[j])
							v = slices.Max(f) - slices.Min(f)
						}
						l += kappa / outImages * upperBound(v)
					}
				}
				return l
			}
			if want := total(theta); math.Abs(got.loss-want) > 1e-5*want {
				t.Errorf("%s on %s: loss %g, want %g", c.method.Name(), engine, got.loss, want)
			}
			largest := 0.0
			for i := range theta {
				for j := 0; j < len(theta[i]); j += 1 + len(theta[i])/7 {
					const h = 1e-6
					w := theta[i][j]
					theta[i][j] = w + h
					up := total(theta)
					theta[i][j] = w - h
					gradient := (up - total(theta)) / (2 * h)
					theta[i][j] = w
					largest = max(largest, math.Abs(gradient))
					want := w - rate*(gradient+0.01*w)
					if name := p.tensors[i].Name; p.tensors[i].Running {
						want = w
					} else if strings.HasPrefix(name, "mixture/") { // half the rate, and no decay
						want = w - 0.5*rate*gradient
						if name == "mixture/out/log-variances" {
							in := indexOf(p.tensors, "mixture/in/log-variances")
							want = max(want, float64(slices.Max(s.weights[in]))+math.Log(4))
						}
					}
					if v := float64(s.weights[i][j]); math.Abs(v-want) > 1e-5 {
						t.Errorf("%s (%v) on %s: %s[%d] is %g, want %g, from %g", c.method.Name(), c.quantile, engine, p.tensors[i].Name, j, v, want, w)
					}
				}
			}
			if largest < 1e-3 {
				t.Errorf("%s: no gradient above %g", c.method.Name(), largest)
			}
		}
	}
}

// The schedules that the paper prints, epoch by epoch.
func TestOutRamps(t *testing.T) {
	for _, c := range []struct {
		options []string
		number  string
		want    map[int]float64
	}{
		{[]string{"kappa=0.3", "kappa_start=2", "kappa_over=100"}, "kappa", map[int]float64{0: 0, 2: 0, 52: 0.15, 102: 0.3, 400: 0.3}},
		{[]string{"epsilon=0.3", "epsilon_start=10", "epsilon_over=120"}, "epsilon", map[int]float64{10: 0, 70: 0.15, 130: 0.3}},
		{[]string{"kappa=1", "kappa_start=-2", "kappa_over=300"}, "kappa", map[int]float64{0: 2. / 300, 298: 1}},
		{[]string{"epsilon=0.01", "epsilon_start=4", "epsilon_over=200"}, "epsilon", map[int]float64{4: 0, 104: 0.005, 204: 0.01}},
		{[]string{"kappa=1", "kappa_start=3", "kappa_over=0"}, "kappa", map[int]float64{2: 0, 3: 1}},
	} {
		p := outPlan(newMethod(t, "good", c.options...))
		for epoch, want := range c.want {
			if got := p.ramps[c.number].At(p.clock(epoch)); math.Abs(got-want) > 1e-12 {
				t.Errorf("%v: %s is %v in epoch %d, want %v", c.options, c.number, got, epoch, want)
			}
		}
	}
}

// A run whose cross-entropy stays at ln K stops, and what is kept is from before.
func TestCollapse(t *testing.T) {
	p := outPlan(newMethod(t, "oe"))
	s := &state{Terms: []string{"uniform", inLoss}}
	add := func(values ...float64) {
		for _, v := range values {
			s.Log = append(s.Log, epoch{Terms: []float64{7, v}})
		}
	}
	add(math.Log(3), math.Log(3), math.Log(3), math.Log(3), math.Log(3))
	for i, v := range []float64{1.5, 1.1, 1.106, 0.7, 1.09, 1.0887} {
		add(v)
		if want := []int{0, 1, 2, 0, 1, 2}[i]; p.collapsed(s) != want || p.checkCollapse(s) != nil {
			t.Errorf("after %v: %d epochs, want %d", v, p.collapsed(s), want)
		}
	}
	add(1.1085)
	if err := fmt.Sprint(p.checkCollapse(s)); !strings.Contains(err, "after epoch 12 its cross-entropy is 1.1085, within 0.01 of ln 3") {
		t.Error(err)
	}
}

// A discriminator that is a constant stops the run, whatever its constant is and whatever κ is; one that tells images apart goes on, with larger terms, too.
func TestDiscriminatorCollapse(t *testing.T) {
	p := outPlan(newMethod(t, "prood", "kappa=1", "kappa_start=0", "kappa_over=0"))
	s := &state{Terms: []string{inLoss, "uniform", "in", "bound"}}
	add := func(h ...float64) {
		for _, h := range h { // of every image
			s.Log = append(s.Log, epoch{Terms: []float64{0.5, 7, math.Log1p(math.Exp(-h)), math.Log1p(math.Exp(h))}})
		}
	}
	add(0, 0, 0, 0, 0)
	add(0.3, -2)
	if n := p.collapsed(s); n != 2 || p.checkCollapse(s) != nil {
		t.Errorf("%d epochs, want 2", n)
	}
	s.Log = append(s.Log, epoch{Terms: []float64{0.5, 7, 0.9, 0.5}})
	if n := p.collapsed(s); n != 0 {
		t.Errorf("exp(−0.9) + exp(−0.5) is 1.013, and counts %d epochs", n)
	}
	add(1, 1, 1)
	if err := fmt.Sprint(p.checkCollapse(s)); !strings.Contains(err, "the discriminator has collapsed: after epoch 11 its terms are 0.3133 and 1.3133") {
		t.Error(err)
	}

	half := outPlan(newMethod(t, "prood", "kappa=0.5", "kappa_start=0", "kappa_over=0"))
	s.Log = nil
	for range 8 {
		s.Log = append(s.Log, epoch{Terms: []float64{0.5, 7, -math.Log(0.7), -0.5 * math.Log(0.3)}})
	}
	if n := half.collapsed(s); n != 3 {
		t.Errorf("with κ = 0.5 %d epochs, want 3", n)
	}
}

// A larger image of a further set is padded by 4 and cut to size: 169 windows from 32 to 28 pixels a side, each a part of the padded image,
// and no mirrored ones without a flip.
func TestFurtherWindows(t *testing.T) {
	from, to := pixel.Shape{Height: 32, Width: 32, Channels: 1}, pixel.Shape{Height: 28, Width: 28, Channels: 1}
	values := make([]float32, from.Len())
	for i := range values {
		values[i] = float32(i + 1)
	}
	seen := map[window]bool{}
	for i := range 4000 {
		v := framingOf(onlyCrop).window(stream(1, moreImageStream, 0, i, 0), from, to)
		seen[v] = true
		out := make([]float32, to.Len())
		v.cut(values, from, to, out)
		for _, at := range [][2]int{{0, 0}, {27, 27}, {13, 5}} {
			y, x, want := at[0]+v.down, at[1]+v.right, float32(0)
			if y >= 0 && y < 32 && x >= 0 && x < 32 {
				want = values[y*32+x]
			}
			if got := out[at[0]*28+at[1]]; got != want {
				t.Fatalf("%+v at %v: %v, want %v", v, at, got, want)
			}
		}
		if v.flip || v.down < -4 || v.down > 8 || v.right < -4 || v.right > 8 {
			t.Fatalf("window %+v", v)
		}
	}
	if len(seen) != 169 {
		t.Errorf("%d windows, want 169", len(seen))
	}
}
