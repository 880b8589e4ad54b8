package ood

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/npy"
	"github.com/certspec/certspec/internal/ood/attack"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// Attacks are the names that AttackOptions takes; without names all are run but the last.
var Attacks = []string{"apgd", "contrast", "monotone", "targeted", "noise"}

// Of the attack noise: runs from each kind of noise, and the deviation of the Gaussian one (Meinke,
// Bitterwolf and Hein 2022).
const (
	noiseRuns     = 4
	gaussianSigma = 1e-4
)

// AttackOptions say how attacks look for points of high confidence. The zero value attacks as the paper does colour
// images.
type AttackOptions struct {
	Epsilon  float64
	Attacks  []string // of Attacks; nil: all but noise
	Steps    int      // of Auto-PGD; 0: 500
	Restarts int      // of Auto-PGD; 0: 5
	// half-width of the noise of its starts (the paper takes .01 on MNIST); 0: to the edge of the
	// ball
	Near     float64
	Monotone int // steps of monotone PGD; 0: 200
	Seed     uint64
	Transfer []string // .npy files of points that attacks on other networks found for the same images

	BestTransfer int // of those for an image, as many as the network itself is most sure of are begun with; 0: all

	Points string // a .npy file that keeps the best point of each image, for transfer; "": none

	File     string            // that records the outcome and from which it resumes; "": nothing is kept
	Shard    *record.Shard     // the part of the images; nil: all
	Name     string            // of the network, for people
	Trained  []ledger.Data     // the sets that the network was trained on; none of their images may be among these
	Workers  int               // images at once; 0: as many as there are processors
	Program  string            // version of the program, for the file
	Progress progress.Reporter // nil: nobody listens
}

func (o *AttackOptions) run() run {
	return run{o.File, o.Shard, o.Name, o.Trained, o.Workers, o.Program, o.Progress}
}

// imagesTogether is how many images are attacked together: no more than fill an evaluation of
// points side by side, since a stop loses those that are begun. An image's result does not depend
// on it.
func (a *assault) imagesTogether() int {
	points := 2 * len(a.transfer)
	for _, name := range a.o.Attacks {
		switch name {
		case "apgd":
			points += a.o.Restarts
		case "targeted":
			points += a.net.Outputs()
		case "contrast":
			points += 2
		case "monotone":
			points += 4
		case "noise":
			points += 4 * noiseRuns
		}
	}
	return max(1, feedforward.Lanes/max(points, 1))
}

// Attack looks, around each image of a set, for the point where a network is most sure. It keeps the most confident of
// the image itself and of all attacks, by the network in float64. The attacks are
//
//   - Auto-PGD from noise around the image, and towards each class;
//   - monotone PGD from the contrast start, from the image, and from the pull towards the mean image, along the sign
//     and along the velocity;
//   - where noise is named, monotone PGD from four starts in uniform noise within the ball and four in Gaussian noise
//     of 10⁻⁴;
//   - monotone PGD from points found on other networks ("transfer").
//
// The result for an image is a function of the image, its id, the mean image, the points given and the seed. Files,
// interrupts and errors as in Measure.
func Attack(ctx context.Context, n *feedforward.Network, data imageset.Source, o AttackOptions) (*Measurement, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	run := o.run()
	images, header, err := run.begin(ctx, n, data, o.Epsilon)
	if err != nil {
		return nil, err
	}
	p := &assault{o: o, net: n, images: images, mean: sync.OnceValues(func() ([]float64, error) {
		return meanImage(ctx, images)
	})}
	header.Attack = &record.Attack{Names: o.Attacks, Steps: o.Steps, Restarts: o.Restarts, Near: o.Near,
		Monotone: o.Monotone, Seed: o.Seed}
	for _, path := range o.Transfer {
		a, err := points(ctx, path, images)
		if err != nil {
			return nil, err
		}
		p.transfer = append(p.transfer, a)
		header.Attack.Transfer = append(header.Attack.Transfer, a.digest)
	}
	header.Attack.BestTransfer = o.BestTransfer
	if len(p.transfer) > 0 {
		header.Attack.Names = append(slices.Clone(o.Attacks), "transfer")
	}
	if o.Points != "" {
		from, to := o.Shard.Range(images.Len())
		if p.kept, err = keepPoints(o.Points, images, from, to); err != nil {
			return nil, err
		}
		defer p.kept.f.Close()
	}
	return run.measure(ctx, "attack", images, header, p.imagesTogether(), p.block)
}

