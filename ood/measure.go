package ood

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/ood/record"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/ledger"
)

// Options say how a network's confidence is bounded. The zero value bounds it at the images themselves, for exact
// arithmetic and float32.
type Options struct {
	Epsilon    float64                // radius of the ball |z − x| ≤ ε in every value, within [0, 1]
	Method     feedforward.Method     // "": feedforward.CROWN, or IBP at ε = 0, where it gains nothing
	Arithmetic feedforward.Arithmetic // "": feedforward.Rigorous
	Probe      *Probe                 // nil, or a direction that says where the inputs of an image lie

	File     string            // that records the outcome and from which it resumes; "": nothing is kept
	Shard    *record.Shard     // the part of the images; nil: all
	Name     string            // of the network, for people
	Trained  []ledger.Data     // the sets that the network was trained on; none of their images may be among these
	Workers  int               // images at once; 0: as many as there are processors
	Program  string            // version of the program, for the file
	Progress progress.Reporter // nil: nobody listens
}

func (o *Options) run() run {
	return run{o.File, o.Shard, o.Name, o.Trained, o.Workers, o.Program, o.Progress}
}

// Probe asks for the segment x + t·d, |t| ≤ Norm, around each image x in place of a ball: see feedforward.Segment. With
// Options.Epsilon above 0 it asks for the ball of that radius around x + Norm·d, clipped to [0, 1].
type Probe struct {
	U, V      int                       // periods of d over the height and the width, for the file
	Seed      uint64                    // of the signs of its channels, for the file
	Shared    bool                      // its channels have one sign, for the file
	Norm      float64                   // at least 0
	Direction func(image int) []float64 // d of the image of an id, of norm 1, laid out as the image
}

// Network to be bounded: a *feedforward.Network, or another type with its methods.
type Network interface {
	InputShape() feedforward.Shape
	Outputs() int
	Digest() string
	Compared() string
	Assumes() string
	Confidence(ctx context.Context, x []float64, set feedforward.Set, method feedforward.Method,
		a feedforward.Arithmetic) (feedforward.Confidence, error)
}

// Measurement holds a network's confidence at each image of a set, with bounds or with the results of attacks; see
// record.File.
type Measurement = record.File

// Measure bounds the confidence of a network around each image of a set. With a file it records finished images as it
// goes. Called again with the same settings it goes on, and the file ends with the same bytes; a complete file is read.
// Where ctx ends, images under way are finished if that takes at most half a second. All finished ones are saved, and
// the error is the context's.
//
// Errors: options out of range, images of another size (*SizeError), images that were trained on (*TrainedError), those
// of the network; a file of another run or a damaged one (record.MismatchError, record.FormatError).
func Measure(ctx context.Context, n Network, data imageset.Source, o Options) (*Measurement, error) {
	switch {
	case o.Method != "":
	case o.Epsilon == 0 && o.Probe == nil:
		o.Method = feedforward.IBP
	default:
		o.Method = feedforward.CROWN
	}
	o.Arithmetic = cmp.Or(o.Arithmetic, feedforward.Rigorous)
	if !slices.Contains([]feedforward.Method{feedforward.IBP, feedforward.CROWN, feedforward.FullCROWN,
		feedforward.AlphaCROWN}, o.Method) ||
		!slices.Contains([]feedforward.Arithmetic{feedforward.Rigorous, feedforward.Plain, feedforward.Integers},
			o.Arithmetic) {
		return nil, fmt.Errorf("ood: method %q in arithmetic %q; see package feedforward", o.Method, o.Arithmetic)
	}
	run := o.run()
	images, header, err := run.begin(ctx, n, data, o.Epsilon)
	if err != nil {
		return nil, err
	}
	if p := o.Probe; p != nil {
		if !(p.Norm >= 0) || math.IsInf(p.Norm, 0) {
			return nil, fmt.Errorf("ood: a direction of norm %v, want a finite number of at least 0", p.Norm)
		}
		header.Probe = &record.Probe{U: p.U, V: p.V, Seed: p.Seed, Shared: p.Shared, Shift: p.Norm}
		if o.Epsilon == 0 {
			header.Set, header.Epsilon, header.Probe.Shift = "segment", p.Norm, 0
		}
	}
	header.Bound = &record.Bound{Method: o.Method, Arithmetic: o.Arithmetic, Assumes: n.Assumes()}
	calls, abort := context.WithCancel(context.WithoutCancel(ctx))
	defer abort()
	defer context.AfterFunc(ctx, func() { time.AfterFunc(patience, abort) })()
	return run.measure(ctx, "bound", images, header, 1, func(ctx context.Context, at []int) ([]record.Line, error) {
		l, err := boundAt(calls, n, images, at[0], o)
		if err != nil && ctx.Err() != nil {
			err = ctx.Err()
		}
		return []record.Line{l}, err
	})
}

// patience is how long images under way have to be finished when the context ends.
const patience = time.Second / 2

// boundAt bounds the confidence around one image.
func boundAt(ctx context.Context, n Network, images *imageset.Index, i int, o Options) (record.Line,
	error) {
	x, err := unit(ctx, images, i)
	if err != nil {
		return record.Line{}, err
	}
	x, set, err := o.around(x, images.IDs[i])
	if err != nil {
		return record.Line{}, err
	}
	c, err := n.Confidence(ctx, x, set, o.Method, o.Arithmetic)
	if err != nil {
		return record.Line{}, err
	}
	l := record.Line{Image: images.IDs[i], Label: images.Labels[i], Class: c.Class, Log: c.Log, Upper: c.LogUpper,
		Lower: c.LogLower}
	if math.IsNaN(l.Upper) {
		l.Upper = 0
	}
	if least := -math.Log(float64(n.Outputs())) * (1 + 1e-12); math.IsNaN(l.Lower) {
		l.Lower = least
	}
	return l, nil
}

// around is the inputs that the bounds of an image are of, and what is in their middle.
func (o Options) around(x []float64, image int) ([]float64, feedforward.Set, error) {
	if p := o.Probe; p != nil {
		d := p.Direction(image)
		if o.Epsilon == 0 {
			return x, feedforward.Segment{Centre: x, Direction: d, Epsilon: p.Norm}, nil
		}
		for i, v := range d {
			x[i] = min(max(x[i]+p.Norm*v, 0), 1)
		}
	}
	box, err := feedforward.Ball(x, o.Epsilon, o.Arithmetic)
	return x, box, err
}

// unit is an image with values in [0, 1].
func unit(ctx context.Context, images *imageset.Index, i int) ([]float64, error) {
	one, err := images.Read(ctx, i)
	if err != nil {
		return nil, err
	}
	x := make([]float64, len(one.Pixels))
	for j, b := range one.Pixels {
		x[j] = float64(b) / 255
	}
	return x, nil
}

// Read reads a file of Measure or Attack; see record.Read.
func Read(path string) (*Measurement, error) { return record.Read(path) }
