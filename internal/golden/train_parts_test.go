package golden

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/experiment/recipe"
	tables "github.com/certspec/certspec/internal/experiment/results"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/gomlxmodels/ace"
	"github.com/certspec/certspec/internal/gomlxmodels/adapt"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/export"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/perturb"
	"github.com/certspec/certspec/internal/gomlxmodels/torch"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
)

// networks trains every network for some steps, and writes it in every format.
func (g *golden) networks(names []string) {
	for _, name := range names {
		o := g.options("net " + name)
		o.Network, o.Epochs, o.Input, o.Augment = name, 1, "standardize", "crop-flip"
		if name == "resnet110" || name == "resnet50" || name == "preact-resnet18" {
			o.Train = g.images("train-few", 8, 8, 1)
			o.BatchSize = 4
		}
		if slices.Contains([]string{"conv8", "resnet18", "resnet18-unbiased", "vgg16", "vgg16-unbiased", "l", "xl"}, name) {
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
			file, err := torch.Read(path, "")
			g.must(err)
			back, err := torch.ImportWeights(file.Tensors, m.Card.Architecture, torch.ConvolvedShortcuts)
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
		o.Own.Method, err = method.New(name, set...)
		g.must(err)
		if len(o.Own.Method.Needs().Sets) > 0 || o.Own.Method.Needs().Again || o.Own.Method.Needs().Denoiser > 0 || name == "plain" || name == "push-act" { // younger than the digests; held by hand in gomlxmodels/train
			continue
		}
		if o.Own.Method.Needs().Views > 1 {
			o.Own.Views = g.views("fouriermix")
			o.Augment = "crop-flip" + "-shared"
		}
		g.train("method "+name, o)
	}
}

func (g *golden) method(name string, set ...string) method.Method {
	m, err := method.New(name, set...)
	g.must(err)
	return m
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
		"half":       func(o *train.Options) { o.Own.Method = g.method("gaussian", "share=half_exact") },
		"replaced": func(o *train.Options) {
			o.Own.Method = g.method("gaussian", "share=half_replace")
			o.Augment = "crop-flip"
		},
		"by graph": func(o *train.Options) {
			o.Own.Method, o.ViewsBy = g.method("hcr", "views=2", "noises=2", "lambda=4", "eta=1"),
				"graph"
			o.Own.Views = g.views("fouriermix")
		},
		"augmix": func(o *train.Options) {
			o.Own.Method = g.method("jsd", "share=all")
			o.Own.Views = g.views("augmix")
		},
	} {
		o := g.options("setting " + name)
		set(&o)
		g.train("setting "+name, o)
	}
}

// resumed stops a run after its first step, keeps the checkpoint, and goes on: the weights equal those of a run
// that was not stopped.
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

// trained uses a trained network: another training begins with it, it is adapted, attacked, and run.
func (g *golden) trained() {
	o := g.options("base")
	m := g.train("base", o)
	images, err := o.Test.Load(context.Background())
	g.must(err)

	from := g.options("started")
	from.From = o.Out
	g.train("started", from)

	for _, way := range []string{adapt.BN, adapt.TENT} {
		adapted, err := adapt.Run(context.Background(), m, images.Indexed(), adapt.Options{Method: way, Sigma: 0.1, BatchSize: 4, Steps: 3, Seed: 1, Backend: engine})
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

	attacks := ace.Attacks(0.02)
	for i := range attacks {
		attacks[i].Steps = 4
	}
	found, err := perturb.Confidences(context.Background(), b, m, images, attacks, nil)
	g.must(err)
	g.json("attacked confidences", found)
	outcomes, err := perturb.Empirical(context.Background(), b, m, net, images.Indexed(), perturb.EmpiricalOptions{
		Radii: []float64{0.25, 1}, Steps: 3, Noises: 4, Seed: 2, Predict: rs.PredictOptions{Sigma: 0.25, Samples: 100, Seed: 1, Block: 100},
	})
	g.must(err)
	g.json("attacked", outcomes)
}

// recipes are all models that the recipes of the papers make at every tier.
func (g *golden) recipes() {
	l, err := recipe.Open()
	g.must(err)
	for _, name := range l.Names(recipe.Tiers) {
		if name == "evidence" || name == "scratch-radii" { // younger than the digests
			continue
		}
		tier, err := l.Tier(name)
		g.must(err)
		s := &settings.Setup{Library: l, Tier: tier}
		made := map[string]any{}
		for _, recipe := range l.Names(recipe.Recipes) {
			if strings.HasPrefix(recipe, "C/") || strings.HasPrefix(recipe, "B/") || strings.HasPrefix(recipe, "X/") || later(recipe) { // C is a grid of hundreds, made of a few; B and X are younger
				continue
			}
			models, err := s.Models(recipe)
			g.must(err)
			for i, m := range models { // what is younger than the digests
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
	return strings.Contains(recipe, "/arms/") || recipe == "A/c10/g-jsd-256" || recipe == "A/c10/fm-hcr-128" || regexp.MustCompile(
		`^D/(.*/exact-start|(fmnist|svhn|c100)/(at-t|push-act)|imagenet/at-s|c10/pgd-at-linf)`).MatchString(recipe)
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
		m, err := store.ReadManifest(folder)
		g.must(err)
		for _, t := range m.Tables {
			filled, err := tables.Fill(context.Background(), folder, t.Name, resample.Options{Resamples: 20})
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
				for _, key := range []string{"bound", "attack"} {
					if l.Found[key] != nil {
						text, err := json.Marshal(l.Found[key])
						g.must(err)
						b.Write(text)
					}
				}
			}
			g.bytes("table "+filepath.Base(folder)+" "+t.Name, []byte(b.String()))
		}
	}
}
