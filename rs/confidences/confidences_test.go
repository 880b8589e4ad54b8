package confidences_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

// A linear model, whose score sigmoid(w·x + b) under Gaussian noise has a mean that is known at every point: with
// logit t and κ = ‖w‖σ it is g(t) = E[sigmoid(t + κξ)], and within a distance R it ranges over [g(t−‖w‖R), g(t+‖w‖R)]
// (certified-calibration specification, section 11.C (4)).
const (
	slope     = 2.
	bias      = -.7
	testSigma = .5
)

var oneGrey = pixel.Shape{Height: 1, Width: 1, Channels: 1}

func scoreMean(logit float64) float64 {
	const steps = 20_000
	sum := 0.0
	for i := range steps {
		x := -10 + 20*(float64(i)+.5)/steps
		sum += math.Exp(-x*x/2) / (1 + math.Exp(-logit-slope*testSigma*x))
	}
	return sum * 20 / steps / math.Sqrt(2*math.Pi)
}

// recorder is a model that keeps the scores which it gives, NaN for a miss, in the order of the calls.
type recorder struct {
	classifier.Classifier
	rows [][]float64 // scores of one sample
}

func (r *recorder) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	err := r.Classifier.Classify(ctx, batch, result)
	if result.Scores == nil { // noise samples that are asked again
		return err
	}
	for i := range batch.N {
		row := []float64{math.NaN(), math.NaN()}
		for c := range row {
			if result.Classes[i] != classifier.Miss {
				row[c] = float64(result.Scores[2*i+c])
			}
		}
		r.rows = append(r.rows, row)
	}
	return err
}

// scoredLedger certifies greys with the linear model, and gives the scores of the certified class behind the selection.
func scoredLedger(t *testing.T, opt rs.Options, label int, value uint8, misses bool) (run *rs.Run, scores []float64, opts rs.Options) {
	t.Helper()
	opt.Sigma, opt.Workers, opt.Ledger = testSigma, 1, filepath.Join(t.TempDir(), "l")
	var inner classifier.Classifier = classifier.Linear{Shape: oneGrey, Weights: []float64{slope}, Bias: bias}
	if misses {
		inner = missing{inner}
	}
	r := &recorder{Classifier: inner}
	run = certify(t, r, greys(label, value), opt)
	row := run.Rows[0]
	for _, s := range r.rows[run.Header.Selection:row.Passes] {
		scores = append(scores, s[max(row.Class, 0)])
	}
	return run, scores, opt
}

