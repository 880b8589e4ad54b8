package query

import (
	"context"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mathext"

	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/rule"
)

// counts visits all ways to put n samples into so many outcomes, with their multinomial probability.
func counts(n int, p []float64, visit func(k []int, prob float64)) {
	k := make([]int, len(p))
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	var put func(at, left int, log float64)
	put = func(at, left int, log float64) {
		add := func(c int) float64 {
			if c == 0 {
				return 0
			}
			return float64(c)*math.Log(p[at]) - lg(c)
		}
		if at == len(p)-1 {
			if p[at] == 0 && left > 0 {
				return
			}
			k[at] = left
			visit(k, math.Exp(log+add(left)))
			return
		}
		for c := 0; c <= left && (p[at] > 0 || c == 0); c++ {
			k[at] = c
			put(at+1, left-c, log+add(c))
		}
	}
	put(0, n, lg(n))
}

// plan is a rule on ten noise samples a block, with looks behind the selection after so many.
func plan(t *testing.T, h ledger.Header) *stopping.Plan {
	t.Helper()
	p, err := stopping.Of(h)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A claim is false with probability at most α, by exact summation over all counts: also if an image is stopped at the
// worse of two looks, after both were seen. Probabilities taken for bounds are caught.
func TestFalseClaimsExactly(t *testing.T) {
	const alpha = 0.1
	header := func(r ledger.Rule) ledger.Header {
		h := ledger.Header{Sigma: 1, Alpha: alpha, Selection: 10, Block: 10, Rule: r}
		h.Model.Classes = 3
		return h
	}
	threshold, err := bound.Threshold(0.3, 1)
	if err != nil {
		t.Fatal(err)
	}
	settings := rule.Settings{Rule: rule.Anytime, Sigma: 1, Alpha: alpha, Block: 10, Selection: 10, MaxSamples: 1000}
	mixture, err := stopping.New(settings)
	if err != nil {
		t.Fatal(err)
	}
	two := func(alpha float64) []ledger.Level {
		return []ledger.Level{{Samples: 20, Alpha: alpha}, {Samples: 50, Alpha: alpha}}
	}
	rules := map[string]ledger.Rule{
		"fixed":   {Name: rule.Fixed, Looks: []ledger.Level{{Samples: 60, Alpha: alpha}}},
		"staged":  {Name: rule.Staged, Tolerance: 1, Looks: two(alpha / 2)},
		"anytime": mixture.Header(),
		"betting": {Name: rule.Betting, Futility: alpha, Looks: two(alpha),
			Targets: []ledger.Target{{Probability: "0.500000000000000"}, {Radius: 0.3, Probability: decimalText(threshold.P)}}},
	}
	highest, broken := 0.0, 0.0
	for name, r := range rules {
		p := plan(t, header(r))
		for _, q := range []Question{{1, .1, false}, {1, .5, false}, {2, 0, false}, {2, .3, false}} {
			if name == "betting" && q.Share > 0 {
				continue
			}
			// A claim follows from the counts, whatever law they are of.
			cache := map[[8]int]float64{}
			claimed := func(ends []int, all ...[]int) float64 {
				var key [8]int
				for i, k := range all {
					copy(key[4*i:], k)
				}
				goesOn := r.Name == rule.Anytime && len(all) == 2 // one look does
				if goesOn {
					key = [8]int{all[0][0] + all[1][0], all[0][1] + all[1][1], all[0][2] + all[1][2], all[0][3] + all[1][3], -1}
				}
				if z, ok := cache[key]; ok {
					return z
				}
				looks := []ledger.Look{{To: 1}}
				from := 1
				for i, k := range all {
					if goesOn {
						if k = key[:4]; i == 0 {
							continue
						}
					}
					l := ledger.Look{From: from, To: ends[i]/10 + 1, Misses: k[3]}
					for c, n := range k[:3] {
						if n > 0 {
							l.Counts = append(l.Counts, ledger.Count{Class: int32(c), N: n})
						}
					}
					looks, from = append(looks, l), l.To
				}
				c, err := q.derive(p, 1, 0, looks)
				if err != nil {
					t.Fatal(err)
				}
				z := -1.0
				if c.Class == 0 {
					z = c.Radius
				}
				cache[key] = z
				return z
			}
			for _, law := range [][]float64{ // three classes, and misses; the first is certified
				{.5, .3, .2, 0}, {.45, .3, .25, 0}, {.36, .32, .32, 0}, {.34, .33, .33, 0},
				{.9, .05, .05, 0}, {.55, .45, 0, 0}, {.2, .4, .4, 0}, {.6, .25, 0, .15}, {.3, .1, .2, .4},
			} {
				if name != "fixed" && (law[3] > 0 || testing.Short() && law[0] != .36) { // millions of ways
					continue
				}
				truth := exactRadius(law, q.TopK)
				wrong := 0.0
				if name == "fixed" {
					caught := 0.0
					counts(60, law, func(k []int, prob float64) {
						if claimed([]int{60}, k) > truth {
							wrong += prob
						}
						part := func(n int) int64 { return int64(n) * one15 / 60 }
						others := []int64{part(max(k[1], k[2]) + k[3]), part(min(k[1], k[2]) + k[3])}
						if plain, ok := topRadius(part(k[0]), others[:q.TopK], q.TopK); ok && plain > truth {
							caught += prob
						}
					})
					broken = max(broken, caught)
				} else {
					counts(20, law, func(first []int, a float64) {
						if claimed([]int{20}, first) > truth {
							wrong += a
							return
						}
						counts(30, law, func(second []int, b float64) {
							if claimed([]int{20, 50}, first, second) > truth {
								wrong += a * b
							}
						})
					})
				}
				if highest = max(highest, wrong); wrong > alpha {
					t.Errorf("%s, %v, %+v: false with probability %.4f, at most %v is claimed", name, law, q, wrong, alpha)
				}
			}
		}
	}
	if highest < alpha/10 || broken < 2*alpha {
		t.Errorf("the highest rate is %v, of probabilities in the place of bounds %v: the sum shows nothing", highest, broken)
	}
	t.Logf("at most %.4f of α = %v; probabilities in the place of bounds: %.3f", highest, alpha, broken)
}

func decimalText(p float64) string {
	return "0." + strings.TrimPrefix(decimal(p).FloatString(15), "0.")
}

// exactRadius is the largest shift, in units of σ, at which class 0 is in the top k of every classifier with such a
// law, or −1. A miss may be any other class.
func exactRadius(law []float64, k int) float64 {
	up := []float64{max(law[1], law[2]) + law[3], min(law[1], law[2]) + law[3]}
	quantile, cdf := mathext.NormalQuantile, func(x float64) float64 { return math.Erfc(-x/math.Sqrt2) / 2 }
	best, sum := -1.0, 0.0
	for t := 1; t <= k; t++ {
		sum += up[k-t]
		s := min(sum, 1-law[0])
		if s <= 0 {
			return math.Inf(1)
		}
		holds := func(z float64) bool { return float64(t)*cdf(quantile(law[0])-z) >= cdf(quantile(s)+z) }
		if !holds(0) {
			continue
		}
		low, high := 0.0, 20.0
		for range 80 {
			if m := (low + high) / 2; holds(m) {
				low = m
			} else {
				high = m
			}
		}
		best = max(best, low)
	}
	return best
}

func TestTopRadius(t *testing.T) {
	q := mathext.NormalQuantile
	for _, v := range []struct {
		p    float64
		u    []float64
		k    int
		want float64
	}{
		{.9, nil, 1, q(.9)},                                  // Cohen et al., one-sided
		{.9, []float64{.02}, 1, (q(.9) - q(.02)) / 2},        // theorem 1
		{.9, []float64{.3}, 1, q(.9)},                        // all others have .1
		{.4, []float64{.3}, 1, (q(.4) - q(.3)) / 2},          // below one half
		{.9, nil, 3, q(.9) + q(.75)},                         // 3 others at (1−p)/3 each
		{.3, nil, 3, q(.3) + q(.75)},                         // above one quarter
		{.9, []float64{.05, .001}, 2, (q(.9) - q(.001)) / 2}, // the second of the others alone
		{.9, []float64{.05, .05}, 2, q(.9) + q(2./3)},        // both together
		{.2, nil, 3, -1}, {.3, []float64{.3000001}, 1, -1},   // nothing
		{0, []float64{0}, 1, -1}, {.6, []float64{1}, 1, q(.6)}, // ends
	} {
		var u []int64
		for _, x := range v.u {
			u = append(u, units(x))
		}
		z, ok := topRadius(units(v.p), u, v.k)
		if !ok {
			z = -1
		}
		if z > v.want || z < v.want-4e-9 {
			t.Errorf("%+v: %v", v, z)
		}
	}
}

// Beside every choice of images that an adversary has, false claims included, the greedy one leaves the fewest.
func TestUnder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for range 300 {
		a := &Answer{Header: ledger.Header{Alpha: 0.05}}
		n := 1 + rng.IntN(9)
		var radii []float64
		for i := range n {
			c := Claim{Image: i, Label: rng.IntN(2), Radius: float64(rng.IntN(8)) / 8}
			if rng.IntN(4) == 0 {
				c.Class = -1
			}
			if a.Claims = append(a.Claims, c); c.Class == c.Label {
				radii = append(radii, c.Radius)
			}
		}
		budget := float64(rng.IntN(8)) / 16
		s, err := a.Under(budget, 0.01)
		if err != nil {
			t.Fatal(err)
		}
		most := 0
		for broken := range 1 << len(radii) {
			for free := broken; ; free = (free - 1) & broken { // all its subsets
				cost := 0.0
				for i, r := range radii {
					if broken>>i&1 == 1 && free>>i&1 == 0 {
						cost += r
					}
				}
				if bits.OnesCount(uint(free)) <= s.False && cost <= budget*float64(n) {
					most = max(most, bits.OnesCount(uint(broken)))
				}
				if free == 0 {
					break
				}
			}
		}
		if s.Correct != len(radii)-most {
			t.Fatalf("%+v of radii %v: an adversary breaks %d", s, radii, most)
		}
		tail, below := 0.0, 0.0 // of more than False false claims, and of more than one fewer
		for k := 0; k <= n; k++ {
			lb := math.Exp(logChoose(n, k) + float64(k)*math.Log(0.05) + float64(n-k)*math.Log(0.95))
			if k > s.False {
				tail += lb
			}
			if k >= s.False {
				below += lb
			}
		}
		if tail > 0.01 || s.False > 0 && below <= 0.01 {
			t.Fatalf("%d of %d claims: more are false with probability %v", s.False, n, tail)
		}
	}
}

