package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// The smoothed GAUC of a linear model of slope 6 about ½: own images at the ends, where s is near 1, foreign ones in the middle, where it is least.
// Within a radius of 2 every foreign image can be as sure as any.
func TestOODSmooth(t *testing.T) {
	shape := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	ledgerOf := func(name string, values ...uint8) string {
		im := &dataset.Images{Name: name, Shape: shape, Digest: "sha256:" + name}
		for i, v := range values {
			im.IDs, im.Pixels, im.Labels = append(im.IDs, i), append(im.Pixels, v, 0, 0, 0), append(im.Labels, -1)
		}
		path := filepath.Join(t.TempDir(), name+".ledger")
		model := classifier.Linear{Shape: shape, Weights: []float64{6, 0, 0, 0}, Bias: -3}
		if _, err := rs.Certify(t.Context(), model, fixedImages{images: im}, rs.Options{Sigma: .1, Rule: rs.Fixed, MaxSamples: 2000, Scores: 1000, TopScores: true, Ledger: path}); err != nil {
			t.Fatal(err)
		}
		return path
	}
	own, foreign := ledgerOf("own", 0, 255, 5), ledgerOf("foreign", 128, 120)
	text, code := output(t, "ood", "smooth", "--in", own, "--foreign", foreign, "--radii", "0,0.1,2", "--json")
	var s struct {
		Threat string
		AUC    float64 `json:"smoothed_auc_estimate"`
		Radii  []struct {
			LInf          float64
			Standard, CDF map[string]float64
		}
	}
	if err := json.Unmarshal([]byte(text), &s); err != nil || code != 0 || len(s.Radii) != 3 {
		t.Fatalf("exit code %d, %v: %s", code, err, text)
	}
	for k, want := range []float64{1, 1, 0} {
		r := s.Radii[k]
		for name, got := range map[string]map[string]float64{"standard": r.Standard, "cdf": r.CDF} {
			if got["smoothed_gauc"] != want || got["smoothed_cgauc"] != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
		if r.CDF["mean_upper"] > r.Standard["mean_upper"]+.001 {
			t.Errorf("CDF %v is looser than standard %v", r.CDF, r.Standard)
		}
	}
	if s.Threat != "l2" || s.AUC != 1 || math.Abs(s.Radii[1].LInf-.05) > 1e-6 || s.Radii[1].LInf > .05 {
		t.Errorf("%+v", s)
	}
	if text, code := output(t, "ood", "smooth", "--in", own, "--foreign", foreign, "--radii", "0.1"); code != 0 || !strings.Contains(text, "smoothed GAUC, CDF") || strings.Contains(text, "\nGAUC") {
		t.Errorf("exit code %d: %s", code, text)
	}
	for want, args := range map[string][]string{
		"was not checked":                nil,
		"held out from a set of trainin": {"--trained", "foreign/train"},
	} {
		if text, code := output(t, append([]string{"ood", "smooth", "--in", own, "--foreign", foreign, "--radii", "0.1"}, args...)...); code != 0 || !strings.Contains(text, want) {
			t.Errorf("%q: exit code %d: %s; expected %q", args, code, text, want)
		}
	}
	for want, args := range map[string][]string{
		"was trained on foreign":  {"--trained", "foreign"},
		"its weights are sha256:": {"--model", "../../notebooks/models/fmnist-oe"},
	} {
		if _, err := outputOf(t, "ood", append([]string{"smooth", "--in", own, "--foreign", foreign, "--radii", "0.1"}, args...)...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; expected %q", args, err, want)
		}
	}
	for _, c := range []struct {
		want int
		args []string
	}{
		{cli.ExitUsage, []string{"--in", own, "--foreign", foreign}},
		{cli.ExitUsage, []string{"--in", own, "--foreign", foreign, "--radii", "-1"}},
		{cli.ExitFailed, []string{"--in", own, "--foreign", own, "--radii", "0"}},
		{cli.ExitFailed, []string{"--in", own, "--foreign", scoredLedger(t), "--radii", "0"}},
	} {
		if text, code := output(t, append([]string{"ood", "smooth"}, c.args...)...); code != c.want || text != "" {
			t.Errorf("%q: exit code %d, %s; want %d and nothing", c.args, code, text, c.want)
		}
	}
}
