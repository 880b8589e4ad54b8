package augment

import (
	"testing"

	"github.com/certspec/certspec/pixel"
)

var cifar = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// picture is a smooth image of bytes over 255 with some detail.
func picture(shape pixel.Shape, seed uint64) Image {
	im := Image{shape, make([]float32, shape.Len())}
	random := NewStream(Address{Seed: seed, Image: 1 << 40})
	level := make([]float64, shape.Channels)
	for c := range level {
		level[c] = random.Between(60, 190)
	}
	for i := range im.Values {
		c, x, y := i%shape.Channels, i/shape.Channels%shape.Width, i/shape.Channels/shape.Width
		v := level[c] + 2*float64(x) - 1.5*float64(y) + random.Between(-25, 25)
		im.Values[i] = unit[uint8(min(max(v, 0), 255))]
	}
	return im
}

func BenchmarkViews(b *testing.B) {
	clean := picture(cifar, 1)
	for _, a := range []Augmentation{FourierMix{}, FourierMix{PhaseLaw: uniformPhase}, FourierMix{RealMode: modulus}, AugMix{}, AutoAugment{}, Chain{crop{}, Flip{}}} {
		b.Run(a.String(), func(b *testing.B) {
			im := Image{cifar, make([]float32, cifar.Len())}
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				copy(im.Values, clean.Values)
				if err := a.Apply(im, NewStream(Address{Image: uint64(i)})); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
