// Package integers is an integer network as a classifier.
package integers

import (
	"context"
	"math"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/intnet"
	"github.com/certspec/certspec/pixel"
)

// Engine is the engine in the identity of an integer network. Its kernels give equal answers, so none is named.
const Engine = "integers"

// Classifier answers as every classifier does.
type Classifier struct {
	*intnet.Program
	info classifier.Info
}

// Of makes it, of a name for people.
func Of(p *intnet.Program, name string) *Classifier {
	return &Classifier{p, classifier.Info{Name: name, Classes: p.Classes(), Logits: true,
		Shape:    pixel.Shape{Height: p.Height, Width: p.Width, Channels: p.Channels},
		Identity: classifier.Identity{Weights: p.Identity(), Engine: Engine, EngineVersion: "1"}}}
}

// Name is that for people.
func (n *Classifier) Name() string { return n.info.Name }

// Info describes the network.
func (n *Classifier) Info() (classifier.Info, error) { return n.info, nil }

// Classify takes real images rounded to the grid, halves to even, and cut to the range of the network.
func (n *Classifier) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
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
func (n *Classifier) decide(logits []int32, at int, finite bool, result *classifier.Result) {
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
