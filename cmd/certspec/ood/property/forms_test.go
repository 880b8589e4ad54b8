package property

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/testkit"
)

// relus is y = max(x, 0) for two inputs.
func relus(t testing.TB) *feedforward.Network {
	t.Helper()
	b := feedforward.NewBuilder(2)
	n, err := b.Network(b.ReLU(0))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

const square = `(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -1))(assert (<= X_1 1))
`

// What only the boundary would meet is not violated, and what nothing can meet holds, whatever the network.
func TestStrictAndContradictory(t *testing.T) {
	for assertion, want := range map[string][]Verdict{
		"(assert (< Y_0 0))":                    {Holds, Unknown}, // Y_0 is 0 at best
		"(assert (<= Y_0 0))":                   {Violated},
		"(assert (> Y_0 1))":                    {Holds, Unknown},
		"(assert (>= Y_0 1))":                   {Violated},
		"(assert (> Y_0 0.999))":                {Violated},
		"(assert (>= Y_0 1))(assert (> X_0 1))": {Holds}, // no such X_0
		"(assert (>= Y_0 1))(assert (< X_0 1))": {Unknown},
		"(assert (> X_0 0.99999999))(assert (< X_0 1))(assert (>= Y_0 0))":        {Unknown}, // no float32 between
		"(assert (>= X_0 2))(assert (>= Y_0 0))":                                  {Holds},
		"(assert (<= Y_0 0))(assert (>= Y_0 0.5))":                                {Holds},
		"(assert (<= Y_0 0))(assert (>= Y_0 0))":                                  {Violated},
		"(assert (< Y_0 0.5))(assert (>= Y_0 0.5))":                               {Holds},
		"(assert (<= Y_0 Y_1))(assert (>= Y_0 (+ Y_1 0.5)))":                      {Holds},
		"(assert (<= Y_0 0.1))(assert (<= Y_1 0.1))(assert (>= (+ Y_0 Y_1) 0.3))": {Holds},
		"(assert (>= (* 3.0 Y_0) 1))(assert (<= (* 7.0 Y_0) 2))":                  {Holds}, // 1/3 against 2/7
		"(assert (>= (* 3.0 Y_0) 1))(assert (<= (* 7.0 Y_0) 3))":                  {Violated, Unknown},
		"(assert (or (and (<= Y_0 0) (>= Y_0 0.5)) (and (> X_0 1) (>= Y_0 0))))":  {Holds},
		"(assert (or (and (<= Y_0 0) (>= Y_0 0.5)) (and (>= Y_0 0.25))))":         {Violated},
	} {
		p := parse(t, square+assertion)
		got, err := Decide(t.Context(), relus(t), p, Options{})
		if err != nil || !slices.Contains(want, got.Verdict) {
			t.Errorf("%s: %+v, %v; expected %v", assertion, got, err, want)
		}
		for i, v := range got.Witness {
			if float64(float32(v)) != v || math.Abs(v) > 1 || got.Outputs[i] != max(v, 0) {
				t.Errorf("%s: witness %v with outputs %v", assertion, got.Witness, got.Outputs)
			}
		}
	}
}

// A sum of conditions can fail where each alone is met somewhere: y_0 and y_1 are large at different ends.
func TestSumsOfConditions(t *testing.T) {
	b := feedforward.NewBuilder(2)
	n, err := b.Network(b.Dense(0, 2, []float64{1, 0, -1, 0}, nil))
	if err != nil {
		t.Fatal(err)
	}
	for assertion, want := range map[string]Verdict{
		"(assert (>= Y_0 0.5))(assert (>= Y_1 0.5))":                     Holds,
		"(assert (>= (* 100.0 Y_0) 50))(assert (>= Y_1 0.5))":            Holds,
		"(assert (>= Y_0 0.5))(assert (>= Y_1 -0.6))":                    Violated,
		"(assert (>= Y_0 0.5))(assert (>= Y_1 0.5))(assert (<= Y_0 10))": Holds,
	} {
		got, err := Decide(t.Context(), n, parse(t, square+assertion), Options{})
		if err != nil || got.Verdict != want {
			t.Errorf("%s: %+v, %v; expected %s", assertion, got, err, want)
		}
	}
}

// The runtime has the last word on a witness.
func TestWitnessesMeetTheConditionsInTheRuntime(t *testing.T) {
	p := parse(t, square+"(assert (>= Y_0 0.75))")
	for _, off := range []float64{0, -0.5} {
		asked := 0
		run := func(x []float64) ([2][]float64, error) {
			asked++
			y := []float64{max(x[0], 0), max(x[1], 0)}
			return [2][]float64{y, {y[0] + off, y[1]}}, nil
		}
		got, err := Decide(t.Context(), relus(t), p, Options{Run: run})
		want := map[bool]Verdict{true: Violated, false: Unknown}[off == 0]
		if err != nil || got.Verdict != want || asked == 0 {
			t.Errorf("%v off: %+v, %v; expected %s", off, got, err, want)
		}
	}
}

// headed is softmax, or its logarithm, of W·relu(V·x + b).
func headed(t testing.TB, op string, inputs, hidden, classes int, v, b, w []float32) *feedforward.Network {
	t.Helper()
	dims := func(d int) []onnxfile.Dim { return []onnxfile.Dim{{Size: 1}, {Size: int64(d)}} }
	g := onnxfile.Graph{
		Inputs:  []onnxfile.Value{{Name: "x", Type: onnxfile.Float32, Dims: dims(inputs)}},
		Outputs: []onnxfile.Value{{Name: "y", Type: onnxfile.Float32, Dims: dims(classes)}},
		Initializers: []onnxfile.Tensor{
			onnxfile.Float32Tensor("v", v, int64(inputs), int64(hidden)), onnxfile.Float32Tensor("b", b, int64(hidden)),
			onnxfile.Float32Tensor("w", w, int64(hidden), int64(classes)),
		},
		Nodes: []onnxfile.Node{
			{Op: "Gemm", Inputs: []string{"x", "v", "b"}, Outputs: []string{"h"}},
			{Op: "Relu", Inputs: []string{"h"}, Outputs: []string{"r"}},
			{Op: "MatMul", Inputs: []string{"r", "w"}, Outputs: []string{"z"}},
			{Op: op, Inputs: []string{"z"}, Outputs: []string{"y"}},
		},
	}
	sets := []onnxfile.OperatorSet{{Version: onnxfile.Opset}}
	n, err := feedforward.FromONNX("net", &onnxfile.Model{Opsets: sets, Graph: g}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Conditions are on what the file gives: z = 4x, and probabilities of it or their logarithms.
func TestConditionsOnProbabilities(t *testing.T) {
	unit := func(low float64) string {
		return fmt.Sprintf(`(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)(declare-const Y_1 Real)
(assert (>= X_0 %v))(assert (<= X_0 1))(assert (>= X_1 %v))(assert (<= X_1 1))`, low, low)
	}
	for _, c := range []struct {
		op, text string
		want     Verdict
	}{
		{"Softmax", unit(0) + "(assert (>= Y_0 1.5))", Holds},
		{"Softmax", unit(0) + "(assert (<= Y_0 0.1))", Violated}, // 1/(1 + e⁴) = .018 at (0, 1)
		{"Softmax", unit(0) + "(assert (<= Y_0 0.017))", Holds},
		{"Softmax", unit(0) + "(assert (>= Y_0 0.983))", Holds}, // .98201 at most
		{"Softmax", unit(0) + "(assert (>= Y_0 0.982))", Violated},
		{"Softmax", unit(0.9) + "(assert (<= Y_0 0.7))", Violated}, // .5 at (1, 1)
		{"Softmax", unit(0.9) + "(assert (>= Y_0 0.7))", Holds},    // 1/(1 + e^−.4) = .599 at most
		{"Softmax", unit(0) + "(assert (>= (+ Y_0 Y_1) 1.01))", Holds},
		{"Softmax", unit(0) + "(assert (<= (+ Y_0 Y_1) 0.99))", Holds},
		{"Softmax", unit(0) + "(assert (>= Y_0 (+ Y_1 0.97)))", Holds}, // tanh(2) = .96403 at most
		{"Softmax", unit(0) + "(assert (>= Y_0 (+ Y_1 0.96)))", Violated},
		{"Softmax", unit(0) + "(assert (<= Y_0 0))", Holds},
		{"LogSoftmax", unit(0) + "(assert (>= Y_0 0.1))", Holds},
		{"LogSoftmax", unit(0) + "(assert (<= Y_0 -4.0))", Violated}, // −ln(1 + e⁴) = −4.018
		{"LogSoftmax", unit(0) + "(assert (<= Y_0 -4.1))", Holds},
		{"LogSoftmax", unit(0) + "(assert (>= (- Y_0 Y_1) 4.01))", Holds},
		{"LogSoftmax", unit(0) + "(assert (>= (- Y_0 Y_1) 3.99))", Violated},
		{"LogSoftmax", unit(0) + "(assert (>= (+ Y_0 Y_1) 4.1))", Holds},
		{"LogSoftmax", unit(0) + "(assert (>= (+ Y_0 Y_1) -1.38))", Unknown}, // −2 ln 2 = −1.386 at most
		{"LogSoftmax", unit(0) + "(assert (>= (+ Y_0 Y_1) -1.39))", Violated},
	} {
		n := headed(t, c.op, 2, 2, 2, []float32{4, 0, 0, 4}, []float32{0, 0}, []float32{1, 0, 0, 1})
		got, err := Decide(t.Context(), n, parse(t, c.text), Options{})
		if err != nil || got.Verdict != c.want {
			t.Errorf("%s of %s: %+v, %v; expected %s", c.op, c.text[strings.LastIndex(c.text, "(assert"):], got, err, c.want)
		}
	}
}

// Of random networks with a head, no point meets what is said to hold, in float64 and in float32 of one order of
// the sums.
func TestHeadsAreSound(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	counts := map[Verdict]int{}
	const inputs, hidden, classes = 3, 6, 4
	for range 60 {
		op := []string{"Softmax", "LogSoftmax"}[rng.IntN(2)]
		scale := math.Exp(2 * rng.NormFloat64())
		normal := func(n int, s float64) []float32 {
			w := make([]float32, n)
			for i := range w {
				w[i] = float32(s * rng.NormFloat64())
			}
			return w
		}
		v, b, w := normal(inputs*hidden, 1), normal(hidden, 1), normal(hidden*classes, scale)
		n := headed(t, op, inputs, hidden, classes, v, b, w)
		row := make([]float64, classes)
		for range 1 + rng.IntN(3) {
			row[rng.IntN(classes)] = float64(rng.IntN(5) - 2)
		}
		if !slices.ContainsFunc(row, func(v float64) bool { return v != 0 }) {
			row[0] = 1
		}
		half := 0.2
		value := func(y []float64) (s float64) {
			for i, r := range row {
				s += r * y[i]
			}
			return s
		}
		least := math.Inf(1)
		for range 4000 {
			x := make([]float64, inputs)
			for i := range x {
				x[i] = float64(float32(half * min(max(3*rng.Float64()-1.5, -1), 1)))
			}
			z, err := n.Forward(x)
			if err != nil {
				t.Fatal(err)
			}
			least = min(least, value(head(op).of(z)), value(inSingle(op, x, hidden, classes, v, b, w)))
		}
		bound := least + 0.02*rng.NormFloat64()*max(1, math.Abs(least))
		box := feedforward.Box{Lower: slices.Repeat([]float64{-half}, inputs), Upper: slices.Repeat([]float64{half}, inputs)}
		c := Case{Box: box, Nearest: box, Conditions: []Condition{{Row: row, Bound: bound}}}
		p := &Property{Inputs: inputs, Outputs: classes, Cases: []Case{c}}
		got, err := Decide(t.Context(), n, p, Options{Steps: 40, Restarts: 1})
		if err != nil {
			t.Fatal(err)
		}
		if counts[got.Verdict]++; got.Verdict == Holds && least <= bound {
			t.Errorf("%s: said to hold (%s), but a point has %v of at most %v", op, got.Method, least, bound)
		}
	}
	if counts[Holds] < 10 || counts[Violated] < 10 {
		t.Errorf("%v: too few to show anything", counts)
	}
}

// inSingle evaluates a headed network in float32.
func inSingle(op string, x []float64, hidden, classes int, v, b, w []float32) []float64 {
	z := make([]float32, classes)
	for j := range hidden {
		h := b[j]
		for i, xi := range x {
			h += float32(xi) * v[i*hidden+j]
		}
		for k := range z {
			z[k] += max(h, 0) * w[j*classes+k]
		}
	}
	most, sum := slices.Max(z), float32(0)
	for _, v := range z {
		sum += float32(math.Exp(float64(v - most)))
	}
	y := make([]float64, classes)
	for k, v := range z {
		if op == "Softmax" {
			y[k] = float64(float32(math.Exp(float64(v-most))) / sum)
		} else {
			y[k] = float64(v - most - float32(math.Log(float64(sum))))
		}
	}
	return y
}

// All conditions of all cases with one box are bounded in one pass, and each bound has the bits that it has alone.
func TestCasesOfOneBoxAreBoundedTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	const inputs, classes = 12, 30
	b, at := feedforward.NewBuilder(inputs), 0
	for _, width := range []int{16, 16, classes} {
		w := make([]float64, b.Shape(at).Size()*width)
		for i := range w {
			w[i] = float64(float32(rng.NormFloat64() / 3))
		}
		if at = b.Dense(at, width, w, nil); width != classes {
			at = b.ReLU(at)
		}
	}
	n, err := b.Network(at)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for i := range inputs {
		fmt.Fprintf(&text, "(declare-const X_%d Real)(assert (>= X_%d 0.4))(assert (<= X_%d 0.6))", i, i, i)
	}
	for k := range classes {
		fmt.Fprintf(&text, "(declare-const Y_%d Real)", k)
	}
	text.WriteString("(assert (or ")
	for k := 1; k < classes; k++ {
		fmt.Fprintf(&text, "(and (>= Y_%d Y_0))", k)
	}
	text.WriteString("(and (>= Y_1 Y_0) (<= X_3 0.5))))")
	p := parse(t, text.String())
	groups := byBox(p.Cases)
	if len(groups) != 2 || len(groups[0]) != classes-1 || len(groups[1]) != 1 || len(p.Boxes()) != 2 ||
		groups[1][0].Box.Upper[3] != 0.5 {
		t.Fatalf("%d groups", len(groups))
	}
	var all []Condition
	for _, c := range groups[0] {
		all = append(all, c.Conditions...)
	}
	for _, method := range []feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN} {
		together, err := head("").excess(t.Context(), n, groups[0][0].Box, all, method)
		if err != nil {
			t.Fatal(err)
		}
		for i, q := range all {
			alone, err := head("").excess(t.Context(), n, groups[0][0].Box, []Condition{q}, method)
			if err != nil || alone[0] != together[i] {
				t.Errorf("%s, condition %d: %v alone, %v together, %v", method, i, alone, together[i], err)
			}
		}
	}
}

// Files packed by gzip and with a byte order mark are read.
func TestRead(t *testing.T) {
	dir := t.TempDir()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	text := header + "(assert (>= Y_0 0))"
	if _, err := z.Write([]byte(text)); err != nil || z.Close() != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"plain.vnnlib": []byte(text), "mark.vnnlib": []byte("\ufeff" + text),
		"packed.vnnlib.gz": packed.Bytes(), "packed.vnnlib": packed.Bytes(),
	} {
		path := testkit.Write(t, data, dir, name)
		if p, err := Read(path); err != nil || len(p.Cases) != 1 || p.Outputs != 3 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
	cut := testkit.Write(t, packed.Bytes()[:packed.Len()/2], dir, "cut.vnnlib.gz")
	if _, err := Read(cut); err == nil || !strings.Contains(err.Error(), cut) {
		t.Errorf("cut off: %v", err)
	}
}
