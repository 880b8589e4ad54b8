package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Bounds do not depend on how many rows are walked back at once.
func TestBlocks(t *testing.T) {
	defer func(values int) { blockValues = values }(blockValues)
	rng := rand.New(rand.NewPCG(3, 8))
	for range 60 {
		n := randomNetwork(t, rng, 0.5)
		x := uniform(rng, n.InputShape().Size())
		for _, method := range []Method{IBP, CROWN, FullCROWN} {
			blockValues = 1 << 23
			whole, err := n.Differences(t.Context(), mustBall(t, x, 0.05, Rigorous), method, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			blockValues = 1 << rng.IntN(12)
			parts, err := n.Differences(t.Context(), mustBall(t, x, 0.05, Rigorous), method, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			for i := range whole {
				if math.Float64bits(whole[i]) != math.Float64bits(parts[i]) {
					t.Fatalf("%s, blocks of %d values: bound %d is %v, in one block %v", method, blockValues, i, parts[i], whole[i])
				}
			}
		}
	}
}
