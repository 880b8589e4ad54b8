package claims

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/internal/experiment/recipe"
	_ "github.com/certspec/certspec/internal/experiment/settings" // knows the methods of training
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/study"
)

// What is printed of Sun et al. 2021 agrees with itself: the groups are in order, and their mean is that of all.
func TestPrintedRadiiAgree(t *testing.T) {
	rows := 0
	// The paper prints other groups for these, so that their mean is not the mean over the corruptions.
	other := map[string]float64{"A/table2 AutoAugment": 0.369, "A/table1 A/c10/aa": 0.369, "A/table1 A/c100/g": 0.1737,
		"A/table4 Gaussian": 0.1737}
	l := library(t)
	for _, name := range []string{"A/table1", "A/table2", "A/table4"} {
		made, err := l.Table(name)
		if err != nil {
			t.Fatal(err)
		}
		numbers, err := l.Numbers(made)
		if err != nil {
			t.Fatal(err)
		}
		for c := range numbers {
			if c.Set != "C" {
				continue
			}
			rows++
			at := func(set string) float64 { return numbers[study.Cell{Row: c.Row, Set: set, What: "acr"}].Value }
			low, middle, high, of := at("C Low"), at("C Mid"), at("C High"), at("C")
			if o, there := other[name+" "+c.Row]; there {
				of = o
			}
			if low >= middle || middle >= high || math.Abs((low+middle+high)/3-of) > 0.0011 {
				t.Errorf("%s: %v, %v, %v", c.Row, low, middle, high)
			}
		}
	}
	if rows != 17+10+7 {
		t.Errorf("%d rows with groups", rows)
	}
}

// A file of models stands for a folder. Of networks that lie by hand above the line of ResNet18, which is y = x in probit
// units, or below: Conv8 by 0.06, VGG16 by 0.02; with AugMix all but VGG16, at 0.03, lie on it.
func TestEffectiveRobustnessByHand(t *testing.T) {
	var text strings.Builder
	for name, above := range map[string]float64{"Conv8/clean": 0.06, "VGG16/clean": -0.02, "ResNet18/clean": 0,
		"Conv8/augmix": 0, "VGG16/augmix": 0.03, "ResNet18/augmix": 0} {
		architecture, augmentation, _ := strings.Cut(name, "/")
		for i, x := range []float64{0.5, 0.6, 0.65, 0.7, 0.8} {
			fmt.Fprintf(&text, `{"model":"%s/%d","labels":{"architecture":%q,"augmentation":%q},"percent":{"cifar10_acc":%g`,
				name, i, architecture, augmentation, 100*x)
			for _, g := range corrupt.Groups[:3] {
				for _, shift := range g.Corruptions {
					fmt.Fprintf(&text, `,%q:%g`, shift, 100*(x+above))
				}
			}
			text.WriteString("}}\n")
		}
	}
	path := filepath.Join(t.TempDir(), "nets.jsonl")
	testkit.Write(t, []byte(text.String()), path)
	all, err := Judge(t.Context(), library(t), path, "fridovich2022/table2", resample.Options{}, "architectures", "variation")
	if err != nil {
		t.Fatal(err)
	}
	if len(all[0].Claims) != 10 || len(all[1].Claims) != 1 {
		t.Fatalf("%d and %d claims", len(all[0].Claims), len(all[1].Claims))
	}
	for _, j := range all[0].Claims {
		if math.Abs(j.A-0.02) > 1e-6 || j.Starts.Verdict != study.VerdictShows || math.Abs(j.Starts.Interval.Low-0.02) > 1e-6 {
			t.Errorf("%s: %v, %+v", j.Say(), j.A, j.Starts)
		}
	}
	j := all[1].Claims[0] // of (0.06, −0.02, 0) and (0, 0.03, 0)
	clean, mixed := math.Sqrt((0.0036+0.0004-3*math.Pow(0.04/3, 2))/2), 0.03/math.Sqrt(3)
	if math.Abs(j.B-clean) > 1e-6 || math.Abs(j.A-mixed) > 1e-6 || j.Starts.Verdict != study.VerdictShows {
		t.Errorf("%s: %v and %v, %+v; by hand %v and %v", j.Say(), j.A, j.B, j.Starts, mixed, clean)
	}
}

