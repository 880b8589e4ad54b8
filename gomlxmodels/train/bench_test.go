package train

import (
	"testing"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
)

func benchPlan(net string, shape pixel.Shape) *plan {
	const n = 512
	images := &dataset.Images{Shape: shape, Classes: make([]string, 10), IDs: make([]int, n), Labels: make([]int, n), Pixels: make([]uint8, n*shape.Len())}
	for i := range images.Pixels {
		images.Pixels[i] = uint8(i * 7919)
	}
	for i := range n {
		images.Labels[i] = i % 10
	}
	a := nets.Architecture{Name: net, Shape: shape, Classes: 10}
	p := &plan{run: identity{Architecture: a}, net: netgraph.Network{Architecture: a}, tensors: a.Tensors(), images: whole(images), stepsPerEpoch: n / 128, steps: 1 << 20}
	p.set(modelfile.Recipe{Sigma: new(0.25), Epochs: 1 << 20, LearningRate: 0.01, Augment: cropFlip}, Own{})
	return p
}

// set gives a plan a recipe.
func (p *plan) set(r modelfile.Recipe, own Own) {
	var err error
	o := Options{Own: own}
	if err = o.SetRecipe(r); err == nil {
		p.run.Recipe, p.parts, err = o.recipe()
	}
	if err != nil {
		panic(err)
	}
	p.needs, p.more = p.method.Needs(), nil
	for _, set := range p.needs.Sets { // the images of the run stand for all others
		p.more = append(p.more, further{name: set.Name, images: p.images, batch: p.run.Recipe.BatchSize, augment: noneAug})
	}
}

// A step on L at an eighth of its width, by the methods that learn from out-images, at the full ε.
func BenchmarkOutImages(b *testing.B) {
	engine, err := backend.Open("xla")
	if err != nil {
		b.Skip(err)
	}
	for _, name := range []string{"plain", "oe", "good"} {
		b.Run(name, func(b *testing.B) {
			p := benchPlan("l", pixel.Shape{Height: 28, Width: 28, Channels: 1})
			a := p.run.Architecture
			a.Width = 1. / 8
			p.net, p.tensors = netgraph.Network{Architecture: a}, a.Tensors()
			p.set(modelfile.Recipe{Method: name, Epochs: 1 << 20, LearningRate: 1e-3, Optimizer: "adam"}, Own{})
			t, err := newTrainer(engine, p, p.newState())
			if err != nil {
				b.Fatal(err)
			}
			defer t.close()
			step := 20 * p.stepsPerEpoch
			one := p.batchOf(step, 0, order(128), p.nextMore(step))
			if _, err := t.step(one, step); err != nil {
				b.Fatal(err)
			}
			start := cpuSeconds()
			for b.Loop() {
				if _, err := t.step(one, step); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(128*float64(b.N)/b.Elapsed().Seconds(), "images/s")
			b.ReportMetric((cpuSeconds()-start)/float64(b.N), "cpu-s/step")
		})
	}
}

func benchStep(b *testing.B, net string, shape pixel.Shape) {
	engine, err := backend.Open("xla")
	if err != nil {
		b.Skip(err)
	}
	p := benchPlan(net, shape)
	t, err := newTrainer(engine, p, p.newState())
	if err != nil {
		b.Fatal(err)
	}
	defer t.close()
	for _, piped := range []struct {
		name string
		next func() batch
	}{
		{"bare", func() func() batch { one := p.batch(0, 0, order(128)); return func() batch { return one } }()},
		{"pipeline", func() func() batch { c := p.feed(b.Context(), 0); return func() batch { return <-c } }()},
	} {
		b.Run(piped.name, func(b *testing.B) {
			if _, err := t.step(piped.next(), 0); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := t.step(piped.next(), 0); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(128*float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}

// Every method on the small network with the batches of a run, some 128 rows in a step: images and rows in a second.
func BenchmarkMethods(b *testing.B) {
	engine, err := backend.Open("xla")
	if err != nil {
		b.Skip(err)
	}
	for _, name := range method.Names() {
		b.Run(name, func(b *testing.B) {
			m, err := method.New(name)
			if err != nil {
				b.Fatal(err)
			}
			if m.Needs().Denoiser > 0 {
				b.Skip("it needs a network to stand before")
			}
			p := benchPlan("small-cnn", pixel.Shape{Height: 32, Width: 32, Channels: 3})
			r, rows := p.run.Recipe, m.Needs().Views*m.Needs().Noises
			r.BatchSize = 128 / rows
			p.set(r, Own{Method: m, Views: augment.FourierMix{}})
			p.stepsPerEpoch = p.images.Len() / p.run.Recipe.BatchSize
			t, err := newTrainer(engine, p, p.newState())
			if err != nil {
				b.Fatal(err)
			}
			defer t.close()
			batches := p.feed(b.Context(), 0)
			step := 20 * p.stepsPerEpoch // the attack's budget is full
			if _, err := t.step(<-batches, step); err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := t.step(<-batches, step); err != nil {
					b.Fatal(err)
				}
			}
			images := float64(p.run.Recipe.BatchSize*b.N) / b.Elapsed().Seconds()
			b.ReportMetric(images, "images/s")
			b.ReportMetric(images*float64(rows), "rows/s")
		})
	}
}

func order(n int) []int {
	members := make([]int, n)
	for i := range members {
		members[i] = i
	}
	return members
}

// The bare step against the loop of a run, whose batches are prepared beside it.
func BenchmarkResNet20(b *testing.B) {
	benchStep(b, "resnet20", pixel.Shape{Height: 32, Width: 32, Channels: 3})
}

func BenchmarkSmallCNN(b *testing.B) {
	benchStep(b, "small-cnn", pixel.Shape{Height: 28, Width: 28, Channels: 1})
}

// whole is a set that is in memory.
func whole(im *dataset.Images) *pictureSet { return &pictureSet{Index: im.Indexed()} }
