package purity

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/certspec/certspec/classifier"
)

// Witness is the first answers of a model. It is asked again later, to see whether the model is still the same.
type Witness struct {
	blocks  []classifier.Batch
	answers []Answers
	size    int // values of an image
	look    Found
}

// witnesses is how many images a Witness has, and three blocks at least; columns is how many values
// of a row a Record keeps.
const (
	witnesses = 100
	columns   = 10
)

type witnessKey struct{}

// With returns a context that carries the first answers of a look, for the run that follows it.
func (w *Witness) With(ctx context.Context) context.Context {
	if w == nil {
		return ctx
	}
	return context.WithValue(ctx, witnessKey{}, w)
}

// WitnessIn returns what With put into a context, or nil.
func WitnessIn(ctx context.Context) *Witness {
	w, _ := ctx.Value(witnessKey{}).(*Witness)
	return w
}

// witness keeps the first answers of a check that got as far.
func (c *checker) witness() *Witness {
	if len(c.answers) == 0 || len(c.answers) < len(c.blocks) {
		return nil
	}
	n := min(len(c.blocks), max(3, (witnesses+c.n-1)/c.n))
	return &Witness{c.blocks[:n], c.answers[:n], c.size, c.found}
}

// Again asks for the same blocks and compares the answers with the first ones.
func (w *Witness) Again(ctx context.Context, m classifier.Classifier, how string) (Found, error) {
	var found Found
	model, err := New(m)
	if err != nil {
		return found, err
	}
	for k, b := range w.blocks {
		now, err := model.Ask(ctx, b)
		if err != nil {
			return found, err
		}
		found.Count(now)
		for i := range b.N {
			found.Compare(w.answers[k], i, now, i, how)
		}
	}
	return found, nil
}

// Record is the form of a Witness in a file.
type Record struct {
	Look    Found      `json:"look"`    // the comparisons of the look that the answers are from
	Answers []Recorded `json:"answers"` // at most 100
}

// Recorded is the answer to one image in a Record.
type Recorded struct {
	Image  string    `json:"image"` // beginning of the SHA-256 of the noise sample
	Class  int32     `json:"class"`
	Within float32   `json:"within,omitempty"` // tolerance of a value
	Values []float32 `json:"values,omitempty"` // at most ten logits or probabilities
}

// Record returns the form for a file, block by block in turns.
func (w *Witness) Record() Record {
	r := Record{Look: w.look}
	for at := range min(witnesses, w.blocks[0].N*len(w.blocks)) {
		k, i := at%len(w.blocks), at/len(w.blocks)
		row, within := w.answers[k].row(i)
		one := Recorded{Image: w.imageDigest(k, i), Class: w.answers[k].Classes[i], Within: float32(within)}
		for c := range min(columns, len(row)) {
			one.Values = append(one.Values, row[c*len(row)/min(columns, len(row))])
		}
		r.Answers = append(r.Answers, one)
	}
	return r
}

func (w *Witness) imageDigest(block, i int) string {
	sum := sha256.New()
	b := w.blocks[block]
	if b.Grid != nil {
		binary.Write(sum, binary.LittleEndian, b.Grid[i*w.size:(i+1)*w.size])
	} else {
		binary.Write(sum, binary.LittleEndian, b.Real[i*w.size:(i+1)*w.size])
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8])
}

// Since compares the answers with those to the same images in a Record; there may be none.
func (w *Witness) Since(r Record, how string) (found Found) {
	now := map[string]Recorded{}
	for _, one := range w.Record().Answers {
		now[one.Image] = one
	}
	for _, was := range r.Answers {
		if is, same := now[was.Image]; same && len(is.Values) == len(was.Values) {
			found.compare(answer{was.Class, was.Values, float64(was.Within)}, answer{is.Class, is.Values,
				float64(is.Within)}, how)
		}
	}
	return found
}
