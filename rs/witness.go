package rs

import (
	"context"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/classifier/purity"
	"github.com/certspec/certspec/rs/ledger"
)

// watch sees to it that the model stays the same from the first look to the claims, also where the run is interrupted.
type watch struct {
	ledger  string // "": none
	witness *purity.Witness
	name    string // of the model
}

// begin remembers the first answers beside a new ledger. Where a run goes on, it compares them with those of its beginning, and refuses a
// ledger some of whose answers were contradicted.
func (w watch) begin(resumed bool) error {
	if w.ledger == "" {
		return nil
	}
	var first *purity.Record
	if resumed {
		found, err := ledger.ReadChecks(w.ledger)
		if err != nil {
			return err
		}
		if err := found.Err(w.name); err != nil {
			return fmt.Errorf("rs: ledger %s was contradicted before, so that its counts prove nothing; begin another: %w", w.ledger, err)
		}
		if first, err = ledger.ReadFirst(w.ledger); err != nil {
			return err
		}
	}
	switch {
	case w.witness == nil:
		return nil
	case first == nil:
		return ledger.AppendFirst(w.ledger, w.witness.Record())
	}
	return w.take(w.witness.Since(*first, "when the run went on"))
}

// end asks again what the look asked.
func (w watch) end(ctx context.Context, m classifier.Classifier) error {
	if w.witness == nil {
		return nil
	}
	found, err := w.witness.Again(ctx, m, "at the end of the run")
	if err != nil {
		return err
	}
	return w.take(found)
}

// take remembers comparisons beside the ledger, and is an error where they contradict.
func (w watch) take(found purity.Found) error {
	if w.ledger != "" && found.Comparisons > 0 {
		if err := ledger.AppendChecks(w.ledger, found); err != nil {
			return err
		}
	}
	return found.Err(w.name)
}
