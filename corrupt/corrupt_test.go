package corrupt

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/pixel"
)

var (
	colour32 = pixel.Shape{Height: 32, Width: 32, Channels: 3}
	grey28   = pixel.Shape{Height: 28, Width: 28, Channels: 1}
	testKey  = Key{Data: "test", Seed: 1}
)

// scenes are smooth images with edges and noise, the same on every platform.
func scenes(shape pixel.Shape, count int) []uint8 {
	r := rand.New(rand.NewPCG(uint64(shape.Height), uint64(shape.Width)))
	all := make([]uint8, 0, count*shape.Len())
	for range count {
		cy, cx, size := r.IntN(shape.Height), r.IntN(shape.Width), 2+r.IntN(max(shape.Height/2, 1))
		base, slope, inside := r.IntN(160), r.IntN(5)-2, r.IntN(256)
		for y := range shape.Height {
			for x := range shape.Width {
				for c := range shape.Channels {
					v := base + slope*y + 30*c
					if max(y-cy, cy-y)+max(x-cx, cx-x) < size {
						v = inside - 20*c
					}
					all = append(all, uint8(min(max(v+r.IntN(9), 0), 255)))
				}
			}
		}
	}
	return all
}

// settings are all corruptions that a shape allows, at severities 1, 3 and 5 and the norms 8, 10 and 12.
func settings(shape pixel.Shape) []Setting {
	var list []Setting
	for _, e := range registry {
		for _, s := range e.Severities {
			setting := Setting{Name: e.Name, Severity: int(s)}
			if e.Family == F {
				setting = Setting{Name: e.Name, Centre: 3, Decay: 0.5, Norm: s}
			}
			if s != 2 && s != 4 && e.check(setting, shape) == nil {
				list = append(list, setting)
			}
		}
	}
	return list
}

// corrupted corrupts count images with indices from first on.
func corrupted(t testing.TB, s Setting, shape pixel.Shape, key Key, src []uint8, first, workers int) []uint8 {
	t.Helper()
	c, err := New(s, shape, key)
	if err != nil {
		t.Fatal(err)
	}
	indices := make([]int, len(src)/shape.Len())
	for i := range indices {
		indices[i] = first + i
	}
	dst := bytes.Repeat([]byte{77}, len(src))
	if err := c.Images(context.Background(), dst, src, indices, workers, nil); err != nil {
		t.Fatal(err)
	}
	return dst
}

// deterministic are the corruptions that use no random numbers.
var deterministic = strings.Fields("defocus_blur zoom_blur brightness contrast pixelate jpeg_compression gaussian_blur saturate circular_motion_blur")

// Every corruption at every severity: the same for any number of workers, any order and whatever stood in the output before; other
// bytes for another seed, index, data set and severity where it draws random numbers; the source stays as it was.
func TestConformance(t *testing.T) {
	count, shapes := 20, []pixel.Shape{colour32, grey28, {Height: 37, Width: 53, Channels: 3}, {Height: 64, Width: 16, Channels: 1}}
	if testing.Short() {
		count, shapes = 4, shapes[1:3]
	}
	for _, shape := range shapes {
		src := scenes(shape, count)
		before := slices.Clone(src)
		for _, s := range settings(shape) {
			t.Run(fmt.Sprintf("%v/%v", shape, s), func(t *testing.T) {
				one := corrupted(t, s, shape, testKey, src, 0, 1)
				if !bytes.Equal(src, before) {
					t.Fatal("the source has changed")
				}
				if bytes.Equal(one, src) {
					t.Error("nothing has changed")
				}
				for _, workers := range []int{2, 7} {
					if !bytes.Equal(corrupted(t, s, shape, testKey, src, 0, workers), one) {
						t.Errorf("other bytes with %d workers", workers)
					}
				}
				c, err := New(s, shape, testKey)
				if err != nil {
					t.Fatal(err)
				}
				size := shape.Len()
				dst := make([]uint8, size)
				for _, i := range []int{count - 1, 3, 0} {
					c.Apply(dst, src[i*size:(i+1)*size], i)
					if !bytes.Equal(dst, one[i*size:(i+1)*size]) {
						t.Errorf("image %d alone has other bytes", i)
					}
				}
				random := !slices.Contains(deterministic, s.Name)
				for what, other := range map[string][]uint8{
					"seed":     corrupted(t, s, shape, Key{testKey.Data, 2}, src, 0, 2),
					"data set": corrupted(t, s, shape, Key{"other", 1}, src, 0, 2),
					"index":    corrupted(t, s, shape, testKey, src, 1, 2),
				} {
					if bytes.Equal(other, one) == random {
						t.Errorf("another %s gives equal bytes: %v; expected %v", what, !random, random)
					}
				}
			})
		}
	}
}

// Images without any structure, and of the extreme values, have no special answer that is no image.
func TestFlatImages(t *testing.T) {
	for _, shape := range []pixel.Shape{colour32, grey28} {
		for _, value := range []uint8{0, 1, 128, 255} {
			src := bytes.Repeat([]byte{value}, shape.Len())
			for _, s := range settings(shape) {
				dst := corrupted(t, s, shape, testKey, src, 0, 1)
				if slices.Contains([]string{"contrast", "pixelate", "gaussian_blur", "defocus_blur", "zoom_blur", "jpeg_compression"}, s.Name) {
					// Nothing to blur, to contrast or to colour; bytes may be cut off, and JPEG rounds.
					for i, b := range dst {
						if d := int(value) - int(b); d < -1 || d > 1 {
							t.Fatalf("%v makes %d of %d in a flat image of %v (at %d)", s, b, value, shape, i)
						}
					}
				}
			}
		}
	}
}