func certified(t *testing.T, path string, o confidences.Options, radii ...float64) []confidences.Certified {
	t.Helper()
	c, err := confidences.Certify(t.Context(), path, radii, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// From counts and sums come the certificates that all scores would give, looser by at most one gap between thresholds,
// under every rule at the level that its looks leave.
func TestConfidencesAgainstAllScores(t *testing.T) {
	radii := []float64{0, .1, .25}
	for _, c := range []struct {
		opt   rs.Options
		share func(looks, planned float64) float64 // of α, by the looks that were made
	}{
		{rs.Options{Rule: rs.Fixed, MaxSamples: 4000, Scores: 1000}, func(_, _ float64) float64 { return 1 }},
		{rs.Options{Rule: rs.Fixed, MaxSamples: 4000, Scores: 20, Noise: "gaussian"}, func(_, _ float64) float64 { return 1 }},
		{rs.Options{Rule: rs.ISS, MaxSamples: 20_000, Scores: 500}, func(_, _ float64) float64 { return 1 }},
		{rs.Options{Rule: rs.Staged, MaxSamples: 20_000, Scores: 1000}, func(_, planned float64) float64 { return 1 / planned }},
		{rs.Options{Rule: rs.Betting, Radii: []float64{0, .3}, MaxSamples: 20_000, Scores: 1000}, func(looks, _ float64) float64 { return 1 / (looks * (looks + 1)) }},
	} {
		for _, misses := range []bool{false, true} {
			run, scores, opt := scoredLedger(t, c.opt, 1, 230, misses)
			row := run.Rows[0]
			if !row.Certified() || row.Radius < .25 {
				t.Fatalf("%s: %+v", opt.Rule, row)
			}
			l, err := ledgerio.Read(opt.Ledger)
			if err != nil {
				t.Fatal(err)
			}
			share := c.share(float64(len(l.Looks)-1), float64(len(run.Header.Rule.Looks))) // the selection is a look, too
			for spending, alpha := range map[confidence.Spending]float64{"": .001, "paper": .001, "split": .0005, "family": .0005} {
				eps, err := confidence.HalfWidth(len(scores), alpha*share)
				if err != nil {
					t.Fatal(err)
				}
				band, _ := confidence.NewBand(len(scores), eps)
				all, err := confidence.OrderStatistics(scores, 1)
				if err != nil {
					t.Fatal(err)
				}
				d, err := confidence.NewDistribution(scores, all)
				if err != nil {
					t.Fatal(err)
				}
				mean, err := confidence.Mean(scores)
				if err != nil {
					t.Fatal(err)
				}
				cdf := certified(t, opt.Ledger, confidences.Options{Spending: spending}, radii...)
				standard := certified(t, opt.Ledger, confidences.Options{Spending: spending, Method: confidence.MethodStandard}, radii...)
				for k, r := range radii {
					name := fmt.Sprintf("%s, misses %v, %d cells, radius %v, %q", opt.Rule, misses, opt.Scores, r, spending)
					shift, _ := band.At(r / testSigma)
					want, err := shift.CDF(d)
					if err != nil {
						t.Fatal(err)
					}
					gap := 1 / float64(opt.Scores)
					l, u := cdf[k].Lower[0], cdf[k].Upper[0]
					if l > want.Lower+1e-12 || l < want.Lower-gap || u < want.Upper-1e-12 || u > want.Upper+gap {
						t.Errorf("%s: CDF [%v, %v], from all scores [%v, %v]", name, l, u, want.Lower, want.Upper)
					}
					want, err = confidence.Standard(mean.Lower, mean.Upper, eps, r/testSigma)
					if err != nil {
						t.Fatal(err)
					}
					l, u = standard[k].Lower[0], standard[k].Upper[0]
					if l > want.Lower+1e-12 || l < want.Lower-1e-6 || u < want.Upper-1e-12 || u > want.Upper+1e-6 {
						t.Errorf("%s: Standard [%v, %v], from all scores [%v, %v]", name, l, u, want.Lower, want.Upper)
					}
					if z := cdf[k].Confidence[0]; math.Abs(z-(mean.Lower+mean.Upper)/2) > 1e-6 {
						t.Errorf("%s: confidence %v, want %v", name, z, mean)
					}
					if !slices.Equal(cdf[k].Images, []int{10}) || !slices.Equal(cdf[k].Correct, []bool{true}) || cdf[k].Of != 1 || cdf[k].Radius != r {
						t.Errorf("%s: %+v", name, cdf[k])
					}
				}
			}
		}
	}
}

// The intervals contain the range of the true confidence within the radius.
func TestConfidencesContainTheTruth(t *testing.T) {
	for value := 0; value < 256; value += 15 {
		opt := rs.Options{Rule: rs.Fixed, MaxSamples: 3000, Alpha: 1e-5, Scores: 300, Noise: "gaussian"}
		run, _, opt := scoredLedger(t, opt, 1, uint8(value), false)
		row := run.Rows[0]
		if !row.Certified() {
			continue
		}
		logit := slope*float64(value)/255 + bias
		if row.Class == 0 {
			logit = -logit
		}
		for _, method := range []confidence.Method{confidence.MethodCDF, confidence.MethodStandard} {
			for _, c := range certified(t, opt.Ledger, confidences.Options{Method: method}, 0, row.Radius/2, row.Radius) {
				l, u := scoreMean(logit-slope*c.Radius), scoreMean(logit+slope*c.Radius)
				if c.Lower[0] > l || c.Upper[0] < u {
					t.Errorf("%s at %v of value %d: [%v, %v], the confidence ranges over [%v, %v]", method, c.Radius, value, c.Lower[0], c.Upper[0], l, u)
				}
				if c.Upper[0]-c.Lower[0] > u-l+.35 {
					t.Errorf("%s at %v of value %d: [%v, %v] is vacuous, the confidence ranges over [%v, %v]", method, c.Radius, value, c.Lower[0], c.Upper[0], l, u)
				}
			}
		}
	}
}

// The subset has the images whose radius suffices, right or wrong, with a label; the family divides α by all.
func TestConfidencesOfTheCertifiedSubset(t *testing.T) {
	m, data := mixed(40)
	opt := rs.Options{Sigma: .25, MaxSamples: 2000, Scores: 50, Ledger: filepath.Join(t.TempDir(), "l")}
	run := certify(t, m, data, opt)
	labelled := 0
	for _, row := range run.Rows {
		if row.Label >= 0 {
			labelled++
		}
	}
	for _, spending := range []confidence.Spending{"paper", "split", "family"} {
		alpha, _, err := spending.Divide(.001, 40)
		if err != nil {
			t.Fatal(err)
		}
		at, err := rs.OpenAt(opt.Ledger, alpha)
		if err != nil {
			t.Fatal(err)
		}
		for _, mode := range []confidence.Mode{"index", "max"} {
			for _, c := range certified(t, opt.Ledger, confidences.Options{Spending: spending, Mode: mode}, 0, .02, .05, 3) {
				var images []int
				var correct []bool
				for _, row := range at.Rows {
					if row.Label >= 0 && row.Certified() && row.Radius >= c.Radius {
						images, correct = append(images, row.Image), append(correct, row.Class == row.Label)
					}
				}
				if !slices.Equal(c.Images, images) || !slices.Equal(c.Correct, correct) || c.Of != labelled {
					t.Errorf("%s at %v: images %v, want %v", spending, c.Radius, c.Images, images)
				}
				for i, l := range c.Lower {
					if z, u := c.Confidence[i], c.Upper[i]; !(l >= 0 && l <= z && z <= u && u <= 1) {
						t.Errorf("%s at %v: confidence %v in [%v, %v]", spending, c.Radius, z, l, u)
					}
					if mode == "max" && (l < .2-1e-9 || l < .5 && c.Upper[i] < 1-l) {
						t.Errorf("max at %v: [%v, %v] of 5 classes", c.Radius, l, c.Upper[i])
					}
				}
			}
		}
	}
}

func TestConfidencesRefuse(t *testing.T) {
	_, _, opt := scoredLedger(t, rs.Options{Rule: rs.Fixed, MaxSamples: 400, Scores: 10}, 1, 230, false)
	path := opt.Ledger
	fails := func(name, path string, o confidences.Options, radius float64) {
		t.Helper()
		if c, err := confidences.Certify(t.Context(), path, []float64{radius}, o); err == nil || c != nil {
			t.Errorf("%s: %+v", name, c)
		}
	}
	for name, radius := range map[string]float64{"NaN": math.NaN(), "negative": -1, "infinite": math.Inf(1)} {
		fails(name, path, confidences.Options{}, radius)
	}
	fails("method", path, confidences.Options{Method: "mean"}, 0)
	fails("mode", path, confidences.Options{Mode: "top"}, 0)
	fails("spending", path, confidences.Options{Spending: "all"}, 0)

	m, data := mixed(3)
	bare := rs.Options{Sigma: .25, MaxSamples: 100, Ledger: filepath.Join(t.TempDir(), "l")}
	certify(t, m, data, bare)
	fails("no scores", bare.Ledger, confidences.Options{}, 0)
	_, _, unlabelled := scoredLedger(t, rs.Options{Rule: rs.Fixed, MaxSamples: 400, Scores: 10}, -1, 230, false)
	fails("no label", unlabelled.Ledger, confidences.Options{}, 0)

	// Scores of another run, altered, cut off, or not there.
	_, _, other := scoredLedger(t, rs.Options{Rule: rs.Fixed, MaxSamples: 400, Scores: 10, Seed: 7}, 1, 230, false)
	whole := testkit.Read(t, scorefile.Path(path))
	for name, b := range map[string][]byte{
		"of another seed": testkit.Read(t, scorefile.Path(other.Ledger)),
		"empty":           nil,
		"cut":             whole[:len(whole)-70],
		"altered":         append(append(slices.Clone(whole[:len(whole)-80]), whole[len(whole)-80]^1), whole[len(whole)-79:]...),
	} {
		testkit.Write(t, b, scorefile.Path(path))
		fails(name, path, confidences.Options{}, 0)
		if v, err := rs.Verify(t.Context(), path); err == nil {
			t.Errorf("%s: verified %v", name, v)
		}
	}
	if err := os.Remove(scorefile.Path(path)); err != nil {
		t.Fatal(err)
	}
	fails("missing", path, confidences.Options{}, 0)
	if _, err := confidences.Certify(t.Context(), path, []float64{0}, confidences.Options{}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if v, err := rs.Verify(t.Context(), path); err != nil || v.Scores != "missing" {
		t.Errorf("missing: %+v, %v", v, err)
	}
	if v, err := rs.Verify(t.Context(), other.Ledger); err != nil || v.Scores != "hold" {
		t.Errorf("%+v, %v", v, err)
	}
}
