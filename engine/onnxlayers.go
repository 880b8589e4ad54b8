package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/engine/onnx"
	"github.com/certspec/certspec/feedforward"
	"github.com/certspec/certspec/internal/gomlxmodels/backend"
	"github.com/certspec/certspec/internal/gomlxmodels/infer"
	"github.com/certspec/certspec/internal/gomlxmodels/layergraph"
	"github.com/certspec/certspec/internal/rs/rule/stopping"
	"github.com/certspec/certspec/pixel"
)

// layered is an ONNX file by its layers, on XLA or GoMLX's Go backend.
type layered struct {
	*infer.Network
	info    classifier.Info
	details onnx.Details
}

// byLayers reports whether the model is an ONNX file on another engine than ONNX Runtime.
func (m *Model) byLayers() bool { return m.card == nil && !m.whole() && !m.onONNXRuntime() }

// openLayers reads the layers, compares them with ONNX Runtime where that is there, and tries their
// graph.
func (m *Model) openLayers() (network, error) {
	b, err := m.engine()
	if err != nil {
		return nil, err
	}
	l, err := onnx.ReadLayers(onnx.Source{Path: m.path, Options: m.onnx})
	if err != nil {
		return nil, fmt.Errorf("%w; on %s a file runs by its layers, the engine %s takes every operator",
			err, b.Engine, ONNXRuntime)
	}
	compared := "not compared with ONNX Runtime, whose library is missing"
	if _, err := onnx.Library(m.onnx.Library); err == nil {
		if err := m.compare(context.Background(), l); err != nil {
			return nil, err
		}
		compared = "compared with ONNX Runtime"
	}
	g, err := layergraph.New(l.Network.Parts(), l.Network.Head())
	if err != nil {
		return nil, fmt.Errorf("%s: %w; the engine %s takes it", m.path, err, ONNXRuntime)
	}
	s := l.Network.InputShape()
	n := &layered{info: classifier.Info{Name: m.name(), Classes: l.Network.Outputs(),
		Shape: pixel.Shape{Height: s[0], Width: s[1], Channels: s[2]}}}
	if n.Network, err = infer.LoadLayers(b, n.info, g); err != nil {
		return nil, err
	}
	if err := n.try(b, l, compared); err != nil {
		n.Close()
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return n, nil
}

// try evaluates random images, of which the layers give the outputs, too, and learns what outputs are.
func (n *layered) try(b *backend.Backend, l *onnx.Layers, compared string) error {
	batch, size := classifier.Batch{N: stopping.DefaultBlock}, n.info.Shape.Len() // compiled for a run
	if b.Engine == backend.Go {
		batch.N = 4
	}
	batch.Grid = make([]int16, batch.N*size)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range batch.Grid {
		batch.Grid[i] = int16(random.IntN(pixel.Steps + 1))
	}
	outputs, err := n.Outputs(batch)
	if err != nil {
		return err
	}
	rows := slices.Collect(slices.Chunk(outputs, n.info.Classes))
	if err := agree(l.Network, batch.Grid[:2*size], rows[:2]); errors.Is(err, errNoneHeld) {
		return err
	} else if err != nil {
		if where := subnormal(l.Network); b.Engine == backend.XLA && where != "" {
			return fmt.Errorf("%s takes subnormal numbers, those nearer to 0 than %.2g, for zeros, and %s has some: "+
				"%w. Take the engine %s, or scale the weights up", b.Engine, leastNormal, where, err, ONNXRuntime)
		}
		return fmt.Errorf("%s computes it wrongly: %w. Please report the file", b.Engine, err)
	}
	if n.details, n.info, err = l.Details(rows); err != nil {
		return err
	}
	d, id := &n.details, &n.info.Identity
	infer.Identify(id, b)
	id.EngineVersion += fmt.Sprintf(", layers %d", layergraph.Revision)
	d.Engine, d.Layers, d.Library = b.Engine, compared, b.Version
	d.Provider, d.Threads = b.Device, b.Threads
	return nil
}

// leastNormal is the least positive float32 with all its digits. XLA takes what is nearer to 0 for 0.
const leastNormal = 0x1p-126

// subnormal names the first layer with a weight, or with nothing but values of a grey image, that float32 holds as a
// subnormal; empty: there is none.
func subnormal(layers *feedforward.Network) string {
	tiny := func(v float64) bool { return v != 0 && math.Abs(v) < leastNormal }
	grey := make([]float64, layers.InputShape().Size())
	for i := range grey {
		grey[i] = 0.5
	}
	values, err := layers.Values(grey)
	if err != nil {
		return ""
	}
	for i, p := range layers.Parts() {
		var weights []float64
		switch {
		case p.Conv != nil:
			weights = slices.Concat(p.Conv.W, p.Conv.B)
		case p.Dense != nil:
			weights = slices.Concat(p.Dense.W, p.Dense.B)
		case p.Scale != nil:
			weights = slices.Concat(p.Scale.S, p.Scale.T)
		}
		normal := slices.ContainsFunc(values[i], func(v float64) bool { return !tiny(v) })
		if slices.ContainsFunc(weights, tiny) || !normal {
			return fmt.Sprintf("layer %s (%s)", p.Name, p.Op)
		}
	}
	return ""
}

// agree compares outputs for images with those of the layers in float64, wherever float32 holds them; beyond it the
// output must be no number, too. Kernels of every form round far less than the tolerance; a wrong graph is further off.
// Errors: an output that differs; none that float32 holds, as then nothing is known of the graph.
func agree(layers *feedforward.Network, grid []int16, rows [][]float32) error {
	compared := 0
	x := make([]float64, len(grid)/len(rows))
	for i, row := range rows {
		for j := range x {
			x[j] = float64(grid[i*len(x)+j]) / pixel.Steps
		}
		want, err := layers.Forward(x)
		if err != nil {
			return err
		}
		n, err := agreeRow(headOf(layers.Head(), want), row)
		if err != nil {
			return err
		}
		compared += n
	}
	if compared == 0 {
		return errNoneHeld
	}
	return nil
}

var errNoneHeld = errors.New("no output of random bytes is within the range of float32, so its layers cannot be " +
	"compared: expected logits or probabilities of a common size")

// agreeRow compares the outputs of one image, and says how many float32 holds.
func agreeRow(want []float64, row []float32) (compared int, err error) {
	const tolerance = 0.05
	most := 0.
	for _, v := range want {
		if size := math.Abs(v); size <= math.MaxFloat32 {
			most = max(most, size)
		}
	}
	for c, v := range want {
		got := float64(row[c])
		var differs bool
		if math.Abs(v) <= math.MaxFloat32 {
			compared++
			differs = !(math.Abs(got-v) <= tolerance*most)
		} else {
			differs = got-got == 0 && !(math.Abs(v) <= math.MaxFloat32*(1+tolerance))
		}
		if differs {
			return compared, fmt.Errorf("output %d of random bytes is %v, that of the layers in float64 %v", c, row[c], v)
		}
	}
	return compared, nil
}

// Info names the file, what computes in it and the engine.
func (n *layered) Info() (classifier.Info, error) { return n.info, nil }

// Details are the file's.
func (n *layered) Details() (onnx.Details, error) { return n.details, nil }

// Classify evaluates the batch in one call of the graph.
func (n *layered) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if err := classifier.Check(n.info, batch, result); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	rows, err := n.Outputs(batch)
	if err != nil {
		return err
	}
	return n.details.Decide(n.info, batch, rows, result)
}
