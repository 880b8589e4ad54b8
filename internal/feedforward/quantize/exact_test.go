package quantize_test

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
)

// drawn makes layers with random weights on 9 × 8 × 3 images.
type drawn struct {
	*feedforward.Builder
	random *rand.Rand
}

func (d *drawn) values(n int, spread, middle float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = middle + spread*d.random.NormFloat64()
	}
	return out
}

func (d *drawn) conv(in, out, kernel, stride, pad, groups int) int {
	fan := d.Shape(in)[0] / groups * kernel * kernel
	return d.Conv(in, out, feedforward.ConvOptions{Kernel: [2]int{kernel, kernel}, Stride: [2]int{stride, stride},
		Pad: [4]int{pad, pad, pad, pad}, Groups: groups}, d.values(out*fan, 1.4/math.Sqrt(float64(fan)), 0),
		d.values(out, .2, 0))
}

func (d *drawn) norm(in int) int {
	c := d.Shape(in)[0]
	variance := d.values(c, 0, .8)
	return d.BatchNorm(in, d.values(c, .2, 1), d.values(c, .2, .2), d.values(c, .1, 0), variance, 1e-5)
}

func (d *drawn) dense(in, out int) int {
	n := d.Shape(in).Size()
	return d.Dense(in, out, d.values(n*out, 1.4/math.Sqrt(float64(n)), 0), d.values(out, .1, 0))
}

func pool(kernel, stride, pad int) feedforward.PoolOptions {
	return feedforward.PoolOptions{Kernel: [2]int{kernel, kernel},
		Stride: [2]int{stride, stride}, Pad: [4]int{pad, pad, pad, pad}, CountPadding: true}
}

// forms are networks with every layer that has a form in integers.
var forms = map[string]func(d *drawn, image int) int{
	"residual": func(d *drawn, x int) int {
		a := d.ReLU(d.norm(d.conv(x, 8, 3, 1, 1, 1)))
		b := d.ReLU(d.Sum([]float64{1, 1}, d.norm(d.conv(d.ReLU(d.norm(d.conv(a, 8, 3, 1, 1, 1))), 8, 3, 1, 1, 1)), a))
		c := d.ReLU(d.Sum([]float64{1, 1}, d.norm(d.conv(d.ReLU(d.conv(b, 12, 3, 2, 1, 1)), 12, 3, 1, 1, 1)),
			d.norm(d.conv(b, 12, 1, 2, 0, 1))))
		return d.dense(d.Reshape(d.AveragePool(c, feedforward.PoolOptions{}), 12), 5)
	},
	"pools and a hidden layer": func(d *drawn, x int) int {
		a := d.MaxPool(d.ReLU(d.conv(x, 6, 3, 1, 1, 1)), pool(2, 2, 0))
		b := d.AveragePool(d.ReLU(d.conv(a, 8, 3, 1, 1, 2)), pool(2, 2, 0))
		h := d.ReLU(d.dense(d.Reshape(b, b0(d, b)), 20))
		return d.dense(h, 5)
	},
	"concatenation, pool before ReLU": func(d *drawn, x int) int {
		a := d.ReLU(d.MaxPool(d.conv(x, 6, 3, 2, 1, 1), pool(3, 1, 1)))
		b := d.Concat(0, d.ReLU(d.conv(a, 4, 1, 1, 0, 1)), d.ReLU(d.conv(a, 4, 3, 1, 1, 1)), a)
		c := d.ReLU(d.Concat(0, d.conv(b, 3, 3, 1, 1, 1), d.conv(b, 4, 1, 1, 0, 1)))
		return d.dense(c, 5)
	},
	"dilation, strides, groups": func(d *drawn, x int) int {
		a := d.ReLU(d.Conv(x, 6, feedforward.ConvOptions{Kernel: [2]int{3, 2}, Dilation: [2]int{2, 3},
			Pad: [4]int{2, 1, 1, 2}}, d.values(6*3*6, .3, 0), d.values(6, .2, 0)))
		b := d.ReLU(d.Conv(a, 8, feedforward.ConvOptions{Kernel: [2]int{2, 3}, Dilation: [2]int{3, 2}, Groups: 2,
			Stride: [2]int{2, 1}, Pad: [4]int{1, 2, 2, 2}}, d.values(8*3*6, .3, 0), nil))
		return d.dense(b, 5)
	},
	"dense layers, sum of bytes": func(d *drawn, x int) int {
		a := d.ReLU(d.dense(x, 30))
		b := d.ReLU(d.dense(a, 30))
		return d.dense(d.ReLU(d.Sum([]float64{1, 1}, a, b)), 5)
	},
	"padding of its own, hidden layer of means": func(d *drawn, x int) int {
		a := d.ReLU(d.conv(x, 6, 3, 1, 1, 1))
		b := d.ReLU(d.conv(d.Pad(a, []int{0, 1, 1}, []int{0, 1, 1}, 0), 8, 3, 1, 0, 1))
		return d.dense(d.ReLU(d.dense(d.AveragePool(b, feedforward.PoolOptions{}), 10)), 5)
	},
}

func b0(d *drawn, layer int) int { return d.Shape(layer).Size() }

