package torch

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/netparts"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/internal/testkit/engines"
	"github.com/certspec/certspec/pixel"
)

var (
	small  = nets.Architecture{Name: "small-cnn", Shape: pixel.Shape{Height: 7, Width: 6, Channels: 2}, Classes: 3}
	resnet = nets.Architecture{Name: "resnet8", Shape: pixel.Shape{Height: 8, Width: 8, Channels: 3}, Classes: 4}
)

// random is a network whose every weight matters, running averages too.
func random(a nets.Architecture) *modelfile.Model {
	r := rand.New(rand.NewPCG(3, 4))
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a}}
	for _, t := range a.Tensors() {
		values := t.Initialize(5)
		for i := range values {
			if strings.HasSuffix(t.Name, "/variance") {
				values[i] = 0.5 + r.Float32()
			} else {
				values[i] += float32(0.1 * r.NormFloat64())
			}
		}
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: values})
	}
	return m
}

// The indices of both layouts, by their definitions.
func TestLayout(t *testing.T) {
	m := random(small)
	out := ExportWeights(m)
	named := func(list []modelfile.Tensor, name string) modelfile.Tensor {
		return list[slices.IndexFunc(list, func(t modelfile.Tensor) bool { return t.Name == name })]
	}
	ours, theirs := named(m.Weights, "conv2/kernel"), named(out, "conv2.weight")
	const in, outputs = 16, 32
	if !slices.Equal(theirs.Shape, []int{outputs, in, 3, 3}) {
		t.Fatalf("shape %v", theirs.Shape)
	}
	for y := range 3 {
		for x := range 3 {
			for c := range in {
				for o := range outputs {
					if theirs.Values[((o*in+c)*3+y)*3+x] != ours.Values[((y*3+x)*in+c)*outputs+o] {
						t.Fatalf("kernel of output %d at %d, %d of channel %d", o, y, x, c)
					}
				}
			}
		}
	}
	ours, theirs = named(m.Weights, "head/kernel"), named(out, "fc.weight")
	const height, width, channels, classes = 2, 2, 64, 3
	if !slices.Equal(theirs.Shape, []int{classes, channels * height * width}) {
		t.Fatalf("shape %v", theirs.Shape)
	}
	for y := range height {
		for x := range width {
			for c := range channels {
				for o := range classes {
					if theirs.Values[o*channels*height*width+(c*height+y)*width+x] != ours.Values[((y*width+x)*channels+c)*classes+o] {
						t.Fatalf("class %d of channel %d at %d, %d", o, c, y, x)
					}
				}
			}
		}
	}
}

// plane is an activation [channel][row][column], as PyTorch has it.
type plane [][][]float64

// The small network in PyTorch's terms, written down naively: Conv2d(padding=1), BatchNorm2d, ReLU,
// flatten, Linear.
func naive(weights map[string]modelfile.Tensor, x plane) []float64 {
	for layer := 1; layer <= 3; layer++ {
		w, stride := weights[fmt.Sprintf("conv%d.weight", layer)], min(layer, 2)
		bn := func(kind string, c int) float64 {
			return float64(weights[fmt.Sprintf("bn%d.%s", layer, kind)].Values[c])
		}
		var y plane
		for o := range w.Shape[0] {
			var rows [][]float64
			for i := 0; i < len(x[0]); i += stride {
				var row []float64
				for j := 0; j < len(x[0][0]); j += stride {
					sum := 0.0
					for c := range w.Shape[1] {
						for ky := range 3 {
							for kx := range 3 {
								if a, b := i+ky-1, j+kx-1; a >= 0 && a < len(x[0]) && b >= 0 && b < len(x[0][0]) {
									sum += x[c][a][b] * float64(w.Values[((o*w.Shape[1]+c)*3+ky)*3+kx])
								}
							}
						}
					}
					v := (sum-bn("running_mean", o))/math.Sqrt(bn("running_var", o)+1e-5)*bn("weight", o) + bn("bias", o)
					row = append(row, max(0, v))
				}
				rows = append(rows, row)
			}
			y = append(y, rows)
		}
		x = y
	}
	var flat []float64
	for _, channel := range x {
		for _, row := range channel {
			flat = append(flat, row...)
		}
	}
	var logits []float64
	for o, bias := range weights["fc.bias"].Values {
		sum := float64(bias)
		for i, v := range flat {
			sum += v * float64(weights["fc.weight"].Values[o*len(flat)+i])
		}
		logits = append(logits, sum)
	}
	return logits
}

