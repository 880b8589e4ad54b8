package rs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/certspec/certspec/classifier"
)

// patience is the time that a call of the model has to return after its context ended.
var patience = 5 * time.Second

// patient is a model whose calls return soon after their context ends, also where the model ignores
// it. Such a call goes on in a goroutine that is left behind, and nobody else may use its buffers.
type patient struct {
	classifier.Classifier
	name string
}

func (m patient) Classify(ctx context.Context, batch classifier.Batch, result *classifier.Result) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	returned := make(chan error, 1)
	go func() { returned <- m.Classifier.Classify(ctx, batch, result) }()
	select {
	case err := <-returned:
		return err
	case <-ctx.Done():
	}
	last := time.NewTimer(patience)
	defer last.Stop()
	select {
	case err := <-returned:
		return err
	case <-last.C:
		return &stuckError{m.name, context.Cause(ctx)}
	}
}

// stuckError says that a model ignored the end of its context, of which it is the error to errors.Is.
type stuckError struct {
	model string
	err   error
}

func (e *stuckError) Error() string {
	return fmt.Sprintf("rs: %v, and model %s ignores it: a call that did not return within %v is left behind; do not "+
		"close the model before it returns, and let Classify watch its context", e.err, e.model, patience)
}

func (e *stuckError) Unwrap() error { return e.err }

func isStuck(err error) bool { return errors.As(err, new(*stuckError)) }