// form makes one of them, with normalised images of another order of channels.
func form(t testing.TB, name string, seed uint64) *feedforward.Network {
	d := &drawn{feedforward.NewBuilder(9, 8, 3), rand.New(rand.NewPCG(seed, 4))}
	s, offset := make([]float64, 216), make([]float64, 216)
	for i := range s {
		s[i], offset[i] = []float64{4, 3.5, 4.5}[i%3], []float64{-1.9, -1.5, -2}[i%3]
	}
	x := d.Scale(0, s, offset, nil)
	if name != "dense layers, sum of bytes" {
		x = d.Transpose(x, 2, 0, 1)
	}
	n, err := d.Network(forms[name](d, x))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// noisy is a sample on the grid, and as real numbers.
func noisy(random *rand.Rand, size int) (grid []int16, x []float64) {
	for range size {
		v := random.IntN(256) + int(math.Round(255*.25*random.NormFloat64()))
		grid = append(grid, int16(min(max(v, -255), 510)))
		x = append(x, float64(grid[len(grid)-1])/255)
	}
	return grid, x
}

// seen are the values of samples, in some order.
func seen(t testing.TB, p *quantize.Plan, n *feedforward.Network, order []int) *quantize.Seen {
	s := quantize.NewSeen()
	for _, i := range order {
		_, x := noisy(rand.New(rand.NewPCG(uint64(i), 6)), 216)
		values, err := n.Values(x)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Add(s, values); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Integers stay near the network in real numbers, for each form of network.
func TestExactIsClose(t *testing.T) {
	order := make([]int, 60)
	for i := range order {
		order[i] = i
	}
	for name := range forms {
		for seed := range uint64(4) {
			n := form(t, name, seed)
			p, err := quantize.NewPlan(n.Parts())
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			whole, err := p.Build(seen(t, p, n, order), 1)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if _, _, err := intnet.Decode(intnet.Encode(whole, nil)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			equal, off, total := 0, 0.0, 0.0
			for i := range 100 {
				grid, x := noisy(rand.New(rand.NewPCG(uint64(1000+i), 7)), 216)
				want, _ := n.Forward(x)
				got := make([]float64, 5)
				for k, v := range whole.Define(grid) {
					got[k] = float64(v) * whole.LogitUnit()
					off, total = off+(got[k]-want[k])*(got[k]-want[k]), total+spread(want)*spread(want)/4
				}
				if best(got) == best(want) {
					equal++
				}
			}
			if r := math.Sqrt(off / total); equal < 90 || r > .05 {
				t.Errorf("%s, seed %d: %d of 100 classes equal, logits off by %.3f of their spread", name, seed, equal,
					r)
			}
		}
	}
}

// The integers do not depend on the order of samples, nor on a stop in between.
func TestExactDoesNotDependOnTheOrder(t *testing.T) {
	n := form(t, "residual", 1)
	p, err := quantize.NewPlan(n.Parts())
	if err != nil {
		t.Fatal(err)
	}
	one := seen(t, p, n, []int{0, 1, 2, 3, 4, 5, 6, 7})
	text, err := json.Marshal(seen(t, p, n, []int{7, 2, 5}))
	if err != nil {
		t.Fatal(err)
	}
	other := quantize.NewSeen()
	if err := json.Unmarshal(text, other); err != nil {
		t.Fatal(err)
	}
	other.Merge(seen(t, p, n, []int{6, 0, 1, 3, 4}))
	a, err := p.Build(one, 1)
	if err != nil {
		t.Fatal(err)
	}
	b, err := p.Build(other, 1)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(intnet.Encode(a, nil), intnet.Encode(b, nil)) {
		t.Error("other integers")
	}
	for _, kappa := range []int{128, 129, 1000} { // where pixels do not fit int16
		if _, err := p.Build(one, kappa); err == nil || !strings.Contains(err.Error(), "expected at most 127") {
			t.Errorf("κ = %d: %v", kappa, err)
		}
	}
}

func TestExactRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		network func(d *drawn, x int) int
		want    string
	}{
		"no ReLU": {func(d *drawn, x int) int { return d.dense(d.conv(x, 4, 3, 1, 1, 1), 5) },
			`"Dense_3" (Dense) has no form in integers: it reads a result that is not cut off at 0`},
		"sigmoid": {func(d *drawn, x int) int { return d.dense(d.Sigmoid(d.conv(x, 4, 3, 1, 1, 1)), 5) },
			`(Sigmoid) has no form`},
		"leaky": {func(d *drawn, x int) int { return d.dense(d.LeakyReLU(d.conv(x, 4, 3, 1, 1, 1), .1), 5) },
			`(LeakyRelu) has no form`},
		"scaled bytes": {func(d *drawn, x int) int { return d.dense(d.norm(d.ReLU(d.conv(x, 4, 3, 1, 1, 1))), 5) },
			"it scales what no Conv"},
		"difference": {func(d *drawn, x int) int {
			a := d.ReLU(d.conv(x, 4, 3, 1, 1, 1))
			return d.dense(d.ReLU(d.Sum([]float64{1, -1}, a, d.conv(a, 4, 3, 1, 1, 1))), 5)
		}, "two that are added"},
		"one layer": {func(d *drawn, x int) int { return d.dense(x, 5) }, "one layer"},
		"no logits": {func(d *drawn, x int) int { return d.ReLU(d.conv(x, 4, 3, 1, 1, 1)) }, "expected logits"},
		"turned": {func(d *drawn, x int) int {
			return d.dense(d.ReLU(d.conv(d.Transpose(x, 0, 2, 1), 4, 3, 1, 1,
				1)), 5)
		}, "it reads the image as"},
		"pads image": {func(d *drawn, x int) int {
			return d.dense(d.ReLU(d.conv(d.Pad(x, []int{0, 1, 1}, []int{0, 1, 1},
				0), 4, 3, 1, 0, 1)), 5)
		}, "it pads by 0"},
	} {
		d := &drawn{feedforward.NewBuilder(9, 8, 3), rand.New(rand.NewPCG(1, 4))}
		n, err := d.Network(c.network(d, d.Transpose(0, 2, 0, 1)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if _, err := quantize.NewPlan(n.Parts()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
}
