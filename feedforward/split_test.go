package feedforward

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

// small draws a network of two inputs, a convolution among some, and one output.
func small(t *testing.T, rng *rand.Rand) *Network {
	t.Helper()
	b := NewBuilder(1, 1, 2)
	at := 0
	if rng.IntN(2) == 0 {
		o := ConvOptions{Kernel: [2]int{1, 2}, Pad: [4]int{0, 1, 0, 1}, Stride: [2]int{1, 1 + rng.IntN(2)}}
		at = b.ReLU(b.Conv(at, 4, o, normals(rng, 8), normals(rng, 4)))
	}
	at = b.Reshape(at, b.Shape(at).Size())
	h := b.ReLU(b.Dense(at, 7, normals(rng, 7*b.Shape(at).Size()), normals(rng, 7)))
	g := b.ReLU(b.Dense(h, 7, normals(rng, 49), normals(rng, 7)))
	n, err := b.Network(b.Dense(b.Sum([]float64{1, 1}, g, h), 1, normals(rng, 7), nil))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// Slopes that are optimised and ReLUs that are split prove what is so with little to spare, more than CROWN does, and
// never what is not: the largest output over a box in the plane is found by a fine grid.
func TestSplitsProveWhatIsSo(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 33))
	proven := map[Method]int{}
	const networks = 30
	for range networks {
		n := small(t, rng)
		box := mustBall(t, []float64{0.5, 0.5}, 0.4, Rigorous)
		largest := math.Inf(-1)
		for i := range 81 {
			for j := range 81 {
				f, err := n.Forward([]float64{box.Lower[0] + float64(i)*0.8/80, box.Lower[1] + float64(j)*0.8/80})
				if err != nil {
					t.Fatal(err)
				}
				largest = max(largest, f[0])
			}
		}
		below := map[Method]float64{}
		for _, margin := range []float64{0.3, -1e-4} { // with bounds of their own for each part, and no look before
			b, err := n.bounder(t.Context(), box, Split, Rigorous)
			if err != nil {
				t.Fatal(err)
			}
			s := &search{bounder: b.live(), rows: []float64{1}, offsets: []float64{-largest - margin}, most: splitBudget / 8}
			switch below := s.run(t.Context()); {
			case s.err != nil:
				t.Fatal(s.err)
			case below && margin < 0:
				t.Errorf("parts: the output is below %v, which it exceeds", largest+margin)
			case below:
				proven["parts"]++
			}
		}
		for _, m := range []Method{FullCROWN, AlphaCROWN, Split} {
			for _, margin := range []float64{0.3, -1e-4} {
				u, err := n.LinearBounds(t.Context(), box, []float64{1}, []float64{-largest - margin}, m, Rigorous)
				if err != nil {
					t.Fatal(err)
				}
				switch {
				case margin < 0 && u[0] < 0:
					t.Errorf("%s: the output is below %v, which it exceeds", m, largest+margin)
				case margin > 0:
					if below[m] = u[0]; u[0] < 0 {
						proven[m]++
					}
				}
			}
		}
		if below[AlphaCROWN] > below[FullCROWN]+1e-6 || below[Split] > max(0, below[AlphaCROWN]) {
			t.Errorf("bounds %v: a dearer one is larger", below)
		}
	}
	t.Log(proven)
	if !(proven[FullCROWN] < proven[AlphaCROWN] && proven[AlphaCROWN] < proven[Split]) || min(proven[Split], proven["parts"]) < networks*8/10 {
		t.Errorf("of %d outputs that are below, %v are proven", networks, proven)
	}
}

// Whatever the slopes, and whatever β ≥ 0 is, a bound holds at all inputs at which the split ReLUs have their signs.
func TestAnySlopesAndSplitsHold(t *testing.T) {
	rng := rand.New(rand.NewPCG(10, 33))
	met := 0
	for range 60 {
		n := small(t, rng)
		box := mustBall(t, []float64{0.5, 0.5}, 0.4, Rigorous)
		r, _, err := n.intervals(t.Context(), box, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		rows, offsets := make([]float64, kernel.Width), make([]float64, kernel.Width)
		for k := range rows {
			rows[k] = float64(1 - 2*(k%2))
		}
		slopes := n.newWalk(t.Context(), r, offsets, adaptive, Rigorous).startSlopes(n.output)
		for i, open := range slopes.open {
			for _, j := range open {
				for k := range kernel.Width {
					slopes.alpha[i][j][k] = rng.Float32()
					if rng.IntN(4) == 0 {
						slopes.fixed = append(slopes.fixed, fixed{i, j, k, float32(1 - 2*rng.IntN(2)), 3 * rng.Float32()})
					}
				}
			}
		}
		u, err := n.tune(t.Context(), r, n.output, rows, offsets, slopes, tuning{1, 0, false, new(int)}, Rigorous)
		if err != nil {
			t.Fatal(err)
		}
		for range 400 {
			values := n.values([]float64{0.1 + 0.8*rng.Float64(), 0.1 + 0.8*rng.Float64()})
		lanes:
			for k := range kernel.Width {
				for _, f := range slopes.fixed {
					if f.row == k && float64(f.sign)*values[n.nodes[f.node].in[0]][f.at] < 0 {
						continue lanes
					}
				}
				met++
				if f := rows[k] * values[n.output][0]; f > u[k] {
					t.Fatalf("row %d is %v, above its bound %v", k, f, u[k])
				}
			}
		}
	}
	if met < 1000 {
		t.Errorf("%d points have the signs: too few to show anything", met)
	}
}
