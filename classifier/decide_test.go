package classifier_test

import (
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"pgregory.net/rapid"
)

var (
	nan = float32(math.NaN())
	inf = float32(math.Inf(1))
)

// decide gives the class and the scores of one row of logits.
func decide(logits ...float32) (int32, []float32) {
	info := classifier.Info{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: len(logits)}
	result := classifier.Result{Classes: []int32{99}, Scores: make([]float32, len(logits))}
	for i := range result.Scores {
		result.Scores[i] = 99
	}
	classifier.Decide(info, classifier.Batch{N: 1, Grid: []int16{0}}, logits, &result)
	return result.Classes[0], result.Scores
}

func TestDecideClass(t *testing.T) {
	for _, c := range []struct {
		logits []float32
		want   int32
	}{
		{[]float32{0, 1, 2}, 2},
		{[]float32{5}, 0},
		{[]float32{3, 3, 3}, 0},
		{[]float32{1, 7, 7, 2}, 1},
		{[]float32{-2, -1, -1}, 1},
		{[]float32{float32(math.Copysign(0, -1)), 0}, 0}, // −0 and 0 are a tie
		{[]float32{-math.MaxFloat32, math.MaxFloat32}, 1},
		{[]float32{nan, 1, 2}, classifier.Miss},
		{[]float32{1, 2, nan}, classifier.Miss},
		{[]float32{1, inf}, classifier.Miss},
		{[]float32{-inf, 1}, classifier.Miss}, // finite where the class is, but not everywhere
	} {
		if got, _ := decide(c.logits...); got != c.want {
			t.Errorf("class of %v is %d; expected %d", c.logits, got, c.want)
		}
	}
}

func TestDecideScores(t *testing.T) {
	// softmax(1, 2, 3) = (1, e, e²)/(1 + e + e²), by hand.
	e := math.E
	sum := 1 + e + e*e
	for _, c := range []struct {
		logits []float32
		want   []float64
	}{
		{[]float32{1, 2, 3}, []float64{1 / sum, e / sum, e * e / sum}},
		{[]float32{1e30, 1e30}, []float64{.5, .5}},
		{[]float32{-math.MaxFloat32, math.MaxFloat32}, []float64{0, 1}},
		{[]float32{0, 0, 0, 0}, []float64{.25, .25, .25, .25}},
		{[]float32{1, nan}, []float64{0, 0}},
		{[]float32{inf, 1, 1}, []float64{0, 0, 0}},
	} {
		_, got := decide(c.logits...)
		for i, want := range c.want {
			if !(math.Abs(float64(got[i])-want) <= 1e-7) {
				t.Errorf("scores of %v are %v; expected %v", c.logits, got, c.want)
				break
			}
		}
	}
}

func TestDecideRows(t *testing.T) {
	info := classifier.Info{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}, Classes: 2}
	logits := []float32{0, 1, 1, 0, nan, 0, 0, 1}
	batch := classifier.Batch{N: 4, Real: []float32{0, 0, 0, 0, 0, 0, 0, inf}}
	result := classifier.Result{Classes: make([]int32, 4)}
	classifier.Decide(info, batch, logits, &result)
	if want := []int32{1, 0, classifier.Miss, classifier.Miss}; !slices.Equal(result.Classes, want) {
		t.Errorf("classes %v; expected %v: a NaN or an infinite input is a Miss of its row only", result.Classes, want)
	}
	if result.Scores != nil {
		t.Error("scores were made that nobody wanted")
	}
}

func TestDecidePanicsOnLength(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic for three logits of two classes")
		}
	}()
	info := classifier.Info{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 2}
	classifier.Decide(info, classifier.Batch{N: 1, Grid: []int16{0}}, []float32{1, 2, 3}, &classifier.Result{Classes: make([]int32, 1)})
}

// Any row: a Miss exactly where a value is not finite; else no value is larger than that
// of the class, and none before it is as large.
func TestDecideProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.OneOf(rapid.Float32(), rapid.SampledFrom([]float32{nan, inf, -inf, 0, 1, 1, 2}))
		row := rapid.SliceOfN(value, 1, 12).Draw(t, "row")
		class, scores := decide(row...)
		miss := slices.ContainsFunc(row, func(v float32) bool { return v != v || v > math.MaxFloat32 || v < -math.MaxFloat32 })
		if miss != (class == classifier.Miss) {
			t.Fatalf("class %d", class)
		}
		sum := 0.0
		for c, v := range row {
			sum += float64(scores[c])
			if miss {
				continue
			}
			if v > row[class] || c < int(class) && v == row[class] {
				t.Fatalf("class %d, but class %d has %g", class, c, v)
			}
		}
		want := 1.0
		if miss {
			want = 0
		}
		if !(math.Abs(sum-want) < 1e-6) {
			t.Fatalf("scores %v sum to %g", scores, sum)
		}
	})
}