// What is exported is the same function: scores of our network on the Go backend against the naive one.
func TestExportIsTheSameFunction(t *testing.T) {
	m := random(small)
	weights := map[string]modelfile.Tensor{}
	for _, w := range ExportWeights(m) {
		weights[w.Name] = w
	}
	b := engines.Backend(t, "go")
	net, err := infer.Load(b, "small", m)
	if err != nil {
		t.Fatal(err)
	}
	defer net.Close()
	s := small.Shape
	batch := classifier.Batch{N: 1, Real: make([]float32, s.Len())}
	r := rand.New(rand.NewPCG(6, 7))
	x := make(plane, s.Channels)
	for c := range x {
		for i := range s.Height {
			x[c] = append(x[c], make([]float64, s.Width))
			for j := range s.Width {
				v := r.Float32()
				batch.Real[(i*s.Width+j)*s.Channels+c], x[c][i][j] = v, float64(v)
			}
		}
	}
	result := classifier.Result{Classes: make([]int32, 1), Scores: make([]float32, small.Classes)}
	if err := net.Classify(t.Context(), batch, &result); err != nil {
		t.Fatal(err)
	}
	logits := naive(weights, x)
	sum := 0.0
	for _, v := range logits {
		sum += math.Exp(v)
	}
	for c, v := range logits {
		if want := math.Exp(v) / sum; math.Abs(float64(result.Scores[c])-want) > 1e-5 || want < 1e-4 {
			t.Errorf("class %d: score %v, want %v", c, result.Scores[c], want)
		}
	}
}

// Out and back through both kinds of files gives the same bits, and so the same logits.
func TestRoundTrip(t *testing.T) {
	architectures := []nets.Architecture{small, resnet}
	for _, name := range []string{"conv8", "resnet18", "resnet18-unbiased", "vgg16", "vgg16-unbiased"} {
		architectures = append(architectures, nets.Architecture{Name: name, Shape: resnet.Shape, Classes: 4, Width: 1. / 16})
	}
	for _, a := range architectures {
		for _, ending := range []string{Safetensors, NPZ} {
			m := random(a)
			path := filepath.Join(t.TempDir(), "weights"+ending)
			if err := Write(path, ExportWeights(m), map[string]string{"net": a.Name}); err != nil {
				t.Fatal(err)
			}
			first := testkit.Read(t, path)
			file, err := Read(path, "")
			if err != nil {
				t.Fatal(err)
			}
			weights, err := ImportWeights(file.Tensors, a, ConvolvedShortcuts)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(weights, m.Weights) {
				t.Errorf("%s, %s: the weights changed", a.Name, ending)
			}
			if err := Write(path, ExportWeights(m), map[string]string{"net": a.Name}); err != nil {
				t.Fatal(err)
			}
			again, err := Read(path, "")
			if err != nil || again.Digest != file.Digest || !strings.HasPrefix(file.Digest, "sha256:") || len(first) == 0 {
				t.Errorf("%s, %s: digests %s and %s, %v", a.Name, ending, file.Digest, again.Digest, err)
			}
		}
	}
}

