package noise

import (
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestParseSpectrum(t *testing.T) {
	for text, want := range map[string]Law{"spectrum:grey@0=.05": "spectrum/1:grey@0=0.05", "spectrum/1:grey@0=0.05": "spectrum/1:grey@0=0.05",
		"spectrum:grey@0=1": "spectrum/1:grey@0=1", "spectrum:grey@0=1e-2": "spectrum/1:grey@0=0.01"} {
		law, err := ParseLaw(text)
		sd, more := law.Grey()
		if err != nil || law != want || !law.Sound() || !more || sd <= 0 {
			t.Errorf("%s: %q, %v", text, law, err)
		}
		if again, err := ParseLaw(string(law)); err != nil || again != law {
			t.Errorf("%q: %q, %v", law, again, err)
		}
	}
	for _, text := range []string{"spectrum", "spectrum:", "spectrum:grey", "spectrum:grey@0", "spectrum:grey@0=", "spectrum:grey@0=0",
		"spectrum:grey@0=-1", "spectrum:grey@0=nan", "spectrum:grey@0=inf", "spectrum:grey@0=2", "spectrum:grey@0=0.0001", "spectrum:grey@1=0.05",
		"spectrum:red@0=0.05", "spectrum:grey@0=0.05,grey@1=0.05", "spectrum:grey@0=0x1p-4", "spectrum/2:grey@0=0.05", "grid:grey@0=0.05", "spectrum:grey@0=0_1"} {
		if law, err := ParseLaw(text); err == nil || !strings.Contains(err.Error(), "spectrum") {
			t.Errorf("%s: %q, %v", text, law, err)
		}
	}
	for _, law := range []Law{LawGrid, LawGaussian, "spectrum/1", "spectrum/1:grey@0=0.050", "spectrum/1:grey@0=.05", "spectrum:grey@0=0.05", "x/1:grey@0=0.05"} {
		if sd, more := law.Grey(); more {
			t.Errorf("%q has grey %v", law, sd)
		}
	}
	for _, c := range []struct {
		law   Law
		sigma float64
	}{{LawGaussian, 0.25}, {"spectrum/1:grey@0=0.05", 0}, {"spectrum/1:grey@0=1", 10.5}, {"spectrum/1:grey@0=0.05", math.NaN()}} {
		if s, err := NewSampler(c.law, c.sigma); err == nil {
			t.Errorf("%v: %v", c, s)
		}
	}
}

func sampler(t *testing.T, law Law, sigma float64) Sampler {
	t.Helper()
	s, err := NewSampler(law, sigma)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Samples by address: any split gives the same, and none equals the grid's. They are the grid's samples, under
// the name of the law, of an image that is shifted by whole levels.
func TestSpectrumByAddress(t *testing.T) {
	s := sampler(t, "spectrum/1:grey@0=0.05", 0.25)
	image := []int16{0, 10, 255, 128, -3, 77, 300, 5, 6}
	at := Address{Seed: 4, Image: 9, Block: 2}
	all := make([]int16, 50*len(image))
	if failed, err := s.AddTo(all, image, at, 0, nil); err != nil || len(failed) != 0 {
		t.Fatal(failed, err)
	}
	for first := range 50 {
		one := make([]int16, (50-first)*len(image))
		if _, err := s.AddTo(one, image, at, first, nil); err != nil || !slices.Equal(one, all[first*len(image):]) {
			t.Fatalf("from sample %d: %v", first, err)
		}
	}
	if _, err := s.AddTo(all, []int16{5000}, at, 0, nil); err == nil {
		t.Error("a value outside of the limits")
	}
	g, grey := s.(*spectrum).grid, s.(*spectrum).grey
	stream := newGridStream(lawSpectrum, at, 0, 1+blocks(len(image)))
	for i := range 50 {
		k, _ := grey.one(stream)
		shifted, want := slices.Clone(image), make([]int16, len(image))
		for j := range shifted {
			shifted[j] += int16(k)
		}
		g.add(want, shifted, stream)
		if got := all[i*len(image) : (i+1)*len(image)]; !slices.Equal(got, want) {
			t.Fatalf("sample %d: %v; expected %v", i, got, want)
		}
	}
}

// The law of two values of Z: their variances and covariance, with a false alarm at five standard errors, and the clamp comes last,
// so that a bright image comes back from above the limit.
func TestSpectrumLaw(t *testing.T) {
	const sigma, sd, n = 0.02, 0.05, 200_000
	s := sampler(t, "spectrum/1:grey@0=0.05", sigma)
	z := make([]int16, 2*n)
	if _, err := s.AddTo(z, []int16{100, 50}, Address{Seed: 1}, 0, nil); err != nil {
		t.Fatal(err)
	}
	var vx, vy, c float64
	for i := 0; i < len(z); i += 2 {
		x, y := float64(z[i])-100, float64(z[i+1])-50
		vx, vy, c = vx+x*x/n, vy+y*y/n, c+x*y/n
	}
	own, common := math.Pow(255*sigma, 2)+1./12, math.Pow(255*sd, 2)+1./12
	for _, v := range []struct{ got, want float64 }{{vx, own + common}, {vy, own + common}, {c, common}} {
		if math.Abs(v.got-v.want) > 5*1.5*(own+common)/math.Sqrt(n) {
			t.Errorf("a second moment of %.2f; expected %.2f", v.got, v.want)
		}
	}
	_, high := s.Limits()
	grey := distuv.Normal{Sigma: math.Sqrt(own + common)}
	if _, err := s.AddTo(z, []int16{high - 8, high - 8}, Address{Seed: 2}, 0, nil); err != nil {
		t.Fatal(err)
	}
	at := 0.
	for _, v := range z {
		if v == high {
			at += 1. / (2 * n)
		}
	}
	if want := 1 - grey.CDF(7.5); math.Abs(at-want) > 5/math.Sqrt(n) {
		t.Errorf("%.4f at the limit; expected %.4f", at, want)
	}
}

// joint is the exact law of Z for two values, by summation over k: the last clamp in place, or one before the last noise in its stead.
func joint(x [2]int, s, t float64, limit int, early bool) map[[2]int]float64 {
	cdf := distuv.UnitNormal.CDF
	law := map[[2]int]float64{}
	for k := -int(6*t) - 2; k <= int(6*t)+2; k++ {
		pk := cdf((float64(k)+.5)/t) - cdf((float64(k)-.5)/t)
		var p [2][]float64
		for i := range 2 {
			centre := x[i] + k
			if early {
				centre = max(-limit, min(limit, centre))
			}
			p[i] = make([]float64, 2*limit+1)
			for z := -limit; z <= limit; z++ {
				low, high := (float64(z-centre)-.5)/s, (float64(z-centre)+.5)/s
				if z == -limit {
					low = math.Inf(-1)
				}
				if z == limit {
					high = math.Inf(1)
				}
				p[i][z+limit] = cdf(high) - cdf(low)
			}
		}
		for a, pa := range p[0] {
			for b, pb := range p[1] {
				law[[2]int{a - limit, b - limit}] += pk * pa * pb
			}
		}
	}
	return law
}

// The theorem at spectrum against the exact law, on half-spaces of two values: a promise is never above the truth. One that forgets
// what u costs is. A clamp before the last noise shows in the law itself, not in half-spaces.
func TestSpectrumTheorem(t *testing.T) {
	const s, sd, limit = 1.5, 4., 40
	cdf, quantile := distuv.UnitNormal.CDF, distuv.UnitNormal.Quantile
	norm := func(d [2]int, u float64) float64 {
		a, b := float64(d[0])-u, float64(d[1])-u
		return (a*a+b*b)/(s*s) + u*u/(sd*sd)
	}
	worst := map[string]float64{"right": -1, "free u": -1}
	at := joint([2]int{}, s, sd, limit, false)
	inside := func(law map[[2]int]float64, v [2]float64, c float64) (p float64) {
		for z, q := range law {
			if v[0]*float64(z[0])+v[1]*float64(z[1]) >= c {
				p += q
			}
		}
		return p
	}
	for _, d := range [][2]int{{-1, -1}, {-5, -5}, {-7, -6}, {-3, -9}, {4, -4}, {-12, -12}, {0, -2}} {
		moved := joint(d, s, sd, limit, false)
		u := math.Round(float64(d[0]+d[1]) / (2 + s*s/(sd*sd)))
		for _, v := range [][2]float64{{1, 1}, {1, 0}, {1, -1}, {0.6, 0.8}, {-1, -1}} {
			for _, c := range []float64{-12, -6, -3, -1.5, -.5} {
				p, q := inside(at, v, c), inside(moved, v, c)
				if p <= .5 || p > 1-1e-9 {
					continue
				}
				promise := func(n float64) float64 { return cdf(quantile(p)-math.Sqrt(n)) - q }
				worst["right"] = max(worst["right"], promise(norm(d, u)))
				worst["free u"] = max(worst["free u"], promise(norm(d, u)-u*u/(sd*sd)))
			}
		}
	}
	if worst["right"] > 1e-9 || worst["free u"] < .1 {
		t.Errorf("promised minus true: %v", worst)
	}
	// Tight along the mode: the bound is close to the truth.
	p, q := inside(at, [2]float64{1, 1}, -12), inside(joint([2]int{-7, -7}, s, sd, limit, false), [2]float64{1, 1}, -12)
	if promised := cdf(quantile(p) - math.Sqrt(norm([2]int{-7, -7}, -7))); promised > q || promised < q-.03 {
		t.Errorf("promised %.4f of %.4f", promised, q)
	}
	// Half-spaces do not see the early clamp; the law does.
	tv := 0.
	small, clamped := joint([2]int{3, -1}, 1, 3, 4, false), joint([2]int{3, -1}, 1, 3, 4, true)
	for z, p := range small {
		tv += math.Abs(p-clamped[z]) / 2
	}
	if tv < .02 {
		t.Errorf("a total variation of %.4f", tv)
	}
	// And the sampler has the law with the clamp last.
	g := sampler(t, "spectrum/1:grey@0=0.05", 0.02)
	_, high := g.Limits()
	const n = 100_000
	z := make([]int16, 2*n)
	if _, err := g.AddTo(z, []int16{high + 0, high - 40}, Address{Seed: 3}, 0, nil); err != nil {
		t.Fatal(err)
	}
	both := 0.
	for i := 0; i < len(z); i += 2 {
		if z[i] < high { // with the clamp before K, half of these would be lost to the limit
			both += 1. / n
		}
	}
	want := distuv.Normal{Sigma: math.Sqrt(math.Pow(255*.02, 2) + math.Pow(255*.05, 2) + 1./6)}.CDF(-.5)
	if math.Abs(both-want) > 5/math.Sqrt(n) {
		t.Errorf("%.4f below the limit; expected %.4f", both, want)
	}
}
