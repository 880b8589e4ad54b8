package augment

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/certspec/certspec/pixel"
)

// suite tests an augmentation: its text, and a digest of views of images of several shapes. A digest changes
// where the streams, the order of draws or any rounding does; it is the same with and without vector instructions, and
// with fused multiply-add.
var suite = []struct{ text, digest string }{
	{"fouriermix", "0afa7ac32754a475"},
	{"fouriermix(phase_law=uniform)", "29ea573fbf9a7a61"},
	{"fouriermix(real_mode=real)", "0d4c0064c945138e"},
	{"fouriermix(real_mode=abs,sampling=bilinear)", "d4c567aaabe70a7b"},
	{"fouriermix(chains=2,amplitude=0.5:1,phase=imagenet,amplitude_law=signed_half,rotation=narrow,translation=imagenet,shear=0.1:0.2:0.3:0.3,shear_unit=factor,affine_of=spectral,clip=true)", "1e38f42541d84426"},
	{"augmix", "6427846c60a4bd83"},
	{"augmix(variant=archive,operations=all)", "0ad131c027afb4fb"},
	{"augmix(width=2,depth=3,severity=10,operations=all)", "c2a5c7a7b80acd85"},
	{"autoaugment", "298def9ac49eea0d"},
	{"gaussian", "e724af3a6b07dc23"},
	{"gaussian(sigma=0.3,share=1)", "8945800506fc1215"},
	{"crop+flip", "ad098a3728dd5c03"},
	{"flip+crop(pad=7)", "9a67f5471787a133"},
	{"fouriermix+quantize+augmix+flip", "0c86a5033809635f"},
}

func TestConformance(t *testing.T) {
	for _, c := range suite {
		t.Run(c.text, func(t *testing.T) {
			a, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if got := a.String(); got != c.text {
				t.Errorf("shows itself as %q", got)
			}
			digest := sha256.New()
			for _, shape := range shapes {
				if shape.Channels != 1 && shape.Channels != 3 && strings.Contains(c.text, "aug") {
					continue
				}
				im := picture(shape, 2)
				var views []Image
				for view := range uint64(12) {
					at := Address{Seed: 1, Epoch: 2, Image: 3, View: view}
					views = append(views, mustApply(t, a, im, at))
					if again := mustApply(t, a, im, at); !slices.Equal(again.Values, views[view].Values) {
						t.Errorf("%v: the same address gives another view", shape)
					}
					for _, v := range views[view].Values {
						if v-v != 0 {
							t.Fatalf("%v: a view holds %v", shape, v)
						}
						digest.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
					}
				}
				if shape == cifar {
					checkDiffer(t, c.text, views)
				}
			}
			if got := hex.EncodeToString(digest.Sum(nil)[:8]); got != c.digest {
				t.Errorf("digest %s; expected %q", got, c.digest)
			}
		})
	}
}

// checkDiffer expects views of one image to differ: all of them, but for augmentations with few outcomes.
func checkDiffer(t *testing.T, text string, views []Image) {
	different := 0
	for i := range views {
		fresh := true
		for j := range i {
			fresh = fresh && !slices.Equal(views[i].Values, views[j].Values)
		}
		if fresh {
			different++
		}
	}
	want := len(views)
	if text == "autoaugment" || text == "gaussian" {
		want = len(views) / 2
	}
	if different < want {
		t.Errorf("%d of %d views differ; expected %d", different, len(views), want)
	}
}

func TestAnyNumberOfWorkersGivesTheSame(t *testing.T) {
	const n = 17
	for _, c := range suite {
		a, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var first [][]float32
		for _, workers := range []int{1, 2, 8, 0} {
			views := make([][]float32, n)
			err := Views(t.Context(), a, cifar, n, workers,
				func(i int, dst []float32) error { copy(dst, picture(cifar, uint64(i)).Values); return nil },
				func(i int) Address { return Address{Seed: 6, Image: uint64(i)} },
				func(i int, view []float32) error { views[i] = slices.Clone(view); return nil })
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = views
			}
			for i := range views {
				if !slices.Equal(views[i], first[i]) {
					t.Errorf("%s: %d workers make another view of image %d", c.text, workers, i)
				}
			}
		}
	}
}

