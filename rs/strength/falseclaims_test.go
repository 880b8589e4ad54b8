package strength_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/bound"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/rs/strength"
)

// solvedNoise is noise with a grey mode on images of two halves of 50 values, in levels: s of each value, t of all.
type solvedNoise struct{ s, t float64 }

// law is the exact law of the sums of both halves over the smoothing without the mode, less those of the image.
func (n solvedNoise) law() (sums []float64, middle int) {
	reach := int(6*n.s) + 2
	one := make([]float64, 2*reach+1)
	for i := range one {
		one[i] = within(float64(i-reach), n.s)
	}
	sums = []float64{1}
	for range 50 {
		next := make([]float64, len(sums)+len(one)-1)
		for i, p := range sums {
			for j, q := range one {
				next[i+j] += p * q
			}
		}
		sums = next
	}
	return sums, 50 * reach
}

// within is the probability that a normal number of deviation sd is rounded to k.
func within(k, sd float64) float64 {
	return distuv.UnitNormal.CDF((k+.5)/sd) - distuv.UnitNormal.CDF((k-.5)/sd)
}

// probability of class 1 at an image whose halves are a and b levels bright; all is far from the limits.
func (n solvedNoise) probability(a, b int, class func(first, second int) int) (p float64) {
	sums, middle := n.law()
	for k := -int(6 * n.t); k <= int(6*n.t); k++ {
		for i, first := range sums {
			if first < 1e-12 {
				continue
			}
			for j, second := range sums {
				if second > 1e-12 && class(50*(a+k)+i-middle, 50*(b+k)+j-middle) == 1 {
					p += within(float64(k), n.t) * first * second
				}
			}
		}
	}
	return p
}

