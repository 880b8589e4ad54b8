package nets

import (
	"math"
	"strings"
	"testing"

	"github.com/certspec/certspec/pixel"
)

var cifar = pixel.Shape{Height: 32, Width: 32, Channels: 3}

// layered is a network given by a function.
type layered struct {
	name   string
	layers func(b *Builder, x Value, classes int) Value
}

func (l layered) Name() string                                  { return l.name }
func (l layered) Layers(b *Builder, x Value, classes int) Value { return l.layers(b, x, classes) }

// Half the width of a ResNet-8 has half the channels, and so on; widths below 8 channels stay at 8. Counts by hand:
// 3·9·c + Σ of the blocks of c, 2c, 4c channels + 2 for each normalised channel + the head.
func TestWidthAndBias(t *testing.T) {
	count := func(c1, c2, c3, biases int) int {
		n := 3*9*c1 + 2*c1
		for _, s := range [][2]int{{c1, c1}, {c1, c2}, {c2, c3}} {
			in, out := s[0], s[1]
			n += 9*in*out + 9*out*out + 4*out
			if in != out {
				n += in*out + 2*out
			}
		}
		return n + c3*10 + 10 + biases
	}
	for _, c := range []struct {
		width float64
		bias  bool
		want  int
	}{
		{0, false, count(16, 32, 64, 0)}, {1, false, count(16, 32, 64, 0)}, {2, false, count(32, 64, 128, 0)}, {0.5, false, count(8, 16, 32, 0)},
		{0.25, false, count(8, 8, 16, 0)}, // the second stage is as wide as the first, but half the size: its shortcut has weights
		{0, true, count(16, 32, 64, 16+2*16+3*32+3*64)},
	} {
		want := c.want
		if c.width == 0.25 {
			want += 8*8 + 2*8
		}
		a := Architecture{Name: "resnet8", Shape: cifar, Classes: 10, Width: c.width, Bias: c.bias}
		if got := a.Parameters(); got != want {
			t.Errorf("width %v, bias %v: %d parameters, want %d", c.width, c.bias, got, want)
		}
	}
	for _, width := range []float64{-1, math.NaN(), 65, 1e-9} {
		if err := (Architecture{Name: "resnet8", Shape: cifar, Classes: 10, Width: width}).Check(); err == nil || !strings.Contains(err.Error(), "expected a factor") {
			t.Errorf("width %v: %v", width, err)
		}
	}
}

// A description that cannot be is an error that names the layer.
func TestMisfits(t *testing.T) {
	shape := pixel.Shape{Height: 5, Width: 4, Channels: 2}
	conv := ConvOptions{Size: 3, Channels: 4}
	for want, layers := range map[string]func(b *Builder, x Value, classes int) Value{
		`two layers are named "a"`: func(b *Builder, x Value, classes int) Value { return b.Dense("a", b.Conv("a", x, conv), classes) },
		`the convolution "c" takes images`: func(b *Builder, x Value, classes int) Value {
			return b.Conv("c", b.Dense("d", x, 4), conv)
		},
		`kernel of 2 pixels a side`:       func(b *Builder, x Value, classes int) Value { return b.Conv("c", x, ConvOptions{Size: 2, Channels: 1}) },
		`the sum "s" is of 5×4×4 and 5×4`: func(b *Builder, x Value, classes int) Value { return b.Add("s", b.Conv("c", x, conv), x) },
		`it gives 5×4×4; expected 1×1×3`:  func(b *Builder, x Value, classes int) Value { return b.Conv("c", x, conv) },
		`is not its last layer`: func(b *Builder, x Value, classes int) Value {
			y := b.Dense("d", x, classes)
			b.Dense("e", x, classes)
			return y
		},
		`an image of one pixel`: func(b *Builder, x Value, classes int) Value {
			for _, name := range []string{"a", "b", "c"} {
				x = b.Conv(name, x, ConvOptions{Size: 1, Channels: classes, Stride: 2})
			}
			return x
		},
		`it has one width only`: func(b *Builder, x Value, classes int) Value { return b.Dense("d", x, classes) },
		`has 0 outputs`:         func(b *Builder, x Value, classes int) Value { return b.Dense("d", x, 0) },
		`the mean "m"`:          func(b *Builder, x Value, classes int) Value { return b.MeanPool("m", b.Dense("d", x, 2)) },
		`the maximum "m"`:       func(b *Builder, x Value, classes int) Value { return b.MaxPool("m", b.Dense("d", x, 2)) },
	} {
		a := Architecture{Shape: shape, Classes: 3}
		if strings.Contains(want, "one width") {
			a.Width = 2
		}
		if _, err := describe(layered{"mine", layers}, a); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "mine") {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
	for name, register := range map[string]Network{"resnet8": layered{name: "resnet8"}, "no name": layered{}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s is registered", name)
				}
			}()
			Register(register)
		}()
	}
}
