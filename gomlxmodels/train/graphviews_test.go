package train

import (
	"math"
	"strings"
	"testing"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

// A batch whose views the graph makes is the one that the host makes: with one view and several, every kind of crop, several noises,
// some rows without noise, and with an adversary, whose images get no noise yet.
func TestGraphBatchIsHostBatch(t *testing.T) {
	b := engines.Backend(t, "go")
	adversary := &attack.Adversary{Epsilon: 1, Steps: 1, Rate: 1, Delay: 1 << 20, Driver: func() attack.Driver { return attack.Lower{} }}
	for _, needs := range []method.Needs{
		{Views: 1, Noises: 1}, {Views: 3, Noises: 2}, {Views: 3, Noises: 1, Share: method.HalfExact}, {Views: 1, Noises: 2, Adversary: adversary},
	} {
		for _, crop := range Augmentations() {
			if f := framingOf(crop); f.resized && f.each {
				continue // the graph refuses it
			}
			p := benchPlan("small-cnn", pixel.Shape{Height: 6, Width: 6, Channels: 1})
			p.views, p.run.Recipe.Augment, p.needs = augment.FourierMix{}, crop, needs
			members := []int{5, 9, 2, 300}
			host := p.batch(1, 0, members)
			p.run.Recipe.ViewsBy = viewsByGraph
			tr, err := newTrainer(b, p, p.newState())
			if err != nil {
				t.Fatal(err)
			}
			defer tr.close()
			inputs, err := tr.inputs(p.batch(1, 0, members), 1)
			if err != nil {
				t.Fatal(err)
			}
			compare := func(what string, got *tensors.Tensor, want []float32) {
				t.Helper()
				values, err := tensors.CopyFlatData[float32](got)
				if err != nil || len(values) != len(want) {
					t.Fatalf("%+v, %s: %d %s, want %d; %v", needs, crop, len(values), what, len(want), err)
				}
				for i, v := range values {
					if !(math.Abs(float64(v-want[i])) <= 2e-6) {
						t.Fatalf("%+v, %s: value %d of the %s is %v; on the host %v", needs, crop, i, what, v, want[i])
					}
				}
			}
			compare("images", inputs[0], host.images)
			if needs.Adversary != nil {
				compare("noise", inputs[4], host.noise)
			}
		}
	}
}

func TestViewsBy(t *testing.T) {
	o := Options{Own: Own{Method: newMethod(t, "gaussian"), Views: augment.FourierMix{}}}
	for by, want := range map[modelfile.ViewMaker]modelfile.ViewMaker{"": "", viewsByHost: "", viewsByGraph: viewsByGraph} {
		o.ViewsBy = by
		if r, _, err := o.recipe(); err != nil || r.ViewsBy != want {
			t.Errorf("%q: the recipe says %q, %v; want %q", by, r.ViewsBy, err, want)
		}
	}
	for want, o := range map[string]Options{
		"fouriermix alone, not by \"augmix\"": {Own: Own{Views: augment.AugMix{}}, ViewsBy: viewsByGraph},
		"not by \"\"":                         {ViewsBy: viewsByGraph},
		"no views with \"random-resized-crop\"": {Own: Own{Views: augment.FourierMix{}},
			ViewsBy: viewsByGraph, Augment: resizedCrop},
		"no maker of views \"device\"": {Own: Own{Views: augment.FourierMix{}}, ViewsBy: "device"},
	} {
		o.Own.Method = newMethod(t, "gaussian")
		if _, _, err := o.recipe(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}
