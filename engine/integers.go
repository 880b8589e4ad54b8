package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/feedforward/quantize"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/pixel"
)

// integers is the engine in the identity of an integer network. Its kernels give equal answers, so none is named.
const integers = "integers"

// integerNetwork is a file of certspec quantize --exact.
type integerNetwork struct {
	*intnet.Program
	info   classifier.Info
	record quantize.ExactRecord
}

// openIntegers reads the file at once: it has no other part.
func (m *Model) openIntegers() (network, error) {
	kernel := m.choice
	if isOpen(kernel) || kernel == integers {
		kernel = ""
	}
	net, note, err := intnet.Read(m.path)
	if err != nil {
		return nil, err
	}
	n := &integerNetwork{info: classifier.Info{Name: m.name(), Shape: pixel.Shape{Height: net.Height, Width: net.Width,
		Channels: net.Channels}, Classes: net.Classes(), Logits: true, Identity: classifier.Identity{
		Weights: net.Identity(), Engine: integers, EngineVersion: "1"}}}
	if len(note) > 0 {
		if err := json.Unmarshal(note, &n.record); err != nil {
			return nil, fmt.Errorf("%s: the text behind the integers: %w", m.path, err)
		}
	}
	if n.Program, err = net.Program(kernel); err != nil {
		return nil, fmt.Errorf("%s: %w", m.path, err)
	}
	return n, nil
}

func (n *integerNetwork) Info() (classifier.Info, error) { return n.info, nil }
func (n *integerNetwork) Close() error                   { return nil }

// String says what is claimed of: the integers, and how far they are from their source.
func (n *integerNetwork) String() string {
	text := fmt.Sprintf("%s: integer network on kernel %s", n.info.Name, n.Kernel())
	if r := &n.record; r.Samples > 0 {
		text += fmt.Sprintf("; another class than its source on %d of %d noise samples of %s at sigma %g", r.OtherClass,
			r.Samples, r.Data, r.Sigma)
	}
	return text
}

// Classify takes real images rounded to the grid, halves to even, and cut to the range of the network.
func (n *integerNetwork) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if err := classifier.Check(n.info, batch, result); err != nil {
		return err
	}
	images, size := batch.Grid, n.info.Shape.Len()
	if images == nil {
		images = make([]int16, len(batch.Real))
		for i, v := range batch.Real {
			if v-v != 0 {
				continue // a miss, below
			}
			r := math.RoundToEven(float64(v) * pixel.Steps)
			images[i] = int16(min(max(r, float64(n.Low)), float64(n.High)))
		}
	}
	const part = 64 // between two looks at ctx
	logits := make([]int32, min(part, batch.N)*n.info.Classes)
	for from := 0; from < batch.N; from += part {
		if err := ctx.Err(); err != nil {
			return err
		}
		count := min(part, batch.N-from)
		logits := logits[:count*n.info.Classes]
		if err := n.Run(images[from*size:(from+count)*size], logits); err != nil {
			return err
		}
		for i := range count {
			finite := true
			if batch.Real != nil {
				for _, v := range batch.Real[(from+i)*size : (from+i+1)*size] {
					finite = finite && v-v == 0
				}
			}
			n.decide(logits[i*n.info.Classes:(i+1)*n.info.Classes], from+i, finite, result)
		}
	}
	return nil
}

// decide is classifier.Decide on integers, of which float32 does not keep all.
func (n *integerNetwork) decide(logits []int32, at int, finite bool, result *classifier.Result) {
	rows := [][]float32{result.Scores, result.Logits}
	for i, row := range rows {
		if row != nil {
			rows[i] = row[at*len(logits) : (at+1)*len(logits)]
		}
	}
	scores, kept := rows[0], rows[1]
	if !finite {
		result.Classes[at] = classifier.Miss
		clear(scores)
		clear(kept)
		return
	}
	best := intnet.Best(logits)
	result.Classes[at] = int32(best)
	unit, sum := n.LogitUnit(), 0.0
	for c := range kept {
		kept[c] = float32(unit * float64(logits[c]))
	}
	if scores == nil {
		return
	}
	exp := func(c int) float64 { return math.Exp(unit * float64(int64(logits[c])-int64(logits[best]))) }
	for c := range scores {
		sum += exp(c)
	}
	for c := range scores {
		scores[c] = float32(exp(c) / sum)
	}
}

// notIntegers refuses an integer network where layers in real numbers are needed.
func (m *Model) notIntegers() error {
	if !m.whole() {
		return nil
	}
	return fmt.Errorf("engine: %s is an integer network, which has no layers in real numbers; name the model that it "+
		"was made of", m.path)
}
