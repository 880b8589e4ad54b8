package compare_test

import (
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
	"github.com/certspec/certspec/rs/ledger"
)

// headerOf is a header with a value in every field.
func headerOf() ledger.Header {
	return ledger.Header{Format: ledger.Format, Version: ledger.Version, Program: ledger.Program{Version: "1", Commit: "c"},
		Model: classifier.Info{Name: "net", Shape: pixel.Shape{Height: 2, Width: 3, Channels: 1}, Classes: 4,
			Identity: classifier.Identity{Weights: "sha256:w", Engine: "onnxruntime", EngineVersion: "1 cpu, graph 12, layers 2", Threads: 1, InstructionSet: "amd64/avx2"}},
		Data:  ledger.Data{Name: "folder:pics", Digest: "sha256:d", Images: 5},
		Sigma: .25, Noise: "grid/1", Seed: 3, SeedChosen: true, Alpha: .001, Selection: 100, Block: 100,
		Rule: ledger.Rule{Name: "staged", Tolerance: .01, Relative: true, Looks: []ledger.Level{{Samples: 1000, Alpha: .001}},
			Sizes: []ledger.Size{{Hits: 1, Samples: 2}}, Targets: []ledger.Target{{Radius: .5, Probability: ".9"}}, Futility: .01, Budget: "all"},
		Order: "data", Shard: &ledger.Shard{By: "images", Count: 2}, Scores: "uniform/1000"}
}

// Every field of a header that counts depend on is named where it alone differs; the others are
// not.
func TestEveryFieldIsNamed(t *testing.T) {
	// Counts depend on none of these: who wrote the file, how work was shared, what was kept beside
	// it; a name for people; whether a seed that is the same was chosen; the number of images,
	// which the digest covers.
	none := []string{"Format", "Version", "Program.Version", "Program.Commit", "Model.Name", "Model.Logits", "Data.Name", "Data.Images",
		"SeedChosen", "Order", "Shard", "Scores"}
	named := map[string]string{"Model.Shape.Height": "model", "Model.Shape.Width": "model", "Model.Shape.Channels": "model", "Model.Classes": "model",
		"Model.Identity.Weights": "model", "Model.Identity.Engine": "engine", "Model.Identity.EngineVersion": "engine", "Model.Identity.Threads": "engine",
		"Model.Identity.InstructionSet": "engine", "Data.Digest": "images", "Sigma": "σ", "Noise": "noise", "Seed": "seed", "Alpha": "α",
		"Selection": "n0", "Block": "block", "Rule.Name": "rule", "Rule.Tolerance": "tolerance", "Rule.Relative": "tolerance",
		"Rule.Looks": "n", "Rule.Sizes": "sizes", "Rule.Targets": "tested radii", "Rule.Futility": "futility", "Rule.Budget": "budget"}
	var visit func(name string, v reflect.Value, header *ledger.Header)
	visit = func(name string, v reflect.Value, header *ledger.Header) {
		if v.Kind() == reflect.Struct {
			for i := range v.NumField() {
				visit(strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), v.Field(i), header)
			}
			return
		}
		before := reflect.ValueOf(v.Interface())
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		case reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		case reflect.Float64:
			v.SetFloat(v.Float() / 2)
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Pointer:
			v.SetZero()
		case reflect.Slice:
			other := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
			other.Index(0).Set(v.Index(0))
			for i := range other.Index(0).NumField() {
				switch f := other.Index(0).Field(i); f.Kind() {
				case reflect.Int:
					f.SetInt(f.Int() + 100)
				case reflect.Float64:
					f.SetFloat(f.Float() / 2)
				}
			}
			v.Set(other)
		default:
			t.Fatalf("%s: a field of kind %v, which this test cannot change", name, v.Kind())
		}
		a := headerOf()
		var got []string
		for _, s := range compare.Differ(&a, header) {
			got = append(got, s.Name)
			if s.A == s.B {
				t.Errorf("%s: %+v", name, s)
			}
		}
		var want []string
		if !slices.Contains(none, name) {
			want = []string{named[name]}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q differ; expected %q", name, got, want)
		}
		v.Set(before)
	}
	h := headerOf()
	visit("", reflect.ValueOf(&h).Elem(), &h)
}