func (o *AttackOptions) check() error {
	for _, v := range []struct {
		p        *int
		standard int
	}{{&o.Steps, 500}, {&o.Restarts, 5}, {&o.Monotone, 200}} {
		if *v.p < 0 {
			return fmt.Errorf("ood: %d steps or restarts, want at least 1", *v.p)
		}
		if *v.p == 0 {
			*v.p = v.standard
		}
	}
	if o.Attacks == nil {
		o.Attacks = Attacks[:len(Attacks)-1]
	}
	for i, name := range o.Attacks {
		if !slices.Contains(Attacks, name) || slices.Contains(o.Attacks[:i], name) {
			return fmt.Errorf("ood: attack %q, want each of %v at most once", name, Attacks)
		}
	}
	if o.BestTransfer < 0 {
		return fmt.Errorf("ood: the best %d points of other networks, want 0 for all or more", o.BestTransfer)
	}
	if !(o.Near >= 0 && o.Near <= 1) {
		return fmt.Errorf("ood: starts within %v of the image, want 0 to 1", o.Near)
	}
	return nil
}

// assault is the attacks on a set.
type assault struct {
	o        AttackOptions
	net      *feedforward.Network
	images   *imageset.Index
	mean     func() ([]float64, error)
	transfer []*given
	kept     *kept
}

func meanImage(ctx context.Context, images *imageset.Index) ([]float64, error) {
	sum := make([]float64, images.Shape.Len())
	for one, err := range images.Ahead(ctx, 0, images.Len()) {
		if err != nil {
			return nil, err
		}
		for i, b := range one.Pixels {
			sum[i] += float64(b)
		}
	}
	for i := range sum {
		sum[i] /= 255 * float64(images.Len())
	}
	return sum, nil
}

// block attacks some images. A block that has begun is left where ctx ends, and done again by the next run.
func (a *assault) block(ctx context.Context, at []int) ([]record.Line, error) {
	p := attack.Problem{Network: a.net, Objective: attack.Confidence, Seed: a.o.Seed}
	lines := make([]record.Line, len(at))
	best := make([]attack.Best, len(at))
	for _, i := range at {
		x, err := unit(ctx, a.images, i)
		if err != nil {
			return nil, err
		}
		box, err := feedforward.Ball(x, a.o.Epsilon, feedforward.Plain)
		if err != nil {
			return nil, err
		}
		p.Boxes, p.Starts, p.IDs = append(p.Boxes, box), append(p.Starts, x), append(p.IDs, uint64(a.images.IDs[i]))
	}
	clean, err := a.outputs(ctx, p.Starts)
	if err != nil {
		return nil, err
	}
	for k, i := range at {
		lines[k] = record.Line{Image: a.images.IDs[i], Label: a.images.Labels[i], By: "clean"}
		lines[k].Class, lines[k].Log = feedforward.LogConfidence(clean[k])
		best[k] = attack.Best{Point: p.Starts[k], Value: lines[k].Log}
	}
	if a.o.Epsilon > 0 {
		tasks, err := a.tasks(p, at)
		if err != nil {
			return nil, err
		}
		found, runs := make([][]attack.Best, len(tasks)), make([]func(attack.Network) error, len(tasks))
		for i, t := range tasks {
			runs[i] = func(net attack.Network) (err error) {
				t.problem.Network = net
				found[i], err = t.attack.Run(ctx, t.problem)
				return err
			}
		}
		if err := attack.Together(a.net, runs); err != nil {
			return nil, err
		}
		for i, t := range tasks {
			if err := a.score(ctx, found[i], t.problem.Boxes); err != nil {
				return nil, err
			}
			for k, b := range found[i] {
				if b.Value > best[k].Value {
					best[k], lines[k].By = b, t.name
				}
			}
		}
	}
	for k := range lines {
		lines[k].Attacked = best[k].Value
	}
	if a.kept != nil {
		return lines, a.kept.put(at[0], best)
	}
	return lines, nil
}

