package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/certspec/certspec/internal/testkit"
)

// Confidences of 6,000 classes, whose pairs take 324 MB, are bounded in memory that grows with their number,
// not with the number of their pairs.
func TestConfidenceOfManyClasses(t *testing.T) {
	const classes = 6_000
	if testing.Short() {
		t.Skip("-short: takes seconds")
	}
	if testkit.Given() == "" {
		testkit.Limited(t, "ulimit -d 250000", "1")
		return
	}
	rng := rand.New(rand.NewPCG(7, 7))
	weights := func(n int, scale float64) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = scale * rng.NormFloat64()
		}
		return w
	}
	const hidden = 64
	for _, apart := range []float64{3, 0} { // one class leads, and all are alike
		b := NewBuilder(16)
		h := b.ReLU(b.Dense(0, hidden, weights(16*hidden, .3), weights(hidden, .3)))
		n, err := b.Network(b.Dense(h, classes, weights(hidden*classes, .05), weights(classes, apart)))
		if err != nil {
			t.Fatal(err)
		}
		x := uniform(rng, 16)
		began := time.Now()
		c, err := n.Confidence(t.Context(), x, mustBall(t, x, .01, Rigorous), CROWN, Rigorous)
		if err != nil || !(c.LogLower <= c.Log && c.Log <= c.LogUpper && c.LogUpper < 0 && c.LogLower >= -math.Log(classes)*1.001) {
			t.Errorf("%+v, %v", c, err)
		}
		t.Logf("%+v after %v", c, time.Since(began))
	}
}
