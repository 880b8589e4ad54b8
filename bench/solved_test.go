package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// phi is Φ in units of levels.
func phi(levels float64) float64 { return math.Erfc(-levels/(255*solvedSigma)/math.Sqrt2) / 2 }

// TestSolvedByClosedForms compares probabilities and distances, which are sums over levels and searches, with formulas. The boundaries lie half way between levels, where rounding moves nothing.
func TestSolvedByClosedForms(t *testing.T) {
	checked := 0
	for _, k := range thirty {
		if k.Impure || k.Trap {
			continue
		}
		x, y := float64(k.Image[0]), float64(k.Image[len(k.Image)-1])
		want, distance := math.NaN(), math.NaN() // p of the class; levels
		switch w := k.With; k.Kind {
		case "half":
			want, distance = phi(x-w[0]), x-w[0]
		case "cancel":
			want, distance = phi(x-87.5), x-87.5
		case "slab":
			// 1 is the class while the middle has more than half; beside p₁ = ½ the other one begins.
			inside := func(x float64) float64 { return phi(w[1]-x) - phi(w[0]-x) }
			if want = inside(x); want < .5 {
				want, distance = 1-want, math.Inf(1) // no input has class 1
				break
			}
			low := w[0] - 200
			high := x
			for range 60 {
				if m := (low + high) / 2; inside(m) < .5 {
					low = m
				} else {
					high = m
				}
			}
			distance = x - high
		case "and":
			want = phi(x-w[0]) * phi(y-w[1])
			f := func(angle float64) float64 {
				low, high := 0., 400.
				for range 60 {
					if m := (low + high) / 2; phi(x-w[0]+m*math.Cos(angle))*phi(y-w[1]+m*math.Sin(angle)) > .5 {
						low = m
					} else {
						high = m
					}
				}
				return high
			}
			distance = math.Inf(1)
			for i := range 20_000 {
				distance = min(distance, f(math.Pi+math.Pi/2*float64(i)/20_000))
			}
		case "xor": // q = 2ab − a − b + 1 = ½ where a or b is ½
			a, b := phi(x-w[0]), phi(y-w[1])
			want, distance = a*b+(1-a)*(1-b), min(x-w[0], y-w[1])
		case "steps":
			if len(w) == 3 {
				want = phi(w[2]-x) - phi(w[1]-x)
				low, high := 0., 200. // towards class 3, where the probabilities of 2 and 3 meet
				for range 60 {
					if m := (low + high) / 2; phi(w[2]-x-m)-phi(w[1]-x-m) > 1-phi(w[2]-x-m) {
						low = m
					} else {
						high = m
					}
				}
				up := high
				low, high = 0, 200 // and of 2 and 1, or 0
				for range 60 {
					at := x - (low+high)/2
					if phi(w[2]-at)-phi(w[1]-at) > max(phi(w[1]-at)-phi(w[0]-at), phi(w[0]-at)) {
						low = x - at
					} else {
						high = x - at
					}
				}
				distance = min(up, high)
			} else {
				want, distance = phi(w[1]-x)-phi(w[0]-x), 1 // to where the classes 0 and 1, 2 meet
				for d := 0.0; ; d += 1e-4 {
					up, down := x+d, x-d
					if phi(w[1]-up)-phi(w[0]-up) <= 1-phi(w[1]-up) || phi(w[1]-down)-phi(w[0]-down) <= phi(w[0]-down) {
						distance = d
						break
					}
				}
			}
		case "constant", "equal", "large":
			want, distance = 1, math.Inf(1)
		case "nan":
			want = max(phi(w[0]-x), 1-phi(w[0]-x))
			distance = math.Abs(w[0] - x)
		default:
			continue
		}
		checked++
		got := k.onGrid()
		p := 1 - got.P[0] // of no answer
		if got.Class >= 0 {
			p = got.P[got.Class]
		} else if k.Kind != "nan" {
			t.Errorf("%s has no class", k.Name)
			continue
		}
		if math.Abs(p-want) > 1e-9 {
			t.Errorf("%s: probability %.12f, by the formula %.12f", k.Name, p, want)
		}
		if got.Class < 0 {
			continue
		}
		if distance /= 255; distance > 4*solvedSigma {
			if got.Nearest != nil {
				t.Errorf("%s: nearest %g, by the formula none within 4σ", k.Name, *got.Nearest)
			}
		} else if got.Nearest == nil || math.Abs(*got.Nearest-distance) > 1e-6 {
			t.Errorf("%s: nearest %+v, by the formula %g", k.Name, got, distance)
		}
	}
	if checked < 18 {
		t.Errorf("%d classifiers have a formula, expected 18", checked)
	}
}

// TestSolvedBySampling compares the probabilities of those without a formula with real Gaussian noise, rounded here, at 5 standard errors, and the
// nearest input with points on the sphere: at 1.001 of the distance some direction has lost the class, at .999 none has.
func TestSolvedBySampling(t *testing.T) {
	const n = 200_000
	noise := distuv.Normal{Sigma: 255 * solvedSigma, Src: rand.NewPCG(1, 2)}
	for _, k := range thirty {
		if k.Impure || k.Trap || k.Kind == "nan" {
			continue
		}
		got := k.onGrid()
		counts := make([]float64, k.Classes)
		z := make([]int16, len(k.Image))
		for range n {
			for i, v := range k.Image {
				z[i] = int16(min(levelHigh, max(levelLow, math.Round(float64(v)+noise.Rand()))))
			}
			row := make([]float32, k.Classes)
			k.logits(z, row)
			best := 0
			for c, v := range row {
				if v > row[best] {
					best = c
				}
			}
			counts[best]++
		}
		for c, p := range got.P {
			if d := math.Abs(counts[c]/n - p); d > 5*math.Sqrt(p*(1-p)/n)+1e-9 {
				t.Errorf("%s: class %d has %.5f of the samples, probability %.5f", k.Name, c, counts[c]/n, p)
			}
		}
		if len(k.Image) < 2 || got.Nearest == nil {
			continue
		}
		table := k.table()
		lost := func(d float64) bool {
			for i := range 3000 {
				angle := 2 * math.Pi * float64(i) / 3000
				p := table.probabilities([2]float64{float64(k.Image[0]) + 255*d*math.Cos(angle), float64(k.Image[1]) + 255*d*math.Sin(angle)})
				if p[got.Class+1] <= .5 {
					return true
				}
			}
			return false
		}
		if lost(.999**got.Nearest) || !lost(1.001**got.Nearest) {
			t.Errorf("%s: the nearest input of another class is not at %g", k.Name, *got.Nearest)
		}
	}
}

func TestThirty(t *testing.T) {
	if len(thirty) != 30 {
		t.Errorf("there are %d classifiers, expected 30", len(thirty))
	}
}
