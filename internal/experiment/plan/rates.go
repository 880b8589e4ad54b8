package plan

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/gomlxmodels/train"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/experiment/recipe"
	"github.com/certspec/certspec/internal/experiment/settings"
	"github.com/certspec/certspec/internal/experiment/store"
	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/internal/study/measure"
	"github.com/certspec/certspec/internal/study/tier"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

type machineRate struct {
	Network  string  `json:"network"`  // with the shape of its images; of a finished one its title
	Training float64 `json:"training"` // noisy images through training per second; 0 for a finished network
	Samples  float64 `json:"copies"`   // certified per second
	Layers   float64 `json:"layers"`   // gradients in float64 per second
	Engines  string  `json:"engines"`  // that were asked for
}

// meter times networks.
type meter struct {
	*Opener
	setup *settings.Setup
	keep  bool
	known []machineRate
	used  []machineRate

	recent     string // file of the cache; "": none
	remembered []recentRate
}

func newMeter(e *Experiment, keep bool) (*meter, error) {
	m := &meter{Opener: NewOpener(e), setup: e.Setup, keep: keep}
	_, err := measure.ReadJSON(filepath.Join(m.Folder, store.RatesFile), &m.known)
	if dir, ok := cache.Dir("rates"); ok == nil { // what is not there, or not readable, is measured again
		sum := sha256.Sum256([]byte(m.Options.Program + host.InstructionSet()))
		m.recent = filepath.Join(dir, fmt.Sprintf("%x-%d.json", sum[:8], runtime.GOMAXPROCS(0)))
		var recent []recentRate
		if text, err := os.ReadFile(m.recent); err == nil && json.Unmarshal(text, &recent) == nil {
			m.remembered = slices.DeleteFunc(recent, func(r recentRate) bool { return time.Since(r.At) > rateHolds })
		}
	}
	return m, err
}

// recentRate is a rate that the cache remembers for rateHolds, so that a plan that is asked for again takes no time.
type recentRate struct {
	machineRate
	At time.Time `json:"at"`
}

const rateHolds = 12 * time.Hour

// measured is the rate of a network, remembered or taken. One of a finished network is taken.
func (m *meter) measured(ctx context.Context, model *recipe.Model, d *dataset.Dataset, images *dataset.Images, name,
	engines string) (machineRate, error) {
	for _, r := range m.remembered {
		if r.Network == name && r.Engines == engines && model.File == "" {
			return r.machineRate, nil
		}
	}
	rate, err := m.measure(ctx, model, d, images)
	rate.Network, rate.Engines = name, engines
	if err == nil && m.recent != "" {
		m.remembered = append(m.remembered, recentRate{rate, time.Now()})
		store.WriteJSON(m.recent, m.remembered) // else it is measured again
	}
	return rate, err
}

// rate finds or takes the rate of a model's network.
func (m *meter) rate(ctx context.Context, model *recipe.Model) (machineRate, error) {
	d, images, err := m.sample(ctx, m.OwnImages(model))
	if err != nil {
		return machineRate{}, err
	}
	name := fmt.Sprintf("%s %v", model.Network, images.Shape)
	if model.Width != 0 && model.Width != 1 {
		name = fmt.Sprintf("%s of width %g %v", model.Network, model.Width, images.Shape)
	}
	if model.File != "" {
		name = model.Title
	}
	engines := m.Options.Training + "/" + m.Options.Engine
	same := func(r machineRate) bool { return r.Network == name && r.Engines == engines }
	if i := slices.IndexFunc(m.used, same); i >= 0 {
		return m.used[i], nil
	}
	// of an older program
	m.known = slices.DeleteFunc(m.known, func(r machineRate) bool { return same(r) && r.Layers == 0 && r.Training > 0 })
	i := slices.IndexFunc(m.known, same)
	if i < 0 {
		rate, err := m.measured(ctx, model, d, images, name, engines)
		if err != nil {
			return rate, err
		}
		m.known, i = append(m.known, rate), len(m.known)
		if m.keep {
			if err := store.WriteJSON(filepath.Join(m.Folder, store.RatesFile), m.known); err != nil {
				return rate, err
			}
		}
	}
	m.used = append(m.used, m.known[i])
	return m.known[i], nil
}

// sampleSize is the number of images that a network is timed with.
const sampleSize = 320

func (m *meter) sample(ctx context.Context, name string) (*dataset.Dataset, *dataset.Images, error) {
	d, err := m.Set(name)
	if err != nil {
		return nil, nil, err
	}
	all, err := d.List(ctx)
	if err != nil {
		return nil, nil, err
	}
	if all.Len() > sampleSize {
		if d, err = m.Set(tier.Select(name, fmt.Sprintf("count=%d", sampleSize))); err != nil {
			return nil, nil, err
		}
	}
	images, err := d.Load(ctx)
	return d, images, err
}