// task is one attack on a block.
type task struct {
	name    string
	problem attack.Problem
	attack  interface {
		Run(context.Context, attack.Problem) ([]attack.Best, error)
	}
}

// tasks are the attacks in the order of the options, transfers last.
func (a *assault) tasks(p attack.Problem, at []int) ([]task, error) {
	var all []task
	apgd := attack.APGD{Steps: a.o.Steps, Restarts: a.o.Restarts, Near: a.o.Near}
	climb := func(name string, start func(k int) []float64) {
		q := p
		q.Starts = make([][]float64, len(p.Starts))
		for k := range q.Starts {
			q.Starts[k] = start(k)
		}
		for _, velocity := range []bool{false, true} {
			all = append(all, task{name, q, attack.Monotone{Steps: a.o.Monotone, Velocity: velocity}})
		}
	}
	for _, name := range a.o.Attacks {
		switch name {
		case "apgd":
			all = append(all, task{name, p, apgd})
		case "contrast":
			climb(name, func(k int) []float64 { return attack.ContrastStart(p.Starts[k], a.o.Epsilon) })
		case "monotone":
			climb(name, func(k int) []float64 { return slices.Clone(p.Starts[k]) })
			mean, err := a.mean()
			if err != nil {
				return nil, err
			}
			climb(name, func(k int) []float64 { return attack.MeanStart(p.Starts[k], mean, a.o.Epsilon) })
		case "noise":
			for run := range noiseRuns {
				uniform, gaussian := p.UniformStarts(a.o.Epsilon, run), p.GaussianStarts(gaussianSigma, run)
				climb(name, func(k int) []float64 { return uniform[k] })
				climb(name, func(k int) []float64 { return gaussian[k] })
			}
		case "targeted":
			for class := range a.net.Outputs() {
				q := p
				q.Objective = attack.Target(class)
				all = append(all, task{name, q, attack.APGD{Steps: a.o.Steps, Restarts: 1, Near: a.o.Near}})
			}
		}
	}
	starts, err := a.transferred(p, at)
	if err != nil {
		return nil, err
	}
	for _, of := range starts {
		climb("transfer", func(k int) []float64 { return of[k] })
	}
	return all, nil
}

// transferred are the points of other networks to begin with, as many times one for each image.
func (a *assault) transferred(p attack.Problem, at []int) ([][][]float64, error) {
	keep := len(a.transfer)
	if n := a.o.BestTransfer; n > 0 {
		keep = min(keep, n)
	}
	starts := make([][][]float64, keep)
	for k, i := range at {
		size := len(p.Starts[k])
		points := make([][]float64, len(a.transfer))
		sure := make([]float64, len(a.transfer))
		for t, given := range a.transfer {
			z := slices.Clone(given.values[i*size : (i+1)*size])
			for j := range z {
				z[j] = min(max(z[j], p.Boxes[k].Lower[j]), p.Boxes[k].Upper[j])
			}
			points[t] = z
			if keep < len(a.transfer) {
				f, err := a.net.Forward(z)
				if err != nil {
					return nil, err
				}
				_, sure[t] = feedforward.LogConfidence(f)
			}
		}
		order := make([]int, len(points))
		for t := range order {
			order[t] = t
		}
		slices.SortStableFunc(order, func(s, t int) int { return cmp.Compare(sure[t], sure[s]) })
		for r := range starts {
			starts[r] = append(starts[r], points[order[r]])
		}
	}
	return starts, nil
}

