package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/classifier/purity"
	"github.com/certspec/certspec/dataset"
	"github.com/certspec/certspec/rs/ledger"
	"github.com/certspec/certspec/rs/preflight"
)

// lookFirst looks a model over before a run: it refuses one that is no function of a single image, says what preprocessing applies, and
// warns where accuracy is near chance.
func lookFirst(ctx context.Context, m classifier.Classifier, images *dataset.Images, use preflight.Use) (*preflight.First, error) {
	first, err := preflight.Look(ctx, m, images, use)
	var contradiction *purity.Error
	if errors.As(err, &contradiction) {
		return first, fmt.Errorf("nothing can be certified: %w", contradiction)
	}
	if err != nil {
		return nil, err
	}
	say("preprocessing: %s", first.Preprocessing)
	for _, warning := range first.Warnings {
		say("warning: %s", warning)
	}
	return first, nil
}

// finished reports whether a ledger is complete, so that a run of it asks the model nothing.
func finished(path string) bool {
	if path == "" {
		return false
	}
	l, err := ledger.Read(path)
	return err == nil && l.Claims != nil
}
