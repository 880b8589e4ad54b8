package prune

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/pixel"
)

// sorted is Keep by sorting.
func sorted(values [][]float32, among [][]bool, keep int) [][]bool {
	type place struct{ i, j int }
	var all []place
	masks := make([][]bool, len(values))
	for i := range values {
		masks[i] = make([]bool, len(values[i]))
		for j := range values[i] {
			if among == nil || among[i][j] {
				all = append(all, place{i, j})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b place) int {
		x, y := math.Abs(float64(values[a.i][a.j])), math.Abs(float64(values[b.i][b.j]))
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	for _, p := range all[:keep] {
		masks[p.i][p.j] = true
	}
	return masks
}

// draw makes tensors with many equal magnitudes, zeros, numbers too small for a normal float and very large ones.
func draw(random *rand.Rand, sizes ...int) (values [][]float32) {
	special := []float32{0, float32(math.Copysign(0, -1)), 1e-42, -1e-42, math.MaxFloat32, 0.5, -0.5, 0.5}
	for _, n := range sizes {
		var of []float32
		for range n {
			v := float32(random.NormFloat64())
			if random.IntN(2) == 0 {
				v = special[random.IntN(len(special))]
			}
			of = append(of, v)
		}
		values = append(values, of)
	}
	return values
}

func TestKeep(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		values := draw(random, 1+random.IntN(9), 1+random.IntN(20), 1)
		n := len(values[0]) + len(values[1]) + 1
		keep := 1 + random.IntN(n)
		if got, want := Keep(values, nil, keep), sorted(values, nil, keep); !reflect.DeepEqual(got, want) {
			t.Fatalf("%d of %v: %v; expected %v", keep, values, got, want)
		}
		among := sorted(values, nil, keep)
		if fewer := 1 + random.IntN(keep); !reflect.DeepEqual(Keep(values, among, fewer), sorted(values, among, fewer)) {
			t.Fatalf("%d of %v among %v", fewer, values, among)
		}
	}
}

func method(t *testing.T, name string, options map[string]any) Method {
	t.Helper()
	m, err := With(name, options)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The cubic of Zhu and Gupta: its ends, its monotony, and a slope of zero at its end.
func TestRise(t *testing.T) {
	r, err := method(t, "gmp", nil).(GMP).Rise(1600, 10, 0, 0.9)
	if err != nil || r.First != 160 || r.Every != 10 || r.Times != 96 {
		t.Fatalf("%+v, %v; expected steps 160 to 1120, an epoch apart", r, err)
	}
	last, prunings := -1., 0
	for step := range 1600 {
		s, due := r.At(step)
		if !due {
			continue
		}
		prunings++
		if s < last {
			t.Errorf("step %d: %v after %v", step, s, last)
		}
		if want := 0.9 - 0.9*math.Pow(1-float64(step-160)/960, 3); math.Abs(s-want) > 1e-15 {
			t.Errorf("step %d: %v; expected %v", step, s, want)
		}
		if step == 1110 && 0.9-s > 2e-6 {
			t.Errorf("the slope at the end is not 0: %v an epoch before", s)
		}
		last = s
	}
	if first, _ := r.At(160); first != 0 || last != 0.9 || prunings != 97 {
		t.Errorf("from %v to %v in %d", first, last, prunings)
	}
	if r, err := (GMP{Begin: 0.1, End: 0.7}).Rise(30, 10, 0.5, 0.8); err != nil || r.Every != 2 {
		t.Errorf("%+v, %v", r, err)
	} else if s, due := r.At(r.First + r.Every*r.Times); s != 0.8 || !due {
		t.Errorf("%v, %v at the end of a short run", s, due)
	}
	if _, err := (GMP{Begin: 0.1, End: 0.7, Every: 40}).Rise(30, 10, 0, 0.8); err == nil || !strings.Contains(err.Error(), "no step of the run, of 30 steps") {
		t.Error(err)
	}
}

// The ramp of the code of Diffenderfer and Kailkhura: a half at the beginning, the sparsity after ten epochs; none in layers of their own or
// below a half.
func TestGrown(t *testing.T) {
	m := Complete(method(t, "biprop", nil), 100, 0.1, false)
	for epoch, want := range map[int]float64{0: 0.5, 5: 0.9 - 0.4/8, 10: 0.9, 99: 0.9} {
		if got := Grown(m, 0.9, epoch); math.Abs(got-want) > 1e-15 {
			t.Errorf("epoch %d: %v; expected %v", epoch, got, want)
		}
	}
	if got := Grown(m, 0.3, 0); got != 0.3 {
		t.Error(got)
	}
	if got := Grown(Complete(method(t, "edgepopup", map[string]any{"layerwise": true}), 100, 0.1, false), 0.9, 0); got != 0.9 {
		t.Error(got)
	}
	if m := Complete(method(t, "edgepopup", nil), 4, 0.1, false).(EdgePopup); m.Ramp != 2 {
		t.Errorf("ramp %d in a run of 4 epochs", m.Ramp)
	}
}

func TestPhases(t *testing.T) {
	sparsities := func(list []Phase) (all []float64) {
		for _, p := range list {
			all = append(all, p.Sparsity)
		}
		return all
	}
	for _, c := range []struct {
		method   string
		options  map[string]any
		sparsity float64
		trained  bool
		start    float64
		want     []float64
	}{
		{"lrr", nil, 0.9, false, 0, []float64{0, 0.2, 0.36, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9}},
		{"lth", map[string]any{"levels": "0.5/0.8/0.95"}, 0.8, false, 0, []float64{0, 0.5, 0.8}},
		{"lrr", nil, 0.8, true, 0.6000001, []float64{0.7, 0.8}},
		{"lrr", nil, 0.75, true, 0.70001, []float64{0.75}},
		{"lth", nil, 0, false, 0, []float64{0}},
		{"ft", nil, 0.8, false, 0, []float64{0, 0.8}},
		{"ft", nil, 0.8, true, 0, []float64{0.8}},
		{"gmp", nil, 0.8, false, 0, []float64{0}},
		{"biprop", nil, 0.8, false, 0, []float64{0}},
	} {
		list, err := Phases(Complete(method(t, c.method, c.options), 160, 0.1, c.trained), c.sparsity, 160, 0.1, c.trained, c.start)
		if err != nil || !slices.Equal(sparsities(list), c.want) {
			t.Errorf("%+v: %v, %v", c, sparsities(list), err)
		}
		if last := list[len(list)-1]; c.method == "ft" && !c.trained && (last.Epochs != 40 || math.Abs(last.Rate-0.01) > 1e-15) {
			t.Errorf("%+v after the pruning", last)
		}
	}
	if _, err := Phases(LRR{Levels: usualLevels}, 0.5, 10, 0.1, true, 0.8); err == nil || !strings.Contains(err.Error(), "what is pruned does not come back") {
		t.Error(err)
	}
	// The usual rounds take about a fifth of what is left: within 0.05 of 1 − 0.8^r below 0.6.
	list, _ := levels(usualLevels)
	for r, level := range list[:4] {
		if want := 1 - math.Pow(0.8, float64(r+1)); math.Abs(level-want) > 0.02 {
			t.Errorf("round %d: %v; a fifth each gives %v", r+1, level, want)
		}
	}
}

func TestGroups(t *testing.T) {
	a := nets.Architecture{Name: "conv8", Shape: pixel.Shape{Height: 32, Width: 32, Channels: 3}, Classes: 10, Width: 1. / 8}
	count := func(m Method) (tensors, groups, weights int) {
		var prunable []nets.Tensor
		for _, at := range Prunable(m, a.Tensors()) {
			prunable = append(prunable, a.Tensors()[at])
		}
		list := Groups(m, prunable)
		for _, g := range list {
			weights += g.Weights()
		}
		return len(prunable), len(list), weights
	}
	for want, options := range map[string]map[string]any{
		fmt.Sprint(11, 1, a.Parameters()):        nil,
		fmt.Sprint(11, 11, a.Parameters()):       {"layerwise": true},
		fmt.Sprint(10, 1, a.Parameters()-32*10):  {"head": false},
		fmt.Sprint(10, 10, a.Parameters()-32*10): {"head": false, "layerwise": true},
	} {
		if got := fmt.Sprint(count(method(t, "lrr", options))); got != want {
			t.Errorf("%v: tensors, groups, weights %s; expected %s", options, got, want)
		}
	}
	g := Group{Names: []string{"conv1/kernel"}, Sizes: []int{10}}
	for sparsity, want := range map[float64]int{0: 10, 0.5: 5, 0.84: 2, 0.94: 1} {
		if got, err := g.Kept(sparsity); got != want || err != nil {
			t.Errorf("%v: %d, %v", sparsity, got, err)
		}
	}
	var empty *EmptyLayer
	if _, err := g.Kept(0.96); !errors.As(err, &empty) || empty.Layer != "conv1/kernel" {
		t.Error(err)
	}
}

func TestBadOptions(t *testing.T) {
	for want, c := range map[string]struct {
		name    string
		options map[string]any
	}{
		`unknown pruning "lr"; expected "lrr" (the nearest)`: {"lr", nil},
		`unknown option "layer"`:                             {"lrr", map[string]any{"layer": true}},
		`levels "0.5/0.4"`:                                   {"lrr", map[string]any{"levels": "0.5/0.4"}},
		`levels "0.5/1"`:                                     {"lth", map[string]any{"levels": "0.5/1"}},
		"rewind -1":                                          {"lth", map[string]any{"rewind": -1}},
		"begin 0.8, end 0.7":                                 {"gmp", map[string]any{"begin": 0.8}},
		"ramp -1":                                            {"biprop", map[string]any{"ramp": -1}},
		"-1 epochs":                                          {"ft", map[string]any{"epochs": -1}},
	} {
		if _, err := With(c.name, c.options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	for _, v := range []float64{-0.1, 1, 1.5, math.NaN(), math.Inf(1)} {
		if CheckSparsity(v) == nil {
			t.Errorf("a sparsity of %v", v)
		}
	}
}
