package preflight

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/cmd/certspec/internal/cli"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/engine"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/resample"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/compare"
)

// mostLoss is the loss of mean radius up to which integers are the first choice.
const mostLoss = 0.003

// Integers compares the model with its integer network.
type Integers struct {
	Images   int                `json:"images"`
	Samples  int                `json:"samples"` // noise samples behind a radius, the same for both
	Radius   compare.Difference `json:"radius"`  // mean certified radius: A of the model, B of integers
	Rate     float64            `json:"rate"`    // noise samples per second, of integers
	RateOf   float64            `json:"rate_of"` // of the model
	First    bool               `json:"first"`   // the interval of the loss ends below 0.003
	Products int64              `json:"products"`
}

// compareIntegers makes an integer network from noise samples of the images, and certifies them by
// both on the same noise.
func (o *options) compareIntegers(ctx context.Context, c classifier.Classifier, d *dataset.Dataset) (*Integers, error) {
	m, ok := c.(*engine.Model)
	if !ok {
		return nil, cli.Usagef("--integers goes with --model: a program has no layers")
	}
	list, err := d.List(ctx)
	if err != nil {
		return nil, err
	}
	if list.Len() > o.Images {
		d = d.Subset(dataset.Count(o.Images))
	}
	images, err := d.Load(ctx)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "certspec-preflight-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "whole.intnet")
	if err := m.QuantizeExact(ctx, images, o.Run.Sigma, 1, path); err != nil {
		return nil, err
	}
	made, err := quantize.Open(path)
	if err != nil {
		return nil, err
	}
	exact, err := engine.Open(path)
	if err != nil {
		return nil, err
	}
	defer exact.Close()
	found := &Integers{Images: images.Len(), Samples: min(o.Run.MaxSamples, 5*o.Run.Block), Products: made.Record.Products}
	settings := rs.Options{Sigma: o.Run.Sigma, Alpha: o.Run.Alpha, Rule: rs.Fixed,
		Block:      o.Run.Block,
		MaxSamples: found.Samples, Seed: 1, Progress: o.Run.Progress}
	var radii [2]compare.Radii
	for i, model := range []classifier.Classifier{m, exact} {
		begun := time.Now()
		run, err := rs.Certify(ctx, model, d, settings)
		if err != nil {
			return nil, err
		}
		rate := float64(run.Passes()) / time.Since(begun).Seconds()
		if radii[i] = compare.Of(run.Vectors()); i == 0 {
			found.RateOf = rate
		} else {
			found.Rate = rate
		}
	}
	both, err := compare.Runs(ctx, radii[0], radii[1], nil, resample.Options{})
	if err != nil {
		return nil, err
	}
	found.Radius = both.ACR
	found.First = both.ACR.Interval.Low > -mostLoss
	return found, nil
}

func (i *Integers) print(w io.Writer) {
	r := i.Radius
	cli.Fprintf(w, "integers\t%.2g times the rate, mean radius %.4f in the place of %.4f: %+.4f (%+.4f to %+.4f, "+
		"paired, %d images, "+
		"n = %d)\n", i.Rate/i.RateOf, r.B, r.A, r.Difference, r.Interval.Low, r.Interval.High, i.Images, i.Samples)
	advice := fmt.Sprintf("the loss may be %.3g or more; more images with --images tell", mostLoss)
	if i.First {
		advice = "first choice: certspec quantize MODEL --data TRAINING-SET --sigma S --out q.intnet, then certify " +
			"--model q.intnet"
	}
	cli.Fprintf(w, "\t→ %s\n", advice)
}
