package rs

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/rs/rule"
)

// Certificate is the result of CertifyOne. Its Image is 0 and its Label −1.
type Certificate struct {
	Row
	Cut  bool   `json:"cut"` // a deadline came before the rule had ended: with more time more might be certified
	Seed uint64 `json:"seed,string"`
}

func (c Certificate) String() string {
	cut := ""
	if c.Cut {
		cut = ", cut by a deadline"
	}
	if !c.Certified() {
		return fmt.Sprintf("abstains (%s noise samples%s)", printable.Count(c.Passes), cut)
	}
	return fmt.Sprintf("class %d within %.4f (%s noise samples%s)", c.Class, c.Radius, printable.Count(c.Passes), cut)
}

// CertifyOne certifies one image (HWC, of the model's shape), for services. It needs no data set, keeps no ledger, and
// is safe for concurrent use. Options.Ledger, Options.Shard and Options.Scores must be unset. Unless chosen, the seed
// follows from model, image and settings, so that asking again gives the same answer. It does not test that the model
// is a deterministic function of one image, which its claims rest on: see nb.Preflight.
//
// If the deadline of ctx comes first, the rules Staged and Betting give the result of their last completed look, marked
// as cut. It holds with the same probability, since their bounds hold at all looks together. Without a completed look,
// under another rule, and where ctx is cancelled, the error is that of ctx.
func CertifyOne(ctx context.Context, model classifier.Classifier, image []uint8, opt Options) (Certificate, error) {
	none := Certificate{Row: Row{Label: -1, Outcome: rule.Outcome{Class: Abstain}}}
	if opt.Ledger != "" || opt.Shard != (Shard{}) {
		return none, optionErrorf("Ledger or Shard is set, but the certificate of one image has none")
	}
	if opt.Rule == Anytime {
		return none, optionErrorf("Rule is %q, which spreads noise samples over images, but there is one: use %q",
			Anytime, Staged)
	}
	if opt.Scores != 0 {
		return none, optionErrorf("Scores is set, but the certificate of one image keeps none")
	}
	info, err := model.Info()
	if err != nil {
		return none, fmt.Errorf("rs: model: %w", err)
	}
	if len(image) != info.Shape.Len() {
		return none, fmt.Errorf("rs: the image has %d values, model %s takes %v, which are %d", len(image), info.Name,
			info.Shape, info.Shape.Len())
	}
	s, err := begin(model, opt, nil, func() (*imageset.Index, error) {
		return (&imageset.Images{
			Name: "image", Shape: info.Shape, IDs: []int{0}, Labels: []int{-1}, Pixels: image,
			Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(image)),
		}).Indexed(), nil
	})
	if err != nil {
		return none, err
	}
	c := &certification{session: s, run: &Run{Header: s.header}}
	err = c.certify(ctx)
	none.Seed = c.run.Header.Seed
	switch {
	case err == nil:
		return Certificate{Row: c.run.Rows[0], Seed: none.Seed}, nil
	case errors.Is(err, context.DeadlineExceeded) && c.plan.Anytime() && len(c.jobs) > 0 && c.jobs[0].Looks() > 0:
		t := c.jobs[0].Trial
		t.Outcome = t.Settled()
		return Certificate{Row: rowOf(t), Cut: true, Seed: none.Seed}, nil
	case ctx.Err() != nil:
		return none, fmt.Errorf("rs: %w", err)
	}
	return none, err
}