// Evaluations are how often the network is evaluated with its gradient for an image, at most.
func (o AttackOptions) Evaluations(classes, transfers int) (int, error) {
	if err := o.check(); err != nil {
		return 0, err
	}
	climbs, n := transfers, transfers
	for _, name := range o.Attacks {
		switch name {
		case "apgd":
			n += o.Restarts * (o.Steps + 1)
		case "contrast":
			climbs++
		case "monotone":
			climbs += 2
		case "targeted":
			n += classes * (o.Steps + 1)
		}
	}
	return n + 2*climbs*(o.Monotone+1), nil
}

// score gives points the confidence of the network that bounds it, and makes sure that they lie in their boxes.
func (a *assault) score(ctx context.Context, found []attack.Best, boxes []feedforward.Box) error {
	points := make([][]float64, len(found))
	for k, b := range found {
		for j, v := range b.Point {
			if !(v >= boxes[k].Lower[j] && v <= boxes[k].Upper[j]) {
				return fmt.Errorf("ood: an attack left the ball: value %d is %v, want %v to %v", j, v,
					boxes[k].Lower[j], boxes[k].Upper[j])
			}
		}
		points[k] = b.Point
	}
	f, err := a.outputs(ctx, points)
	if err != nil {
		return err
	}
	for k := range found {
		_, found[k].Value = feedforward.LogConfidence(f[k])
	}
	return nil
}

func (a *assault) outputs(ctx context.Context, points [][]float64) ([][]float64, error) {
	f, _, err := a.net.VectorJacobians(ctx, points, func(int, []float64) []float64 { return nil })
	return f, err
}

// given is a file of points of other networks.
type given struct {
	values []float64
	digest string
}

func points(ctx context.Context, path string, images *imageset.Index) (*given, error) {
	a, err := dataset.ReadAnyArray(ctx, path)
	if err != nil {
		return nil, err
	}
	if a.Shape != images.Shape || a.N != images.Len() {
		return nil, fmt.Errorf("ood: %s has %d points of %v; want one for each of the %d images of %s, %v", path, a.N,
			a.Shape, images.Len(), images.Name, images.Shape)
	}
	g := &given{values: make([]float64, 0, a.N*a.Shape.Len())}
	for _, v := range a.Reals() {
		g.values = append(g.values, float64(v))
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("ood: %w", err)
	}
	g.digest = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	return g, nil
}

// kept is the file of best points, float64, which grows with the blocks.
type kept struct {
	f     *os.File
	first int64 // where the points begin
	from  int
	size  int
}

func keepPoints(path string, images *imageset.Index, from, to int) (*kept, error) {
	f, err := atomicfile.Open(path, os.O_RDWR)
	if err != nil {
		return nil, fmt.Errorf("ood: %w", err)
	}
	k := &kept{f: f, from: from, size: images.Shape.Len()}
	s := images.Shape
	info, err := f.Stat()
	if err == nil && info.Size() == 0 {
		err = npy.WriteHeader(f, "<f8", to-from, s.Height, s.Width, s.Channels)
	} else if err == nil {
		err = sameHeader(f, to-from, s.Height, s.Width, s.Channels)
	}
	if err == nil {
		k.first, err = f.Seek(0, io.SeekCurrent)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("ood: %s: %w", path, err)
	}
	return k, nil
}

// sameHeader leaves the file behind its header, if that is the one that this run writes.
func sameHeader(f *os.File, shape ...int) error {
	var want bytes.Buffer
	if err := npy.WriteHeader(&want, "<f8", shape...); err != nil {
		return err
	}
	have := make([]byte, want.Len())
	if _, err := io.ReadFull(f, have); err != nil || !bytes.Equal(have, want.Bytes()) {
		return errors.New("it holds something else than the points of this run; name another file")
	}
	return nil
}

func (k *kept) put(place int, best []attack.Best) error {
	b := make([]byte, 0, 8*k.size*len(best))
	for _, p := range best {
		for _, v := range p.Point {
			b = binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
		}
	}
	if _, err := k.f.WriteAt(b, k.first+int64(place-k.from)*int64(8*k.size)); err != nil {
		return fmt.Errorf("ood: %w; what was finished before is kept: run again to go on", err)
	}
	return k.f.Sync()
}
