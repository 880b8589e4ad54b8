package run

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/gomlxmodels/loss"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/experiment/plan"
	"github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
)

// Confidences are certified and attacked, a grid gives a line for each point, and fine-tuning begins with the weights of its start.
func TestConfidences(t *testing.T) {
	o := tiny(t, tinyFile(t, ""))
	o.Table = "confident"
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	filled, err := results.Fill(t.Context(), o.Folder, "", resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(filled.Lines) != 2 || len(filled.Selected) != 2 {
		t.Fatalf("%d lines, %d selected", len(filled.Lines), len(filled.Selected))
	}
	if n := remembered(t, o.Folder); n != 2 {
		t.Errorf("%d ledgers", n)
	}
	for i, slug := range []string{"tiny-g-s1", "tiny-act-g1-s1"} {
		l := filled.Lines[i]
		path := filepath.Join(o.Folder, "calibration", slug+".ledger")
		certified, err := confidences.Certify(t.Context(), path, []float64{.05, 3}, confidences.Options{})
		if err != nil {
			t.Fatal(err)
		}
		run, err := rs.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		at, none := l.Calibration[0], l.Calibration[1]
		if want := run.CertifiedAccuracy(.05)[0].Value; math.Abs(at.Accuracy-want) > 1e-12 || at.Certified != len(certified[0].Images) || at.Certified == 0 {
			t.Errorf("%s: %+v; the ledger has an accuracy of %v", slug, at, want)
		}
		// The bounds hold: no confidences inside the intervals have a larger Brier score than at the further end, and ADMM finds no more than there is.
		brier, lower, upper := 0.0, 0.0, 0.0
		for k, correct := range certified[0].Correct {
			far := certified[0].Upper[k]
			if correct {
				far = 1 - certified[0].Lower[k]
			}
			brier += far * far / float64(at.Certified)
			lower, upper = lower+certified[0].Lower[k]/float64(at.Certified), upper+certified[0].Upper[k]/float64(at.Certified)
		}
		if math.Abs(*at.CBS-brier) > 1e-9 || *at.ACCE > *at.CCE+1e-9 || !(*at.CCE > 0 && *at.CCE <= 1) {
			t.Errorf("%s: CBS %v, want %v; ACCE %v, CCE %v", slug, *at.CBS, brier, *at.ACCE, *at.CCE)
		}
		accuracy, err := calib.Accuracy(certified[0].Correct)
		if err != nil || math.Abs(at.Constant-accuracy*(1-accuracy)) > 1e-9 || at.Resolution == nil || !(*at.Resolution >= 0 && *at.Resolution <= at.Constant) {
			t.Errorf("%s: a constant confidence has %v, want %v; resolution %v, %v", slug, at.Constant, accuracy*(1-accuracy), at.Resolution, err)
		}
		if math.Abs(*at.Right-accuracy) > 1e-9 || math.Abs(*at.Lower-lower) > 2e-6 || math.Abs(*at.Upper-upper) > 2e-6 || none.Lower != nil {
			t.Errorf("%s: %v right within %v and %v, want %v within %v and %v", slug, *at.Right, *at.Lower, *at.Upper, accuracy, lower, upper)
		}
		if none.Certified != 0 || none.CCE != nil || none.Accuracy != 0 {
			t.Errorf("%s at a radius of 3: %+v", slug, none)
		}
		// The attack (1, ŷ) lowers all confidences; (−1, ŷ) raises them.
		var a measure.Attacked
		if ok, err := measure.ReadJSON(filepath.Join(o.Folder, "results", slug+".attacks.json"), &a); !ok || err != nil {
			t.Fatal(err)
		}
		if len(a.Attacks) != 4 || a.Images != 16 || a.Bins != 5 || !(a.Attacks[3].Mean < a.Attacks[2].Mean) || a.Attacks[2].Attack != "(-1,ŷ)" {
			t.Errorf("%s: %+v", slug, a)
		}
	}
	// What intervals are made of agrees with the ledger, to six decimals and outwards.
	each, err := measure.ReadPerImage(filepath.Join(o.Folder, "results", "tiny-g-s1.calibration.csv"))
	if err != nil || each == nil {
		t.Fatal(err)
	}
	certified, err := confidences.Certify(t.Context(), filepath.Join(o.Folder, "calibration", "tiny-g-s1.ledger"), []float64{.05}, confidences.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for k, image := range certified[0].Images {
		i := slices.Index(each.Images, image)
		lower, upper := each.Column("lower 0.05")[i], each.Column("upper 0.05")[i]
		if d := certified[0].Lower[k] - lower; !(d >= -1e-12 && d < 2e-6) {
			t.Errorf("image %d: lower bound %v kept as %v", image, certified[0].Lower[k], lower)
		}
		if d := upper - certified[0].Upper[k]; !(d >= -1e-12 && d < 2e-6) || each.Correct[i] != certified[0].Correct[k] {
			t.Errorf("image %d: upper bound %v kept as %v; right %v", image, certified[0].Upper[k], upper, each.Correct[i])
		}
	}
	base, err := modelfile.ReadCard(filepath.Join(o.Folder, "models", "tiny-g-s1"))
	if err != nil {
		t.Fatal(err)
	}
	act, err := modelfile.ReadCard(filepath.Join(o.Folder, "models", "tiny-act-g1-s1"))
	if err != nil {
		t.Fatal(err)
	}
	if act.Recipe.Start != base.Weights || act.Recipe.LearningRate != .01 || act.Recipe.Method != "brier-act" || act.Recipe.Noise() != .25 {
		t.Errorf("%+v", act.Recipe)
	}
}

// Confidences of an adapted row come from its network as it is adapted to clean images, certified and attacked.
func TestConfidencesOfAdaptedNetworks(t *testing.T) {
	o := tiny(t, tinyFile(t, `
  adapted:
    title: Adapted
    rows: [tiny/g, tiny/bn, tiny/tent]
    measure: {calibration: {radii: [0.05]}, ace: {epsilon: 0.02, bins: 5}}
`))
	tent := testkit.Write(t, []byte("recipes:\n  tiny/tent: {from: tiny/bn, title: TENT, adapt: {method: tent, images: 16, steps: 4, batch: 8, rate: 0.01}}\n"),
		t.TempDir(), "tent.yaml")
	o.Table, o.Add = "adapted", append(o.Add, tent)
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	filled, err := results.Fill(t.Context(), o.Folder, "", resample.Options{})
	if err != nil {
		t.Fatal(err)
	}
	weights := map[string]bool{}
	for i, network := range []string{"models/tiny-g-s1", "adapted/tiny-bn-s1/clean", "adapted/tiny-tent-s1/clean"} {
		slug := []string{"tiny-g-s1", "tiny-bn-s1", "tiny-tent-s1"}[i]
		model, err := engine.Open(filepath.Join(o.Folder, network), engine.Backend("go"))
		if err != nil {
			t.Fatal(err)
		}
		defer model.Close()
		info, err := model.Info()
		if err != nil {
			t.Fatal(err)
		}
		weights[info.Identity.Weights] = true
		l, err := ledgerio.Read(filepath.Join(o.Folder, "calibration", slug+".ledger"))
		if err != nil {
			t.Fatal(err)
		}
		if got := l.Header.Model.Identity.Weights; got != info.Identity.Weights {
			t.Errorf("%s: certified are the confidences of %s; the network is %s", slug, got, info.Identity.Weights)
		}
		line := filled.Lines[i]
		if at := line.Calibration[0]; at.Certified == 0 || at.CCE == nil || !(*at.ACCE <= *at.CCE+1e-9 && *at.CCE <= 1) || line.ACE == nil {
			t.Errorf("%s: %+v, %+v", slug, at, line.ACE)
		}
		// What the network answers without an attack; (−1, ŷ) raises it, (1, ŷ) lowers it.
		each, err := measure.ReadPerImage(filepath.Join(o.Folder, "results", slug+".attacks.csv"))
		if err != nil || each == nil {
			t.Fatal(err)
		}
		dir, _ := filepath.Split(o.Add[0])
		set, err := dataset.Open("npy:" + dir + "test.npy," + dir + "test-labels.npy")
		if err != nil {
			t.Fatal(err)
		}
		images, err := set.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		k := len(each.Images)
		batch := classifier.Batch{N: k}
		for _, id := range each.Images {
			batch.Grid = append(batch.Grid, images.Grid(id)...)
		}
		answer := classifier.Result{Classes: make([]int32, k), Scores: make([]float32, k*info.Classes)}
		if err := model.Classify(t.Context(), batch, &answer); err != nil {
			t.Fatal(err)
		}
		moved := 0
		for j := range k {
			class := int(answer.Classes[j])
			clean, up, down := each.Column("clean")[j], each.Column("(-1,ŷ)")[j], each.Column("(1,ŷ)")[j]
			if want := float64(answer.Scores[j*info.Classes+class]); math.Abs(clean-want) > 2e-6 || each.Correct[j] != (class == images.Labels[each.Images[j]]) {
				t.Errorf("%s, image %d: confidence %v kept as %v, right %v", slug, each.Images[j], want, clean, each.Correct[j])
			}
			if !(down <= clean && clean <= up) {
				t.Errorf("%s, image %d: from %v to %v around %v", slug, each.Images[j], down, up, clean)
			}
			if down < up {
				moved++
			}
		}
		if moved < k/2 {
			t.Errorf("%s: attacks move %d of %d confidences", slug, moved, k)
		}
	}
	if len(weights) != 3 {
		t.Errorf("%d different networks; expected 3", len(weights))
	}
}

// A finished network joins those that are trained, as a model file and as an ONNX file.
func TestFinishedRows(t *testing.T) {
	file := tinyFile(t, "")
	o := tiny(t, file)
	o.Rows = []string{"tiny/g"}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	trained := filepath.Join(o.Folder, "models", "tiny-g-s1")
	rows := "rows: [{model: net, title: Mine}]\n"
	_, missing := onnx.Library("")
	if missing == nil {
		rows = "rows: [{model: net, title: Mine}, {model: net.onnx, title: Theirs, onnx: {layout: NCHW}}]\n"
	}
	dir := t.TempDir()
	m, err := modelfile.Read(trained)
	if err != nil {
		t.Fatal(err)
	}
	if err := modelfile.Write(filepath.Join(dir, "net"), m); err != nil {
		t.Fatal(err)
	}
	if err := export.ONNX(m, filepath.Join(dir, "net.onnx")); err != nil {
		t.Fatal(err)
	}
	added := testkit.Write(t, []byte(rows), dir, "mine.yaml")
	o.Add, o.Rows = append(o.Add, added), []string{"Mine"}
	if err := Table(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if missing == nil {
		o.Rows, o.Engine = []string{"Theirs"}, ""
		if err := Table(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	filled, err := results.Fill(t.Context(), o.Folder, "tiny", resample.Options{Resamples: 100})
	if err != nil {
		t.Fatal(err)
	}
	// The same network on the same engine and data has the same noise, as its seed is derived from these.
	if a, b := filled.Lines[0].Values, filled.Lines[3].Values; filled.Lines[3].Title != "Mine" || a[0].Mean != b[0].Mean || a[2].Mean != b[2].Mean {
		t.Errorf("%+v, %+v", a[0], b[0])
	}
	for i, l := range filled.Lines[1:3] { // rows that were not asked for
		if l.Values[0] != nil {
			t.Errorf("line %d has values", 1+i)
		}
	}
	if missing == nil {
		if v := filled.Lines[4].Values[0]; v == nil || math.Abs(v.Mean-filled.Lines[0].Values[0].Mean) > .1 {
			t.Errorf("on ONNX Runtime %+v", v)
		}
	}
	if text := filled.Tables()[0].CSV(); !strings.Contains(text, "HCR,–,–,–") {
		t.Errorf("%s", text)
	}
}

// doubled is a method of a user's: twice the cross-entropy.
type doubled struct {
	Factor float64 `json:"factor"`
}

func (doubled) Name() string { return "doubled" }

func (doubled) Needs() method.Needs { return method.Needs{Views: 1, Noises: 1} }

func (m doubled) Loss(b *method.Batch) []loss.Term {
	return []loss.Term{{Name: "one", Value: loss.CrossEntropy(b.ByCopy(), b.Labels)}, {Name: "two", Value: loss.CrossEntropy(b.ByCopy(), b.Labels)}}
}

// A method of one's own is named by a recipe, with options. A loss that is not finite leaves its row open, says where, and keeps the
// checkpoint; the other rows are made.
func TestOwnMethodAndFailures(t *testing.T) {
	file := tinyFile(t, "")
	text := testkit.Read(t, file)
	text = []byte(strings.Replace(string(text), "rows: [tiny/g, tiny/hcr, tiny/bn]", "rows: [tiny/wild, tiny/from-wild, tiny/own]", 1))
	text = []byte(strings.Replace(string(text), "recipes:\n", `recipes:
  tiny/base: {from: A/base, abstract: true, data: tiny, network: small-cnn, batch: 16, rate: 0.05, epochs: 3, milestones: [2], augment: none}
  tiny/wild: {from: tiny/base, rate: 1.0e+30, milestones: [1]}
  tiny/from-wild: {from: tiny/base, start: tiny/wild}
  tiny/own: {from: tiny/base, method: doubled, options: {factor: 2}}
`, 1))
	testkit.Write(t, text, file)
	o := tiny(t, file)
	if _, err := plan.Plan(o); err == nil || !strings.Contains(err.Error(), `unknown method "doubled"`) {
		t.Errorf("without the method: %v", err)
	}
	o.Methods = map[string]method.Method{"doubled": doubled{Factor: 1}}
	err := Table(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "tiny/wild@1") || !strings.Contains(err.Error(), "the loss is") || !strings.Contains(err.Error(), "at step ") || !strings.Contains(err.Error(), "cross-entropy") {
		t.Errorf("a rate of 1e30: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "from-wild") {
		t.Errorf("what begins with a network that failed is tried: %v", err)
	}
	card, err := modelfile.ReadCard(filepath.Join(o.Folder, "models", "tiny-own-s1"))
	if err != nil || card.Recipe.Method != "doubled" || card.Recipe.Options["factor"] != 2. {
		t.Errorf("%+v, %v", card, err)
	}
	filled, err := results.Fill(t.Context(), o.Folder, "tiny", resample.Options{Resamples: 100})
	if err != nil || filled.Lines[0].Values[0] != nil || filled.Lines[2].Values[0] == nil {
		t.Errorf("%v, %+v", err, filled)
	}
}
