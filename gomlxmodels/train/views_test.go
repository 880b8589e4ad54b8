package train

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/certspec/certspec/augment"
	"github.com/certspec/certspec/gomlxmodels/method"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/schedule"
	"github.com/certspec/certspec/pixel"
)

// negative is an augmentation that is easy to recognise.
type negative struct{}

func (negative) Apply(im augment.Image, _ *augment.Stream) error {
	for i, v := range im.Values {
		im.Values[i] = -v
	}
	return nil
}

func (negative) String() string { return "negative" }

// Rows are ordered by view, then noise, then image; only the views after the first are augmented, or a single one.
func TestRows(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 6, Width: 6, Channels: 1})
	p.views, p.run.Recipe.Augment, p.ramps[sigmaRamp] = negative{}, noneAug, schedule.Ramp{To: 0.01}
	p.needs = method.Needs{Views: 3, Noises: 2}
	members := []int{5, 9, 2, 300}
	const size, n = 36, 4
	b := p.batch(1, 0, members)
	if b.err != nil || len(b.images) != 6*n*size {
		t.Fatalf("%d values, %v", len(b.images), b.err)
	}
	seen := map[string]bool{}
	for row := range 6 * n {
		view, member := row/(2*n), members[row%n]
		values := b.images[row*size:][:size]
		seen[fmt.Sprint(values)] = true
		for k, v := range values {
			want := float32(p.images.Whole().Image(member)[k]) / 255
			if view > 0 {
				want = -want
			}
			if math.Abs(float64(v-want)) > 0.06 { // six deviations
				t.Fatalf("row %d, value %d: %g, want about %g", row, k, v, want)
			}
		}
	}
	if len(seen) != 6*n {
		t.Errorf("%d different rows of %d", len(seen), 6*n)
	}

	p.needs = method.Needs{Views: 1, Noises: 1}
	p.ramps[sigmaRamp] = schedule.Ramp{}
	if single := p.batch(1, 0, members); single.images[0] != -float32(p.images.Whole().Image(5)[0])/255 {
		t.Error("a single view is not augmented")
	}
}

// Crop and flip are one for all views of an image before augmentation, and one for each view after it.
func TestSharedCrop(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 6, Width: 6, Channels: 1})
	p.views, p.ramps[sigmaRamp] = negative{}, schedule.Ramp{}
	p.needs = method.Needs{Views: 2, Noises: 1}
	for augmentation, shared := range map[modelfile.Augmentation]bool{cropFlip: false, cropFlip + "-shared": true} {
		p.run.Recipe.Augment = augmentation
		b := p.batch(0, 0, order(64))
		same := 0
		for i := range 64 {
			first, second := b.images[i*36:][:36], b.images[(64+i)*36:][:36]
			negated := make([]float32, 36)
			for k, v := range second {
				negated[k] = -v
			}
			if slices.Equal(first, negated) {
				same++
			}
		}
		if shared && same != 64 || !shared && same > 8 {
			t.Errorf("%s: %d of 64 images have the same crop in both views", augmentation, same)
		}
	}
}

// Half of the rows exactly, or as many draws with replacement (the mean share of distinct rows at 256 is .3941).
func TestShareOfNoise(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 2, Width: 2, Channels: 1})
	count := func(at int) (n int) {
		for _, noisy := range p.noisyRows(3, at, 256) {
			if noisy {
				n++
			}
		}
		return n
	}
	p.needs.Share = method.HalfExact
	first := p.noisyRows(3, 0, 256)
	if count(0) != 128 || count(7) != 128 || slices.Equal(first, p.noisyRows(3, 1, 256)) {
		t.Error("not half of the rows, or the same ones in two steps")
	}
	p.needs.Share = method.Share("half_replace")
	total := 0
	for at := range 500 {
		total += count(at)
	}
	// The deviation of a count is below √(256·¼) = 8: five standard errors of the mean.
	if share := float64(total) / 500 / 256; math.Abs(share-0.3941) > 5*8./256/math.Sqrt(500) {
		t.Errorf("share %g, want .3941", share)
	}

	p.run.Recipe.Augment = noneAug
	p.needs = method.Needs{Views: 1, Noises: 1, Share: method.HalfExact}
	b, clean := p.batch(0, 0, order(8)), 0
	for i := range 8 {
		if b.images[4*i] == float32(p.images.Whole().Image(i)[0])/255 {
			clean++
		}
	}
	if clean != 4 {
		t.Errorf("%d of 8 images are without noise", clean)
	}
}

// The noise grows over the first epochs, and stays.
func TestSigmaWarmUp(t *testing.T) {
	p := &plan{stepsPerEpoch: 1, steps: 5}
	p.set(modelfile.Recipe{Sigma: new(1.0), SigmaWarmUp: 4}, Own{})
	for epoch, want := range []float64{0.25, 0.5, 0.75, 1, 1} {
		if got := p.sigma(epoch); got != want {
			t.Errorf("epoch %d: %g, want %g", epoch, got, want)
		}
	}
}

// Every augmented view of an image is another one, in every epoch.
func TestViewsDiffer(t *testing.T) {
	p := benchPlan("small-cnn", pixel.Shape{Height: 6, Width: 6, Channels: 1})
	p.views, p.run.Recipe.Augment, p.ramps[sigmaRamp] = augment.FourierMix{}, noneAug, schedule.Ramp{}
	p.needs = method.Needs{Views: 3, Noises: 1}
	seen := map[string]bool{}
	for epoch := range 2 {
		b := p.batch(epoch*p.stepsPerEpoch, 0, []int{7, 8})
		for row := 2; row < 6; row++ {
			seen[fmt.Sprint(b.images[row*36:(row+1)*36])] = true
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d different views of two images in two epochs, want 8", len(seen))
	}
}
