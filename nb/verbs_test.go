package nb

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/janpfeifer/gonb/gonbui/protocol"

	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/spectral"
)

// shownBy gives the page of values: its words, and how many pictures.
func shownBy(t *testing.T, values ...any) (text string, pictures int) {
	t.Helper()
	sent := page(t)
	Show(values...)
	for _, out := range *sent {
		text += fmt.Sprint(out.Data[protocol.MIMETextPlain], out.Data[protocol.MIMETextHTML])
		if _, ok := out.Data[protocol.MIMEImagePNG]; ok {
			pictures++
		}
	}
	return text, pictures
}

// A map of errors and one of radii, each computed once; the second has an interval over images for each ring.
func TestHeatMapCell(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 60, 90, 150, 200, 240)
	m, pics := brightness(-.5), Data("pics[channels=grey]")
	wrong := HeatMap(m, pics, Waves{Most: 1, Epsilon: 1})
	radius := HeatMap(m, pics, Waves{Most: 1, Epsilon: 1, Sigma: .1, N: 200})
	asked := m.asked.Load()
	if HeatMap(m, pics, Waves{Most: 1, Epsilon: 1}); m.asked.Load() != asked {
		t.Error("a map is computed twice")
	}
	if again := HeatMap(m, pics, Waves{Most: 1, Epsilon: 1, Sigma: .1, N: 200}); again.Values[0] != radius.Values[0] ||
		len(again.Ends) != len(radius.Ends) {
		t.Error("a map is another one the second time")
	}
	if len(wrong.Values) != 9 || wrong.Ends != nil || wrong.Measure != "error" {
		t.Errorf("%+v", wrong)
	}
	for k, r := range radius.Profile() {
		if !(r.Low <= r.Mean && r.Mean <= r.High) || k == 0 && r.Low == r.High {
			t.Errorf("ring %d: %+v", k, r)
		}
	}
	// Of a wave that is not the mean, a classifier of the mean keeps all; the mean moves by 1/8 (ε = 1 on 64 values).
	text, pictures := shownBy(t, wrong, radius, Profile(radius))
	if pictures != 3 || !strings.Contains(text, "average certified radius") {
		t.Errorf("%d pictures, %s", pictures, text)
	}
	if v, _ := wrong.At(1, 1); v != 0 {
		t.Errorf("error %v at (1, 1), want 0", v)
	}
}

