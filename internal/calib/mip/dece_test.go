package mip

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib"
)

// softmaxDECE is the definition: a softmax over all bins.
func softmaxDECE(p *Program, z []float64, temperature float64) float64 {
	edges, size := p.Bins.Edges(), p.Bins.Len()
	sums := make([]float64, size)
	for i, v := range z {
		logits := make([]float64, size)
		bias := 0.0
		for m := range logits {
			if m > 0 {
				bias -= edges[m]
			}
			logits[m] = (float64(m+1)*v + bias) / temperature
		}
		top := slices.Max(logits)
		total := 0.0
		for m := range logits {
			logits[m] = math.Exp(logits[m] - top)
			total += logits[m]
		}
		c := 0.0
		if p.Correct[i] {
			c = 1
		}
		for m, o := range logits {
			sums[m] += o / total * (v - c)
		}
	}
	total := 0.0
	for _, s := range sums {
		total += math.Abs(s)
	}
	return total / float64(len(z))
}

// Section 11.G of the specification.
func TestSoftBins(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, bins := range []int{1, 2, 7, 15, 100} {
		p, z := synthetic(uint64(bins), 40, bins, .5)
		for i := range 10 {
			z[i] = r.Float64()
		}
		z[0], z[1], z[2] = 0, 1, .5
		soft := p.newSoftBins()
		for _, temperature := range []float64{1, .1, .01, .001} {
			if got, want := soft.assign(z, temperature), softmaxDECE(p, z, temperature); math.Abs(got-want) > 1e-13 {
				t.Errorf("%d bins, T = %v: dECE %v, by the definition %v", bins, temperature, got, want)
			}
			for i := range z {
				total := 0.0
				for k := range soft.count[i] {
					total += soft.weights[i*bins+soft.first[i]+k]
				}
				if math.Abs(total-1) > 1e-14 {
					t.Fatalf("%d bins, T = %v: weights of sample %d add up to %v", bins, temperature, i, total)
				}
			}
			gradient := make([]float64, len(z))
			soft.gradient(gradient, z, temperature)
			for i := 3; i < 20; i++ {
				h, old := 1e-6*temperature, z[i]
				z[i] = old + h
				up := softmaxDECE(p, z, temperature)
				z[i] = old - h
				down := softmaxDECE(p, z, temperature)
				z[i] = old
				if slope := (up - down) / (2 * h); math.Abs(slope-gradient[i]) > 1e-5*max(1/temperature/40, 1) {
					t.Fatalf("%d bins, T = %v: slope in z[%d] is %v, gradient %v", bins, temperature, i, slope, gradient[i])
				}
			}
		}
		// T → 0 away from the edges.
		for i := range z {
			m := p.Bins.Index(z[i])
			z[i] = p.edges[m] + (p.edges[m+1]-p.edges[m])*(.2+.6*r.Float64())
		}
		if got, want := soft.assign(z, 1e-5), must(calib.ECE(p.Correct, z, p.Bins)); math.Abs(got-want) > 1e-13 {
			t.Errorf("%d bins: dECE %v at T = 10⁻⁵, ECE %v", bins, got, want)
		}
	}
}

func TestDECE(t *testing.T) {
	p, clean := synthetic(2, 150, 15, .5)
	cce := exact(t, p)
	start := must(calib.ECE(p.Correct, clean, p.Bins))
	trials := Trials(clean, 40, 3)
	for i := range trials {
		trials[i].Steps = 150
	}
	runs := must(p.SearchDECE(t.Context(), clean, trials, nil))
	best := 0.0
	for i, run := range runs {
		ece := must(calib.ECE(p.Correct, run.Confidence, p.Bins))
		if ece != run.Best || run.Best > cce {
			t.Errorf("run %d: best %v, ECE of its confidences %v, optimum %v", i, run.Best, ece, cce)
		}
		for k, z := range run.Confidence {
			if z < p.Lower[k] || z > p.Upper[k] {
				t.Fatalf("run %d: confidence %v outside [%v, %v]", i, z, p.Lower[k], p.Upper[k])
			}
		}
		if run.Start == Clean && run.Best < start {
			t.Errorf("run %d: best %v is below its start %v", i, run.Best, start)
		}
		if again := must(p.DECE(t.Context(), clean, trials[i])); again.Best != run.Best {
			t.Errorf("run %d: %v, again %v", i, run.Best, again.Best)
		}
		best = max(best, run.Best)
	}
	// Random search reaches well above its starts: the ascent ascends.
	brier := must(calib.ECE(p.Correct, p.at(Brier, nil), p.Bins))
	if best < max(start, brier)+.02 {
		t.Errorf("best of 40 runs %v, starts %v and %v", best, start, brier)
	}
	if len(Trials(clean, 5, 0)) != 5 || !slices.Equal(Trials(clean, 20, 1), Trials(clean, 20, 1)) || slices.Equal(Trials(clean, 20, 1), Trials(clean, 20, 2)) {
		t.Error("trials do not depend on number and seed alone")
	}
}

func BenchmarkDECE(b *testing.B) {
	p, clean := synthetic(1, 2000, 15, .3)
	for b.Loop() {
		must(p.DECE(b.Context(), clean, DECE{}))
	}
}
