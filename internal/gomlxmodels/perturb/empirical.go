package perturb

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/gomlx/gomlx/core/tensors"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/gomlxmodels/attack"
	"github.com/certspec/certspec/gomlxmodels/modelfile"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/netgraph"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs"
)

// EmpiricalOptions of Empirical. Radii and Predict.Sigma have no default.
type EmpiricalOptions struct {
	Radii   []float64         // Euclidean budgets, ascending, 1 = full range of a value
	Steps   int               // of the attack; default 20
	Noises  int               // noise samples of an image in the attack; default 16
	Rate    float64           // a step is Rate·2ε/Steps long; default 1
	Seed    uint64            // of the attack's noise
	Predict rs.PredictOptions // of the smoothed classifier at the attacked image; its Image is set here

	Found func(Outcome, []uint8) // takes each outcome with the attacked image as it comes; may be nil

	Progress progress.Reporter
}

func (o EmpiricalOptions) withDefaults() (EmpiricalOptions, error) {
	o.Steps = cmp.Or(o.Steps, 20)
	o.Noises = cmp.Or(o.Noises, 16)
	o.Rate = cmp.Or(o.Rate, 1)
	switch {
	case len(o.Radii) == 0 || !slices.IsSorted(o.Radii) || !(o.Radii[0] >= 0) || math.IsInf(o.Radii[len(o.Radii)-1], 0):
		return o, fmt.Errorf("attack: radii %v; expected finite ones of at least 0, ascending", o.Radii)
	case o.Noises < 1 || o.Noises > 1<<16:
		return o, fmt.Errorf("attack: %d noises; expected 1 to %d", o.Noises, 1<<16)
	}
	return o, (&attack.Adversary{Steps: o.Steps, Rate: o.Rate}).Check()
}

// Outcome is the attack on one image with one budget.
type Outcome struct {
	Image  int     `json:"image"`
	Label  int     `json:"label"`
	Radius float64 `json:"radius"` // budget
	Norm   float64 `json:"norm"`   // of the perturbation that was found, at most Radius
	Class  int     `json:"class"`  // of the smoothed classifier there, or rs.Abstain
}

// Broken reports that the smoothed classifier was found to answer another class than the label.
func (o Outcome) Broken() bool { return o.Class != rs.Abstain && o.Class != o.Label }

// Empirical attacks the smoothed form of a network at every image with every budget, by projected gradient steps
// that lower the smoothed confidence in the label (Salman et al. 2019), and asks the smoothed classifier for its
// class at the image that was found, rounded to bytes.
//
// An image counts as broken where the smoothed classifier answers another class with the confidence of rs.Predict, 1−α.
// Where the label is certified within the budget this happens with a probability of at most α twice, once for either of
// the two. So, up to this error, the share of images that are not broken is at least the certified accuracy. It bounds
// the robust accuracy from above, as far as this attack can tell. An image that is broken with a budget is broken with
// every larger one.
//
// The outcomes stand image by image, and for each in the order of the radii. The classifier answers for the
// network, on whatever engine. Images need labels.
func Empirical(ctx context.Context, b *backend.Backend, m *modelfile.Model, smoothed classifier.Classifier,
	images *imageset.Index, o EmpiricalOptions) ([]Outcome, error) {
	a := m.Card.Architecture
	o, err := o.ready(images, a.Shape, a.Classes)
	if err != nil {
		return nil, err
	}
	compiled := &compiledDescent{}
	for _, w := range m.Weights {
		compiled.weights = append(compiled.weights, tensors.FromFlatDataAndDimensions(slices.Clone(w.Values),
			w.Shape...))
	}
	defer release(compiled.weights...)
	network := &Network{Backend: b, Forward: netgraph.Network{Architecture: a}.Forward, Tensors: a.Tensors()}
	if compiled.s, err = NewSmoothed(network, attack.L2); err != nil {
		return nil, err
	}
	defer compiled.s.Close()
	const rows = 256 // of the network at once, about
	return o.attack(ctx, compiled, max(1, min(rows/o.Noises, images.Len())), smoothed, images)
}

// ready are the options with their defaults, for images that suit a network.
func (o EmpiricalOptions) ready(images *imageset.Index, shape pixel.Shape, classes int) (EmpiricalOptions, error) {
	o, err := o.withDefaults()
	if err != nil {
		return o, err
	}
	if images.Shape != shape {
		return o, fmt.Errorf("attack: %s has images of %v; the network takes %v", images.Name, images.Shape, shape)
	}
	for i, label := range images.Labels {
		if label < 0 || label >= classes {
			return o, fmt.Errorf("attack: image %d of %s has the label %d; expected 0 to %d",
				images.IDs[i], images.Name, label, classes-1)
		}
	}
	return o, nil
}

// descent finds perturbations of a group of images, of at most a radius, that lower the smoothed confidence in
// their labels.
type descent interface {
	gamma(ctx context.Context, g *group, o EmpiricalOptions, radius float64) ([]float32, error)
}

