package attack

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
)

func TestCheckpoints(t *testing.T) {
	for steps, want := range map[int][]int{500: {110, 205, 285, 350, 400, 435, 465, 495}, 100: {22, 41, 57, 70, 80, 87, 93, 99}} {
		if got := Checkpoints(steps); !slices.Equal(got, want) {
			t.Errorf("%d steps: %v; expected %v", steps, got, want)
		}
	}
}

func TestContrastStart(t *testing.T) {
	got := ContrastStart([]float64{0.75, 0.7, 0.5, 0.2}, 0.3)
	for i, want := range []float64{1, 0.4, 0.2, 0} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("%v; expected 1, .4, .2, 0", got)
			break
		}
	}
	if got := MeanStart([]float64{.5, .5, .5}, []float64{0, .55, 1}, .1); got[0] != .4 || got[1] != .55 || got[2] != .6 {
		t.Errorf("mean start %v", got)
	}
}

// linear is f = (0, w·x + b).
func linear(t testing.TB, w []float64, b float64) *feedforward.Network {
	t.Helper()
	n := feedforward.NewBuilder(len(w))
	net, err := n.Network(n.Dense(0, 2, append(make([]float64, len(w)), w...), []float64{0, b}))
	if err != nil {
		t.Fatal(err)
	}
	return net
}

func problem(t testing.TB, net *feedforward.Network, objective Objective, points [][]float64, epsilon float64) Problem {
	t.Helper()
	p := Problem{Network: net, Objective: objective, Starts: points, Seed: 7}
	for i, x := range points {
		box, err := feedforward.Ball(x, epsilon, feedforward.Plain)
		if err != nil {
			t.Fatal(err)
		}
		p.Boxes, p.IDs = append(p.Boxes, box), append(p.IDs, uint64(i))
	}
	return p
}

type runner interface {
	Run(ctx context.Context, p Problem) ([]Best, error)
}

var all = map[string]runner{
	"Auto-PGD": APGD{Steps: 60, Restarts: 2}, "Auto-PGD, near": APGD{Steps: 60, Restarts: 1, Near: 0.01},
	"monotone": Monotone{}, "monotone, velocity": Monotone{Velocity: true},
}

// With the box on one side of the boundary every attack reaches the corner, whose confidence is the bound.
func TestLinearCornerIsReached(t *testing.T) {
	w := []float64{2, -1, 3, 0.5}
	x := [][]float64{{0.5, 0.5, 0.6, 0.4}, {0.9, 0.2, 0.9, 0.7}}
	net := linear(t, w, -0.5)
	for name, a := range all {
		p := problem(t, net, Confidence, x, 0.1)
		best, err := a.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i, b := range best {
			c, err := net.Confidence(t.Context(), x[i], p.Boxes[i], feedforward.IBP, feedforward.Plain)
			if err != nil {
				t.Fatal(err)
			}
			if math.Abs(b.Value-c.LogUpper) > 1e-9 {
				t.Errorf("%s, image %d: %v; the bound is %v", name, i, b.Value, c.LogUpper)
			}
		}
	}
}

// With the boundary inside the box, the better corner may be on the other side: the targeted variants find it.
func TestTargetsCrossTheBoundary(t *testing.T) {
	net := linear(t, []float64{1, 1}, -0.95) // at (.5, .5): w·x + b = .05, from −.15 to .25 ... of the other class −.15
	x := [][]float64{{0.42, 0.5}}            // −.03: class 0 leads; corners −.23 and .17
	p := problem(t, net, Target(1), x, 0.1)
	best, err := Monotone{}.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if want := 0.17; math.Abs(best[0].Value-want) > 1e-6 { // f_1 − f_0 at the corner
		t.Errorf("%v; expected %v", best[0].Value, want)
	}
}

func TestAttacksKeepTheRules(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	b := feedforward.NewBuilder(12)
	normal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = rng.NormFloat64()
		}
		return w
	}
	h := b.ReLU(b.Dense(b.ReLU(b.Dense(0, 20, normal(240), normal(20))), 20, normal(400), normal(20)))
	net, err := b.Network(b.Dense(h, 4, normal(80), normal(4)))
	if err != nil {
		t.Fatal(err)
	}
	points := make([][]float64, 6)
	for i := range points {
		points[i] = make([]float64, 12)
		for j := range points[i] {
			points[i][j] = rng.Float64()
		}
	}
	for name, a := range all {
		p := problem(t, net, Confidence, points, 0.15)
		best, err := a.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		for i, found := range best {
			f, _ := net.Forward(points[i])
			_, clean := feedforward.LogConfidence(f)
			c, _ := net.Confidence(t.Context(), points[i], p.Boxes[i], feedforward.CROWN, feedforward.Rigorous)
			f, _ = net.Forward(found.Point)
			_, again := feedforward.LogConfidence(f)
			if found.Value < clean || found.Value > c.LogUpper || again != found.Value {
				t.Errorf("%s, image %d: clean %v, found %v (again %v), bound %v", name, i, clean, found.Value, again, c.LogUpper)
			}
			for j, v := range found.Point {
				if v < p.Boxes[i].Lower[j] || v > p.Boxes[i].Upper[j] {
					t.Fatalf("%s: value %d of image %d lies outside its box", name, j, i)
				}
			}
		}
		if more, ok := a.(APGD); ok { // a further restart begins from the same streams and keeps the better
			more.Restarts++
			better, err := more.Run(t.Context(), p)
			for i, found := range better {
				if err != nil || found.Value < best[i].Value {
					t.Errorf("%s, image %d: %v with one restart more, %v before (%v)", name, i, found.Value, best[i].Value, err)
				}
			}
		}
		part := Problem{p.Network, p.Objective, p.Boxes[3:5], p.Starts[3:5], p.IDs[3:5], p.Seed} // another batch
		some, err := a.Run(t.Context(), part)
		if err != nil || !reflect.DeepEqual(some, best[3:5]) {
			t.Errorf("%s: images 3 and 4 alone give another result (%v)", name, err)
		}
		still := problem(t, net, Confidence, points, 0)
		zero, err := a.Run(t.Context(), still)
		if err != nil || !slices.Equal(zero[0].Point, points[0]) {
			t.Errorf("%s: at ε = 0 the point moved (%v)", name, err)
		}
	}
}

