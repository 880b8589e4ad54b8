package rs_test

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

// A staged ledger at the 500th part of its level. The figures are SciPy's (1.17.1): for each image the largest
// σ·norm.isf(beta.isf(α/8/500, n−k+1, k)) over its looks.
func TestOpenAtAgainstSciPy(t *testing.T) {
	const path = "../notebooks/results/quickstart.ledger"
	run, err := rs.OpenAt(path, .001/500)
	if err != nil {
		t.Fatal(err)
	}
	if acr := run.ACR().Value; acr > .5304934250941659 || acr < .5304934250941659-1e-7 {
		t.Errorf("ACR %v, want 0.53049343 and not more", acr)
	}
	if n := run.Abstained(); n != 19 {
		t.Errorf("%d abstained, want 19", n)
	}
	for i, want := range []int{426, 390, 336, 0} {
		if a := run.CertifiedAccuracy(float64(i) / 4)[0]; a.Count != want {
			t.Errorf("%v, want %d", a, want)
		}
	}
	for i, want := range []float64{.7409653417517068, .7409653417517068, .05903464084796185, .7409653417517068, .27909974010287253} {
		if r := run.Rows[i].Radius; r > want || r < want-1e-7 {
			t.Errorf("image %d: radius %v, want %v and not more", run.Rows[i].Image, r, want)
		}
	}
	if h := run.Header; h.Alpha != .001/500 || math.Abs(h.Rule.Looks[3].Alpha/(.001/500/8)-1) > 1e-12 {
		t.Errorf("levels %v, %+v", h.Alpha, h.Rule.Looks[3])
	}
	for _, bad := range []float64{0, -1, .0011, 1, math.NaN(), math.Inf(1)} {
		var option *rule.OptionError
		if _, err := rs.OpenAt(path, bad); !errors.As(err, &option) {
			t.Errorf("level %v: error %v", bad, err)
		}
	}
}

// At the ledger's own level the claims must come out again, digit for digit, under every rule.
func TestOpenAtTheSameLevelChangesNothing(t *testing.T) {
	model := classifier.Linear{Shape: small, Weights: []float64{1, -2, .5, 3, 1, .25}, Bias: -1.9}
	var values []uint8
	for v := range 40 {
		values = append(values, uint8(6*v))
	}
	data := greys(small, always(1), values...)
	for _, opt := range []rs.Options{
		{Rule: rs.Fixed, MaxSamples: 1000},
		{Rule: rs.Staged, MaxSamples: 3200},
		{Rule: rs.ISS, MaxSamples: 5000},
		{Rule: rs.Betting, MaxSamples: 3000, Radii: []float64{0, .1, .25, .5}},
	} {
		opt.Sigma, opt.Seed, opt.Ledger = .25, 3, filepath.Join(t.TempDir(), "x.ledger")
		run := certify(t, model, data, opt)
		again, err := rs.OpenAt(opt.Ledger, stopping.DefaultAlpha)
		if err != nil {
			t.Fatal(err)
		}
		if n := run.Abstained(); n == 0 || n == len(run.Rows) {
			t.Fatalf("%s: %d of %d abstained: the test wants both kinds", opt.Rule, n, len(run.Rows))
		}
		for i := range run.Rows {
			if got, want := again.Rows[i], run.Rows[i]; !reflect.DeepEqual(got, want) {
				t.Errorf("%s: %+v, want %+v", opt.Rule, got, want)
			}
		}
		stricter, err := rs.OpenAt(opt.Ledger, stopping.DefaultAlpha/40)
		if err != nil {
			t.Fatal(err)
		}
		less := 0
		for i := range run.Rows {
			if stricter.Rows[i].Radius > run.Rows[i].Radius {
				t.Errorf("%s: image %d gains by a stricter level", opt.Rule, run.Rows[i].Image)
			}
			if stricter.Rows[i].Radius < run.Rows[i].Radius {
				less++
			}
		}
		if less == 0 {
			t.Errorf("%s: a stricter level costs nothing", opt.Rule)
		}
	}
}

// At p0 = ½ and α = 0.001 it takes 19 hits of 20 (spec, §10.5, the table of A_min).
func TestOpenAtOfABet(t *testing.T) {
	const header = `{"format":"certspec-ledger","version":2,"program":{"version":"devel"},"model":{"name":"toy","shape":{"height":1,"width":1,"channels":1},"classes":2,"identity":{"weights":"w","engine":"toy","engine_version":"","threads":0,"instruction_set":""}},"data":{"name":"x","digest":"d","images":3},"sigma":0.25,"noise":"grid/1","seed":"1","seed_chosen":true,"alpha":0.5,"selection":20,"block":20,"rule":{"name":"betting","looks":[{"copies":20,"alpha":0.5},{"copies":40,"alpha":0.5}],"targets":[{"radius":0,"probability":"0.500000000000000"}],"futility":0.5,"budget":"time-uniform"},"order":"data"}`
	path := filepath.Join(t.TempDir(), "bet.ledger")
	text := header + "\n"
	for i, hits := range []int{19, 18} {
		text += fmt.Sprintf("%d 1 0 1 0 1:20\n%d 1 1 2 0 0:%d 1:%d\n", i, i, 20-hits, hits)
	}
	testkit.Write(t, []byte(text), path)
	run, err := rs.Open(path)
	if err != nil || len(run.Rows) != 2 || run.Abstained() != 0 {
		t.Fatalf("%+v, %v", run, err)
	}
	if run, err = rs.OpenAt(path, .001); err != nil {
		t.Fatal(err)
	}
	if a, b := run.Rows[0], run.Rows[1]; a.Class != 1 || a.K != 19 || a.N != 20 || a.Lower != .5 || b.Class != rs.Abstain || b.Lower != 0 {
		t.Errorf("%+v, %+v", a, b)
	}
	bad := strings.Replace(text, `"name":"betting"`, `"name":"fixed"`, 1)
	testkit.Write(t, []byte(bad), path)
	if _, err := rs.OpenAt(path, .001); err == nil {
		t.Error("a rule with looks that it does not have is no error")
	}
}
