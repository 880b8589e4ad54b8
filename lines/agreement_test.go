package lines

import (
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Where accuracies and agreements lie on one line exactly, both estimates are the truth exactly.
func TestAgreementMeetsTheTruth(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	const slope, intercept = 0.8, -0.4
	var accuracy, g, h []float64
	for i := range 6 {
		accuracy = append(accuracy, rng.NormFloat64())
		for range 5 - i {
			g = append(g, rng.NormFloat64())
			h = append(h, slope*g[len(g)-1]+intercept)
		}
	}
	line, s, d, err := estimate(accuracy, g, h)
	if err != nil || math.Abs(line.Slope-slope) > 1e-12 || math.Abs(line.R2-1) > 1e-12 {
		t.Fatalf("%+v, %v", line, err)
	}
	for i, z := range accuracy {
		if want := slope*z + intercept; math.Abs(s[i]-want) > 1e-10 || math.Abs(d[i]-want) > 1e-10 {
			t.Errorf("model %d: ALine-S %v, ALine-D %v; the truth is %v", i, s[i], d[i], want)
		}
	}
}

// Accuracies and agreements of four classifiers whose answers on eight images are written out.
func TestAgreeCounts(t *testing.T) {
	labels := []int{0, 1, 2, 3, 0, 1, 2, 3}
	id := []Predictions{
		{Model: "a", Classes: []int{0, 1, 2, 3, 0, 1, 2, 0}}, // 7 of 8
		{Model: "b", Classes: []int{0, 1, 2, 3, 0, 1, 0, 0}}, // 6; agrees with a on 7
		{Model: "c", Classes: []int{0, 1, 2, 0, 0, 0, 0, 0}}, // 4; with a on 5, with b on 6
	}
	shifted := []Predictions{
		{Model: "a", Classes: []int{0, 1, 2, 3}},
		{Model: "b", Classes: []int{0, 1, 2, 0}}, // with a 3
		{Model: "c", Classes: []int{0, 0, 1, 0}}, // with a 1, with b 2
	}
	out, err := agree(id, shifted, labels, []int{0, 1, 2, 3}, Clip{})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []AgreementPair{{"a", "b", 7. / 8, 3. / 4}, {"a", "c", 5. / 8, 1. / 4}, {"b", "c", 6. / 8, 2. / 4}} {
		if out.Pairs[i] != want {
			t.Errorf("pair %d: %+v; expected %+v", i, out.Pairs[i], want)
		}
	}
	for i, want := range [][2]float64{{7. / 8, 1}, {6. / 8, 3. / 4}, {4. / 8, 1. / 4}} {
		if m := out.Models[i]; m.X != want[0] || *m.Truth != want[1] {
			t.Errorf("%+v; expected %v", m, want)
		}
	}
}

// ALine-D's closed form against the least-squares solution of the system as it is written down.
func TestALineD(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	const n = 5
	accuracy := make([]float64, n)
	for i := range accuracy {
		accuracy[i] = rng.NormFloat64()
	}
	var g, h, rows, rhs []float64
	for i := range n {
		for j := i + 1; j < n; j++ {
			g, h = append(g, rng.NormFloat64()), append(h, rng.NormFloat64())
			row := make([]float64, n)
			row[i], row[j] = 0.5, 0.5
			rows = append(rows, row...)
			rhs = append(rhs, h[len(h)-1]+0.8*((accuracy[i]+accuracy[j])/2-g[len(g)-1]))
		}
	}
	var want mat.VecDense
	if err := want.SolveVec(mat.NewDense(len(rhs), n, rows), mat.NewVecDense(len(rhs), rhs)); err != nil {
		t.Fatal(err)
	}
	for i, z := range alineD(accuracy, g, h, 0.8) {
		if math.Abs(z-want.AtVec(i)) > 1e-10 {
			t.Errorf("z[%d] = %v; by QR %v", i, z, want.AtVec(i))
		}
	}
}

func TestAgreeRefuses(t *testing.T) {
	p := func(model string, classes ...int) Predictions { return Predictions{Model: model, Classes: classes} }
	three := []Predictions{p("a", 1, 2, 3), p("b", 1, 2, 0), p("c", 1, 0, 0)}
	for name, c := range map[string]struct {
		id, shifted   []Predictions
		labels, truth []int
		want          string
	}{
		"two models":      {three[:2], three[:2], []int{1, 2, 3}, nil, "at least 3"},
		"other models":    {three, []Predictions{three[1], three[0], three[2]}, []int{1, 2, 3}, nil, "without the shift and of"},
		"other length":    {three, three, []int{1, 2}, nil, "the set has 2"},
		"truth":           {three, three, []int{1, 2, 3}, []int{1}, "1 labels of 3"},
		"shifted":         {three, []Predictions{p("a", 1), p("b", 1, 2), p("c", 1)}, []int{1, 2, 3}, nil, "shifted images"},
		"twice":           {[]Predictions{three[0], three[0], three[1]}, []Predictions{three[0], three[0], three[1]}, []int{1, 2, 3}, nil, "twice"},
		"no images":       {[]Predictions{p("a"), p("b"), p("c")}, []Predictions{p("a"), p("b"), p("c")}, nil, nil, "no images"},
		"same everywhere": {[]Predictions{p("a", 1, 2), p("b", 1, 2), p("c", 1, 2)}, []Predictions{p("a", 1, 2), p("b", 1, 2), p("c", 1, 2)}, []int{1, 2}, nil, "same x"},
	} {
		if _, err := agree(c.id, c.shifted, c.labels, c.truth, Clip{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; expected %q", name, err, c.want)
		}
	}
}

// The predictions of 30 classifiers that were published with CIFAR-10.1, where a variable names a copy of the repository: over all
// 435 pairs, slope 0.9946, intercept −0.3962, R² 0.9834.
func TestAgreementOfPublishedPredictions(t *testing.T) {
	folder := os.Getenv("CERTSPEC_CIFAR101")
	if folder == "" {
		t.Skip("CERTSPEC_CIFAR101 is not set: it names a copy of the repository CIFAR-10.1 with model_predictions")
	}
	read := func(set string) []Predictions {
		p, err := ReadPredictions(filepath.Join(folder, "model_predictions", set))
		if err != nil || len(p) != 30 {
			t.Fatalf("%d models, %v", len(p), err)
		}
		return p
	}
	id, v6 := read("original_predictions"), read("v6_predictions")
	labels := make([]int, len(id[0].Classes)) // accuracies do not enter the agreement line
	out, err := agree(id, v6, labels, nil, Clip{})
	if err != nil {
		t.Fatal(err)
	}
	if l := out.Line; l.N != 435 || !near(l.Slope, "0.9946", 4) || !near(l.Intercept, "-0.3962", 4) || !near(l.R2, "0.9834", 4) {
		t.Errorf("%+v", l)
	}
}