func logChoose(n, k int) float64 {
	lg := func(x int) float64 { v, _ := math.Lgamma(float64(x + 1)); return v }
	return lg(n) - lg(k) - lg(n-k)
}

func TestRefusals(t *testing.T) {
	results := "../../../notebooks/results/"
	whole := testkit.Read(t, results+"quickstart.ledger")
	cut := testkit.Write(t, whole[:strings.Index(string(whole), "claims ")], t.TempDir(), "cut.ledger")
	for _, v := range []struct {
		file string
		q    Question
		want string
	}{
		{cut, Question{TopK: 1}, "not closed"},
		{"../../golden/testdata/rs-shard-blocks.ledger", Question{TopK: 1}, "merge all shards"},
		{results + "quickstart.ledger", Question{}, "the top 0 of 10 classes: expected 1 to 9"},
		{results + "quickstart.ledger", Question{TopK: 10}, "expected 1 to 9"},
		{results + "quickstart.ledger", Question{TopK: 1, Share: 1}, "expected a number of at least 0 and below 1"},
		{results + "quickstart.ledger", Question{TopK: 1, Share: math.NaN()}, "expected a number of at least 0 and below 1"},
		{results + "cifar10-resnet20-s025-betting.ledger", Question{TopK: 1, Share: .1}, "leaves no share"},
		{"none", Question{TopK: 1}, "no such file"},
	} {
		if _, err := Ask(t.Context(), v.file, v.q); err == nil || !strings.Contains(err.Error(), v.want) {
			t.Errorf("%s, %+v: %v, expected %q", v.file, v.q, err, v.want)
		}
	}
	a, err := Ask(t.Context(), results+"quickstart.ledger", Question{TopK: 2, Share: .1, LInf: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range [][2]float64{{math.NaN(), .01}, {-1, .01}, {math.Inf(1), .01}, {1, 0}, {1, .5}, {1, math.NaN()}} {
		if s, err := a.Under(v[0], v[1]); err == nil {
			t.Errorf("budget %v, level %v: %+v", v[0], v[1], s)
		}
	}
	if c, err := (&Answer{}).ByClass([]float64{0}, .01); err == nil {
		t.Errorf("no labels: %+v", c)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Ask(stopped, results+"quickstart.ledger", Question{TopK: 1}); err == nil {
		t.Error("it goes on when it is told to stop")
	}
}

func BenchmarkAsk10000Images(b *testing.B) {
	for b.Loop() {
		file := "../../../notebooks/results/fmnist-cnn-s050.ledger"
		if _, err := Ask(b.Context(), file, Question{TopK: 3, Share: .1}); err != nil {
			b.Fatal(err)
		}
	}
}