// The names in the files of public repositories: those of bearpaw's pytorch-classification, which
// Cohen et al. use too, and of akamaster's pytorch_resnet_cifar10.
func TestNames(t *testing.T) {
	var names []string
	for _, w := range ExportWeights(random(resnet)) {
		names = append(names, w.Name)
	}
	var want []string
	norm := func(name string) {
		for _, kind := range []string{"weight", "bias", "running_mean", "running_var"} {
			want = append(want, name+"."+kind)
		}
	}
	want = append(want, "conv1.weight")
	norm("bn1")
	for _, layer := range []string{"layer1.0", "layer2.0", "layer3.0"} {
		want = append(want, layer+".conv1.weight")
		norm(layer + ".bn1")
		want = append(want, layer+".conv2.weight")
		norm(layer + ".bn2")
		if layer != "layer1.0" {
			want = append(want, layer+".downsample.0.weight")
			norm(layer + ".downsample.1")
		}
	}
	want = append(want, "fc.weight", "fc.bias")
	if !slices.Equal(names, want) {
		t.Errorf("names %q\nwant  %q", names, want)
	}
}

// The names of VGG16 and Conv8 in RobustNets' models.py, by the places in its nn.Sequential.
func TestFamilyNames(t *testing.T) {
	for network, want := range map[string][]string{
		"vgg16": {"layers.0.conv.weight", "layers.0.conv.bias", "layers.0.bn.running_var", "layers.1.conv.weight", "layers.3.conv.weight", "layers.6.conv.bias",
			"layers.12.bn.weight", "layers.14.conv.weight", "layers.16.bn.bias", "fc.weight", "fc.bias"},
		"vgg16-unbiased": {"convs.0.weight", "convs.1.running_mean", "convs.3.weight", "convs.7.weight", "convs.10.weight", "convs.14.weight", "convs.24.weight", "convs.34.weight",
			"convs.37.weight", "convs.40.weight", "convs.41.bias", "linear.0.weight"},
		"conv8": {"convs.0.weight", "convs.2.weight", "convs.5.weight", "convs.7.weight", "convs.10.weight", "convs.12.weight", "convs.15.weight", "convs.17.weight",
			"linear.0.weight", "linear.2.weight", "linear.4.weight"},
		"resnet18-unbiased": {"conv1.weight", "layer4.1.bn2.running_var", "layer2.0.downsample.0.weight", "fc.weight"},
	} {
		var names []string
		for _, w := range ExportWeights(zeros(nets.Architecture{Name: network, Shape: resnet.Shape, Classes: 4, Width: 1. / 64})) {
			names = append(names, w.Name)
		}
		for _, name := range want {
			if !slices.Contains(names, name) {
				t.Errorf("%s: no %s among %q", network, name, names)
			}
		}
		if network == "conv8" && len(names) != len(want) {
			t.Errorf("%s: %q", network, names)
		}
	}
}

// What the two families have that ours have not: the head of Conv8 under a second name, normalisation without scales and shifts, and the
// shortcuts of the second under another name.
func TestFamilyVariants(t *testing.T) {
	of := func(name string) (nets.Architecture, []modelfile.Tensor, []modelfile.Tensor) {
		a := nets.Architecture{Name: name, Shape: resnet.Shape, Classes: 4, Width: 1. / 32}
		m := random(a)
		for _, w := range m.Weights {
			for i := range w.Values {
				if strings.HasSuffix(w.Name, "/scale") {
					w.Values[i] = 1
				} else if strings.HasSuffix(w.Name, "/shift") {
					w.Values[i] = 0
				}
			}
		}
		return a, m.Weights, ExportWeights(m)
	}
	a, want, theirs := of("conv8")
	twin := theirs[len(theirs)-1]
	twin.Name = "output.weight"
	if got, err := ImportWeights(append(theirs, twin), a, ""); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, or other weights", err)
	}
	twin.Values = slices.Clone(twin.Values)
	twin.Values[0]++
	if _, err := ImportWeights(append(theirs, twin), a, ""); err == nil || !strings.Contains(err.Error(), `"linear.4.weight" and "output.weight" differ`) {
		t.Error(err)
	}
	if n, err := Classes(theirs); n != 4 {
		t.Error(n, err)
	}

	a, want, theirs = of("resnet18-unbiased")
	bare := slices.DeleteFunc(slices.Clone(theirs), func(w modelfile.Tensor) bool {
		return len(w.Shape) == 1 && (strings.HasSuffix(w.Name, ".weight") || strings.HasSuffix(w.Name, ".bias"))
	})
	for i := range bare {
		bare[i].Name = strings.Replace(bare[i].Name, "downsample", "shortcut", 1)
	}
	if got, err := ImportWeights(bare, a, ""); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v, or other weights", err)
	}
	if n, err := Classes(theirs); n != 4 {
		t.Error(n, err)
	}
	some := slices.DeleteFunc(slices.Clone(theirs), func(w modelfile.Tensor) bool { return w.Name == "bn1.weight" })
	if _, err := ImportWeights(some, a, ""); err == nil || !strings.Contains(err.Error(), "missing are bn1.weight") {
		t.Error(err)
	}
	a.Name = "resnet18"
	if _, err := ImportWeights(theirs, a, ""); err == nil || !strings.Contains(err.Error(), "Its names are those of a resnet18-unbiased") {
		t.Error(err)
	}
}

