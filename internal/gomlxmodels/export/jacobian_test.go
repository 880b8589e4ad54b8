package export

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/gomlxmodels/nets"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/onnxfile"
	"github.com/certspec/certspec/internal/spectral/jacobian"
	"github.com/certspec/certspec/pixel"
)

// The Jacobian of every network, narrow: its layers in float64 against central differences along a direction; XLA and the Go backend in float32
// against the layers; and random projections against the exact norm.
func TestJacobians(t *testing.T) {
	shape := pixel.Shape{Height: 9, Width: 12, Channels: 3}
	const classes = 4
	for _, name := range nets.Names() {
		a := nets.Architecture{Name: name, Shape: shape, Classes: classes, Width: 1. / 8, Input: "standardize"}
		if a.Check() != nil {
			a.Width = 0
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := untrained(a)
			data, err := Encode(m)
			if err != nil {
				t.Fatal(err)
			}
			file, err := onnxfile.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			layers, err := feedforward.FromONNX(name, file, &feedforward.Images{Shape: shape})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(3, 3))
			images := &dataset.Images{Name: "drawn", Shape: shape, IDs: []int{0}, Labels: []int{0}, Classes: make([]string, classes)}
			images.Pixels = make([]uint8, shape.Len())
			for c := range shape.Channels { // no value twice in a channel: a maximum of equal ones has no derivative
				for i, v := range rng.Perm(256)[:shape.Len()/shape.Channels] {
					images.Pixels[i*shape.Channels+c] = uint8(v)
				}
			}
			x := make([]float64, shape.Len())
			for i, v := range images.Pixels {
				x[i] = float64(v) / pixel.Steps
			}
			exact := jacobianOf(t, jacobian.Layers(layers, classes), x, classes)
			differences(t, rng, layers, x, exact)
			if again := !slices.Contains([]string{"small-cnn", "resnet8", "preact-resnet18", "resnet18", "vgg16", "conv8", "l"}, name); again || testing.Short() {
				return // the layers of those, which take XLA long to compile
			}
			var xla *infer.Network
			for _, engine := range []string{"go", "xla"} {
				b, err := backend.Open(engine)
				if err != nil {
					t.Logf("not compared with %s: %v", engine, err)
					continue
				}
				n, err := infer.Load(b, name, m)
				if err != nil {
					t.Fatal(err)
				}
				defer n.Close()
				scale, worst := 0.0, 0.0
				for c, row := range jacobianOf(t, n, x, classes) {
					for k, g := range row {
						scale, worst = max(scale, math.Abs(exact[c][k])), max(worst, math.Abs(g-exact[c][k]))
					}
				}
				if !(worst <= 2e-5*scale) {
					t.Errorf("%s: a derivative is off by %.2g of the largest", engine, worst/scale)
				}
				xla = n
			}
			if xla != nil {
				projections(t, xla, images, exact)
			}
		})
	}
}

// jacobian is, row by row, the derivative of each logit.
func jacobianOf(t *testing.T, g classifier.Differentiable, x []float64, classes int) [][]float64 {
	t.Helper()
	image := make([]float32, len(x))
	for i, v := range x {
		image[i] = float32(v)
	}
	rows := make([][]float64, classes)
	for c := range rows {
		v, gradient := make([]float32, classes), make([]float32, len(x))
		v[c] = 1
		if err := g.VectorJacobian(t.Context(), image, v, gradient); err != nil {
			t.Fatal(err)
		}
		for _, d := range gradient {
			rows[c] = append(rows[c], float64(d))
		}
	}
	return rows
}

// differences compares along a random direction and along some pixels. A kink within 1e-7 of the image would show; with these seeds there is none.
func differences(t *testing.T, rng *rand.Rand, n *feedforward.Network, x []float64, exact [][]float64) {
	t.Helper()
	directions := [][]float64{make([]float64, len(x))}
	for i := range x {
		directions[0][i] = rng.NormFloat64()
	}
	for range 3 {
		one := make([]float64, len(x))
		one[rng.IntN(len(x))] = 1
		directions = append(directions, one)
	}
	const h = 1e-7
	scale := 0.0
	for _, row := range exact {
		for _, g := range row {
			scale = max(scale, math.Abs(g))
		}
	}
	for _, u := range directions {
		at := func(d float64) []float64 {
			z := slices.Clone(x)
			for i := range z {
				z[i] += d * u[i]
			}
			f, err := n.Forward(z)
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		up, down := at(h), at(-h)
		for c, row := range exact {
			want, size := 0.0, scale
			for i, g := range row {
				want += g * u[i]
				size = max(size, math.Abs(g*u[i]))
			}
			if got := (up[c] - down[c]) / (2 * h); math.Abs(got-want) > 1e-5*size*math.Sqrt(float64(len(x))) {
				t.Errorf("logit %d: derivative %.9g, central difference %.9g", c, want, got)
			}
		}
	}
}

// projections lie within three of their standard deviations: with G = J·Jᵀ, the square C·vᵀGv of one direction has mean tr G and variance
// 2(C·tr G² − (tr G)²)/(C+2).
func projections(t *testing.T, n *infer.Network, images *dataset.Images, exact [][]float64) {
	t.Helper()
	const many = 400
	trace, square := 0.0, 0.0
	for _, a := range exact {
		for _, b := range exact {
			product := 0.0
			for k := range a {
				product += a[k] * b[k]
			}
			square += product * product
			if &a[0] == &b[0] {
				trace += product
			}
		}
	}
	c := float64(len(exact))
	deviation := math.Sqrt(2 * (c*square - trace*trace) / (c + 2) / many)
	j, err := jacobian.Measure(t.Context(), n, n, images, jacobian.Options{Projections: many})
	if err != nil || math.Abs(j.Norm*j.Norm-trace) > 3*deviation+1e-5*trace {
		t.Errorf("the mean square of %d projections is %.6g, exactly %.6g; deviation %.2g (%v)", many, j.Norm*j.Norm, trace, deviation, err)
	}
}