func TestViewsStops(t *testing.T) {
	failure := errors.New("no workspace")
	load := func(int, []float32) error { return nil }
	address := func(i int) Address { return Address{Image: uint64(i)} }
	var lock sync.Mutex
	saved := 0
	const all = 1 << 30 // more than the others can save until the failing one has its turn on a processor
	err := Views(t.Context(), Flip{}, cifar, all, 4, load, address, func(i int, _ []float32) error {
		lock.Lock()
		defer lock.Unlock()
		if saved++; i == 5 {
			return failure
		}
		return nil
	})
	if !errors.Is(err, failure) || !strings.Contains(err.Error(), "image 5") || saved == all {
		t.Errorf("%d images saved, error %v; expected image 5 to end the work", saved, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := Views(ctx, Flip{}, cifar, 3, 1, load, address, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; expected that of the context", err)
	}
	if err := Views(t.Context(), Flip{}, pixel.Shape{}, 3, 1, load, address, nil); err == nil {
		t.Error("images of no pixels are taken")
	}
}

func TestBadImages(t *testing.T) {
	grey := pixel.Shape{Height: 2, Width: 2, Channels: 1}
	two := pixel.Shape{Height: 1, Width: 1, Channels: 2}
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	for _, c := range []struct {
		text string
		im   Image
		says string
	}{
		{"fouriermix", Image{grey, []float32{0, 1, nan, 1}}, "value 2 is NaN"},
		{"augmix", Image{grey, []float32{0, 1, nan, 1}}, "value 2 is NaN"},
		{"autoaugment", Image{grey, []float32{0, 1, inf, 1}}, "value 2 is -Inf"},
		{"crop", Image{grey, []float32{nan, 1, 1, 1}}, "value 0 is NaN"},
		{"flip", Image{grey, []float32{0, 1, 1, inf}}, "value 3 is -Inf"},
		{"quantize", Image{grey, []float32{0, 1, 1, nan}}, "value 3 is NaN"},
		{"fouriermix", Image{grey, []float32{0, 1}}, "2 values for an image of 2×2×1"},
		{"autoaugment", Image{grey, []float32{0, 1}}, "2 values for an image of 2×2×1"},
		{"fouriermix", Image{pixel.Shape{}, nil}, "0 values for an image of 0×0×0"},
		{"augmix", Image{pixel.Shape{}, nil}, "0 values for an image of 0×0×0"},
		{"augmix", Image{two, []float32{0, 1}}, "1 channel (grey) or 3 (RGB)"},
		{"autoaugment", Image{two, []float32{0, 1}}, "1 channel (grey) or 3 (RGB)"},
		{"augmix", Image{grey, []float32{0, 1, 0.3, 1}}, "value 2 is 0.3; expected a byte over 255 (put quantize before it)"},
		{"autoaugment", Image{grey, []float32{0, 1, 1.2, 1}}, "value 2 is 1.2"},
	} {
		a, err := Parse(c.text)
		if err != nil {
			t.Fatal(err)
		}
		var bad *ImageError
		if err := a.Apply(c.im, NewStream(Address{})); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s of %v: error %v; expected %q", c.text, c.im, err, c.says)
		}
	}
	d := oneChain(grey, 4)
	if err := (FourierMix{}).Mix(Image{grey, make([]float32, 4)}, d); err != nil {
		t.Error(err)
	}
	if err := (FourierMix{}).Mix(Image{grey, make([]float32, 4)}, oneChain(grey, 3)); err == nil {
		t.Error("a draw of too few bins is taken")
	}
	if err := (FourierMix{}).Mix(Image{two, make([]float32, 2)}, oneChain(grey, 1)); err == nil {
		t.Error("a draw of too few channels is taken")
	}
	d.Chains[0].Phase[0][1] = math.Inf(1)
	if err := (FourierMix{}).Mix(Image{grey, make([]float32, 4)}, d); err == nil {
		t.Error("an infinite phase is taken")
	}
}

func TestBadOptions(t *testing.T) {
	for text, says := range map[string]string{
		"fouriermx":                        `"fouriermix" (the nearest)`,
		"":                                 "unknown augmentation",
		"fouriermix(real_mod=abs)":         `"real_mode" (the nearest)`,
		"fouriermix(real_mode=absolute)":   `real_mode is "absolute"`,
		"fouriermix(amplitude=0.2:x)":      "amplitude",
		"fouriermix(amplitude=1.5)":        "amplitude has the value 1.5; expected 0 to 1",
		"fouriermix(phase=4)":              "phase has the value 4",
		"fouriermix(phase=NaN)":            "phase has the value NaN",
		"fouriermix(rotation=5:10)":        "rotation has 2 values; expected 4",
		"fouriermix(translation=0:0:0:-1)": "translation has the value -1",
		"fouriermix(shear=0:0:0:11)":       "shear has the value 11",
		"fouriermix(chains=0)":             "chains",
		"fouriermix(chains=-2)":            "chains is -2",
		"fouriermix(clip=yes)":             "clip",
		"fouriermix(clip":                  "no closing bracket",
		"fouriermix(clip)":                 "key=value",
		"augmix(severity=11)":              "severity is 11",
		"augmix(severity=NaN)":             "severity is NaN",
		"augmix(depth=4,variant=archive)":  "depth is 4",
		"augmix(width=-1)":                 "width is -1",
		"augmix(variant=new)":              `variant is "new"`,
		"autoaugment(policy=svhn)":         "it has no options",
		"gaussian(sigma=-1)":               "sigma is -1",
		"gaussian(share=1.5)":              "share is 1.5",
		"crop(pad=-1)":                     "pad is -1",
		"crop++flip":                       "unknown augmentation",
	} {
		var bad *OptionError
		if _, err := Parse(text); !errors.As(err, &bad) || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: error %v; expected %q", text, err, says)
		}
	}
	for _, a := range []Augmentation{FourierMix{Chains: -1}, FourierMix{RealMode: "x"}, FourierMix{Phase: []float64{}}, AugMix{Severity: -1}, AugMix{Operations: "x"}, crop{Pad: -1}} {
		var bad *OptionError
		if err := a.Apply(picture(cifar, 1), NewStream(Address{})); !errors.As(err, &bad) {
			t.Errorf("%+v: error %v; expected one about an option", a, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, c := range suite {
		f.Add(c.text)
	}
	f.Add("fouriermix(amplitude=:::)")
	f.Add("crop(pad=99999999999999999999)")
	f.Fuzz(func(t *testing.T, text string) {
		a, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(a.String())
		if err != nil || again.String() != a.String() {
			t.Errorf("%q is shown as %q, which is read as %v (%v)", text, a, again, err)
		}
	})
}

// Views are rounded to float32, which hides most of the last bits of what they are made of; here these bits count.
func TestDrawsAreTheSameEverywhere(t *testing.T) {
	const want = "b0c7d6ddf655ad37"
	digest := sha256.New()
	put := func(values ...float64) {
		for _, v := range values {
			digest.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(v)))
		}
	}
	for _, f := range []FourierMix{{}, {Phase: []float64{math.Pi}, ShearUnit: shearFactor}, {PhaseLaw: uniformPhase, AmplitudeLaw: signedHalfAmplitude, RealMode: realPartMode}} {
		for _, shape := range shapes {
			d, err := f.Draw(shape, NewStream(Address{Seed: 11}))
			if err != nil {
				t.Fatal(err)
			}
			put(d.Keep)
			for _, c := range d.Chains {
				put(c.Weight, c.Spectral, c.AmplitudeSeverity, c.PhaseSeverity, c.Sign, c.Rotation, c.Right, c.Down, c.Shear)
				m := affineOf(&c, shape)
				put(m.a, m.b, m.c, m.d, m.e, m.f)
				for channel, a := range c.Amplitude {
					re, im := make([]float64, len(a)), make([]float64, len(a))
					addTurned(re, im, a, c.Phase[channel], c.Weight, c.PhaseSeverity)
					put(a...)
					put(c.Phase[channel]...)
					put(re...)
					put(im...)
				}
			}
		}
	}
	if got := hex.EncodeToString(digest.Sum(nil)[:8]); got != want {
		t.Errorf("digest %s; expected %q", got, want)
	}
}