func library(t *testing.T) *recipe.Library {
	t.Helper()
	l, err := recipe.Open()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// By hand: two starts of GOOD 40 with GAUC .30 and .40, one of OE with .10, each with the standard error .01 over images
// and no covariance. Their difference is .25 with the error √(2·.005² + .01²); Student's t with one degree of freedom
// widens the interval of .35 over the two starts, but one start of OE has none.
func TestAreasByHand(t *testing.T) {
	networks := []string{"B/x/good40@1", "B/x/good40@2", "B/x/oe@1"}
	m := &store.Manifest{Models: []recipe.Model{{Name: networks[0], Data: "x"}, {Name: networks[1], Data: "x"}, {Name: networks[2], Data: "x"}}}
	table := &store.Table{Lines: []recipe.Line{{Title: "GOOD 40", Models: networks[:2]}, {Title: "OE", Models: networks[2:]}}}
	file := &measure.Areas{Data: "x", Set: "uniform", Epsilon: 0.1, All: measure.Compared{Networks: networks, Kinds: []string{"AUC", "GAUC"}, Images: 100,
		Values: []float64{.9, .30, .9, .40, .9, .10}}}
	for i := range 6 {
		row := make([]float64, i+1)
		row[i] = 1e-4
		file.All.Covariance = append(file.All.Covariance, row)
	}
	a := areas{rows{"", m, table}, []*measure.Areas{file}}
	oe := study.Cell{Row: "OE", Set: "uniform", What: "gauc"}
	d, err := a.Compare(t.Context(), study.Cell{Row: "B/x/good40", Set: "uniform", What: "gauc"}, &oe, 0, resample.Options{Confidence: .95})
	if err != nil || d.Of != 1 || d.Starts != nil {
		t.Fatal(d, err)
	}
	half := (d.Networks.Interval.High - d.Networks.Interval.Low) / 2
	if math.Abs(d.A-.35) > 1e-12 || d.B != .10 || math.Abs(half-1.959964*math.Sqrt(1.5e-4)) > 1e-7 || d.Networks.P > 1e-9 {
		t.Errorf("%+v, half %v", d, half)
	}
	alone, err := a.Compare(t.Context(), study.Cell{Row: "GOOD 40", Set: "uniform", What: "gauc"}, nil, .005, resample.Options{Confidence: .95})
	if err != nil || alone.Of != 2 || alone.Starts == nil {
		t.Fatal(alone, err)
	}
	// The spread .0707 of the two is a standard error of .05, and t is 12.706.
	if half := alone.Starts.Interval.High - .35; math.Abs(half-math.Hypot(1.959964*math.Sqrt(.5e-4), 12.7062*.05)) > 1e-3 || alone.Starts.P < .05 {
		t.Errorf("over starts %v with p %v", half, alone.Starts.P)
	}
	if x := a.Context(oe); x.Epsilon != .1 || x.Images != 100 || x.Data != "x" || x.Unit != "share" {
		t.Errorf("%+v", x)
	}
	if none, err := a.Compare(t.Context(), study.Cell{Row: "OE", Set: "letters", What: "gauc"}, nil, 0, resample.Options{Confidence: .95}); none != nil || err != nil {
		t.Errorf("a set that is not there: %v, %v", none, err)
	}
}

// Rows that differ in what training took say so: steps of whole batches, and passes with views and noises counted.
func TestUnequalEfforts(t *testing.T) {
	r, err := openRows("../../../notebooks/results/experiments/A-scratch", "A/scratch-starts")
	if err != nil {
		t.Fatal(err)
	}
	if says, err := r.unequal("FourierMix+HCR", "Gaussian+JSD"); err != nil || says != "5,850 steps for 11,700, 180 passes for 60" {
		t.Errorf("%q, %v", says, err)
	}
	if says, err := r.unequal("Gaussian+JSD", "Gaussian+JSD"); err != nil || says != "" {
		t.Errorf("%q, %v", says, err)
	}
}

// Claims name methods and sets of images as a reader does.
func TestSay(t *testing.T) {
	for want, c := range map[string]study.Claim{
		"FourierMix+HCR above Gaussian+JSD on clean images":          {Row: "FourierMix+HCR", Than: "Gaussian+JSD", What: "acr", On: []string{"clean"}},
		"Gaussian: C Mid above C Low":                                {Row: "Gaussian", ThanOn: "C Low", What: "acr", On: []string{"C Mid"}},
		"GAUC of GOOD 40 above 0.5 on clothes":                       {Row: "B/mnist-8k/good40", What: "gauc", On: []string{"clothes"}, By: 0.005},
		"GAUC of GOOD 100 above AAUC of OE, but for 2 on clothes":    {Row: "B/mnist-8k/good100", Than: "B/mnist-8k/oe", What: "gauc", ThanWhat: "aauc", On: []string{"clothes"}, By: -0.02},
		"Brier-ACT below AT, CCE at R = 0.2":                         {Row: "Brier-ACT", Than: "AT", What: "cce 0.2", On: []string{"clean"}, Sign: -1},
		"Traditional: R² by ID accuracy on Gaussian noise below 0.5": {Row: "Traditional", What: "r2 ID accuracy", On: []string{"gaussian_noise"}, By: 0.5, Sign: -1},
	} {
		if got := Readable(library(t), study.Judged{Claim: c, Set: c.On[0]}).Say(); !strings.EqualFold(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
