package confidences_test

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/rs/ledger"
)

// topMean is s of the linear model of two classes at a logit: the largest score is sigmoid(|t + κξ|), rescaled |2·sigmoid − 1|, by quadrature.
func topMean(logit float64) float64 {
	const steps = 2_000
	sum := 0.0
	for i := range steps {
		x := -10 + 20*(float64(i)+.5)/steps
		sum += math.Exp(-x*x/2) * math.Abs(math.Tanh((logit+slope*testSigma*x)/2))
	}
	return sum * 20 / steps / math.Sqrt(2*math.Pi)
}

// topRange is the least and the largest s within a distance: s grows with the distance of the logit from 0.
func topRange(logit, distance float64) (low, high float64) {
	t := math.Abs(logit)
	return topMean(max(0, t-slope*distance)), topMean(t + slope*distance)
}

// topLedger keeps the largest scores of greys under the linear model.
func topLedger(t *testing.T, opt rs.Options, label int, values ...uint8) string {
	t.Helper()
	opt.Sigma, opt.Scores, opt.TopScores, opt.Ledger = testSigma, ledger.MaxScoreCells, true, filepath.Join(t.TempDir(), "l")
	certify(t, classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}, greys(label, values...), opt)
	return opt.Ledger
}

func certifyTop(t *testing.T, method confidence.Method, radii []float64, paths ...string) []confidences.Top {
	t.Helper()
	top, err := confidences.CertifyTop(t.Context(), paths, radii, method)
	if err != nil {
		t.Fatal(err)
	}
	return top
}

// The bounds hold s, which is known, at every point within the radius, whether the image is certified or not; they are not vacuous, and
// grow with the radius. Under every rule.
func TestTopContainsTheTruth(t *testing.T) {
	radii := []float64{0, .05, .1, .25, .5}
	var values []uint8
	for v := 0; v < 256; v += 15 {
		values = append(values, uint8(v))
	}
	for _, opt := range []rs.Options{
		{Rule: rs.Fixed, MaxSamples: 4000, Noise: "gaussian"},
		{Rule: rs.Staged, MaxSamples: 4000, Alpha: 1e-4, Noise: "gaussian"},
		{Rule: rs.ISS, MaxSamples: 4000, Alpha: 1e-4, Noise: "gaussian"},
		{Rule: rs.Betting, Radii: []float64{.1}, MaxSamples: 4000, Alpha: 1e-4, Noise: "gaussian"},
	} {
		path := topLedger(t, opt, -1, values...)
		for _, method := range []confidence.Method{confidence.MethodStandard, confidence.MethodCDF} {
			top := certifyTop(t, method, radii, path)[0]
			if len(top.Images) != len(values) {
				t.Fatalf("%s: %d of %d images", opt.Rule, len(top.Images), len(values))
			}
			for i, v := range values {
				logit := slope*float64(v)/255 + bias
				for k, r := range radii {
					b := top.Bounds[i][k]
					low, high := topRange(logit, r)
					if !(b.Lower <= low && high <= b.Upper) {
						t.Errorf("%s, %s: value %d at %v: [%v, %v], s ranges over [%v, %v]", opt.Rule, method, v, r, b.Lower, b.Upper, low, high)
					}
					if opt.Rule == rs.Fixed && (b.Upper > topMean(math.Abs(logit))+.09+r || b.Lower < topMean(math.Abs(logit))-.09-r) {
						t.Errorf("%s: value %d at %v: [%v, %v] is vacuous, s is %v", method, v, r, b.Lower, b.Upper, topMean(logit))
					}
					if k > 0 && (b.Upper < top.Bounds[i][k-1].Upper || b.Lower > top.Bounds[i][k-1].Lower) {
						t.Errorf("%s, %s: value %d: the bounds shrink from radius %v to %v", opt.Rule, method, v, radii[k-1], r)
					}
				}
			}
		}
	}
}

// At radius 0 the standard certificate is the mean of all largest scores, rescaled, and Hoeffding's half-width at the image's share of α; α is
// shared by the images of all ledgers.
func TestTopAtRadiusZero(t *testing.T) {
	r := &recorder{Classifier: classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}}
	opt := rs.Options{Sigma: testSigma, Rule: rs.Fixed, MaxSamples: 4000, Workers: 1, Scores: 10, TopScores: true, Ledger: filepath.Join(t.TempDir(), "l")}
	run := certify(t, r, greys(1, 120), opt)
	mean, n := 0.0, 0.0
	for _, row := range r.rows[run.Header.Selection:run.Rows[0].Passes] {
		mean += 2*max(row[0], row[1]) - 1
		n++
	}
	mean /= n
	other := topLedger(t, rs.Options{Rule: rs.Fixed, MaxSamples: 1000}, 1, 10, 20, 30)
	for _, c := range []struct {
		paths  []string
		images float64
	}{{[]string{opt.Ledger}, 1}, {[]string{opt.Ledger, other}, 4}} {
		top := certifyTop(t, confidence.MethodStandard, []float64{0}, c.paths...)[0]
		width := math.Sqrt(math.Log(2*c.images/.001) / (2 * n))
		b := top.Bounds[0][0]
		if math.Abs(b.Lower-(mean-width)) > 1e-6 || math.Abs(b.Upper-(mean+width)) > 1e-6 || math.Abs(top.Estimate[0]-mean) > 1e-6 {
			t.Errorf("%v images: [%v, %v] about %v, want %v ± %v", c.images, b.Lower, b.Upper, top.Estimate[0], mean, width)
		}
	}
}

