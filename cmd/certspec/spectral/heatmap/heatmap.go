// Package heatmap finds how sure a network can become along each frequency of an image: bounds on
// its confidence along Fourier directions, over a grid of frequencies. It is to guarantees what
// package rs/heatmap is to certificates.
package heatmap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/spectral/fourier"
	"github.com/certspec/certspec/ood"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/spectral"
)

// Metric is the value of a map at a frequency.
type Metric string

const (
	Bound Metric = "bound" // mean over the images of the upper bound on the confidence
	GAUC  Metric = "gauc"  // area under the ROC curve of the own images' confidences against these bounds
)

// Metrics are all metrics.
var Metrics = []Metric{Bound, GAUC}

// Options say what a map is of. Frequencies is needed.
type Options struct {
	Metric      Metric
	Frequencies []int                 // periods over the height, and over the width; ascending
	Probe       spectral.ProbeOptions // its norm is per channel: of the segment, ε√C over all C channels
	Ball        float64               // 0: bounds along segments; else over balls of this radius around probed images
	In          *ood.Measurement      // of GAUC: the confidences on the network's own images
	Method      feedforward.Method    // "": feedforward.CROWN
	Run         ood.Options           // of each frequency; its ball, method, probe and file are chosen here
	Folder      string                // of a file for each frequency; "": nothing is kept
}

// Result is a map with what it is of.
type Result struct {
	Metric  Metric          `json:"metric"`
	Model   string          `json:"model"`
	Data    string          `json:"data"`
	Images  int             `json:"images"`
	Epsilon float64         `json:"epsilon"`        // ℓ2 norm of a probe per channel
	Norm    float64         `json:"norm"`           // over all channels
	Ball    float64         `json:"ball,omitempty"` // around probed images
	Profile []spectral.Ring `json:"profile"`        // mean over the frequencies of a ring
	*spectral.Map
}

// Run makes a map: for each frequency, d being the Fourier basis image of that frequency with a
// sign for each channel and norm 1 over all, the confidence is bounded at all x + t·d with |t| ≤
// ε√C around each image x (ood.Probe), and the metric is taken of the bounds. Half of the grid is
// evaluated, and mirrored. What Options.Folder has is not done again: an interrupted map goes on,
// and the other metric costs nothing.
//
// Errors: options out of range; those of ood.Measure and ood.Compare, and of ctx.
func Run(ctx context.Context, n *feedforward.Network, data imageset.Source, o Options) (*Result, error) {
	if !slices.Contains(Metrics, o.Metric) {
		return nil, fmt.Errorf("heatmap: metric %q; expected one of %q", o.Metric, Metrics)
	}
	if (o.Metric == GAUC) != (o.In != nil) {
		return nil, errors.New("heatmap: own images are needed for gauc, and for nothing else")
	}
	o.Probe.Epsilon = cmp.Or(o.Probe.Epsilon, spectral.DefaultEpsilon)
	images, err := imageset.Open(ctx, data, o.Run.Progress)
	if err != nil {
		return nil, err
	}
	if in := o.In; in != nil { // before hours of bounds, not after those of the first frequency
		switch digest := n.Digest(); {
		case in.Claims == nil:
			return nil, fmt.Errorf("heatmap: %s is not finished: run its command again", in.Path)
		case in.Header.Model.Network != digest:
			return nil, fmt.Errorf("heatmap: %s is of another network (%s, %s) than that of the map (%s)", in.Path,
				in.Header.Model.Name, in.Header.Model.Network, digest)
		case in.Header.Data.Digest == images.Digest:
			return nil, fmt.Errorf("heatmap: %s has the images of the map, %s; expected the network's own images, "+
				"and a map of others", in.Path, images.Name)
		}
	}
	half, err := fourier.NewHalf(images.Shape.Height, images.Shape.Width)
	if err != nil {
		return nil, err
	}
	if o.Folder != "" {
		if err := os.MkdirAll(o.Folder, 0o777); err != nil {
			return nil, fmt.Errorf("heatmap: %w", err)
		}
	}
	r := &Result{Metric: o.Metric, Model: o.Run.Name, Data: images.Name, Images: images.Len(), Epsilon: o.Probe.Epsilon,
		Norm: o.Probe.Epsilon * math.Sqrt(float64(images.Shape.Channels)), Ball: o.Ball}
	at, total := 0, len(spectral.Representatives(images.Shape, o.Frequencies, o.Frequencies))
	if report := o.Run.Progress; report != nil {
		o.Run.Progress = func(s progress.State) {
			s.Task = fmt.Sprintf("%d of %d: %s", at, total, s.Task)
			report(s)
		}
	}
	r.Map, err = spectral.HeatMap(ctx, images.Shape, o.Frequencies, o.Frequencies, func(ctx context.Context,
		f spectral.Frequency) (float64, error) {
		at++
		direction, err := directions(half, images.Shape, f, o.Probe)
		if err != nil {
			return 0, err
		}
		run := o.Run
		if o.Folder != "" {
			run.File = filepath.Join(o.Folder, fmt.Sprintf("u%+dv%+d.ood", f.U, f.V))
		}
		run.Epsilon, run.Method = o.Ball, o.Method
		run.Probe = &ood.Probe{U: f.U, V: f.V, Seed: o.Probe.Seed, Shared: o.Probe.Shared, Norm: r.Norm,
			Direction: direction}
		m, err := ood.Measure(ctx, n, data, run)
		if err != nil {
			return 0, err
		}
		return value(o, m)
	})
	if err != nil {
		return nil, err
	}
	r.Profile = r.Map.Profile()
	return r, nil
}

// directions gives each image the Fourier basis image of a frequency with the image's signs, of
// norm 1 over all channels.
func directions(half fourier.Half, shape pixel.Shape, f spectral.Frequency,
	o spectral.ProbeOptions) (func(image int) []float64, error) {
	basis, err := fourier.Basis(half, f.U, f.V, 0)
	if err != nil {
		return nil, err
	}
	scale := 1 / math.Sqrt(float64(shape.Channels))
	return func(image int) []float64 {
		signs := spectral.Signs(shape, f, o.Seed, uint64(image))
		if o.Shared {
			signs = spectral.Shared(signs)
		}
		d := make([]float64, 0, shape.Len())
		for _, v := range basis {
			for c := range shape.Channels {
				if d = append(d, v*scale); signs>>c&1 == 1 {
					d[len(d)-1] = -v * scale
				}
			}
		}
		return d
	}, nil
}

// value is the metric at one frequency.
func value(o Options, m *ood.Measurement) (float64, error) {
	if o.Metric == Bound {
		sum := 0.0
		for _, l := range m.Lines {
			sum += math.Exp(l.Upper)
		}
		return sum / float64(len(m.Lines)), nil
	}
	area, err := ood.GuaranteedArea(o.In, m)
	return area.Value, err
}