func TestImportVariants(t *testing.T) {
	standardized := resnet
	standardized.Input = "standardize"
	m := random(resnet)
	rename := func(f func(string) string, more ...modelfile.Tensor) []modelfile.Tensor {
		var out []modelfile.Tensor
		for _, w := range ExportWeights(m) {
			w.Name = f(w.Name)
			out = append(out, w)
		}
		return append(out, more...)
	}
	counter := modelfile.Tensor{Name: "bn1.num_batches_tracked", Shape: []int{}, Values: []float32{7}}
	mean := modelfile.Tensor{Name: "0.means", Shape: []int{3}, Values: []float32{0.4914, 0.4822, 0.4465}}
	deviation := modelfile.Tensor{Name: "0.sds", Shape: []int{3}, Values: []float32{0.2023, 0.1994, 0.2010}}
	with := func(prefix string) func(string) string { return func(name string) string { return prefix + name } }
	for name, c := range map[string]struct {
		tensors []modelfile.Tensor
		a       nets.Architecture
	}{
		"counters":               {rename(with(""), counter), resnet},
		"averaged":               {rename(with("module."), modelfile.Tensor{Name: "n_averaged"}), resnet},
		"DataParallel":           {rename(with("module.")), resnet},
		"compiled":               {rename(with("_orig_mod.")), resnet},
		"compiled, DataParallel": {rename(with("module._orig_mod.")), resnet},
		"wrapped with means":     {rename(with("_orig_mod.module.1."), modelfile.Tensor{Name: "_orig_mod.module.0.means", Shape: mean.Shape, Values: mean.Values}), standardized},
		"a stage compiled": {rename(func(n string) string {
			return strings.NewReplacer("layer1.", "layer1._orig_mod.", "fc.", "fc._orig_mod.").Replace(n)
		}), resnet},
		"wrapped twice": {rename(with("1.module."), modelfile.Tensor{Name: "1.module.bn1.num_batches_tracked"}), resnet},
		"normalised":    {rename(with("1."), mean, deviation), standardized},
		"linear, shortcut": {rename(func(n string) string {
			return strings.NewReplacer("fc.", "linear.", "downsample", "shortcut").Replace(n)
		}), resnet},
	} {
		got, err := ImportWeights(c.tensors, c.a, "")
		if err != nil || !reflect.DeepEqual(got, m.Weights) {
			t.Errorf("%s: %v, or other weights", name, err)
		}
	}

	drop := func(part string) []modelfile.Tensor {
		return slices.DeleteFunc(ExportWeights(m), func(w modelfile.Tensor) bool { return strings.Contains(w.Name, part) })
	}
	changed := func(name string, value float32) []modelfile.Tensor {
		out := ExportWeights(m)
		w := out[slices.IndexFunc(out, func(w modelfile.Tensor) bool { return w.Name == name })]
		w.Values[len(w.Values)-1] = value
		return out
	}
	wrong := ExportWeights(m)
	wrong[0].Shape = []int{3, 16, 3, 3}
	for want, c := range map[string]struct {
		tensors []modelfile.Tensor
		a       nets.Architecture
	}{
		`"fc.weight" is NaN at [3 63]; expected a number`:                      {changed("fc.weight", float32(math.NaN())), resnet},
		`"conv1.weight" is -Inf at [15 2 2 2]`:                                 {changed("conv1.weight", float32(math.Inf(-1))), resnet},
		`"bn1.running_var" is -0.5 at [15]; expected a variance`:               {changed("bn1.running_var", -0.5), resnet},
		"that are missing are below ema_model, model; choose by --table":       {append(rename(with("model.")), rename(with("ema_model."))...), resnet},
		"import them as padded":                                                {drop("downsample"), resnet},
		"have [1 1 1 1] blocks of two convolutions, which no network here has": {rename(with(""), modelfile.Tensor{Name: "layer4.0.conv1.weight"}), resnet},
		"missing are fc.bias":                                                  {drop("fc.bias"), resnet},
		"left over are extra.weight":                                           {rename(with(""), modelfile.Tensor{Name: "extra.weight"}), resnet},
		"have [1 1 1] blocks of three convolutions (bottlenecks)":              {rename(with(""), modelfile.Tensor{Name: "layer1.0.conv3.weight"}), resnet},
		"Its blocks are those of a resnet50":                                   {ExportWeights(zeros(nets.Architecture{Name: "resnet50", Shape: resnet.Shape, Classes: 4})), resnet},
		"Its blocks are those of a preact-resnet18":                            {ExportWeights(zeros(nets.Architecture{Name: "preact-resnet18", Shape: resnet.Shape, Classes: 4})), resnet},
		"Its blocks are those of a resnet18": {append(ExportWeights(zeros(nets.Architecture{Name: "preact-resnet18", Shape: resnet.Shape, Classes: 4})),
			modelfile.Tensor{Name: "layer2.0.downsample.1.weight"}), resnet},
		"missing are layer1.1.conv1.weight, layer1.1.bn1.weight, layer1.1.bn1.bias":       {ExportWeights(m), nets.Architecture{Name: "resnet20", Shape: resnet.Shape, Classes: 4}},
		"Its blocks are those of a resnet8":                                               {ExportWeights(m), nets.Architecture{Name: "resnet20", Shape: resnet.Shape, Classes: 4}},
		"of shape [3 16 3 3]; a resnet8 for images of 8×8×3 and 4 classes has [16 3 3 3]": {wrong, resnet},
		"of shape [4 64]": {ExportWeights(m), nets.Architecture{Name: "resnet8", Shape: resnet.Shape, Classes: 10}},
		"are two names":   {rename(with(""), modelfile.Tensor{Name: "linear.bias"}), resnet},
		"normalises images with 0.means [0.4914 0.4822 0.4465], and the input layer \"none\"": {rename(with("1."), mean), resnet},
		"0.eps":                  {rename(with("1."), modelfile.Tensor{Name: "0.eps"}), resnet},
		"no network \"vgg\"":     {nil, nets.Architecture{Name: "vgg"}},
		"left over are bn2.bias": {ExportWeights(random(small)), resnet},
	} {
		if _, err := ImportWeights(c.tensors, c.a, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

// zeros is a network of zeros.
func zeros(a nets.Architecture) *modelfile.Model {
	m := &modelfile.Model{Card: modelfile.Card{Architecture: a}}
	for _, t := range a.Tensors() {
		m.Weights = append(m.Weights, modelfile.Tensor{Name: t.Name, Shape: t.Shape, Values: make([]float32, t.Size())})
	}
	return m
}

// ResNet-50 has the names and shapes of torchvision's file.
func TestResNet50Names(t *testing.T) {
	a := nets.Architecture{Name: "resnet50", Shape: pixel.Shape{Height: 224, Width: 224, Channels: 3}, Classes: 1000}
	shapes := map[string][]int{
		"conv1.weight": {64, 3, 7, 7}, "bn1.running_var": {64}, "layer1.0.conv1.weight": {64, 64, 1, 1}, "layer1.0.conv3.weight": {256, 64, 1, 1},
		"layer1.0.downsample.0.weight": {256, 64, 1, 1}, "layer1.0.downsample.1.bias": {256}, "layer3.5.conv2.weight": {256, 256, 3, 3},
		"layer4.0.downsample.0.weight": {2048, 1024, 1, 1}, "layer4.2.bn3.weight": {2048}, "fc.weight": {1000, 2048}, "fc.bias": {1000},
	}
	places := arrangement(a)
	for _, p := range places {
		if want, known := shapes[p.theirs]; known {
			delete(shapes, p.theirs)
			if !slices.Equal(p.shape, want) {
				t.Errorf("%s is %v, want %v", p.theirs, p.shape, want)
			}
		}
	}
	if len(shapes) > 0 || len(places) != 267 {
		t.Errorf("%d tensors, want 267 (torchvision's file has 320, 53 of them counters); missing %v", len(places), shapes)
	}
}

// npy is a NumPy file of version 1, put together from the description of the format.
func npyFile(dtype, order, shape string, values ...any) string {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", dtype, order, shape)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	var out bytes.Buffer
	out.WriteString("\x93NUMPY\x01\x00\x76\x00" + header)
	for _, v := range values {
		binary.Write(&out, binary.LittleEndian, v)
	}
	return out.String()
}

func archive(files map[string]string) []byte {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, data := range files {
		f, _ := w.Create(name)
		f.Write([]byte(data))
	}
	w.Close()
	return out.Bytes()
}

func TestNPZ(t *testing.T) {
	for name, c := range map[string]struct {
		file  string
		shape []int
	}{
		"float32": {npyFile("<f4", "False", "(1, 2)", float32(1), float32(-2)), []int{1, 2}},
		"float64": {npyFile("<f8", "False", "(2,)", 1., -2.), []int{2}},
		"float16": {npyFile("<f2", "False", "(2,)", uint16(0x3c00), uint16(0xc000)), []int{2}},
		"int64":   {npyFile("<i8", "False", "(2, 1)", int64(1), int64(-2)), []int{2, 1}},
	} {
		got, err := decodeNPZ(archive(map[string]string{"a.b.npy": c.file}))
		want := []modelfile.Tensor{{Name: "a.b", Shape: c.shape, Values: []float32{1, -2}}}
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	good := npyFile("<f4", "False", "(1, 2)", float32(1), float32(-2))
	for want, data := range map[string][]byte{
		"not an .npz file":    []byte("PK"),
		"damaged .npy header": archive(map[string]string{"a.npy": "\x93NUMPY\x01\x00\x02\x00xx"}),
		"at most 65536":       archive(map[string]string{"a.npy": "\x93NUMPY\x02\x00\xff\xff\xff\xffxx"}),
		"type \"|O\"":         archive(map[string]string{"a.npy": npyFile("|O", "False", "(1,)", float32(1))}),
		"Fortran order":       archive(map[string]string{"a.npy": npyFile("<f4", "True", "(1, 2)", float32(1), float32(2))}),
		"4 bytes of values":   archive(map[string]string{"a.npy": good[:len(good)-4]}),
		"out of range":        archive(map[string]string{"a.npy": npyFile("<f4", "False", "(9999999999999, 2)", float32(1))}),
		"there twice":         archive(map[string]string{"a.npy": good, "a": good}),
	} {
		if _, err := decodeNPZ(data); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want it to say %q", err, want)
		}
	}
}

func TestReadErrors(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct{ data, want string }{
		"a.pth":         {"PK\x03\x04", "a checkpoint of PyTorch"},
		"b.th":          {"\x80\x02K\x01.", "a checkpoint of PyTorch"},
		"a.txt":         {"hello", "expected .safetensors or .npz"},
		"a.safetensors": {"abc", "3 bytes"},
		"a.npz":         {"abc", "not an .npz file"},
	} {
		path := testkit.Write(t, []byte(c.data), dir, name)
		if _, err := Read(path, ""); err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v; want it to say %q", name, err, c.want)
		}
	}
	if err := Write(filepath.Join(dir, "x.pth"), nil, nil); err == nil || !strings.Contains(err.Error(), "x.pth") {
		t.Errorf("writing x.pth: %v", err)
	}
}

func FuzzNPZ(f *testing.F) {
	good := npyFile("<f4", "False", "(1, 2)", float32(1), float32(-2))
	f.Add(archive(map[string]string{"a.npy": good}))
	f.Add(archive(map[string]string{"a.npy": good[:70], "b.npy": good}))
	f.Fuzz(func(t *testing.T, data []byte) {
		tensors, err := decodeNPZ(data)
		if err != nil {
			return
		}
		for _, tensor := range tensors {
			size := 1
			for _, side := range tensor.Shape {
				size *= side
			}
			if size != len(tensor.Values) {
				t.Errorf("tensor %q of shape %v has %d values", tensor.Name, tensor.Shape, len(tensor.Values))
			}
		}
	})
}

func FuzzArray(f *testing.F) {
	f.Add([]byte(npyFile("<f4", "False", "(1, 2)", float32(1), float32(-2))))
	f.Add([]byte(npyFile("<f2", "False", "()", uint16(1))))
	f.Add([]byte("\x93NUMPY\x02\x00\xff\xff\xff\xff{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if tensor, err := decodeArray(bytes.NewReader(data), int64(len(data))); err == nil && len(tensor.Values) > len(data) {
			t.Errorf("%d values from %d bytes", len(tensor.Values), len(data))
		}
	})
}

// Padding with zeros as a convolution: channel c of n goes to channel n/2 + c of 2n, alone, with weight 1, and the
// normalisation after it multiplies by one and adds nothing, in float32 too.
func TestPaddedShortcuts(t *testing.T) {
	m := random(resnet)
	plain := slices.DeleteFunc(ExportWeights(m), func(w modelfile.Tensor) bool { return strings.Contains(w.Name, "downsample") })
	got, err := ImportWeights(plain, resnet, PaddedShortcuts)
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for i, w := range got {
		at, kind, found := strings.Cut(w.Name, "/shortcut/")
		if w.Name != m.Weights[i].Name || !found && !reflect.DeepEqual(w, m.Weights[i]) {
			t.Errorf("%s is not %s", w.Name, m.Weights[i].Name)
		}
		if !found {
			continue
		}
		seen++
		old := 16
		if at == "stage3/block0" {
			old = 32
		}
		for j, v := range w.Values {
			want := float32(0)
			switch kind {
			case "conv/kernel": // [1, 1, in, out]
				if in, out := j/(2*old), j%(2*old); out == old/2+in {
					want = 1
				}
			case "bn/scale":
				want = 1
			case "bn/variance":
				v, want = float32(1/math.Sqrt(float64(v+float32(netparts.NormEpsilon)))), 1
			}
			if v != want {
				t.Fatalf("%s, value %d: %v; expected %v", w.Name, j, v, want)
			}
		}
	}
	if seen != 2*5 {
		t.Errorf("%d tensors of shortcuts", seen)
	}
	if _, err := ImportWeights(ExportWeights(m), resnet, PaddedShortcuts); err == nil || !strings.Contains(err.Error(), `weights in its shortcuts, such as "layer2.0.downsample.0.weight"`) {
		t.Errorf("with weights: %v", err)
	}
	if _, err := ImportWeights(ExportWeights(random(small)), small, PaddedShortcuts); err == nil || !strings.Contains(err.Error(), "no shortcuts") {
		t.Errorf("small network: %v", err)
	}
	if _, err := ImportWeights(plain, resnet, "A"); err == nil || !strings.Contains(err.Error(), `shortcuts "A"`) {
		t.Errorf("unknown: %v", err)
	}
}