// attack attacks groups of so many images.
func (o EmpiricalOptions) attack(ctx context.Context, d descent, size int, smoothed classifier.Classifier,
	images *imageset.Index) ([]Outcome, error) {
	report := newReport(o, images)
	var all []Outcome
	for start := 0; start < images.Len(); start += size {
		members := make([]int, size) // the last batch repeats its last image
		for k := range members {
			members[k] = min(start+k, images.Len()-1)
		}
		batch, err := o.batch(ctx, images, members)
		if err != nil {
			return nil, err
		}
		found := make([][]Outcome, size)
		broken := make([][]uint8, size) // where it is
		tell := func(k int, out Outcome, pixels []uint8) {
			found[k] = append(found[k], out)
			if o.Found != nil {
				o.Found(out, pixels)
			}
		}
		for _, radius := range o.Radii {
			attacked, err := batch.attack(ctx, d, o, radius)
			if err != nil {
				return nil, err
			}
			for k := range min(size, images.Len()-start) {
				if last := len(found[k]) - 1; last >= 0 && found[k][last].Broken() {
					again := found[k][last]
					again.Radius = radius
					tell(k, again, broken[k])
					continue
				}
				predict := o.Predict
				predict.Image = images.IDs[members[k]]
				p, err := rs.Predict(ctx, smoothed, attacked[k], predict)
				if err != nil {
					return nil, err
				}
				broken[k] = attacked[k]
				tell(k, Outcome{
					Image: predict.Image, Label: images.Labels[members[k]], Radius: radius,
					Norm: distance(batch.pixels[k], attacked[k]) / pixel.Steps, Class: p.Class,
				}, attacked[k])
			}
			report(min(size, images.Len()-start))
		}
		for _, f := range found {
			all = append(all, f...)
		}
	}
	return all, nil
}

// group is a batch of images under attack.
type group struct {
	pixels [][]uint8
	x      []float32
	delta  []float32
	labels []int32
	dims   [3]int
}

func (o EmpiricalOptions) batch(ctx context.Context, images *imageset.Index, members []int) (*group, error) {
	s := images.Shape
	g := &group{dims: [3]int{s.Height, s.Width, s.Channels}, delta: make([]float32, o.Noises*len(members)*s.Len())}
	for k, member := range members {
		one, err := images.Read(ctx, member)
		if err != nil {
			return nil, err
		}
		g.pixels = append(g.pixels, one.Pixels)
		g.labels = append(g.labels, int32(images.Labels[member]))
		for _, v := range one.Pixels {
			g.x = append(g.x, float32(v)/pixel.Steps)
		}
		random := rand.New(rand.NewPCG(o.Seed, uint64(images.IDs[member])))
		for j := range o.Noises {
			row := g.delta[(j*len(members)+k)*s.Len():][:s.Len()]
			for i := range row {
				row[i] = float32(o.Predict.Sigma * random.NormFloat64())
			}
		}
	}
	return g, nil
}

// attack gives the attacked images, in bytes.
func (g *group) attack(ctx context.Context, d descent, o EmpiricalOptions, radius float64) ([][]uint8, error) {
	if radius == 0 {
		return g.pixels, nil
	}
	gamma, err := d.gamma(ctx, g, o, radius)
	if err != nil {
		return nil, err
	}
	var attacked [][]uint8
	for k, pixels := range g.pixels {
		attacked = append(attacked, onGrid(pixels, gamma[k*len(pixels):(k+1)*len(pixels)], radius))
	}
	return attacked, nil
}

// compiledDescent is an attack on a network of ours.
type compiledDescent struct {
	s       *Smoothed
	weights []*tensors.Tensor
}

func (c *compiledDescent) gamma(_ context.Context, g *group, o EmpiricalOptions, radius float64) ([]float32, error) {
	move := func(values []float32) *tensors.Tensor {
		return tensors.FromFlatDataAndDimensions(slices.Clone(values), len(values)/(g.dims[0]*g.dims[1]*g.dims[2]),
			g.dims[0], g.dims[1], g.dims[2])
	}
	x, delta := move(g.x), move(g.delta)
	defer release(x, delta)
	a := &attack.Adversary{Epsilon: radius, Steps: o.Steps, Rate: o.Rate, Target: attack.Label,
		Driver: func() attack.Driver { return attack.Lower{} }}
	found, err := c.s.Run(a, radius, o.Predict.Sigma, x, delta, g.labels, c.weights)
	if err != nil {
		return nil, err
	}
	defer found.Close()
	gamma, err := tensors.CopyFlatData[float32](found.Gamma)
	if err != nil {
		return nil, fmt.Errorf("attack: %w", err)
	}
	return gamma, nil
}

// onGrid is the image plus γ in bytes; γ is made shorter until the rounded one is no longer than the radius.
func onGrid(pixels []uint8, gamma []float32, radius float64) []uint8 {
	moved := make([]uint8, len(pixels))
	for scale := 1.0; ; scale *= 0.99 {
		for i, v := range pixels {
			moved[i] = uint8(math.Max(0, math.Min(pixel.Steps,
				math.Round(float64(v)+scale*pixel.Steps*float64(gamma[i])))))
		}
		if distance(pixels, moved) <= pixel.Steps*radius {
			return moved
		}
	}
}

// distance is the Euclidean norm of the difference, in steps of a byte.
func distance(a, b []uint8) float64 {
	total := 0.0
	for i, v := range a {
		d := float64(v) - float64(b[i])
		total += d * d
	}
	return math.Sqrt(total)
}

// newReport tells the Reporter how many attacks are done.
func newReport(o EmpiricalOptions, images *imageset.Index) func(more int) {
	start, done := time.Now(), 0
	total := images.Len() * len(o.Radii)
	return func(more int) {
		done += more
		if o.Progress == nil {
			return
		}
		rate := float64(done) / time.Since(start).Seconds()
		o.Progress(progress.State{
			Task: "attack on " + images.Name, Done: float64(done), Total: float64(total), Unit: "attacks", Rate: rate,
			Left: time.Duration(float64(total-done) / rate * float64(time.Second)), Final: done == total,
		})
	}
}
