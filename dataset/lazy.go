package dataset

import "context"

// lazy holds a value that the first successful get makes.
// Waiting for another goroutine's attempt ends with the context; a failed attempt is not kept.
type lazy[T any] struct {
	turn  chan struct{}
	value *T
}

func newLazy[T any]() *lazy[T] {
	return &lazy[T]{turn: make(chan struct{}, 1)}
}

func (l *lazy[T]) get(ctx context.Context, make func(context.Context) (*T, error)) (*T, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	if l.value != nil {
		return l.value, nil
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	value, err := make(ctx)
	if err != nil {
		return nil, err
	}
	l.value = value
	return value, nil
}