// Attacks that ask together find what each finds alone; one that fails leaves the others to end.
func TestTogether(t *testing.T) {
	net := linear(t, []float64{2, -1, 3, 0.5}, -0.5)
	x := [][]float64{{0.5, 0.5, 0.6, 0.4}, {0.9, 0.2, 0.9, 0.7}}
	var runs []func(Network) error
	check := func(name string, a runner, objective Objective) {
		p := problem(t, net, objective, x, 0.1)
		alone, err := a.Run(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, func(n Network) error {
			p.Network = n
			best, err := a.Run(t.Context(), p)
			if err == nil && !reflect.DeepEqual(best, alone) {
				t.Errorf("%s: %v; alone %v", name, best, alone)
			}
			return err
		})
	}
	for name, a := range all {
		check(name, a, Confidence)
		check(name, a, Target(0))
	}
	if err := Together(net, runs); err != nil {
		t.Error(err)
	}
	failed := errors.New("failed")
	if err := Together(net, append(runs, func(Network) error { return failed })); err != failed {
		t.Error(err)
	}
}

func TestConstantNetwork(t *testing.T) {
	net := linear(t, []float64{0, 0}, 0)
	for name, a := range all {
		best, err := a.Run(t.Context(), problem(t, net, Confidence, [][]float64{{.5, .5}}, 0.1))
		if err != nil || best[0].Value != -math.Ln2 {
			t.Errorf("%s: %+v, %v", name, best, err)
		}
	}
}

// Accepted values grow; the step after a acceptances and r rejections is .1·1.1^a·2^−r.
func TestMonotoneSteps(t *testing.T) {
	s := climb{Best: Best{[]float64{0}, 0}, gradient: []float64{1}, velocity: []float64{0}, step: 0.1}
	for k, v := range []float64{1, 0.5, 2, 2, 3} {
		s.judge([]float64{float64(k)}, s.velocity, v, s.gradient)
	}
	if want := 0.1 * math.Pow(1.1, 3) / 4; math.Abs(s.step-want) > 1e-15 || s.Value != 3 || s.Point[0] != 4 {
		t.Errorf("step %v, value %v at %v; expected %v, 3 at 4", s.step, s.Value, s.Point, want)
	}
}

func TestObjectiveGradients(t *testing.T) {
	f := []float64{0.3, -1.2, 0.9}
	linear := func(f []float64) (float64, []float64) { return f[0] - 2*f[1] + f[2]/2, []float64{1, -2, 0.5} }
	for name, o := range map[string]Objective{"confidence": Confidence, "target 0": Target(0), "target 2": Target(2), "linear": linear} {
		_, g := o(f)
		for i := range f {
			at := func(d float64) float64 {
				z := slices.Clone(f)
				z[i] += d
				v, _ := o(z)
				return v
			}
			if d := (at(1e-6) - at(-1e-6)) / 2e-6; math.Abs(d-g[i]) > 1e-8 {
				t.Errorf("%s: derivative %d is %v; central difference %v", name, i, g[i], d)
			}
		}
	}
}

func TestAttackRefuses(t *testing.T) {
	net := linear(t, []float64{1, 1}, 0)
	p := problem(t, net, Confidence, [][]float64{{.5, .5}}, 0.1)
	for want, f := range map[string]func() error{
		"-1 steps":        func() error { _, err := APGD{Steps: -1}.Run(t.Context(), p); return err },
		"momentum 1":      func() error { _, err := Monotone{Momentum: 1}.Run(t.Context(), p); return err },
		"1 boxes, 0 star": func() error { q := p; q.Starts = nil; _, err := APGD{}.Run(t.Context(), q); return err },
		"its start 1":     func() error { q := p; q.Starts = [][]float64{{1}}; _, err := APGD{}.Run(t.Context(), q); return err },
		"context canceled": func() error {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := APGD{}.Run(ctx, p)
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}
