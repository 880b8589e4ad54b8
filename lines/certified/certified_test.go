package certified_test

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/cmd/certspec/lines/leaveout"
	"github.com/certspec/certspec/internal/lines/certified/certifiedfiles"
	"github.com/certspec/certspec/lines"
	"github.com/certspec/certspec/lines/certified"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/rule"
)

func published(t *testing.T) []certified.Model {
	t.Helper()
	folder := os.Getenv("CERTSPEC_DATA")
	if folder == "" {
		t.Skip("CERTSPEC_DATA is not set: it names the folder with certify-logs-shift")
	}
	models, err := certifiedfiles.ReadLogs(filepath.Join(folder, "certify-logs-shift"))
	if err != nil {
		t.Fatal(err)
	}
	return models
}

// Seven published ResNet-110s lie on one line at every radius, pooled: slope .998, intercept −.297, R² .980; CAT-RS, left out,
// stands 4.7, 3.9, 2.9 and 1.0 points above it. The numbers come from another program on the same files.
func TestPublishedLine(t *testing.T) {
	models := published(t)
	radii := []float64{0, 0.25, 0.5, 0.75}
	points, err := certified.Points(models, certified.Options{Radii: radii, Period: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	r, err := lines.FitPoints(t.Context(), points, lines.Options{X: "clean", Y: "corrupted", Over: lines.Nothing})
	if err != nil {
		t.Fatal(err)
	}
	want := map[any][3]float64{"all": {0.99818, -0.29731, 0.97982}, 0.0: {0.95085, -0.26258, 0.58461}, 0.25: {1.15433, -0.36522, 0.76402},
		0.5: {0.97382, -0.29914, 0.83624}, 0.75: {1.04674, -0.27681, 0.99801}}
	if len(r.Lines) != len(want) {
		t.Fatalf("%d lines", len(r.Lines))
	}
	for _, l := range r.Lines {
		w := want[l.Radius]
		for i, v := range []float64{l.Slope, l.Intercept, l.R2} {
			if math.Abs(v-w[i]) > 1e-5 {
				t.Errorf("radius %v: %.5f / %.5f / %.5f; expected %v", l.Radius, l.Slope, l.Intercept, l.R2, w)
				break
			}
		}
	}
	if points, err = certified.Points(models, certified.Options{Radii: radii, Period: 10_000, Baseline: lines.Selection{Label: "model", Value: "cat-rs", Not: true}}); err != nil {
		t.Fatal(err)
	}
	o := lines.Options{X: "clean", Y: "corrupted", Over: lines.Both, Resamples: 200}
	if r, err = lines.FitPoints(t.Context(), points, o); err != nil {
		t.Fatal(err)
	}
	for _, m := range r.Models {
		if m.Name != "cat-rs" || m.Group != "all" {
			continue
		}
		expected := map[any]float64{0.0: 4.68, 0.25: 3.91, 0.5: 2.87, 0.75: 1.03}[m.Radius]
		if math.Abs(100*m.Robustness-expected) > 0.005 || !m.Interval.Contains(m.Robustness) {
			t.Errorf("radius %v: CAT-RS stands %.3f points above the line, interval %v; expected %v", m.Radius, 100*m.Robustness, m.Interval, expected)
		}
	}
}

// Mean radii of the published logs, as their readme states them, and how well a model that is left out is predicted.
func TestPublishedPrediction(t *testing.T) {
	models := published(t)
	for _, m := range models {
		if want := map[string]float64{"cohen": 0.3427, "cat-rs": 0.4753, "macer": 0.4093}[m.Name]; want != 0 {
			var all rs.Rows
			for _, rows := range m.Shifted {
				all = append(all, rows...)
			}
			if got := all.ACR().Value; math.Abs(got-want) > 5e-5 {
				t.Errorf("%s: mean radius %.5f; published %v", m.Name, got, want)
			}
		}
	}
	for i, r := range []float64{0.5, 0.75} {
		if testing.Short() && i > 0 {
			break
		}
		p, err := leaveout.LeaveOneOut(models, certified.Options{Radii: []float64{r}, Period: 10_000}, 0.02)
		if err != nil || p.Pairs != 7*15 {
			t.Fatalf("%+v, %v", p, err)
		}
		if p.Line <= p.Same || p.Line <= p.MeanDrop {
			t.Errorf("the line predicts no better than the baselines: %+v", p)
		}
		t.Logf("%+v", p)
	}
}

// The clean accuracy on the 100 images that the corrupted sets have, in the place of all 10,000, foretells more pairs at r = 0.5 and fewer at 0.75. The shares come from another
// program on the same files.
func TestCommonImages(t *testing.T) {
	models := published(t)
	points, err := certified.Points(models, certified.Options{Radii: []float64{0.5}, Period: 10_000, Common: true})
	if err != nil || points[0].X.N != 100 || points[0].Y.N != 7500 {
		t.Fatalf("%+v, %v", points, err)
	}
	for r, want := range map[float64]float64{0.5: 0.552, 0.75: 0.543} {
		if testing.Short() && r > 0.5 {
			continue
		}
		p, err := leaveout.LeaveOneOut(models, certified.Options{Radii: []float64{r}, Period: 10_000, Common: true}, 0.02)
		if err != nil || math.Abs(p.Line-want) > 5e-4 {
			t.Errorf("radius %v: %+v, %v; expected %v", r, p, err, want)
		}
	}
	apart := certified.Model{Name: "m", Clean: rs.Rows{{Image: 1}}, Shifted: map[certified.Cell]rs.Rows{{"fog", 1}: {{Image: 0}}}}
	if _, err := certified.Points([]certified.Model{apart}, certified.Options{Radii: []float64{0}, Common: true}); err == nil || !strings.Contains(err.Error(), "no clean image that is under the shift") {
		t.Error(err)
	}
}

func TestPointsRefuse(t *testing.T) {
	row := rs.Row{Image: 0, Label: 1, Outcome: rule.Outcome{Class: 1, Radius: 0.5}}
	m := certified.Model{Name: "m", Clean: rs.Rows{row}, Shifted: map[certified.Cell]rs.Rows{{"fog", 1}: {row}}}
	for want, f := range map[string]func() error{
		"no radius": func() error { _, err := certified.Points([]certified.Model{m}, certified.Options{}); return err },
		"radius -1": func() error {
			_, err := certified.Points([]certified.Model{m}, certified.Options{Radii: []float64{-1}})
			return err
		},
		"is above 0.5": func() error {
			_, err := certified.Points([]certified.Model{m}, certified.Options{Radii: []float64{0.6}})
			return err
		},
		"0 under snow": func() error {
			_, err := certified.Points([]certified.Model{m}, certified.Options{Radii: []float64{0}, Corruptions: []string{"snow"}})
			return err
		},
		"at least 4": func() error {
			_, err := leaveout.LeaveOneOut([]certified.Model{m}, certified.Options{Radii: []float64{0}}, 0.02)
			return err
		},
		"no logs clean/": func() error { _, err := certifiedfiles.ReadLogs(t.TempDir()); return err },
		"on 1 clean images, and other on 2": func() error {
			other := m
			other.Name = "other"
			other.Clean = rs.Rows{row, {Image: 1, Outcome: rule.Outcome{Radius: 0.5}}}
			_, err := certified.Points([]certified.Model{m, other}, certified.Options{Radii: []float64{0}})
			return err
		},
		"stands twice": func() error {
			_, err := certified.Points([]certified.Model{m, m}, certified.Options{Radii: []float64{0}})
			return err
		},
		"expected equal settings": func() error {
			a, b := m, m
			a.Setting, b.Name, b.Setting = &certified.Setting{Sigma: 0.25, Cap: 1}, "other", &certified.Setting{Sigma: 0.5, Cap: 1}
			_, err := certified.Points([]certified.Model{a, b}, certified.Options{Radii: []float64{0}})
			return err
		},
		"above 0.4, the cap": func() error {
			a := m
			a.Setting = &certified.Setting{Sigma: 0.25, Cap: 0.4}
			_, err := certified.Points([]certified.Model{a}, certified.Options{Radii: []float64{0.45}})
			return err
		},
		"has the label 1 with m and 2 with other": func() error {
			other := m
			other.Name, other.Clean = "other", rs.Rows{{Image: 0, Label: 2}}
			_, err := certified.Points([]certified.Model{m, other}, certified.Options{Radii: []float64{0}})
			return err
		},
		"the fog-1 images of m (sha256:1) are others than those of other (sha256:2)": func() error {
			a, b := m, m
			a.Data, b.Name, b.Data = map[certified.Cell]string{{}: "sha256:0", {"fog", 1}: "sha256:1"}, "other", map[certified.Cell]string{{}: "sha256:0", {"fog", 1}: "sha256:2"}
			_, err := certified.Points([]certified.Model{a, b}, certified.Options{Radii: []float64{0}})
			return err
		},
		"the clean images of m (sha256:0) are others": func() error {
			a, b := m, m
			a.Data, b.Name, b.Data = map[certified.Cell]string{{}: "sha256:0"}, "other", map[certified.Cell]string{{}: "sha256:2"}
			_, err := certified.Points([]certified.Model{a, b}, certified.Options{Radii: []float64{0}})
			return err
		},
		"expected all images under all corruptions": func() error {
			a := m
			a.Shifted = map[certified.Cell]rs.Rows{{"fog", 1}: {row, {Image: 1}}, {"fog", 2}: {row}}
			_, err := certified.Points([]certified.Model{a}, certified.Options{Radii: []float64{0}})
			return err
		},
		"no model has model = nobody": func() error {
			_, err := certified.Points([]certified.Model{m}, certified.Options{Radii: []float64{0}, Baseline: lines.Selection{Label: "model", Value: "nobody"}})
			return err
		},
	} {
		if err := f(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}