// Seeds that were derived follow from the model; a graph and the engine of an integer network are
// of the model.
func TestWhatFollowsFromTheModel(t *testing.T) {
	for name, c := range map[string]struct {
		change func(a, b *ledger.Header)
		want   string
	}{
		"derived seeds":      {func(a, b *ledger.Header) { a.SeedChosen, b.SeedChosen, b.Seed = false, false, 9 }, "model"},
		"one chosen":         {func(a, b *ledger.Header) { a.SeedChosen, b.Seed = false, 9 }, "model seed"},
		"a graph":            {func(_, b *ledger.Header) { b.Model.Identity.EngineVersion = "1 cpu, graph 9, layers 2" }, "model"},
		"other layers":       {func(_, b *ledger.Header) { b.Model.Identity.EngineVersion = "1 cpu, graph 9, layers 3" }, "model engine"},
		"an integer network": {func(_, b *ledger.Header) { b.Model.Identity = classifier.Identity{Weights: "i", Engine: "integers"} }, "model"},
		"a selection": {func(a, b *ledger.Header) {
			a.Data.Name, b.Data = "mnist/test[count=9]", ledger.Data{Name: "mnist/test[skip=2]", Digest: "e"}
		}, "model"},
		"a corruption": {func(a, b *ledger.Header) {
			a.Data.Name, b.Data = "mnist/test", ledger.Data{Name: "mnist/test[corrupt=fog:3]", Digest: "e"}
		}, "model images"},
		"files": {func(a, b *ledger.Header) {
			a.Data.Name, b.Data = "npy:a", ledger.Data{Name: "npy:a[count=3]", Digest: "e"}
		}, "model images"},
	} {
		a, b := headerOf(), headerOf()
		b.Model.Identity.Weights, b.Model.Name = "sha256:v", "other"
		c.change(&a, &b)
		var got []string
		for _, s := range compare.Differ(&a, &b) {
			got = append(got, s.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, expected %q", name, got, c.want)
		}
	}
}

func TestHeading(t *testing.T) {
	h := headerOf()
	change := func(f func(h *ledger.Header)) *ledger.Header {
		other := headerOf()
		f(&other)
		return &other
	}
	for want, pair := range map[string][2]*ledger.Header{
		"Nothing differs: one model under the same settings.":                                                         {&h, change(func(*ledger.Header) {})},
		"Only the model differs: net, b.":                                                                             {&h, change(func(h *ledger.Header) { h.Model.Name, h.Model.Identity.Weights = "b", "v" })},
		"One model under different settings: α 0.001, 0.01. These may have caused":                                    {&h, change(func(h *ledger.Header) { h.Alpha = .01 })},
		"Models differ (net, b), and so do settings: σ 0.25, 0.5. These":                                              {&h, change(func(h *ledger.Header) { h.Model.Name, h.Model.Identity.Weights, h.Sigma = "b", "v", .5 })},
		"What differs is not known: settings σ = 0.25, n ≤ 1,000, α = 0.001, not known. These":                        {&h, nil},
		"n 10,000, 100,000 (the defaults of a cell and of the program). These may have caused what differs below: no": {change(func(h *ledger.Header) { h.Rule.Looks = []ledger.Level{{Samples: 10_000}} }), change(func(h *ledger.Header) { h.Rule.Looks = []ledger.Level{{Samples: 100_000}} })},
	} {
		if got := compare.Heading(compare.Differ(pair[0], pair[1])); !strings.Contains(got, want) {
			t.Errorf("%s\nexpected %s", got, want)
		}
	}
}

// Verdicts follow the corrected p-value and the sign, where the model alone differs; two vectors
// without headers are taken on trust. The smaller cap cuts both.
func TestVerdictsAndCaps(t *testing.T) {
	low, high := make([]float64, 120), make([]float64, 120)
	for i := range low {
		low[i], high[i] = .1+.0003*float64(i), .3+.0006*float64(i)
	}
	verdicts := func(a, b compare.Radii) (c *compare.Comparison, words []string) {
		t.Helper()
		c, err := compare.Runs(t.Context(), a, b, []float64{0, .2, .35}, resample.Options{Resamples: 500})
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range c.Verdicts {
			words = append(words, v.Metric+" "+v.Verdict)
		}
		return c, words
	}
	a, b := correct(low...), correct(high...)
	if c, got := verdicts(a, b); !slices.Equal(got, []string{"ACR higher", "r = 0 open", "r = 0.2 higher", "r = 0.35 higher"}) || c.Cap != 0 {
		t.Errorf("%q, %+v", got, c)
	}
	if _, got := verdicts(b, a); got[0] != "ACR lower" || got[2] != "r = 0.2 lower" {
		t.Errorf("%q", got)
	}
	h, other := headerOf(), headerOf()
	other.Model.Identity.Weights = "v"
	a.Header, b.Header, a.Cap, b.Cap = &h, &other, .25, .5
	c, got := verdicts(a, b)
	if !slices.Equal(got, []string{"ACR higher", "r = 0 open", "r = 0.2 higher"}) || c.Cap != .25 || !slices.Equal(c.Beyond, []float64{.35}) || c.ACR.B != .25 {
		t.Errorf("%q, %+v", got, c)
	}
	other.Alpha = .01
	if _, got := verdicts(a, b); strings.Contains(strings.Join(got, " "), "er") {
		t.Errorf("another α: %q", got)
	}
	other = headerOf()
	other.Data.Digest = "sha256:e"
	var data *compare.DataError
	if _, err := compare.Runs(t.Context(), a, b, nil, resample.Options{}); !errors.As(err, &data) {
		t.Errorf("other images of one name: %v", err)
	}
	cells := func(r compare.Radii) []compare.Corrupted { return []compare.Corrupted{{"fog", 2, r}} }
	if _, err := compare.Sweeps(t.Context(), cells(a), cells(b), resample.Options{}); !errors.As(err, &data) || !strings.HasPrefix(err.Error(), "fog at severity 2") {
		t.Errorf("other images of one name, in sweeps: %v", err)
	}
}

// A committed run has its own header and cap: 0.25 Φ⁻¹(0.001^(1/n)).
func TestOfRun(t *testing.T) {
	run, err := rs.Open(filepath.Join("..", "..", "notebooks", "results", "fmnist-cnn-s025-fixed.ledger"))
	if err != nil {
		t.Fatal(err)
	}
	if r := compare.OfRun(run); r.Cap < .95 || r.Cap > .955 || r.Header != &run.Header || len(r.Values) != 500 || slices.Max(r.Values) > r.Cap {
		t.Errorf("cap %v, %d images", r.Cap, len(r.Values))
	}
}