// The bounds of an image fail no more often than α allows: at α = 0.2, in 80 runs with other seeds, the bound within a radius
// of 0 fails at most 0.2·80 + 4 standard deviations times (a false alarm has a probability below 1e-4).
func TestTopCoverage(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a simulation of a second or more")
	}
	const runs, alpha = 80, .2
	logit := slope*90./255 + bias
	want := topMean(math.Abs(logit))
	fails := map[confidence.Method]int{}
	rng := rand.New(rand.NewPCG(3, 5))
	for range runs {
		path := topLedger(t, rs.Options{Rule: rs.Fixed, MaxSamples: 300, Alpha: alpha, Noise: "gaussian", Seed: rng.Uint64()}, 1, 90)
		for _, method := range []confidence.Method{confidence.MethodStandard, confidence.MethodCDF} {
			if b := certifyTop(t, method, []float64{0}, path)[0].Bounds[0][0]; b.Lower > want || b.Upper < want {
				fails[method]++
			}
		}
	}
	most := int(alpha*runs + 4*math.Sqrt(alpha*(1-alpha)*runs))
	if fails[confidence.MethodStandard] > most || fails[confidence.MethodCDF] > most {
		t.Errorf("%v of %d fail, want at most %d", fails, runs, most)
	}
}

// Samples without scores count as 0 below and as 1 above.
func TestTopOfMisses(t *testing.T) {
	opt := rs.Options{Sigma: testSigma, Rule: rs.Fixed, MaxSamples: 4000, Scores: 100, TopScores: true, Ledger: filepath.Join(t.TempDir(), "l")}
	run := certify(t, missing{classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}}, greys(1, 60), opt)
	share := float64(run.Rows[0].Misses) / float64(run.Rows[0].Passes)
	for _, method := range []confidence.Method{confidence.MethodStandard, confidence.MethodCDF} {
		if b := certifyTop(t, method, []float64{0}, opt.Ledger)[0].Bounds[0][0]; share < .1 || b.Upper-b.Lower < share {
			t.Errorf("%s: [%v, %v] with %v misses", method, b.Lower, b.Upper, share)
		}
	}
}

// Top scores change no count, and a replay finds them again.
func TestTopScoresReplay(t *testing.T) {
	model := classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}
	opt := rs.Options{Sigma: testSigma, MaxSamples: 2000, Scores: 50, Ledger: filepath.Join(t.TempDir(), "l")}
	plain := certify(t, model, greys(1, 10, 200), opt)
	opt.TopScores, opt.Ledger = true, opt.Ledger+"-top"
	top := certify(t, model, greys(1, 10, 200), opt)
	if !slices.Equal(plain.Rows, top.Rows) || top.Header.Scores != "top/50" {
		t.Errorf("%+v and %+v, scores %s", plain.Rows, top.Rows, top.Header.Scores)
	}
	found, err := rs.Replay(t.Context(), opt.Ledger, model, greys(1, 10, 200), rs.ReplayOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if found.Scores == nil || found.Scores.Looks == 0 || found.Scores.Equal != found.Scores.Looks || len(found.Flips) > 0 {
		t.Errorf("%+v, %+v", found, found.Scores)
	}
	if v, err := rs.Verify(t.Context(), opt.Ledger); err != nil || v.Scores != "hold" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestTopRefusals(t *testing.T) {
	model := func(bias float64) classifier.Classifier {
		return classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}
	}
	base := rs.Options{Sigma: testSigma, Rule: rs.Fixed, MaxSamples: 500, Scores: 50, TopScores: true}
	make := func(name string, m classifier.Classifier, alter func(*rs.Options)) string {
		opt := base
		opt.Ledger = filepath.Join(t.TempDir(), name)
		if alter != nil {
			alter(&opt)
		}
		certify(t, m, greys(1, 10, 200), opt)
		return opt.Ledger
	}
	good := make("good", model(bias), nil)
	ofClass := make("class", model(bias), func(o *rs.Options) { o.TopScores = false })
	for want, path := range map[string]string{
		"sigma":                  make("sigma", model(bias), func(o *rs.Options) { o.Sigma = .25 }),
		"alpha":                  make("alpha", model(bias), func(o *rs.Options) { o.Alpha = .01 }),
		"noise":                  make("noise", model(bias), func(o *rs.Options) { o.Noise = "gaussian" }),
		"model.identity.weights": make("model", model(.3), nil),
		"class: certify again by certspec certify --keep-scores=top":                  ofClass,
		"the run kept no scores: certify again by certspec certify --keep-scores=top": make("none", model(bias), func(o *rs.Options) { o.Scores, o.TopScores = 0, false }),
	} {
		if _, err := confidences.CertifyTop(t.Context(), []string{good, path}, []float64{0}, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := confidences.CertifyTop(t.Context(), []string{good}, []float64{math.NaN()}, ""); err == nil {
		t.Error("a radius that is no number passes")
	}
	if _, err := confidences.Certify(t.Context(), good, []float64{0}, confidences.Options{}); err == nil || !strings.Contains(err.Error(), "largest") {
		t.Errorf("confidences of the class from top scores: %v", err)
	}
	if err := (rs.Options{Sigma: testSigma, TopScores: true, Ledger: "x"}).CheckScores(); err == nil {
		t.Error("TopScores without Scores passes")
	}
}
