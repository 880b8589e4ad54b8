package rs_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/report"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/noise"
	"github.com/certspec/certspec/rs/rule"

	"pgregory.net/rapid"
)

// committedLedgers are all ledgers of the repository.
func committedLedgers(t *testing.T) (paths []string) {
	t.Helper()
	for _, folder := range []string{"../notebooks/results", "testdata", "../internal/golden/testdata"} {
		err := filepath.WalkDir(folder, func(path string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".ledger") {
				paths = append(paths, path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if len(paths) < 70 {
		t.Fatalf("%d ledgers: this test looks in the wrong place", len(paths))
	}
	return paths
}

// The seed that settings give never changes: an old ledger would be of another run.
func TestDerivedSeedOfOldLedgers(t *testing.T) {
	derived := 0
	for _, path := range committedLedgers(t) {
		s, err := ledgerio.Scan(path)
		if err != nil {
			t.Fatal(err)
		}
		h := s.Header()
		s.Close()
		if h.SeedChosen {
			continue
		}
		derived++
		if seed := rs.DerivedSeed(h); seed != h.Seed {
			t.Errorf("%s has the seed %d, now derived as %d", path, h.Seed, seed)
		}
	}
	if derived < 10 {
		t.Errorf("%d derived seeds: this test shows too little", derived)
	}
}

// Each field of a header either enters the seed or does not, for ever: a field without a line here calls for a decision, and for a new
// version of the encoding if it shall enter.
var enters = map[string]bool{
	"Format": false, "Version": false, "Program.Version": false, "Program.Commit": false,
	"Model.Name": false, "Model.Shape.Height": true, "Model.Shape.Width": true, "Model.Shape.Channels": true, "Model.Classes": true,
	"Model.Identity.Weights": true, "Model.Identity.Engine": false, "Model.Identity.EngineVersion": false, "Model.Identity.Threads": false,
	"Model.Identity.InstructionSet": false, "Model.Logits": false,
	"Data.Name": false, "Data.Digest": true, "Data.Images": true,
	"Sigma": true, "Noise": true, "Seed": false, "SeedChosen": true, "Alpha": true, "Selection": true, "Block": true,
	"Rule.Name": true, "Rule.Tolerance": true, "Rule.Relative": true, "Rule.Looks.Samples": true, "Rule.Looks.Alpha": true,
	"Rule.Sizes.Hits": true, "Rule.Sizes.Samples": true, "Rule.Targets.Radius": true, "Rule.Targets.Probability": true, "Rule.Futility": true, "Rule.Budget": true,
	"Order": true, "Shard.By": false, "Shard.Index": false, "Shard.Count": false, "Scores": false,
}

// leaves calls visit with every field of v that is no struct, and its name.
func leaves(name string, v reflect.Value, visit func(string, reflect.Value)) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			leaves(strings.TrimPrefix(name+"."+v.Type().Field(i).Name, "."), v.Field(i), visit)
		}
	case reflect.Pointer:
		leaves(name, v.Elem(), visit)
	case reflect.Slice:
		leaves(name, v.Index(0), visit)
	default:
		visit(name, v)
	}
}

// fullHeader has a value in every field.
func fullHeader() ledger.Header {
	return ledger.Header{
		Model: classifier.Info{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 3}, Classes: 4, Identity: classifier.Identity{Weights: "w"}},
		Data:  ledger.Data{Digest: "d", Images: 5}, Sigma: .25, Noise: "grid/1", Alpha: .001, Selection: 100, Block: 100, Order: "data",
		Rule: ledger.Rule{Name: "r", Tolerance: .01, Looks: []ledger.Level{{Samples: 1, Alpha: .001}}, Sizes: []ledger.Size{{Hits: 1, Samples: 2}},
			Targets: []ledger.Target{{Radius: .5, Probability: "0.9"}}, Futility: .1, Budget: "b"},
		Shard: &ledger.Shard{By: "images", Index: 0, Count: 2},
	}
}

func TestWhatEntersTheSeed(t *testing.T) {
	known := map[string]bool{}
	before := rs.DerivedSeed(fullHeader())
	h := fullHeader()
	leaves("", reflect.ValueOf(&h).Elem(), func(name string, v reflect.Value) {
		known[name] = true
		want, decided := enters[name]
		if !decided {
			t.Errorf("the header has a field %s, of which this test does not know whether it enters the seed", name)
			return
		}
		old := reflect.ValueOf(v.Interface())
		switch v.Kind() {
		case reflect.String:
			v.SetString(v.String() + "x")
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Float64:
			v.SetFloat(v.Float() * 2)
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		case reflect.Uint64:
			v.SetUint(v.Uint() + 1)
		default:
			t.Fatalf("%s is a %v", name, v.Kind())
		}
		if changed := rs.DerivedSeed(h) != before; changed != want {
			t.Errorf("%s enters the seed: %v, want %v", name, changed, want)
		}
		v.Set(old)
	})
	for name := range enters {
		if !known[name] {
			t.Errorf("the header has no field %s any more", name)
		}
	}
}