func TestBadSettings(t *testing.T) {
	for _, c := range []struct {
		setting Setting
		shape   pixel.Shape
		want    string
	}{
		{Setting{Name: "fog", Severity: 0}, colour32, "severity 0; expected 1 to 5"},
		{Setting{Name: "fog", Severity: 6}, colour32, "severity 6"},
		{Setting{Name: "fogg", Severity: 1}, colour32, "did you mean fog?"},
		{Setting{Name: "gaussian-noise", Severity: 1}, colour32, "did you mean gaussian_noise?"},
		{Setting{Name: "", Severity: 1}, colour32, "did you mean"},
		{Setting{Name: "fog", Severity: 1}, pixel.Shape{Height: 1, Width: 32, Channels: 3}, "at least 16 pixels"},
		{Setting{Name: "fog", Severity: 1}, pixel.Shape{Height: 32, Width: 32, Channels: 4}, "1 or 3 channels"},
		{Setting{Name: "gaussian_noise", Severity: 1}, pixel.Shape{Height: 0, Width: 32, Channels: 3}, "at least one pixel"},
		{Setting{Name: "saturate", Severity: 1}, grey28, "nothing but colour"},
		{Setting{Name: "transverse_chromatic_abberation", Severity: 1}, grey28, "nothing but colour"},
		{Setting{Name: "fog", Severity: 1, GlassSwap: true}, colour32, "glass_blur only"},
		{Setting{Name: "fog", Severity: 1, Photographs: "x"}, colour32, "frost only"},
		{Setting{Name: "fog", Severity: 1, Decay: 1}, colour32, "fourier only"},
		{Setting{Name: "frost", Severity: 1, Photographs: "/nowhere"}, colour32, "/nowhere"},
		{Setting{Name: "fourier", Centre: 3, Decay: 1}, colour32, "eps 0"},
		{Setting{Name: "fourier", Decay: 1, Norm: 8}, colour32, "fc 0"},
		{Setting{Name: "fourier", Centre: 3, Decay: -1, Norm: 8}, colour32, "alpha -1"},
		{Setting{Name: "fourier", Centre: 3, Decay: 1, Norm: 8, Severity: 2}, colour32, "severity 2"},
	} {
		_, err := New(c.setting, c.shape, Key{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %v: %v; expected %q", c.setting, c.shape, err, c.want)
		}
	}
	var unknown *UnknownError
	if _, err := Find("elastic"); !errors.As(err, &unknown) || unknown.Nearest != "elastic_transform" {
		t.Errorf("elastic: %v", err)
	}
	c, err := New(Setting{Name: "fog", Severity: 1}, colour32, Key{})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Images(context.Background(), make([]uint8, 5), make([]uint8, 5), []int{0}, 1, nil); err == nil {
		t.Error("5 bytes are taken for an image of 3,072")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	size := colour32.Len()
	if err := c.Images(ctx, make([]uint8, size), make([]uint8, size), []int{0}, 1, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled context gives %v", err)
	}
}

// What every value has by itself works on a single pixel, and the noise of CIFAR-F on any side.
func TestSmallestImages(t *testing.T) {
	for _, shape := range []pixel.Shape{{Height: 1, Width: 1, Channels: 1}, {Height: 1, Width: 1, Channels: 3}, {Height: 1, Width: 13, Channels: 3}, {Height: 13, Width: 7, Channels: 1}} {
		list := settings(shape)
		if len(list) < 7*3 {
			t.Errorf("%v: only %d settings", shape, len(list))
		}
		for _, s := range list {
			corrupted(t, s, shape, testKey, scenes(shape, 5), 0, 1)
		}
	}
}

func TestList(t *testing.T) {
	count := map[Family]int{}
	groups := map[Group]int{}
	for _, i := range List() {
		count[i.Family]++
		groups[i.Group]++
		if i.Description == "" || len(i.Severities) == 0 {
			t.Errorf("%+v", i)
		}
	}
	if count[C] != 15 || count[CExtra] != 4 || count[CBar] != 10 || count[F] != 1 {
		t.Errorf("families %v; expected 15, 4, 10 and 1 corruptions", count)
	}
	if groups[Low] != 5 || groups[Mid] != 5 || groups[High] != 5 {
		t.Errorf("groups %v; expected 5 each of Low, Mid and High", groups)
	}
}

// The mean squared change grows with the severity for those that the publications mean to be ordered (500 images of the built-in set).
func TestMonotone(t *testing.T) {
	most := 500
	if testing.Short() {
		most = 50
	}
	d, err := dataset.Open(fmt.Sprintf("synthetic/test[max_index=%d]", most))
	if err != nil {
		t.Fatal(err)
	}
	images, err := d.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(`gaussian_noise shot_noise impulse_noise contrast brightness fog defocus_blur jpeg_compression
		blue_noise_sample brownish_noise circular_motion_blur ripple speckle_noise gaussian_blur`) {
		last := 0.0
		for severity := 1; severity <= severities; severity++ {
			dst := corrupted(t, Setting{Name: name, Severity: severity}, images.Shape, testKey, images.Pixels, 0, 0)
			change := squaredChange(dst, images.Pixels)
			if change <= last {
				t.Errorf("%s: mean squared change %.2f at severity %d, %.2f before", name, change, severity, last)
			}
			last = change
		}
	}
}

func squaredChange(a, b []uint8) float64 {
	sum := 0.0
	for i := range a {
		d := float64(a[i]) - float64(b[i])
		sum += d * d
	}
	return sum / float64(len(a))
}
