//go:build cgo && !noxla && ((linux && (amd64 || arm64)) || (darwin && arm64))

package xlakernels

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/gomlx/compute"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/gomlx/core/graph"
	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/internal/cache"
)

// Every form agrees with direct sums in float64 at odd sizes, channels that fill no vector, and paddings that no network has.
func TestForms(t *testing.T) {
	for f, name := range forms() {
		for _, side := range []int{1, 2, 5, 7, 8, 17} {
			for _, k := range []int{1, 3, 5} {
				for _, stride := range []int{1, 2} {
					for _, pad := range []int{0, k / 2, k} {
						out := (side+2*pad-k)/stride + 1
						if side+2*pad < k {
							continue
						}
						for _, channels := range [][2]int{{1, 16}, {3, 16}, {16, 16}, {5, 7}, {20, 35}, {16, 3}, {32, 48}} {
							g := convolution{kind: forward, stride: stride, dilation: 1, top: pad, left: max(pad-1, 0), n: 2, height: side, width: side,
								channels: channels[0], kernelHeight: k, kernelWidth: k, outHeight: out, outWidth: out, features: channels[1]}
							input := convolution{kind: byInput, stride: 1, dilation: stride, top: k - 1 - min(pad, k-1), left: k - 1 - min(pad, k-1), n: 2, height: out, width: out,
								channels: channels[1], kernelHeight: k, kernelWidth: k, outHeight: side, outWidth: side, features: channels[0]}
							kernel := g
							kernel.kind = byKernel
							for _, c := range []convolution{g, input, kernel} {
								if d := check(f, c); !(d <= allowed) {
									t.Errorf("%s: %+v is wrong by %.3g roundings", name, c, d)
								}
							}
						}
					}
				}
			}
		}
	}
	if d := check(len(forms()), convolution{}); d == d {
		t.Errorf("a form that is not there differs by %v", d)
	}
}