// Claims from ledgers on noise with a grey mode against classifiers whose smoothed answers are known exactly: as many
// are false as α allows, also where the claim ends within a hair of the truth. A prover that moves by shifts that are
// not whole, or forgets what a shift costs, or a sampler that clamps before the last noise, makes false claims nearly
// always.
func TestFalseClaims(t *testing.T) {
	const runs, n, alpha = 30, 5000, .05
	allowed := 0 // most false claims that a sound procedure makes but once in a million
	for 1-(distuv.Binomial{N: runs, P: alpha}).CDF(float64(allowed)) > 1e-6 {
		allowed++
	}
	for name, c := range map[string]struct {
		solvedNoise
		a, b  int // levels of both halves
		over  string
		most  int // the largest strength
		class func(first, second int) int
		plant func(square, sum, squares float64) float64 // (sN)² of a prover that is wrong, from that at the best real shift
	}{
		// One level brighter, but for the half that is white already. Half a level of grey is the best real shift. The
		// difference of the halves shows the rest, and how far the mean is from a whole level shows the half.
		"shifts that are not whole": {solvedNoise{2, 5}, 100, 255, "brightness=0:1", 1, func(first, second int) int {
			mean := float64(first+second-50*355) / 100
			apart := float64(second-first)/50 - 155
			return index(-apart/.4+math.Abs(mean-math.Round(mean))/.2 < 4.1)
		}, func(square, _, _ float64) float64 { return square }},
		"shifts that cost nothing": {solvedNoise{2, 5}, 100, 100, "brightness=0:20", 20, func(first, second int) int {
			return index(float64(first+second)/100 < 112.9)
		}, func(_, sum, squares float64) float64 { return squares - sum*sum/100 }},
	} {
		sigma := c.s / 255
		truth := make([]bool, c.most+1) // whether class 1 is the likeliest
		for theta := range truth {
			truth[theta] = c.probability(min(c.a+theta, 255), min(c.b+theta, 255), c.class) > .5
		}
		if !truth[0] || truth[c.most] {
			t.Fatalf("%s: %v: this case decides nothing", name, truth)
		}
		data := halves(runs, c.a, c.b)
		path := filepath.Join(t.TempDir(), "a.ledger")
		run, err := rs.Certify(t.Context(), ofHalves(c.class), data, rs.Options{Sigma: sigma, Alpha: alpha, Rule: rs.Fixed,
			MaxSamples: n, Noise: noise.Law(fmt.Sprintf("spectrum/1:grey@0=%v", c.t/255)), Ledger: path, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		f, err := strength.FromLedger(t.Context(), path, data, strength.Options{Over: strengths(t, c.over)})
		if err != nil {
			t.Fatal(err)
		}
		wrong, planted := 0, 0
		for i, l := range f.Lines {
			bad, worse := false, false
			var to int
			fmt.Sscan(l.To, &to)
			for theta, one := range truth {
				a, b := float64(min(theta, 255-c.a)), float64(min(theta, 255-c.b))
				sum, squares := 50*(a+b), 50*(a*a+b*b)
				curve := 100 + c.s*c.s/(c.t*c.t)
				square := c.plant(squares-sum*sum/curve, sum, squares) / (c.s * c.s)
				bad = bad || l.Class >= 0 && theta <= to && one != (l.Class == 1)
				worse = worse || l.Class >= 0 && math.Sqrt(square)*sigma < run.Rows[i].Radius && one != (l.Class == 1)
			}
			wrong, planted = wrong+index(bad), planted+index(worse)
		}
		if wrong > allowed || planted <= runs/2 {
			t.Errorf("%s: %d of %d claims are false, at most %d may be; with the error %d", name, wrong, runs, allowed, planted)
		}
		t.Logf("%s: %d of %d claims false, with the error %d", name, wrong, runs, planted)
	}
	// With the clamp before the last noise a white image comes back from the limit, where a sound sampler keeps it. A
	// class between 136 levels and the limit then has a majority, where truly it has none.
	const limit, image, from, s, sd = 510., 200., 136., 2., 255.
	between := func(k, low, high float64) float64 {
		return distuv.UnitNormal.CDF((high-k)/s) - distuv.UnitNormal.CDF((low-k)/s)
	}
	var last, early float64 // probability of one value
	for k := -1200; k <= 1200; k++ {
		p, at := within(float64(k), sd), image+float64(k)
		last += p * between(at, from-.5, limit-.5)
		early += p * between(min(at, limit), from-.5, limit-.5)
	}
	class := func(z []float32) int { return index(z[0] > (from-.5)/255 && z[0] < (limit-.5)/255) }
	wrong, planted := 0, 0
	one := &imageset.Images{Name: "white", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: []string{"0", "1"}}
	for i := range runs {
		one.IDs, one.Labels, one.Pixels = append(one.IDs, i), append(one.Labels, -1), append(one.Pixels, image)
		draws := distuv.Binomial{N: n, P: early, Src: rand.NewPCG(uint64(i), 3)}
		lower, err := bound.Lower(int(draws.Rand()), n, alpha)
		planted += index(err == nil && lower.P > .5)
	}
	one.Digest = one.ContentDigest()
	run, err := rs.Certify(t.Context(), classifier.Func(one.Shape, 2, func(z []float32) []float32 {
		return []float32{0, float32(class(z)) - .5}
	}), source{one}, rs.Options{Sigma: s / 255, Alpha: alpha, Rule: rs.Fixed, MaxSamples: n, Noise: "spectrum/1:grey@0=1", Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range run.Rows {
		wrong += index(row.Class == 1)
	}
	if last >= .5 || wrong > allowed || planted <= runs/2 {
		t.Errorf("p = %v: %d of %d claims are false, with the early clamp %d", last, wrong, runs, planted)
	}
	t.Logf("early clamp: p = %.4f for %.4f, %d of %d claims false, with the error %d", early, last, wrong, runs, planted)
}

func index(holds bool) int {
	if holds {
		return 1
	}
	return 0
}

// halves are equal images of two halves of 50 values.
func halves(count, a, b int) source {
	im := &imageset.Images{Name: "halves", Shape: pixel.Shape{Height: 2, Width: 50, Channels: 1}, Classes: []string{"0", "1"}}
	for i := range count {
		im.IDs, im.Labels = append(im.IDs, i), append(im.Labels, 1)
		for k := range 100 {
			im.Pixels = append(im.Pixels, uint8([]int{a, b}[k/50]))
		}
	}
	im.Digest = im.ContentDigest()
	return source{im}
}

// ofHalves is a classifier of the sums of both halves in levels.
func ofHalves(class func(first, second int) int) classifier.Classifier {
	return classifier.Func(pixel.Shape{Height: 2, Width: 50, Channels: 1}, 2, func(z []float32) []float32 {
		var sums [2]int
		for k, v := range z {
			sums[k/50] += int(math.Round(float64(v) * 255))
		}
		return []float32{0, float32(class(sums[0], sums[1])) - .5}
	})
}
