package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/atomicfile"
	"github.com/certspec/certspec/internal/cache"
	"github.com/certspec/certspec/internal/host"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// comparison of layers with the file that they were read from.
type comparison struct {
	layers   *onnx.Layers
	runtimes [2]*onnx.Runtime  // with the optimiser, and without
	report   progress.Reporter // may be nil
}

// fewestPoints is the number of inputs at which layers are compared, at least.
const fewestPoints = 16

// images compares at images of multiples of 1/255.
func (c *comparison) images(ctx context.Context) error {
	size := c.layers.Network.InputShape().Size()
	unit := feedforward.Box{Lower: make([]float64, size), Upper: slices.Repeat([]float64{1}, size)}
	points := pointsOf([]feedforward.Box{unit})
	for _, x := range points {
		for i, v := range x {
			x[i] = math.Round(v*pixel.Steps) / pixel.Steps
		}
	}
	return c.at(ctx, points, func(x []float64) (feedforward.Box, error) {
		return feedforward.Ball(x, 0, feedforward.Rigorous)
	})
}

// boxes compares at points of boxes that float32 holds.
func (c *comparison) boxes(ctx context.Context, boxes []feedforward.Box) error {
	size := c.layers.Network.InputShape().Size()
	if len(boxes) == 0 {
		boxes = []feedforward.Box{{Lower: make([]float64, size), Upper: slices.Repeat([]float64{1}, size)}}
	}
	for _, b := range boxes {
		if len(b.Lower) != size || len(b.Upper) != size {
			return fmt.Errorf("a box of %d and %d values for a network of %d inputs", len(b.Lower), len(b.Upper), size)
		}
	}
	points := pointsOf(boxes)
	for _, x := range points {
		for i, v := range x {
			x[i] = float64(float32(min(max(v, -math.MaxFloat32), math.MaxFloat32)))
		}
	}
	return c.at(ctx, points, func(x []float64) (feedforward.Box, error) {
		return feedforward.Box{Lower: x, Upper: x}, nil
	})
}

// pointsOf are the middle, both ends, corners and random points of boxes, which are taken evenly where they are many.
func pointsOf(boxes []feedforward.Box) (points [][]float64) {
	const most, kinds = 8, 6
	n := min(len(boxes), most)
	rng := rand.New(rand.NewPCG(1, uint64(len(boxes))))
	for k := range max(fewestPoints, n*kinds) {
		b := boxes[k%n*len(boxes)/n]
		x := make([]float64, len(b.Lower))
		kind := k / n
		if kind > 2 {
			kind = 3 + (kind-3)%3
		}
		share := rng.Float64()
		for i, lo := range b.Lower {
			at := 0.5
			switch kind {
			case 1:
				at = 0
			case 2:
				at = 1
			case 3:
				at = rng.Float64()
			case 4:
				at = float64(rng.IntN(2))
			case 5: // near the middle
				at = 0.5 + share*(rng.Float64()-0.5)
			}
			x[i] = lo + (b.Upper[i]-lo)*at
		}
		points = append(points, x)
	}
	return points
}

// at compares at inputs; box gives the box of the layers where ONNX Runtime gets x.
func (c *comparison) at(ctx context.Context, points [][]float64, box func(x []float64) (feedforward.Box, error)) error {
	for i := range c.runtimes {
		var err error
		if c.runtimes[i], err = c.layers.Runtime(i == 0); err != nil {
			return fmt.Errorf("the layers of a network are compared with ONNX Runtime before they are trusted: %w", err)
		}
	}
	tell := c.teller(len(points))
	compare := func(x []float64) error {
		b, err := box(x)
		if err == nil {
			err = c.point(ctx, x, b)
		}
		return err
	}
	began, kept := time.Now(), ""
	if err := compare(points[0]); err != nil {
		return err
	}
	if time.Since(began) > keptFrom {
		kept = c.kept(points)
	}
	if _, err := os.Stat(kept); err == nil {
		return nil
	}
	tell()
	points = points[1:]
	failed := make([]error, len(points)) // so that the first point is told, whichever is done first
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k, x := range points {
		group.Go(func() error {
			if failed[k] = ctx.Err(); failed[k] == nil {
				failed[k] = compare(x)
				tell()
			}
			return nil
		})
	}
	_ = group.Wait()
	err := cmp.Or(failed...)
	if err == nil && kept != "" {
		_ = atomicfile.Write(kept, []byte("these layers agree with this file\n")) // else they are compared again
	}
	return err
}