// Spectra of two sets, their difference, and a filtered set, in as many cells.
func TestSpectraCells(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 40, 60, 80, 90, 150, 180, 200, 220, 240)
	dark, light := Data("pics[channels=grey,only=dark]"), Data("pics[channels=grey,only=light]")
	a, b := Spectrum(dark), Spectrum(light)
	// Pictures of one grey value but for one pixel: at 0 the mean times 64, less in the dark.
	d, err := a.Minus(b)
	if err != nil || d.Rings[0].High >= 0 || d.Paired {
		t.Fatalf("%+v, %v", d, err)
	}
	text, pictures := shownBy(t, Profile(a, b))
	if pictures != 1 || !strings.Contains(text, "pics[") || !strings.Contains(text, "middle 90 %") {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	if f := Profile(a); strings.Contains(f.Caption, t.TempDir()) {
		t.Errorf("a path of this machine: %s", f.Caption)
	}
	text, pictures = shownBy(t, d)
	if pictures != 2 || !strings.Contains(text, "lower") || strings.Contains(text, "higher") {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	if code, said := stopped(t, func() { Show(a.Minus(Spectrum(Data("pics[channels=grey,resize=4x4]")))) }); code != 1 ||
		!strings.Contains(said, "8×8 and of 4×4") || !strings.Contains(said, "verbs_test.go:") {
		t.Errorf("exit %d, %q", code, said)
	}
	if text, pictures = shownBy(t, Outliers(Data("pics[channels=grey]"), 2)); pictures != 1 || !strings.Contains(text, "2 of 10") {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	all := Data("pics[channels=grey]")
	text, pictures = shownBy(t, Pictures(3, all, Band(all, 0, 2), Band(all, 2, 5)))
	if pictures != 1 || !strings.Contains(text, "3 images") {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	if run := Certify(brightness(-.5), Band(all, 0, 2), Smoothing{Sigma: .1, N: 200}); !run.Complete() ||
		!strings.Contains(run.Header.Data.Name, "band=0-2") {
		t.Errorf("%+v", run.Header.Data)
	}
}

// The error of a calibration within a radius is at least that as it is; sets hold their labels; a look finds no fault.
func TestConfidenceCells(t *testing.T) {
	t.Chdir(t.TempDir())
	greyPictures(t, "pics", 20, 40, 60, 80, 90, 150, 180, 200, 220, 240)
	m, pics := brightness(-.5), Data("pics[channels=grey]")
	run := Certify(m, pics, Smoothing{Sigma: .1, N: 500, KeepScores: true})
	all := Calibration(run, 0, .05)
	if len(all) != 2 || len(all[1].Correct) == 0 || all[1].Radius != .05 {
		t.Fatalf("%+v", all)
	}
	text, pictures := shownBy(t, all, Reliability(run, .05))
	if pictures != 2 || !strings.Contains(text, "largest ECE") {
		t.Errorf("%d pictures: %s", pictures, text)
	}
	sets := Sets(m, pics, Coverage{Sigma: .1, Miscoverage: .3, Radii: []float64{0, 100}, Seed: 1})
	if len(sets.Rows) != 2 || sets.Rows[1][3] != 2. || !strings.Contains(strings.Join(sets.Notes, " "), "every set has all 2 classes") ||
		!strings.Contains(strings.Join(sets.Notes, " "), "The seed was chosen") {
		t.Errorf("%v", sets)
	}
	if looked := Preflight(m, pics, Smoothing{Sigma: .1}); len(looked.Rows) < 5 || !strings.Contains(looked.String(), "ok") {
		t.Errorf("%v", looked)
	}
	for want, cell := range map[string]func(){
		"keep-scores":       func() { Calibration(Certify(m, pics, Smoothing{Sigma: .1, N: 500}), 0) },
		"no radius":         func() { Calibration(run) },
		"without a ledger":  func() { Reliability(&rs.Run{}, 0) },
		"has none":          func() { OOD(m, pics, pics, Ball{Epsilon: .1}) },
		"Ball.Epsilon is 0": func() { OOD(m, pics, pics, Ball{}) },
		"Most -1":           func() { HeatMap(m, pics, Waves{Most: -1}) },
		"nothing to draw":   func() { Profile() },
		"0 images of":       func() { Pictures(0, pics) },
		"p is 0.5":          func() { HalfSpace(.5) },
		"0 ≤ from < to":     func() { Show(Band(pics, 3, 3)) },
		"expected one size": func() { Pictures(1, pics, Data("pics[channels=grey,resize=4x4]")) },
		"miscoverage is 2":  func() { Sets(m, pics, Coverage{Sigma: .1, Miscoverage: 2}) },
	} {
		if code, said := stopped(t, cell); code != 1 || !strings.Contains(said, want) {
			t.Errorf("exit %d, %q; want it to say %q", code, said, want)
		}
	}
}

// The values of a slider reach the function as numbers; the profile of nothing but a mean is one ring.
func TestSlide(t *testing.T) {
	s := Slide("σ", 0.1, 0.25)
	if s.Values[1] != "0.25" || s.number(1) != 0.25 || (Slider{Values: []string{"x", "y"}}).number(1) != 1 {
		t.Errorf("%+v", s)
	}
	m := &spectral.Map{Height: 1, Width: 1, U: []int{0}, V: []int{0}, Values: []float64{2}, Ends: [][2]float64{{1, 3}}}
	if r := m.Profile(); len(r) != 1 || r[0].Low != 1 || math.Abs(r[0].High-3) > 0 {
		t.Errorf("%+v", r)
	}
}
