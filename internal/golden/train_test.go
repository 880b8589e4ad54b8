package golden

// Digests of training and of all that is made of a trained network.
//
// The reference is GoMLX's backend in Go with its vector code off, on amd64: what XLA's compiler makes, and how vector code sums,
// depends on the processor. A change that is meant to change a digest writes them anew: GOLDEN_WRITE=1 go test ./internal/golden.

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/experiment"
	"github.com/certspec/certspec/gomlxmodels/adapt"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/backend"
	"github.com/certspec/certspec/gomlxmodels/export"
	"github.com/certspec/certspec/gomlxmodels/infer"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/torch"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
)

const (
	trainGolden = "testdata/train.json"
	trainChild  = "GOLDEN_TRAIN_CHILD" // what the child process makes, and where it puts the digests: PART:FILE
	engine      = "go"
)

func TestTrainDigests(t *testing.T) {
	if child := os.Getenv(trainChild); child != "" {
		part, file, _ := strings.Cut(child, ":")
		text, err := json.MarshalIndent(trainDigests(t, part), "", "  ")
		if err == nil {
			err = os.WriteFile(file, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
		return
	}
	if runtime.GOARCH != "amd64" || fuses(1./3, 3, -1) {
		t.Skip("the digests are those of amd64 without fused multiply-add")
	}
	if testing.Short() {
		compare(t, inChild(t, 1, "some"), readTrain(t), 0)
		return
	}
	got := inChild(t, 2, "all")
	if os.Getenv("GOLDEN_WRITE") != "" {
		text, err := json.MarshalIndent(got, "", "  ")
		if err == nil {
			err = os.WriteFile(trainGolden, append(text, '\n'), 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	want := readTrain(t)
	compare(t, got, want, len(want))
	// The reference is deterministic: another process with one thread comes to the same.
	compare(t, inChild(t, 1, "some"), want, 0)
}

func readTrain(t *testing.T) map[string]string {
	text, err := os.ReadFile(trainGolden)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	return want
}

// fuses reports whether the compiler joins a product and a sum into one rounding.
//
//go:noinline
func fuses(x, y, z float64) bool { return x*y+z != float64(x*y)+z }

func compare(t *testing.T, got, want map[string]string, least int) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != want[name] {
			t.Errorf("%s: %s; expected %s", name, got[name], want[name])
		}
	}
	if len(got) < max(least, 1) {
		t.Errorf("%d digests; expected %d", len(got), least)
	}
}

func inChild(t *testing.T, threads int, part string) map[string]string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "digests.json")
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestTrainDigests$", "-test.v")
	cmd.Env = append(os.Environ(), trainChild+"="+part+":"+file, fmt.Sprintf("GOMAXPROCS=%d", threads),
		"GOMLX_SIMD_AVX512=0", "GOMLX_SIMD_AVX2=0", backend.Variable+"=", backend.GoMLXVariable+"=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	return got
}

// golden gathers digests.
type golden struct {
	t     *testing.T
	dir   string
	found map[string]string
}

func trainDigests(t *testing.T, part string) map[string]string {
	g := &golden{t: t, dir: t.TempDir(), found: map[string]string{}}
	if part == "some" {
		g.methods([]string{"gaussian", "hcr", "acce-act"})
		g.networks([]string{"resnet8"})
		return g.found
	}
	g.networks(nets.Names())
	g.methods(method.Names())
	g.settings()
	g.resumed()
	g.trained()
	g.recipes()
	g.tables()
	return g.found
}

func (g *golden) bytes(name string, data []byte) {
	if _, twice := g.found[name]; twice {
		g.t.Fatalf("%s twice", name)
	}
	g.found[name] = fmt.Sprintf("%x", sha256.Sum256(data))
}

func (g *golden) json(name string, v any) {
	text, err := json.Marshal(v)
	g.must(err)
	g.bytes(name, text)
}

func (g *golden) must(err error) {
	if err != nil {
		g.t.Helper()
		g.t.Fatal(err)
	}
}

// images are drawn at random: so many of a side, with labels of three classes that show in their brightness.
func (g *golden) images(name string, n, side int, seed uint64) *dataset.Dataset {
	const classes = 3
	path := filepath.Join(g.dir, name)
	random := rand.New(rand.NewPCG(seed, 5))
	var images, labels bytes.Buffer
	g.must(dataset.WriteArrayHeader(&images, "|u1", n, side, side, 3))
	g.must(dataset.WriteArrayHeader(&labels, "<i8", n))
	for i := range n {
		g.must(binary.Write(&labels, binary.LittleEndian, int64(i%classes)))
		for range side * side * 3 {
			images.WriteByte(byte(random.IntN(150) + 50*(i%classes)))
		}
	}
	g.must(os.WriteFile(path+".npy", images.Bytes(), 0o666))
	g.must(os.WriteFile(path+"-labels.npy", labels.Bytes(), 0o666))
	d, err := dataset.Open("npy:" + path + ".npy," + path + "-labels.npy")
	g.must(err)
	return d
}

// options train the small network on 24 images of 8×8 pixels.
func (g *golden) options(out string) train.Options {
	return train.Options{
		Train: g.images("train", 24, 8, 1), Test: g.images("test", 9, 8, 2), Out: filepath.Join(g.dir, strings.NewReplacer("/", "-", " ", "-").Replace(out)),
		Recipe: modelfile.Recipe{Sigma: new(0.25), Epochs: 2, BatchSize: 8, LearningRate: 0.05, Seed: 3}, Backend: engine,
	}
}

// train trains and keeps the digests of weights, card and log.
func (g *golden) train(name string, o train.Options) *modelfile.Model {
	g.t.Helper()
	_, err := train.Run(context.Background(), o)
	g.must(err)
	return g.model(name, o.Out)
}

func (g *golden) model(name, path string) *modelfile.Model {
	m, err := modelfile.Read(path)
	g.must(err)
	g.bytes(name+" weights", g.read(modelfile.WeightsPath(path)))
	m.Card = still(m.Card)
	text, err := json.MarshalIndent(m.Card, "", "  ")
	g.must(err)
	g.bytes(name+" card", text)
	if log, err := os.ReadFile(path + ".csv"); err == nil {
		g.bytes(name+" log", withoutTimes(log))
	}
	return m
}

func (g *golden) read(path string) []byte {
	data, err := os.ReadFile(path)
	g.must(err)
	return data
}

// still is a card without what differs from run to run and from place to place.
func still(c modelfile.Card) modelfile.Card {
	c.Train.Name, c.Test.Name = "train", "test"
	c.Backend, c.Seconds, c.Waiting, c.Program, c.Command = "", 0, 0, "", ""
	return c
}

// withoutTimes leaves out the last column.
func withoutTimes(csv []byte) []byte {
	var kept []string
	for line := range strings.Lines(string(csv)) {
		kept = append(kept, line[:strings.LastIndex(line, ",")])
	}
	return []byte(strings.Join(kept, "\n"))
}

// networks trains every network for some steps, and writes it in every format.
func (g *golden) networks(names []string) {
	for _, name := range names {
		o := g.options("net " + name)
		o.Network, o.Epochs, o.Input, o.Augment = name, 1, nets.InputStandardize, train.CropFlip
		if name == "resnet110" || name == nets.ResNet50 || name == nets.PreActResNet18 {
			o.Train = g.images("train-few", 8, 8, 1)
			o.BatchSize = 4
		}
		if slices.Contains([]string{nets.Conv8, nets.ResNet18, nets.ResNet18Unbiased, nets.VGG16, nets.VGG16Unbiased, nets.Large, nets.ExtraLarge}, name) {
			o.Width = 1. / 8
		}
		m := g.train("network "+name, o)
		onnx, err := export.Encode(m)
		g.must(err)
		g.bytes("network "+name+" onnx", onnx)
		for _, ending := range []string{torch.Safetensors, torch.NPZ} {
			path := o.Out + "-torch" + ending
			g.must(torch.Write(path, torch.ExportWeights(m), map[string]string{"net": name}))
			g.bytes("network "+name+" torch"+ending, g.read(path))
			tensors, _, err := torch.Read(path)
			g.must(err)
			back, err := torch.ImportWeights(tensors, m.Card.Architecture, torch.ConvolvedShortcuts)
			g.must(err)
			if !reflect.DeepEqual(back, m.Weights) {
				g.t.Errorf("network %s: the weights that come back are others", name)
			}
		}
	}
}

// methods trains the small network by every method.
func (g *golden) methods(names []string) {
	for _, name := range names {
		var err error
		o := g.options("method " + name)
		set := []string{}
		if name == "macer" {
			set = append(set, "noises=4")
		}
		switch name { // the adversaries as they were when the digests were made
		case "acce-act", "acce-act-star":
			set = append(set, "revision=0", "growth=1.5", "step_a=0.01")
		case "exact-act":
			set = append(set, "revision=0")
		}
		o.Own.Method, err = method.New(name, set...)
		g.must(err)
		if len(o.Own.Method.Needs().Sets) > 0 || name == "plain" || name == "push-act" { // younger than the digests; held by hand in gomlxmodels/train
			continue
		}
		if o.Own.Method.Needs().Views > 1 {
			o.Own.Views = g.views("fouriermix")
			o.Augment = train.CropFlipShared
		}
		g.train("method "+name, o)
	}
}

func (g *golden) views(name string) augment.Augmentation {
	a, err := augment.Parse(name)
	g.must(err)
	return a
}

// settings trains by Gaussian noise under every setting that is not a method's.
func (g *golden) settings() {
	for name, set := range map[string]func(o *train.Options){
		"defaults": func(o *train.Options) {
			o.Epochs, o.BatchSize, o.LearningRate, o.Sigma = 1, 0, 0, nil
			o.Train = g.images("many", 130, 8, 4)
		},
		"step":       func(o *train.Options) { o.Schedule, o.Milestones, o.Epochs = "step", []int{1, 2}, 3 },
		"step alone": func(o *train.Options) { o.Schedule, o.Epochs = "step", 4 },
		"warm up":    func(o *train.Options) { o.WarmUp, o.SigmaWarmUp = 1, 2 },
		"nesterov":   func(o *train.Options) { o.Nesterov, o.Momentum, o.WeightDecay = true, new(0.8), new(5e-4) },
		"bare":       func(o *train.Options) { o.Momentum, o.WeightDecay = new(0.0), new(0.0) },
		"half":       func(o *train.Options) { o.Own.Method = method.Gaussian{Share: method.HalfExact} },
		"replaced": func(o *train.Options) {
			o.Own.Method = method.Gaussian{Share: method.HalfReplace}
			o.Augment = train.CropFlip
		},
		"by graph": func(o *train.Options) {
			o.Own.Method, o.ViewsBy = method.HCR{Views: 2, Noises: 2, Lambda: 4, Eta: 1}, train.ViewsByGraph
			o.Own.Views = g.views("fouriermix")
		},
		"augmix": func(o *train.Options) {
			o.Own.Method = method.JSD{Views: 3, Weight: 12, Share: method.All}
			o.Own.Views = g.views("augmix")
		},
	} {
		o := g.options("setting " + name)
		set(&o)
		g.train("setting "+name, o)
	}
}

// resumed stops a run after its first step, keeps the checkpoint, and goes on: the weights are those of a run that was not stopped.
func (g *golden) resumed() {
	options := func(out string) train.Options {
		o := g.options(out)
		var err error
		o.Own.Method, err = method.New("smoothadv", "noises=2")
		g.must(err)
		o.Epochs, o.SigmaWarmUp, o.Schedule, o.Milestones = 3, 2, "step", []int{2}
		return o
	}
	whole := g.train("whole", options("whole"))
	o := options("stopped")
	ctx, stop := context.WithCancel(context.Background())
	o.Progress = func(progress.State) { stop() } // told after the first step
	if _, err := train.Run(ctx, o); !errors.Is(err, context.Canceled) {
		g.t.Fatalf("a stopped run: %v", err)
	}
	tensors, metadata, err := modelfile.Decode(g.read(o.Out + ".checkpoint"))
	g.must(err)
	g.json("checkpoint tensors", tensors)
	var run, state map[string]any
	g.must(json.Unmarshal([]byte(metadata["run"]), &run))
	g.must(json.Unmarshal([]byte(metadata["state"]), &state))
	delete(run, "Backend")
	delete(state, "Seconds")
	delete(state, "Waiting")
	for _, set := range []string{"Train", "Test"} {
		delete(run[set].(map[string]any), "name")
	}
	g.json("checkpoint run", run)
	g.json("checkpoint state", state)
	o.Progress = nil
	resumed := g.train("resumed", o)
	if !reflect.DeepEqual(resumed.Weights, whole.Weights) {
		g.t.Error("the resumed run ends with other weights")
	}
}

// trained is what is done with a trained network: another training begins with it, it is adapted, attacked, and run.
func (g *golden) trained() {
	o := g.options("base")
	m := g.train("base", o)
	images, err := o.Test.Load(context.Background())
	g.must(err)

	from := g.options("started")
	from.From = o.Out
	g.train("started", from)

	for _, way := range []string{adapt.BN, adapt.TENT} {
		adapted, err := adapt.Run(context.Background(), m, images, adapt.Options{Method: way, Sigma: 0.1, BatchSize: 4, Steps: 3, Seed: 1, Backend: engine})
		g.must(err)
		g.json("adapted "+way, adapted.Weights)
	}

	b, err := backend.Open(engine)
	g.must(err)
	net, err := infer.Load(b, "base", m)
	g.must(err)
	defer net.Close()
	batch := classifier.Batch{N: images.Len()}
	for i := range images.Len() {
		for _, v := range images.Image(i) {
			batch.Real = append(batch.Real, float32(v)/255)
		}
	}
	result := classifier.Result{Classes: make([]int32, batch.N), Scores: make([]float32, batch.N*3)}
	g.must(net.Classify(context.Background(), batch, &result))
	g.json("scores", []any{result.Classes, result.Scores})

	attacks := attack.ACEAttacks(0.02)
	for i := range attacks {
		attacks[i].Steps = 4
	}
	found, err := attack.Confidences(context.Background(), b, m, images, attacks, nil)
	g.must(err)
	g.json("attacked confidences", found)
	outcomes, err := attack.Empirical(context.Background(), b, m, net, images, attack.EmpiricalOptions{
		Radii: []float64{0.25, 1}, Steps: 3, Noises: 4, Seed: 2, Predict: rs.PredictOptions{Sigma: 0.25, Samples: 100, Seed: 1, Block: 100},
	})
	g.must(err)
	g.json("attacked", outcomes)
}

// recipes are all models that the recipes of the papers make at every tier.
func (g *golden) recipes() {
	l, err := experiment.Open()
	g.must(err)
	for _, name := range l.Names(experiment.Tiers) {
		if name == "evidence" { // younger than the digests
			continue
		}
		tier, err := l.Tier(name)
		g.must(err)
		s := &experiment.Setup{Library: l, Tier: tier}
		made := map[string]any{}
		for _, recipe := range l.Names(experiment.Recipes) {
			if strings.HasPrefix(recipe, "C/") || strings.HasPrefix(recipe, "B/") || later(recipe) { // C is a grid of hundreds, made of a few; B is younger
				continue
			}
			models, err := s.Models(recipe)
			g.must(err)
			for i, m := range models { // what is younger than the digests
				delete(m.Options, "revision") // of adversaries
				if strings.HasPrefix(recipe, "A/") && strings.Contains(recipe, "/am") {
					models[i].Augment = "crop-flip"
				}
				if m.Adapt != nil {
					adapted := *m.Adapt
					adapted.Sample = ""
					models[i].Adapt = &adapted
				}
				if strings.HasPrefix(recipe, "A/imagenet/fm-") && m.Views == "fouriermix(phase=imagenet)" {
					models[i].Views = "fouriermix"
				}
			}
			made[recipe] = models
		}
		g.json("recipes at "+name, said(g, made))
	}
}

// later reports whether a recipe came after the digests of all recipes were kept.
func later(recipe string) bool {
	return strings.Contains(recipe, "/arms/") || regexp.MustCompile(`^D/(fmnist|svhn|c100)/(at-t|push-act)`).MatchString(recipe)
}

// said is a value as JSON, in the order of the keys, without what is empty or zero: manifests may leave that out or not.
func said(g *golden, v any) any {
	text, err := json.Marshal(v)
	g.must(err)
	var all any
	g.must(json.Unmarshal(text, &all))
	var kept func(v any) any
	kept = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			for key, value := range v {
				if v[key] = kept(value); v[key] == nil {
					delete(v, key)
				}
			}
			if len(v) == 0 {
				return nil
			}
		case []any:
			for i := range v {
				v[i] = kept(v[i])
			}
			if len(v) == 0 {
				return nil
			}
		case float64:
			if v == 0 {
				return nil
			}
		case string:
			if v == "" {
				return nil
			}
		case bool:
			if !v {
				return nil
			}
		}
		return v
	}
	return kept(all)
}