// keptFrom is how long one input takes at least where the agreement at all of them is remembered.
var keptFrom = 300 * time.Millisecond

// kept is the file that says, where it is there, that these layers agree with the file at these inputs. Its name
// holds all that decides this; "": there is no cache. The number changes where more is compared than before.
func (c *comparison) kept(points [][]float64) string {
	dir, err := cache.Dir("compared")
	if err != nil {
		return ""
	}
	h := sha256.New()
	fmt.Fprintln(h, 1, c.layers.Network.Digest(), c.layers.Network.Head(), c.layers.Digest(), c.runtimes[0].Version(),
		host.InstructionSet())
	_ = binary.Write(h, binary.LittleEndian, slices.Concat(points...))
	return filepath.Join(dir, fmt.Sprintf("%x", h.Sum(nil)))
}

// teller reports after each point, from the first second on.
func (c *comparison) teller(points int) func() {
	began, done, told := time.Now(), 0, false
	var mu sync.Mutex
	return func() {
		mu.Lock()
		defer mu.Unlock()
		done++
		if c.report == nil || !told && time.Since(began) < time.Second {
			return
		}
		told = true
		rate := float64(done) / time.Since(began).Seconds()
		left := time.Duration(float64(points-done) / rate * float64(time.Second))
		c.report(progress.State{
			Task: "compare layers with ONNX Runtime", Done: float64(done), Total: float64(points), Unit: "inputs",
			Rate: rate, Left: left, Final: done == points,
		})
	}
}

// point compares at one input.
func (c *comparison) point(ctx context.Context, x []float64, box feedforward.Box) error {
	network, file := c.layers.Output()
	bounds, err := c.layers.Network.Intervals(box, feedforward.Rigorous)
	if err != nil {
		return err
	}
	for _, i := range []int{1, 0} { // without the optimiser first, which finds the node
		found, err := c.runtimes[i].Run(x)
		if err != nil {
			return err
		}
		if i == 1 { // it gives the results of nodes
			if err := c.layers.Network.Compare(ctx, box, found); err != nil {
				return c.differs(i, err)
			}
		}
		if d := bounds.Outside(found[network]); d != nil {
			d.Result = network
			return c.differs(i, d)
		}
		if err := c.head(found[network], found[file]); err != nil {
			return fmt.Errorf("%s: %w", c.layers.Describe(file), err)
		}
	}
	return nil
}

// differs says where.
func (c *comparison) differs(i int, err error) error {
	var d *feedforward.Difference
	if !errors.As(err, &d) {
		return err
	}
	how := [2]string{"with its optimiser", "without its optimiser"}[i]
	return fmt.Errorf("the layers that certspec reads are not the network that ONNX Runtime %s runs, so that nothing "+
		"is proven of the file. First to differ is %s, %s: %w. Please report the file",
		c.runtimes[i].Version(), c.layers.Describe(d.Result), how, err)
}

// head checks what is behind the layers.
func (c *comparison) head(logits, outputs []float64) error {
	head := c.layers.Network.Head()
	if head == "" {
		return nil
	}
	if len(logits) != len(outputs) {
		return fmt.Errorf("%d outputs of %d logits", len(outputs), len(logits))
	}
	const tolerance = 1e-3 // far more than rounding, far less than another axis
	most := slices.Max(logits)
	for k, want := range headOf(head, logits) {
		scale := 1.
		if head == "LogSoftmax" {
			scale += math.Abs(want) + math.Abs(most)*1e-3
		}
		if got := outputs[k]; want-want == 0 && !(math.Abs(got-want) <= tolerance*scale) {
			return fmt.Errorf("output %d is %v, that of a %s over the classes %v", k, got, head, want)
		}
	}
	return nil
}

// headOf applies a last Softmax or LogSoftmax to logits; without one they stay.
func headOf(head string, logits []float64) []float64 {
	if head == "" {
		return logits
	}
	most, sum := slices.Max(logits), 0.
	for _, v := range logits {
		sum += math.Exp(v - most)
	}
	out := make([]float64, len(logits))
	for k, v := range logits {
		if out[k] = v - most - math.Log(sum); head == "Softmax" {
			out[k] = math.Exp(out[k])
		}
	}
	return out
}

func (c *comparison) close() {
	for i, r := range c.runtimes {
		if r != nil {
			r.Close()
		}
		c.runtimes[i] = nil
	}
}
