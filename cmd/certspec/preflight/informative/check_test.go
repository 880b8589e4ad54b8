package informative

import (
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/feedforward"
)

// Bounds grow with the radius, CROWN's are no looser here at any, and what is useful is the largest radius whose median says something.
func TestCheck(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 2))
	values := func(n int, draw func() float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = draw()
		}
		return v
	}
	weights := func(n int) []float64 { return values(n, func() float64 { return rng.NormFloat64() / 2 }) }
	b := feedforward.NewBuilder(4, 4, 1)
	n, err := b.Network(b.Dense(b.ReLU(b.Dense(0, 12, weights(12*16), weights(12))), 3, weights(36), weights(3)))
	if err != nil {
		t.Fatal(err)
	}
	var points [][]float64
	for range 5 {
		points = append(points, values(16, rng.Float64))
	}
	radii := []float64{0, .01, .03, 1}
	tried, useful, err := Check(t.Context(), n, points, nil, radii...)
	if err != nil || len(tried) != 2*len(radii) {
		t.Fatalf("%d tried, %v", len(tried), err)
	}
	want := 0.
	for k, b := range tried {
		if b.Epsilon != radii[k%len(radii)] || k%len(radii) > 0 && b.Median < tried[k-1].Median {
			t.Errorf("%d: %+v after %+v", k, b, tried[max(0, k-1)])
		}
		if b.Median <= .99 {
			want = max(want, b.Epsilon)
		}
	}
	if useful != want || useful < .01 {
		t.Errorf("useful up to %v, want %v", useful, want)
	}
	if tried[0].Method != feedforward.IBP || tried[4].Method != feedforward.CROWN || tried[6].Median > tried[2].Median {
		t.Errorf("%+v", tried)
	}
	if _, _, err := Check(t.Context(), n, nil, nil, .1); err == nil {
		t.Error("no points pass")
	}
	if _, _, err := Check(t.Context(), n, points, nil, -1); err == nil {
		t.Error("a negative radius passes")
	}
}