// tables are the numbers of all tables whose results are kept, but for intervals, which other tests judge.
func (g *golden) tables() {
	manifests, err := filepath.Glob("../../notebooks/results/experiments/*/manifest.json")
	g.must(err)
	for _, file := range manifests {
		folder := filepath.Dir(file)
		m, err := experiment.ReadManifest(folder)
		g.must(err)
		for _, t := range m.Tables {
			filled, err := experiment.Fill(folder, t.Name, resample.Options{Resamples: 20})
			g.must(err)
			var b strings.Builder
			for _, l := range filled.Lines {
				fmt.Fprintln(&b, l.Title, l.Group, l.Models, l.Data)
				for k, v := range l.Values {
					if v != nil {
						fmt.Fprintln(&b, filled.Metrics[k].Name, fmt.Sprintf("%.9f %.9f %.9f", v.Mean, v.Low, v.High), v.Seeds, v.Images)
					}
					if v != nil && v.Difference != nil {
						fmt.Fprintf(&b, "difference %.9f\n", v.Difference.Difference)
					}
				}
				for _, name := range slices.Sorted(maps.Keys(l.ACE)) {
					fmt.Fprintf(&b, "%s %.9f\n", name, l.ACE[name].Mean)
				}
				text, err := json.Marshal(l.Calibration)
				g.must(err)
				b.Write(text)
			}
			g.bytes("table "+filepath.Base(folder)+" "+t.Name, []byte(b.String()))
		}
	}
}
