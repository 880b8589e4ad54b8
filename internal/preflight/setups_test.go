package preflight

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/internal/testkit"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

const setupClasses = 6

// network is a small network with one hidden layer h = tanh(W z) and logits −8·mean (h − h_c)² for the hidden layer h_c of each class's
// prototype. It was made for images in a form f: its first weights take the values back to (x − 0.45)/0.22, as training would.
type network struct {
	shape   pixel.Shape
	expects form
	given   []form // what a card does to an image, one after the other
	weights [][]float64
	hidden  [][]float64 // by class
}

// prototypes are images of the classes: coarse patterns of colours.
func prototypes(shape pixel.Shape) [][]uint8 {
	random := rand.New(rand.NewPCG(1, 1))
	var all [][]uint8
	for range setupClasses {
		coarse := make([]float64, 16*shape.Channels)
		for i := range coarse {
			coarse[i] = min(1, max(0, .45+.22*random.NormFloat64()))
		}
		image := make([]uint8, shape.Len())
		for i := range image {
			c, x, y := i%shape.Channels, i/shape.Channels%shape.Width, i/shape.Channels/shape.Width
			image[i] = uint8(255 * coarse[(y/2*4+x/2)*shape.Channels+c])
		}
		all = append(all, image)
	}
	return all
}

func newNetwork(shape pixel.Shape, expects form, given []form) *network {
	n := &network{shape: shape, expects: expects, given: given}
	random := rand.New(rand.NewPCG(2, 2))
	for range 96 {
		w, common := make([]float64, shape.Len()), 6*random.NormFloat64()/float64(shape.Len())
		for i := range w {
			w[i] = common + 1.5*random.NormFloat64()/math.Sqrt(float64(len(w)))
		}
		n.weights = append(n.weights, w)
	}
	for _, image := range prototypes(shape) {
		x := make([]float64, len(image))
		for i, b := range image {
			x[i] = float64(b) / pixel.Steps
		}
		n.hidden = append(n.hidden, n.layer(x))
	}
	return n
}

// value of a list for a colour.
func of(values []float64, colour int, missing float64) float64 {
	if len(values) == 0 {
		return missing
	}
	return values[min(colour, len(values)-1)]
}

// source is where the value at place i comes from, and its colour.
func (f form) source(i, channels int) (from, colour int) {
	if colour = i % channels; f.reversed {
		colour = channels - 1 - colour
	}
	return i - i%channels + colour, colour
}

func (f form) forward(x []float64, channels int) []float64 {
	z := make([]float64, len(x))
	for i := range z {
		from, c := f.source(i, channels)
		z[i] = (f.scale*x[from] - of(f.mean, c, 0)) / of(f.deviation, c, 1)
	}
	return z
}

func (f form) back(z []float64, channels int) []float64 {
	x := make([]float64, len(z))
	for i := range z {
		from, c := f.source(i, channels)
		x[from] = (z[i]*of(f.deviation, c, 1) + of(f.mean, c, 0)) / f.scale
	}
	return x
}

// layer is the hidden layer at an image in [0, 1].
func (n *network) layer(x []float64) []float64 {
	z := make([]float64, len(x))
	for i, v := range x {
		z[i] = (v - .45) / .22
	}
	var h []float64
	for _, w := range n.weights {
		sum := 0.
		for i, v := range z {
			sum += w[i] * v
		}
		h = append(h, math.Tanh(sum))
	}
	return h
}

func (n *network) Info() (classifier.Info, error) {
	return classifier.Info{Name: "small", Shape: n.shape, Classes: setupClasses, Logits: true, Identity: classifier.Identity{Weights: "small", Engine: "toy"}}, nil
}

func (n *network) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	info, _ := n.Info()
	if err := classifier.Check(info, batch, result); err != nil {
		return err
	}
	size := n.shape.Len()
	var logits []float32
	for i := range batch.N {
		z := make([]float64, size)
		for j := range z {
			if batch.Grid != nil {
				z[j] = float64(batch.Grid[i*size+j]) / pixel.Steps
			} else {
				z[j] = float64(batch.Real[i*size+j])
			}
		}
		for _, f := range n.given {
			z = f.forward(z, n.shape.Channels)
		}
		h := n.layer(n.expects.back(z, n.shape.Channels))
		for _, p := range n.hidden {
			sum := 0.
			for k, v := range h {
				sum += (v - p[k]) * (v - p[k]) / float64(len(h))
			}
			logits = append(logits, float32(-8*sum))
		}
	}
	classifier.Decide(info, batch, logits, result)
	return nil
}