// The text is the JSON that version 1 wrote of a header with the left out fields empty, for any values.
func TestSeedTextIsThatOfVersion1(t *testing.T) {
	check := func(h ledger.Header) {
		t.Helper()
		h.Format = ledger.Format
		have := string(rs.SeedText(h))
		h.Version, h.Seed, h.Shard, h.Scores, h.Program, h.Model.Name, h.Data.Name = 1, 0, nil, "", ledger.Program{}, "", ""
		h.Model.Identity = classifier.Identity{Weights: h.Model.Identity.Weights}
		want, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		if have != string(want) {
			t.Errorf("have %s\nwant %s", have, want)
		}
	}
	check(fullHeader())
	check(ledger.Header{})
	for _, sigma := range []float64{1e-6, 9.999e-7, 1e-10, 5e-324, 1e20, 1e21, 1.5e300, .1, 1. / 3, 123456789012345678} {
		h := fullHeader()
		h.Sigma, h.Rule.Tolerance = sigma, -sigma
		check(h)
	}
	rapid.Check(t, func(r *rapid.T) {
		h := fullHeader()
		h.Model.Identity.Weights, h.Noise, h.Rule.Budget = rapid.String().Draw(r, "weights"), noise.Law(rapid.String().Draw(r, "noise")), string(rapid.SliceOf(rapid.Byte()).Draw(r, "budget"))
		h.Sigma, h.Alpha = rapid.Float64Range(-1e300, 1e300).Draw(r, "sigma"), rapid.Float64Range(0, 1e-5).Draw(r, "alpha")
		h.Rule.Relative = rapid.Bool().Draw(r, "relative")
		check(h)
	})
}

// What is said of seeds is so: with a chosen one, a larger run begins with the noise samples of the smaller; with a derived one, another n, and
// any change of a setting however small, meets others.
func TestLargerRunsAndTheirSamples(t *testing.T) {
	inner, data := mixed(4)
	looks := func(o rs.Options) []ledger.Look {
		o.Sigma, o.Ledger = .25, filepath.Join(t.TempDir(), "l")
		certify(t, inner, data, o)
		l, err := ledgerio.Read(o.Ledger)
		if err != nil {
			t.Fatal(err)
		}
		return l.Looks[:2]
	}
	if small, large := looks(rs.Options{Seed: 7, MaxSamples: 200}), looks(rs.Options{Seed: 7, MaxSamples: 800}); !reflect.DeepEqual(small, large) {
		t.Errorf("chosen seed: %v and %v, want the same", small, large)
	}
	small := looks(rs.Options{MaxSamples: 200})
	for name, o := range map[string]rs.Options{"a larger n": {MaxSamples: 800}, "another alpha": {MaxSamples: 200, Alpha: .001 + 1e-12}} {
		if other := looks(o); reflect.DeepEqual(small, other) {
			t.Errorf("derived seed, %s: %v, the same", name, other)
		}
	}
	chosen, derived := report.SeedNote(ledger.Header{SeedChosen: true}), report.SeedNote(ledger.Header{Alpha: .001})
	for text, want := range map[string][]string{
		chosen:  {"not show that it is the first", "larger n uses the noise samples of this one again", "must not be certified by another"},
		derived: {"rules out that seeds were tried", "does not rule out that settings were", "fixed before the run", "at most k times"},
	} {
		for _, words := range want {
			if !strings.Contains(text, words) {
				t.Errorf("%q is not in %s", words, text)
			}
		}
	}
}

// Paired runs of two networks meet the same noise: one that answers alike has equal looks, which differ otherwise.
func TestPairedNetworksMeetTheSameNoise(t *testing.T) {
	inner, data := mixed(4)
	header, looks := [2]ledger.Header{}, [2][]ledger.Look{}
	for _, paired := range []bool{true, false} {
		for i, weights := range []string{"one", "two"} {
			o := rs.Options{Paired: paired, Sigma: .25, MaxSamples: 200, Ledger: filepath.Join(t.TempDir(), "l")}
			certify(t, renamed{inner, weights}, data, o)
			l, err := ledgerio.Read(o.Ledger)
			if err != nil {
				t.Fatal(err)
			}
			header[i], looks[i] = l.Header, l.Looks
		}
		same := header[0].Seed == header[1].Seed && reflect.DeepEqual(looks[0], looks[1])
		if same != paired || header[0].SeedChosen != paired {
			t.Errorf("paired %v: seeds %d and %d, chosen %v", paired, header[0].Seed, header[1].Seed, header[0].SeedChosen)
		}
	}
	_, err := rs.Certify(t.Context(), inner, data, rs.Options{Paired: true, Seed: 3, Sigma: .25})
	var option *rule.OptionError
	if !errors.As(err, &option) {
		t.Errorf("a seed beside Paired: %v", err)
	}
}

// renamed is a model whose weights are called otherwise.
type renamed struct {
	classifier.Classifier
	weights string
}

func (r renamed) Info() (classifier.Info, error) {
	info, err := r.Classifier.Info()
	info.Identity.Weights = r.weights
	return info, err
}
