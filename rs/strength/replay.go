package strength

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/corrupt"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/progress"
)

// Replayed is the result of asking again.
type Replayed struct {
	Images        int   `json:"images"`         // that were asked about
	Different     []int `json:"different"`      // the ids of those whose line came out otherwise
	EqualIdentity bool  `json:"equal_identity"` // the model runs on what the file names
}

// Replay asks a model again about count images of a file, spread evenly, or all with count 0, and
// compares their lines. On equal engines a difference is evidence against the file; elsewhere
// images between two classes may flip, but for integer networks.
//
// Errors: a model or data of another digest than the file names; those of Prove.
func Replay(ctx context.Context, f *File, model classifier.Classifier, data imageset.Source, count int,
	report progress.Reporter) (*Replayed, error) {
	over, err := corrupt.ParseStrengths(f.Header.Over)
	if err != nil {
		return nil, err
	}
	p, err := newProver(ctx, model, data, Options{Over: over, Progress: report})
	if err != nil {
		return nil, err
	}
	if h := f.Header; p.info.Identity.Weights != h.Model.Identity.Weights || p.images.Digest != h.Data.Digest {
		return nil, fmt.Errorf("strength: %s is of model %s and data %s, these are %s and %s", f.Path,
			h.Model.Identity.Weights, h.Data.Digest, p.info.Identity.Weights, p.images.Digest)
	}
	if !f.Header.list() {
		return nil, fmt.Errorf("strength: %s is proven from a ledger and asked no model: replay the ledger, and check "+
			"the file with certcheck", f.Path)
	}
	p.batch = f.Header.Batch
	if count < 1 || count > len(f.Lines) {
		count = len(f.Lines)
	}
	r := &Replayed{Images: count, Different: []int{}, EqualIdentity: p.info.Identity == f.Header.Model.Identity}
	asker := p.asker()
	for k := range count {
		want := f.Lines[k*len(f.Lines)/count]
		place := p.images.Index(want.Image)
		if place < 0 {
			return nil, fmt.Errorf("strength: image %d of %s is not in %s", want.Image, f.Path, p.images.Name)
		}
		got, err := asker.line(ctx, place, f.Header.Spaced)
		if err != nil {
			return nil, err
		}
		if string(f.Header.appendLine(nil, got)) != string(f.Header.appendLine(nil, want)) {
			r.Different = append(r.Different, want.Image)
		}
		if report != nil {
			report(progress.State{Task: "replay " + f.Path, Done: float64(k + 1), Total: float64(count), Unit: "images",
				Left: -1, Final: k == count-1})
		}
	}
	return r, nil
}