// patterns are 120 images: prototypes under other light, and noise.
func patterns(t *testing.T, shape pixel.Shape) *dataset.Dataset {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 3))
	var pixels, labels []byte
	all := prototypes(shape)
	for i := range 120 {
		contrast, light := .75+.5*random.Float64(), 6*random.NormFloat64()
		for _, b := range all[i%setupClasses] {
			pixels = append(pixels, uint8(min(255, max(0, 115+contrast*(float64(b)-115)+light+20*random.NormFloat64()))))
		}
		labels = append(labels, byte(i%setupClasses))
	}
	dir, err := os.MkdirTemp("", "patterns") // names of tests hold commas
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	write := func(name, dims string, data []byte) string {
		header := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%s), }", dims)
		header += strings.Repeat(" ", 117-len(header)) + "\n"
		return testkit.Write(t, append([]byte("\x93NUMPY\x01\x00\x76\x00"+header), data...), dir, name)
	}
	d, err := dataset.Open(fmt.Sprintf("npy:%s,%s", write("images.npy", fmt.Sprintf("120, %d, %d, %d", shape.Height, shape.Width, shape.Channels), pixels), write("labels.npy", "120,", labels)))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Wrong set-ups of one network: what it expects is named, alone or among forms that the images cannot tell apart; a form that it does not
// expect is never named alone.
func TestWrongSetups(t *testing.T) {
	colour, grey := pixel.Shape{Height: 8, Width: 8, Channels: 3}, pixel.Shape{Height: 8, Width: 8, Channels: 1}
	usual := func(shape pixel.Shape, name string) form {
		for _, f := range candidates(shape.Channels) {
			if f.name == name {
				return f
			}
		}
		t.Fatalf("no form %q", name)
		return form{}
	}
	const stats, bgr = "images normalised by the statistics of ", "its channels in the order blue, green, red"
	raw, cifar := form{scale: 1}, usual(colour, stats+"CIFAR-10")
	opt := Options{Run: rs.Options{Sigma: .1}}
	for _, f := range []form{raw, cifar} {
		r := look(t, newNetwork(colour, f, []form{f}), patterns(t, colour), opt)
		if c := find(t, r, checkForm); *r.CleanAccuracy < .9 || c.Verdict != OK || len(r.Plans) == 0 {
			t.Fatalf("the right set-up: accuracy %v, %+v", *r.CleanAccuracy, c)
		}
	}
	for i, c := range []struct {
		name    string
		shape   pixel.Shape
		expects *form
		given   []form
		truth   string
	}{
		{name: "CIFAR-10 forgotten", shape: colour, truth: stats + "CIFAR-10"},
		{name: "CIFAR-100 forgotten", shape: colour, truth: stats + "CIFAR-100"},
		{name: "SVHN forgotten", shape: colour, truth: stats + "SVHN"},
		{name: "ImageNet forgotten", shape: colour, truth: stats + "ImageNet"},
		{name: "−1 to 1 forgotten", shape: colour, truth: "values from −1 to 1"},
		{name: "0 to 255 forgotten", shape: colour, truth: "values from 0 to 255 and not from 0 to 1"},
		{name: "blue first", shape: colour, truth: bgr},
		{name: "ImageNet, blue first", shape: colour, truth: stats + "ImageNet, " + bgr},
		{name: "0 to 255 less means, blue first", shape: colour, truth: "values from 0 to 255 less the means of ImageNet, " + bgr},
		{name: "MNIST forgotten", shape: grey, truth: stats + "MNIST"},
		{name: "−1 to 1 forgotten, grey", shape: grey, truth: "values from −1 to 1"},
		{name: "scaled twice", shape: colour, expects: &raw, given: []form{usual(colour, "values that are 255 times smaller")}, truth: "values from 0 to 255 and not from 0 to 1"},
		{name: "normalised twice", shape: colour, expects: &cifar, given: []form{cifar, cifar}, truth: "images normalised once by the statistics of CIFAR-10, and not twice"},
		{name: "black and white exchanged", shape: colour, truth: "images with black and white exchanged"},
	} {
		if testing.Short() && i != 0 {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			if c.expects == nil {
				f := usual(c.shape, c.truth)
				c.expects = &f
			}
			r := look(t, newNetwork(c.shape, *c.expects, c.given), patterns(t, c.shape), opt)
			got := find(t, r, checkForm)
			t.Logf("accuracy %.2f: %s", *r.CleanAccuracy, got.Found)
			if got.Verdict == OK || got.Advice == "" || !strings.Contains(got.Found, "95 % interval") {
				t.Fatalf("%+v", got)
			}
			if accuracy := find(t, r, "accuracy"); strings.Contains(accuracy.Found, "no better than guessing") && (find(t, r, "noise").Verdict == OK || len(r.Plans) != 0) {
				t.Errorf("at chance: %+v, %d plans", find(t, r, "noise"), len(r.Plans))
			}
			if alone := strings.Contains(got.Found, "seems to expect "+c.truth+": so "); !alone {
				_, list, several := strings.Cut(got.Found, "cannot tell apart: ")
				named := slices.ContainsFunc(strings.Split(list, "; "), func(s string) bool { return strings.HasPrefix(s, c.truth+" (") })
				if !several || !named {
					t.Errorf("%s\nnames another form than %s", got.Found, c.truth)
				}
			}
		})
	}
}
