package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
	"github.com/certspec/certspec/rs/noise"
)

// QuantizeExact writes the network as one of integers alone, whose answers are equal on every machine: ranges by mean
// squared error from one noise sample of each image, at σ on the grid. Further samples tell how often its class is
// another one. The file has a record of that. What was seen stands in path.part until the file is whole, so that a run
// that was stopped goes on.
//
// Errors: those of Quantize; layers that have no form in integers.
func (m *Model) QuantizeExact(ctx context.Context, images *imageset.Images, sigma float64, seed uint64,
	path string) error {
	grid, network, err := m.forImages(ctx, images.Shape, sigma)
	if err != nil {
		return err
	}
	plan, err := quantize.NewPlan(network.Parts())
	if err != nil {
		return fmt.Errorf("engine: %s: %w", m.path, err)
	}
	_, card, digest, err := m.graph()
	if err != nil {
		return err
	}
	record := quantize.ExactRecord{Source: digest, Compared: network.Compared(), Data: images.Name,
		DataDigest: images.ContentDigest(), Images: images.Len(), Sigma: sigma, Seed: seed, Classes: card.ClassNames}
	if m.card != nil {
		record.Classes = m.card.Classes
	}
	for _, d := range m.Trained() {
		record.Trained = append(record.Trained, quantize.Trained{Name: d.Name, Digest: d.Digest, Images: d.Images})
	}
	c := &calibration{plan: plan, network: network, grid: grid, images: images, report: m.report,
		state: state{Record: record, Seen: quantize.NewSeen()}, path: path + ".part", saved: time.Now()}
	if err := c.resume(); err != nil {
		return err
	}
	if err := c.pass(ctx, "ranges of", &c.state.Ranged, c.ranges); err != nil {
		return err
	}
	_, high := grid.Limits()
	net, err := plan.Build(c.state.Seen, int(high)/pixel.Steps-1)
	if err != nil {
		return fmt.Errorf("engine: %s: %w", m.path, err)
	}
	if c.program, err = net.Program(""); err != nil {
		return err
	}
	if err := c.pass(ctx, "compare classes on", &c.state.Compared, c.compare); err != nil {
		return err
	}
	record.Samples, record.OtherClass = c.state.Compared, c.state.Other
	record.Layers, record.Products = len(net.Layers), net.Products()
	record.Low, record.High = int(net.Low), int(net.High)
	note, err := json.Marshal(record)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(path, intnet.Encode(net, note)); err != nil {
		return err
	}
	if err := os.Remove(c.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

type state struct {
	Record   quantize.ExactRecord `json:"record"` // of which network, images and noise
	Ranged   int                  `json:"ranged"` // images in Seen
	Seen     *quantize.Seen       `json:"seen"`
	Compared int                  `json:"compared"` // images
	Other    int                  `json:"other"`    // of them, those with another class
}

type calibration struct {
	plan    *quantize.Plan
	network *feedforward.Network
	program *intnet.Program
	grid    *noise.Grid
	images  *imageset.Images
	report  progress.Reporter
	state   state
	path    string
	saved   time.Time
}

// resume takes the state of an earlier run on the same network, images and noise.
func (c *calibration) resume() error {
	text, err := os.ReadFile(c.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var earlier state
	if err := json.Unmarshal(text, &earlier); err != nil || earlier.Seen == nil {
		return fmt.Errorf("engine: %s is no state of an earlier run (%v); remove it", c.path, err)
	}
	mine, err := json.Marshal(c.state.Record)
	if err != nil {
		return err
	}
	if theirs, err := json.Marshal(earlier.Record); err != nil || string(theirs) != string(mine) {
		return fmt.Errorf("engine: %s is of another network, other images, sigma or seed; remove it, or take another "+
			"place", c.path)
	}
	c.state = earlier
	return nil
}

// pass does something with every image from the first that is not done, in parts whose images run at once.
func (c *calibration) pass(ctx context.Context, task string, done *int, each func(image int, part *state) error) error {
	begun, first := time.Now(), *done
	for *done < c.images.Len() {
		workers := runtime.GOMAXPROCS(0)
		count := min(4*workers, c.images.Len()-*done)
		parts := make([]state, workers)
		var group errgroup.Group
		for w := range workers {
			parts[w].Seen = quantize.NewSeen()
			group.Go(func() error {
				for i := w; i < count; i += workers {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					if err := each(*done+i, &parts[w]); err != nil {
						return err
					}
				}
				return nil
			})
		}
		err := group.Wait()
		if err == nil {
			for _, p := range parts {
				c.state.Seen.Merge(p.Seen)
				c.state.Other += p.Other
			}
			*done += count
		}
		if err != nil || time.Since(c.saved) > 10*time.Second {
			text, failed := json.Marshal(c.state)
			if failed == nil {
				failed = atomicfile.Write(c.path, text)
			}
			if err = errors.Join(err, failed); err != nil {
				return err
			}
			c.saved = time.Now()
		}
		if c.report != nil {
			rate := float64(*done-first) / time.Since(begun).Seconds()
			c.report(progress.State{Task: task + " " + c.images.Name, Done: float64(*done),
				Total: float64(c.images.Len()),
				Unit:  "images", Rate: rate, Left: time.Duration(float64(c.images.Len()-*done) / rate * float64(time.Second)),
				Final: *done == c.images.Len()})
		}
	}
	return nil
}

// sample draws a noise sample of an image from a block that no certification draws.
func (c *calibration) sample(image int, block uint64) (grid []int16, values [][]float64, err error) {
	grid = make([]int16, c.images.Shape.Len())
	at := noise.Address{Seed: c.state.Record.Seed, Image: uint64(c.images.IDs[image]), Block: block}
	if _, err := c.grid.AddTo(grid, c.images.Grid(image), at, 0, nil); err != nil {
		return nil, nil, err
	}
	x := make([]float64, len(grid))
	for i, v := range grid {
		x[i] = float64(v) / pixel.Steps
	}
	values, err = c.network.Values(x)
	return grid, values, err
}

func (c *calibration) ranges(image int, part *state) error {
	_, values, err := c.sample(image, unused)
	if err != nil {
		return err
	}
	return c.plan.Add(part.Seen, values)
}

func (c *calibration) compare(image int, part *state) error {
	grid, values, err := c.sample(image, unused-1)
	if err != nil {
		return err
	}
	logits := make([]int32, c.program.Classes())
	if err := c.program.Run(grid, logits); err != nil {
		return err
	}
	last := values[len(values)-1]
	if intnet.Best(logits) != slices.Index(last, slices.Max(last)) {
		part.Other++
	}
	return nil
}