func (m *meter) measure(ctx context.Context, model *recipe.Model, d *dataset.Dataset,
	images *dataset.Images) (rate machineRate, err error) {
	folder, err := os.MkdirTemp("", "certspec-rates-")
	if err != nil {
		return rate, err
	}
	defer os.RemoveAll(folder)
	path := model.File
	if path == "" {
		path = filepath.Join(folder, "model")
		a := nets.Architecture{Name: model.Network, Shape: images.Shape, Classes: len(images.Classes),
			Input: model.Input, Width: model.Width, Bias: model.Bias}
		if err := a.Check(); err != nil {
			return rate, err
		}
		random := &modelfile.Model{Card: modelfile.Card{Architecture: a, Classes: images.Classes}}
		for _, t := range a.Tensors() {
			random.Weights = append(random.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape,
				Values: t.Initialize(1)})
		}
		if err := modelfile.Write(path, random); err != nil {
			return rate, err
		}
		if rate.Training, err = m.trainingRate(ctx, model, d, min(64, images.Len())); err != nil {
			return rate, err
		}
	}
	if rate.Samples, err = m.sampleRate(ctx, path, model, images); err != nil {
		return rate, err
	}
	rate.Layers, err = m.layersRate(ctx, path, model, images)
	return rate, err
}

// layersRate differentiates a network in float64 for half a second; 0 where it has layers that cannot be.
func (m *meter) layersRate(ctx context.Context, path string, model *recipe.Model,
	images *dataset.Images) (float64, error) {
	net, err := m.OpenAt(path, model)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	n, err := net.Uncompared()
	if err != nil {
		return 0, nil
	}
	points := make([][]float64, feedforward.Lanes*runtime.GOMAXPROCS(0))
	for i := range points {
		points[i] = make([]float64, images.Shape.Len())
	}
	v := make([]float64, n.Outputs())
	v[0] = 1
	start, done := time.Now(), 0
	for time.Since(start) < time.Second/2 {
		if _, _, err := n.VectorJacobians(ctx, points, func(int, []float64) []float64 { return v }); err != nil {
			return 0, err
		}
		done += len(points)
	}
	return float64(done) / time.Since(start).Seconds(), nil
}

// trainingRate trains for some steps without views; the first one, which is compiled, does not count.
func (m *meter) trainingRate(ctx context.Context, model *recipe.Model, d *dataset.Dataset, batch int) (float64, error) {
	folder, err := os.MkdirTemp("", "certspec-rates-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)
	steps, cancel := context.WithCancel(ctx)
	defer cancel()
	var first, last time.Time
	var at, from float64
	_, err = train.Run(steps, train.Options{
		Network: model.Network, Input: model.Input, Width: model.Width, Bias: model.Bias,
		Sigma: new(0.25), BatchSize: batch, Epochs: 1000, LearningRate: 1e-6,
		Train: d, Test: d, Out: filepath.Join(folder, "model"), Backend: m.Options.Training,
		Progress: func(s progress.State) {
			if s.Final {
				return
			}
			last, at = time.Now(), s.Done
			if first.IsZero() {
				first, from = last, at
			}
			if last.Sub(first) > 3*time.Second && at > from {
				cancel()
			}
		},
	})
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if at == from {
		return 0, fmt.Errorf("the network could not be timed: %w", err)
	}
	return (at - from) / last.Sub(first).Seconds(), nil
}

// fixed are images that are there.
type fixed struct{ *dataset.Images }

func (f fixed) Load(context.Context) (*dataset.Images, error) { return f.Images, nil }

func (m *meter) sampleRate(ctx context.Context, path string, model *recipe.Model,
	images *dataset.Images) (float64, error) {
	net, err := m.OpenAt(path, model)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	return certifyingRate(ctx, net, images, max(model.Noise(), .01), time.Now)
}

// certifyingRate certifies images over and over, each time twice as many, until it takes a second.
// Each number comes twice, and the second time counts: what an engine compiles for it, it has compiled.
func certifyingRate(ctx context.Context, c classifier.Classifier, images *dataset.Images, sigma float64,
	now func() time.Time) (float64, error) {
	o := rs.Options{Sigma: sigma, Rule: rs.Fixed, MaxSamples: 100, Selection: 100}
	for n := min(2, images.Len()); ; n = min(2*n, images.Len()) {
		part := *images
		part.IDs, part.Labels, part.Pixels = images.IDs[:n], images.Labels[:n], images.Pixels[:n*images.Shape.Len()]
		var took time.Duration
		for range 2 {
			start := now()
			if _, err := rs.Certify(ctx, c, fixed{&part}, o); err != nil {
				return 0, err
			}
			took = now().Sub(start)
		}
		if took > time.Second || n == images.Len() {
			return float64(200*n) / took.Seconds(), nil
		}
	}
}
