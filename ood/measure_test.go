package ood

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs/ledger"
)

// loaded is images as a source.
type loaded struct{ *imageset.Images }

func (l loaded) Load(context.Context) (*imageset.Images, error) { return l.Images, nil }

// pictures draws n images of 4 × 4 pixels.
func pictures(name string, seed uint64, n int) loaded {
	return loaded{testkit.Images(name, pixel.Shape{Height: 4, Width: 4, Channels: 1}, 3, n, seed)}
}

// network has two layers and three classes.
func network(t testing.TB, seed uint64) *feedforward.Network {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 2))
	normal := func(n int) []float64 {
		w := make([]float64, n)
		for i := range w {
			w[i] = 0.5 * rng.NormFloat64()
		}
		return w
	}
	b := feedforward.NewBuilder(4, 4, 1)
	n, err := b.Network(b.Dense(b.ReLU(b.Dense(0, 12, normal(12*16), normal(12))), 3, normal(36), normal(3)))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

var quick = AttackOptions{Epsilon: 0.1, Steps: 10, Restarts: 2, Monotone: 10, Seed: 3}

func TestMeasureBoundsAllThatAttacksFind(t *testing.T) {
	net, data := network(t, 1), pictures("set/test", 5, 40)
	o := quick
	found, err := Attack(t.Context(), net, data, o)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(found.Lines, func(l record.Line) bool { return l.By != "clean" && l.Attacked > l.Log+0.01 }) {
		t.Error("no attack found anything")
	}
	for _, method := range []feedforward.Method{feedforward.IBP, feedforward.CROWN} {
		bound, err := Measure(t.Context(), net, data, Options{Epsilon: 0.1, Method: method})
		if err != nil {
			t.Fatal(err)
		}
		for i, l := range bound.Lines {
			if a := found.Lines[i]; a.Image != l.Image || a.Log != l.Log || a.Attacked < a.Log || a.Attacked > l.Upper || l.Image != 2*i || l.Label != i%3 {
				t.Errorf("%s: %+v and %+v", method, a, l)
			}
		}
	}
	o.Attacks = []string{"noise"} // from starts in noise alone; its points, too, lie below the bounds
	noise, err := Attack(t.Context(), net, data, o)
	if err != nil {
		t.Fatal(err)
	}
	more := 0
	for i, l := range noise.Lines {
		if a := found.Lines[i]; l.Log != a.Log || l.Attacked < l.Log {
			t.Errorf("from noise: %+v", l)
		} else if l.By == "noise" {
			more++
		}
	}
	if more == 0 {
		t.Error("no start in noise found anything")
	}
	ibp, err := Measure(t.Context(), net, data, Options{Epsilon: 0.1, Method: feedforward.IBP})
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range ibp.Lines {
		if noise.Lines[i].Attacked > l.Upper {
			t.Errorf("from noise %+v, bound %+v", noise.Lines[i], l)
		}
	}
	point, err := Measure(t.Context(), net, data, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range point.Lines {
		if l.Upper-l.Log > 1e-4 || l.Log-l.Lower > 1e-4 {
			t.Errorf("at the image itself: %+v", l)
		}
	}
}

// A run that is stopped and goes on, and one in shards, end with the bytes of one that is not; so do runs with other numbers of workers.
func TestRunsEndWithTheSameBytes(t *testing.T) {
	net, data, dir := network(t, 1), pictures("set/test", 5, 40), t.TempDir()
	kinds := map[string]func(ctx context.Context, r Options) (*Measurement, error){
		"bound": func(ctx context.Context, r Options) (*Measurement, error) {
			r.Epsilon = 0.1
			return Measure(ctx, net, data, r)
		},
		"attack": func(ctx context.Context, r Options) (*Measurement, error) {
			o := quick
			o.Attacks, o.Points = []string{"apgd", "contrast"}, r.File+".npy"
			o.File, o.Shard, o.Workers, o.Progress = r.File, r.Shard, r.Workers, r.Progress
			return Attack(ctx, net, data, o)
		},
	}
	for name, kind := range kinds {
		whole := filepath.Join(dir, name+".ood")
		if _, err := kind(t.Context(), Options{File: whole, Workers: 1}); err != nil {
			t.Fatal(err)
		}
		want, _ := os.ReadFile(whole)
		cut := filepath.Join(dir, name+"-cut.ood")
		stops := 0
		for {
			ctx, cancel := context.WithCancel(t.Context())
			m, err := kind(ctx, Options{File: cut, Workers: 3, Progress: func(s progress.State) {
				if !s.Final {
					cancel()
				}
			}})
			cancel()
			if err == nil {
				if m.Claims == nil || len(m.Lines) != 40 {
					t.Errorf("%s: %d lines", name, len(m.Lines))
				}
				break
			}
			if stops++; !errors.Is(err, context.Canceled) || stops > 40 {
				t.Fatalf("%s, stop %d: %v", name, stops, err)
			}
		}
		if stops == 0 {
			t.Errorf("%s was not stopped", name)
		}
		if got, _ := os.ReadFile(cut); string(got) != string(want) {
			t.Errorf("%s: a run in %d parts ends with other bytes", name, stops+1)
		}
		var parts []string
		for i := range 3 {
			parts = append(parts, filepath.Join(dir, name+"-part"+string(rune('0'+i))+".ood"))
			if _, err := kind(t.Context(), Options{File: parts[i], Shard: &record.Shard{Index: i, Count: 3}}); err != nil {
				t.Fatal(err)
			}
		}
		merged := filepath.Join(dir, name+"-merged.ood")
		if _, err := record.Merge(t.Context(), merged, parts); err != nil {
			t.Fatal(err)
		}
		if got, _ := os.ReadFile(merged); string(got) != string(want) {
			t.Errorf("%s: shards merge into other bytes", name)
		}
	}
	if a, _ := os.ReadFile(filepath.Join(dir, "attack.ood.npy")); len(a) == 0 {
		t.Error("no points were kept")
	} else if b, _ := os.ReadFile(filepath.Join(dir, "attack-cut.ood.npy")); string(a) != string(b) {
		t.Error("the points of a run in parts are others")
	}
}

// Points found on one network are starts on another, and never make its result worse.
func TestTransfer(t *testing.T) {
	a, b, data, dir := network(t, 1), network(t, 2), pictures("set/test", 5, 12), t.TempDir()
	o := quick
	o.Points = filepath.Join(dir, "a.npy")
	if _, err := Attack(t.Context(), a, data, o); err != nil {
		t.Fatal(err)
	}
	o.Transfer, o.Points, o.Attacks = []string{o.Points}, "", []string{"contrast"}
	moved, err := Attack(t.Context(), b, data, o)
	if err != nil {
		t.Fatal(err)
	}
	o.Transfer = nil
	alone, err := Attack(t.Context(), b, data, o)
	if err != nil {
		t.Fatal(err)
	}
	better := 0
	for i, l := range moved.Lines {
		if l.Attacked < alone.Lines[i].Attacked {
			t.Errorf("image %d: %v with the points, %v without", i, l.Attacked, alone.Lines[i].Attacked)
		}
		if l.By == "transfer" {
			better++
		}
	}
	if better == 0 || len(moved.Header.Attack.Transfer) != 1 || moved.Header.Attack.Transfer[0] == "" {
		t.Errorf("%d images were found by transfer; %+v", better, moved.Header.Attack)
	}
	o.Transfer = []string{filepath.Join(dir, "a.npy")}
	if _, err := Attack(t.Context(), b, pictures("set/test", 5, 11), o); err == nil || !strings.Contains(err.Error(), "12 points") {
		t.Errorf("points of other images: %v", err)
	}
}

func TestMeasureRefuses(t *testing.T) {
	net, data := network(t, 1), pictures("set/test[range=0:9]", 5, 4)
	other := pictures("other", 5, 4)
	other.Shape = pixel.Shape{Height: 2, Width: 8, Channels: 1}
	trained := func(name, digest string) Options {
		return Options{Trained: []ledger.Data{{Name: name, Digest: digest}}}
	}
	for want, c := range map[string]struct {
		data imageset.Source
		o    Options
	}{
		"epsilon -1":                  {data, Options{Epsilon: -1}},
		"epsilon NaN":                 {data, Options{Epsilon: math.NaN()}},
		"epsilon 1.5":                 {data, Options{Epsilon: 1.5}},
		"method \"box\"":              {data, Options{Method: "box"}},
		"images of other are 2×8×1":   {other, Options{}},
		"was trained on train":        {data, trained("train", data.Digest)},
		"was trained on set/test":     {data, trained("set/test", "")},
		"trained on set/test[range=5": {data, trained("set/test[range=5:7]", "")},
		"no images":                   {loaded{&imageset.Images{}}, Options{}},
		"shard 2 of 2":                {data, Options{Shard: &record.Shard{Index: 2, Count: 2}}},
	} {
		if _, err := Measure(t.Context(), net, c.data, c.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
	for _, name := range []string{"set/train", "set/test[range=9:20]", "set/test[range=9:20,count=5]"} {
		if _, err := Measure(t.Context(), net, data, trained(name, "")); err != nil {
			t.Errorf("trained on %s: %v", name, err)
		}
	}
	if !apart("set[only=a:b,count=3]", "set[only=c]") || apart("set[only=a:b]", "set[only=b:c]") || apart("set[only=a:b]", "set") {
		t.Error("classes")
	}
	if apart("set[split=0.5:1:1]", "set[split=0.5:2:2]") || !apart("set[split=0.5:1:1]", "set[split=0.5:1:2,count=3]") || apart("set[count=9,split=0.5:1:1]", "set[split=0.5:1:2]") {
		t.Error("parts of a split")
	}
}

func TestCompare(t *testing.T) {
	net := network(t, 1)
	in, err := Measure(t.Context(), net, pictures("own", 7, 60), Options{})
	if err != nil {
		t.Fatal(err)
	}
	data := pictures("foreign", 8, 50)
	at := func(epsilon float64) *Measurement {
		m, err := Measure(t.Context(), net, data, Options{Epsilon: epsilon})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	attacked, err := Attack(t.Context(), net, data, quick)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(t.Context(), CompareOptions{}, in, at(0.1), attacked)
	if err != nil {
		t.Fatal(err)
	}
	if !(*c.GAUC <= *c.AAUC && *c.AAUC <= c.AUC && c.CAUC <= c.AUC && *c.CGAUC <= *c.GAUC && *c.FPR95 <= *c.GFPR95) || *c.AAUC == c.AUC || *c.GAUC == *c.AAUC {
		t.Errorf("%+v", c)
	}
	if s := c.Attacked; s.Images != 50 || s.AUC != c.AUC || s.AAUC != *c.AAUC || *s.GAUC != *c.GAUC {
		t.Errorf("all images were attacked: %+v", s)
	}
	for _, name := range []string{"auc", "cauc", "aauc", "caauc", "gauc", "cgauc"} {
		e, ok := c.Intervals[name]
		if !ok || e.Bootstrap.Low >= e.Bootstrap.High || (e.DeLong == nil) != strings.HasPrefix(name, "c") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	if text, err := json.Marshal(Interval{resample.Interval{Low: .25, High: .5}, .95}); err != nil || string(text) != `{"lower":0.25,"upper":0.5,"level":0.95}` {
		t.Errorf("the JSON of an interval is %s, %v", text, err)
	}
	if d, b := c.Intervals["auc"].DeLong, c.Intervals["auc"].Bootstrap; math.Abs(d.Low-b.Low) > 0.03 || math.Abs(d.High-b.High) > 0.03 {
		t.Errorf("DeLong gives %+v, the bootstrap %+v", d, b)
	}
	// GAUC never rises with ε.
	last := 1.0
	for _, e := range []float64{0, 0.02, 0.1, 0.3} {
		g, err := Compare(t.Context(), CompareOptions{}, in, at(e))
		if err != nil || *g.GAUC > last {
			t.Errorf("ε = %v: %v, %v; %v before", e, *g.GAUC, err, last)
		}
		last = *g.GAUC
	}
	// A point above its bound is a mistake, and named.
	wrong := *attacked
	wrong.Lines = slices.Clone(attacked.Lines)
	wrong.Lines[7].Attacked = -1e-9
	for want, f := range map[string][]*Measurement{
		"image 14: under attack":  {in, at(0.1), &wrong},
		"is of |z − x| ≤ 0.2":     {in, at(0.2), attacked},
		"are of one kind":         {in, at(0.1), at(0.1)},
		"has the own images":      {in, in},
		"no scores":               {in},
		"is not in":               {in, measured(t, net, pictures("foreign", 8, 9)), attacked},
		"another network":         {in, measured(t, network(t, 9), data)},
		"they are not of the sam": {in, measured(t, net, pictures("foreign", 9, 50)), attacked},
	} {
		if _, err := Compare(t.Context(), CompareOptions{}, f[0], f[1:]...); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v; expected %q", err, want)
		}
	}
}

func measured(t *testing.T, n *feedforward.Network, data imageset.Source) *Measurement {
	t.Helper()
	m, err := Measure(t.Context(), n, data, Options{Epsilon: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Resamples count by ranks as Area does.
func TestBootstrapCountsAsAreaDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	for range 200 {
		in, foreign := scores(rng, 2+rng.IntN(15)), scores(rng, 2+rng.IntN(15))
		want, _ := Area(in, foreign)
		value, conservative := ranksOf(in, foreign).area(every(len(in)), every(len(foreign)))
		if math.Abs(value-want.Value) > 1e-15 || conservative != want.Conservative {
			t.Fatalf("%v, %v: %v and %v, want %+v", in, foreign, value, conservative, want)
		}
	}
}

func every(n int) []int {
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	return places
}

func TestThreshold(t *testing.T) {
	m := &Measurement{Header: record.Header{Bound: &record.Bound{}}}
	for i := range 100 {
		m.Lines = append(m.Lines, record.Line{Log: -float64(i)})
	}
	got, err := PickThreshold(m, 0.95)
	// Clopper and Pearson's lower bound of 95 of 100 at one-sided 95 %: the 5 % quantile of Beta(95, 6), .89775.
	if err != nil || got.Log != -94 || got.TPR != 0.95 || math.Abs(got.Least-0.89775) > 1e-4 {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := PickThreshold(m, 1.5); err == nil {
		t.Error("a share of 1.5 is taken")
	}
	for i := 85; i < 100; i++ { // ties at the threshold: all reach it, and prove no more
		m.Lines[i].Log = -90
	}
	if tied, err := PickThreshold(m, 0.95); err != nil || tied.TPR != 1 || tied.Least != got.Least {
		t.Errorf("%+v, %v", tied, err)
	}
	m.Lines[0].Log, m.Lines[1].Log = math.NaN(), math.NaN()
	if some, err := PickThreshold(m, 0.95); err != nil || some.NaN != 2 || some.TPR != 0.98 {
		t.Errorf("%+v, %v", some, err)
	}
	// A confidence that is no number is not kept of own images, and counts as reached of foreign ones.
	if at := (Threshold{Log: -50}); at.Keeps(m) != 0.49 || at.Reach(m, false) != 0.51 || at.Reach(m, true) != 1 {
		t.Errorf("%v, %v, %v", at.Keeps(m), at.Reach(m, false), at.Reach(m, true))
	}
	m.Header.Data.Name, m.Header.Model.Trained = "set/test[count=10]", []ledger.Data{{Name: "set/test"}}
	var trained *TrainedError
	if _, err := PickThreshold(m, 0.5); !errors.As(err, &trained) {
		t.Errorf("validation images that were trained on: %v", err)
	}
}

// Validation images are none of those that a threshold is tried on.
func TestFurther(t *testing.T) {
	of := func(name, digest string) *Measurement {
		return &Measurement{Path: name + ".ood", Header: record.Header{Data: ledger.Data{Name: name, Digest: digest}}}
	}
	for _, c := range []struct {
		a, b  string
		apart bool
	}{
		{"set/test[count=10]", "set/test", false},
		{"set/test[range=0:10]", "set/test[range=9:20]", false},
		{"set/test[range=0:10]", "set/test[range=10:20]", true},
		{"set/train", "set/test", true},
	} {
		if err := Further(of(c.a, "1"), of(c.b, "2")); (err == nil) != c.apart {
			t.Errorf("%s beside %s: %v", c.a, c.b, err)
		}
	}
	if err := Further(of("a", "1"), of("b", "1")); err == nil {
		t.Error("the same images under two names pass")
	}
}

func TestVerify(t *testing.T) {
	net, data, dir := network(t, 1), pictures("set/test", 5, 10), t.TempDir()
	file := filepath.Join(dir, "a.ood")
	m, err := Measure(t.Context(), net, data, Options{Epsilon: 0.1, File: file})
	if err != nil {
		t.Fatal(err)
	}
	if checked, err := Verify(t.Context(), m, net, data, 0); err != nil || checked != 10 {
		t.Errorf("%d images, %v", checked, err)
	}
	if checked, err := Verify(t.Context(), m, net, data, 4); err != nil || checked != 4 {
		t.Errorf("%d images, %v", checked, err)
	}
	bad := *m
	bad.Lines = slices.Clone(m.Lines)
	bad.Lines[3].Upper *= 1 + 1e-11
	if reflect.DeepEqual(bad.Lines, m.Lines) {
		t.Fatal("nothing changed")
	}
	if _, err := Verify(t.Context(), &bad, net, data, 0); err == nil || !strings.Contains(err.Error(), "image 6") {
		t.Errorf("a changed bound: %v", err)
	}
	if _, err := Verify(t.Context(), m, network(t, 2), data, 0); err == nil || !strings.Contains(err.Error(), "network") {
		t.Errorf("another network: %v", err)
	}
}

// Noise has the same images among however many: attacks on the first hundred belong to bounds on a thousand, and none is unseen where others were trained on.
func TestNoiseOfOtherNumbers(t *testing.T) {
	trained := ledger.Data{Name: "noise:uniform,8x8x1,n=50,seed=1"}
	for name, overlaps := range map[string]bool{
		"noise:uniform,8x8x1,seed=1": true, "noise:uniform,8x8x1,n=9,seed=1[count=3]": true, "noise:uniform,8x8x1,n=50": false, "noise:smooth,8x8x1,n=50,seed=1": false,
	} {
		if _, err := Unseen(ledger.Data{Name: name}, []ledger.Data{trained}); (err != nil) != overlaps {
			t.Errorf("%s after training on %s: %v", name, trained.Name, err)
		}
	}
	net, o := network(t, 1), quick
	bound, err := Measure(t.Context(), net, pictures("noise:uniform,4x4x1,n=40", 5, 40), Options{Epsilon: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	for name, same := range map[string]bool{"noise:uniform,4x4x1,n=90[count=10]": true, "noise:uniform,4x4x1,n=10,seed=2": false} {
		attacked, err := Attack(t.Context(), net, pictures(name, 5, 10), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := Ordered(bound, attacked); (err == nil) != same {
			t.Errorf("bounds on %s, attacks on %s: %v", bound.Header.Data.Name, name, err)
		}
	}
}
