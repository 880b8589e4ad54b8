package feedforward

import (
	"context"
	"slices"

	"github.com/certspec/certspec/internal/feedforward/kernel"
)

func (b *bounder) block(ctx context.Context, rows, offsets []float64) ([]float64, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	best := b.n.merged(ctx, b.region, rows, offsets, b.a)
	crown := func(r *region, s lowerSlope) error {
		found, err := b.n.crown(ctx, r, b.n.output, rows, offsets, s, b.a)
		lower(best, found)
		return err
	}
	if b.method == IBP {
		return best, ctx.Err()
	}
	if err := crown(b.region, adaptive); err != nil || b.tight == nil {
		return best, err
	}
	lower(best, b.n.merged(ctx, b.tight, rows, offsets, b.a))
	for _, s := range []lowerSlope{adaptive, flat, steep} {
		if err := crown(b.tight, s); err != nil {
			return nil, err
		}
	}
	if !b.tuned {
		return best, nil
	}
	live, spent := b.live(), 0
	found, err := live.n.tune(ctx, live.tight, b.n.output, rows, offsets, nil,
		tuning{tuneSteps, tuneRate, b.method == Split, &spent}, b.a)
	if err != nil {
		return nil, err
	}
	if lower(best, found); b.method != Split || slices.Max(best) < 0 {
		return best, nil
	}
	return best, (&search{bounder: live}).prove(ctx, rows, offsets, best)
}

// blocks calls f for parts of so many rows that a matrix of coefficients with one of them for each value of the
// widest layer stays below 64 MiB, and that a walk through the network takes about a second at most: a thousand
// classes have a million pairs, and who interrupts waits for the block under way.
func (n *Network) blocks(rows int, f func(from, to int) error) error {
	widest := 1
	for _, nd := range n.nodes {
		widest = max(widest, nd.shape.Size())
	}
	step := max(1, min(blockValues/widest, mostRows, blockProducts/n.products(n.output)))
	for from := 0; from < rows; from += step {
		if err := f(from, min(from+step, rows)); err != nil {
			return err
		}
	}
	return nil
}

var blockValues = 1 << 23 // a test makes it small

const (
	blockProducts = 1 << 34
	mostRows      = 6 * kernel.Width
)