// open gives XLA's plugin in the cache with kernels.
func open(t *testing.T, form string) *Plugin {
	t.Helper()
	dir, err := cache.Dir("plugins", "xla-cpu-pjrt-0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	path := dir + "/xla_cpu_pjrt.so"
	if _, err := os.Stat(path); err != nil {
		t.Skip("no XLA plugin in the cache: certspec backend install puts it there")
	}
	p, err := Load(path, form)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func client(t *testing.T, p *Plugin, threads string) compute.Backend {
	t.Helper()
	t.Setenv("NPROC", threads)
	xla.EnableAutoInstall(false)
	b, err := xla.NewWithOptions(p.Name+",shared_buffers=true", nil)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// gradients are a convolution and its gradients by images and kernel, weighted by r.
type gradients struct{ y, byImages, byKernel []float32 }

func differentiate(t *testing.T, b compute.Backend, stride int, pad [2]int, groups int, x, w, r *tensors.Tensor) gradients {
	t.Helper()
	exec, err := graph.NewExec(b, func(x, w, r *graph.Node) []*graph.Node {
		c := graph.Convolve(x, w).Strides(stride).PaddingPerDim([][2]int{pad, pad})
		if groups > 1 {
			c = c.ChannelGroupCount(groups)
		}
		y := c.Done()
		g := graph.Gradient(graph.ReduceAllSum(graph.Mul(y, r)), x, w)
		return []*graph.Node{y, g[0], g[1]}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer exec.Finalize()
	var in []any
	for _, v := range []*tensors.Tensor{x, w, r} {
		clone, err := v.LocalClone()
		if err != nil {
			t.Fatal(err)
		}
		in = append(in, clone)
	}
	outputs, err := exec.Call(in...)
	if err != nil {
		t.Fatal(err)
	}
	var flat [3][]float32
	for i, o := range outputs {
		if flat[i], err = tensors.CopyFlatData[float32](o); err != nil {
			t.Fatal(err)
		}
	}
	return gradients{flat[0], flat[1], flat[2]}
}

func random(seed uint64, dims ...int) *tensors.Tensor {
	n := 1
	for _, d := range dims {
		n *= d
	}
	r, v := rand.New(rand.NewPCG(seed, 1)), make([]float32, n)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return tensors.FromFlatDataAndDimensions(v, dims...)
}

// Convolutions and their gradients through GoMLX and XLA agree with direct sums in float64 of the factors that a form multiplies, with one thread and with two, bit for bit the
// same; what the kernels do not know goes to XLA.
func TestThroughXLA(t *testing.T) {
	for _, form := range forms() {
		p := open(t, form)
		if open(t, form) != p {
			t.Error("loaded twice")
		}
		one, two := client(t, p, "1"), client(t, p, "2")
		for _, c := range []struct {
			n, side, channels, features, k, stride int
			pad                                    [2]int
			groups                                 int
		}{
			{5, 9, 16, 16, 3, 1, [2]int{1, 1}, 1},
			{9, 10, 16, 32, 3, 1, [2]int{1, 1}, 1},
			{3, 9, 16, 32, 3, 2, [2]int{1, 1}, 1},
			{3, 8, 16, 32, 3, 2, [2]int{1, 1}, 1},
			{3, 8, 16, 32, 1, 2, [2]int{0, 0}, 1},
			{70, 5, 7, 18, 3, 1, [2]int{0, 2}, 1},
			{2, 11, 3, 16, 3, 1, [2]int{1, 1}, 1},
			{2, 9, 16, 16, 3, 1, [2]int{1, 1}, 2},
		} {
			t.Run(fmt.Sprintf("%s %+v", form, c), func(t *testing.T) {
				out := (c.side+c.pad[0]+c.pad[1]-c.k)/c.stride + 1
				x, w := random(1, c.n, c.side, c.side, c.channels), random(2, c.k, c.k, c.channels/c.groups, c.features)
				r := random(3, c.n, out, out, c.features)
				before := p.Counts()
				got := differentiate(t, one, c.stride, c.pad, c.groups, x, w, r)
				after := p.Counts()
				if c.groups > 1 {
					if after.Native["groups"] == before.Native["groups"] { // GoMLX makes gradients without groups of it
						t.Errorf("from %+v to %+v", before, after)
					}
					return
				}
				if after.Replaced != before.Replaced+3 {
					t.Errorf("from %+v to %+v", before, after)
				}
				again := differentiate(t, two, c.stride, c.pad, c.groups, x, w, r)
				if !slices.Equal(got.y, again.y) || !slices.Equal(got.byImages, again.byImages) || !slices.Equal(got.byKernel, again.byKernel) {
					t.Error("other bits with two threads than with one")
				}
				xs, ws, rs := factors(t, x, form), factors(t, w, form), factors(t, r, form)
				y, dx, dw := make([]float64, len(rs)), make([]float64, len(xs)), make([]float64, len(ws))
				for n := range c.n {
					for i := range out * out {
						for k := range c.k * c.k {
							row, column := i/out*c.stride+k/c.k-c.pad[0], i%out*c.stride+k%c.k-c.pad[0]
							if row < 0 || column < 0 || row >= c.side || column >= c.side {
								continue
							}
							for a := range c.channels {
								for b := range c.features {
									xi, wi, yi := ((n*c.side+row)*c.side+column)*c.channels+a, (k*c.channels+a)*c.features+b, (n*out*out+i)*c.features+b
									y[yi] += xs[xi] * ws[wi]
									dx[xi] += rs[yi] * ws[wi]
									dw[wi] += rs[yi] * xs[xi]
								}
							}
						}
					}
				}
				near(t, "output", got.y, y)
				near(t, "gradient by the images", got.byImages, dx)
				near(t, "gradient by the kernel", got.byKernel, dw)
			})
		}
	}
}

// Values are rounded to nearest, ties to even; subnormal ones are zeros, and what is not finite stays so.
func TestBF16Rounding(t *testing.T) {
	if !slices.ContainsFunc(forms(), func(form string) bool { return strings.HasSuffix(form, bf16) }) {
		t.Skip("this processor lacks avx512_bf16")
	}
	inf, nan := float32(math.Inf(1)), float32(math.NaN())
	in := []float32{1 + 0x1p-8, 1 + 3*0x1p-8, 1 + 0x1p-8 + 0x1p-20, 1 + 0x1p-8 - 0x1p-20, -1 - 0x1p-8, 0x1p-126, 0x1p-127, -inf, nan}
	want := []float32{1, 1 + 0x1p-6, 1 + 0x1p-7, 1, -1, 0x1p-126, 0, -inf, nan}
	one := tensors.FromFlatDataAndDimensions([]float32{1}, 1, 1, 1, 1)
	got := differentiate(t, client(t, open(t, bf16), "1"), 1, [2]int{}, 1, tensors.FromFlatDataAndDimensions(in, 1, 3, 3, 1), one, random(3, 1, 3, 3, 1)).y
	for i := range want {
		if got[i] != want[i] && !(got[i] != got[i] && want[i] != want[i]) {
			t.Errorf("%x becomes %x; expected %x", in[i], got[i], want[i])
		}
	}
}

// factors are the values that a form multiplies: those of a tensor, or the nearest in bfloat16, which has the upper half of a float32's bits.
func factors(t *testing.T, v *tensors.Tensor, form string) []float64 {
	t.Helper()
	flat, err := tensors.CopyFlatData[float32](v)
	if err != nil {
		t.Fatal(err)
	}
	f := make([]float64, len(flat))
	for i, v := range flat {
		f[i] = float64(v)
		if strings.HasSuffix(form, bf16) {
			_, e := math.Frexp(f[i])
			f[i] = math.Ldexp(math.RoundToEven(math.Ldexp(f[i], 8-e)), e-8) // 8 bits of the significand
		}
	}
	return f
}

func near(t *testing.T, name string, got []float32, want []float64) {
	t.Helper()
	worst, greatest := 0.0, 0.0
	for i, v := range want {
		worst, greatest = math.Max(worst, math.Abs(float64(got[i])-v)), math.Max(greatest, math.Abs(v))
	}
	if !(worst <= 2e-6*greatest) || len(got) != len(want) {
		t.Errorf("%s: wrong by %.2g of the greatest value", name, worst/greatest)
	}
}

// A form is found by its name or kind, and what a processor lacks is refused by the flag that it would need.
func TestChoose(t *testing.T) {
	all := []string{"avx512", "avx2", "avx512-winograd", "avx2-winograd", "avx512-bf16"}
	for form, want := range map[string]int{"": 0, "avx2": 1, "winograd": 2, "avx2-winograd": 3, "bf16": 4, "avx512-bf16": 4} {
		if got, err := choose(all, form); got != want || err != nil {
			t.Errorf("%q: %d, %v; expected %d", form, got, err, want)
		}
	}
	for _, form := range []string{"bf16", "avx512-bf16"} {
		if _, err := choose(all[:4], form); err == nil || !strings.Contains(err.Error(), "avx512_bf16") || !strings.Contains(err.Error(), "kernels=avx512 ") {
			t.Errorf("%q: %v", form, err)
		}
	}
	if _, err := choose(nil, "bf16"); err == nil {
		t.Error("a form of a processor that has none")
	}
}

func TestLoadErrors(t *testing.T) {
	if _, err := Load("/none", "mmx"); err == nil || !strings.Contains(err.Error(), `no kernels "mmx"`) {
		t.Error(err)
	}
	if _, err := Load("/none", ""); err == nil || !strings.Contains(err.Error(), "cannot be loaded") {
		t.Error(err)
	}
}
