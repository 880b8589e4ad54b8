package imageset

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/certspec/certspec/pixel"
)

// Images come in their order, no more of them are read ahead than is said, and an error comes in its place.
func TestAhead(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct{ side, from, to, stop, fail int }{
		{1, 0, 50, 50, -1}, {1, 7, 9, 50, -1}, {1, 3, 3, 50, -1}, {8000, 0, 20, 20, -1}, {1, 0, 50, 5, -1}, {1, 0, 50, 50, 9},
	} {
		var begun, taken, most atomic.Int64
		x := &Index{}
		x.Shape = pixel.Shape{Height: c.side, Width: c.side, Channels: 1}
		x.Read = func(_ context.Context, i int) (*Images, error) {
			now := begun.Add(1) - taken.Load()
			for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
			}
			if i == c.fail {
				return nil, broken
			}
			return &Images{IDs: []int{i}}, nil
		}
		at := c.from
		for one, err := range x.Ahead(t.Context(), c.from, c.to) {
			if at == c.fail {
				if err != broken {
					t.Errorf("%+v: %v", c, err)
				}
				at++
				break
			}
			if err != nil || one.IDs[0] != at {
				t.Fatalf("%+v: %v, %v; want image %d", c, one, err, at)
			}
			at++
			taken.Add(1)
			if at == c.from+c.stop {
				break
			}
		}
		if want := c.to; c.fail < 0 && at != min(want, c.from+c.stop) {
			t.Errorf("%+v: ended before image %d", c, at)
		}
		limit := int64(runtime.GOMAXPROCS(0) + 2)
		if c.side > 1 {
			limit = 3
		}
		if most.Load() > limit {
			t.Errorf("%+v: %d images at once, at most %d", c, most.Load(), limit)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x := &Index{Read: func(ctx context.Context, i int) (*Images, error) { return nil, ctx.Err() }}
	n := 0
	for _, err := range x.Ahead(ctx, 0, 3) {
		if n++; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors of a context that has ended", n)
	}
}

// The digest of parts equals the digest of the whole, also where what comes behind the pixels goes through a file.
func TestDigestOfParts(t *testing.T) {
	whole := &Images{Shape: pixel.Shape{Height: 1, Width: 2, Channels: 1}}
	for i := range 20 {
		whole.IDs, whole.Labels = append(whole.IDs, i), append(whole.Labels, i%3)
		for range 2 {
			whole.Pixels, whole.Offsets = append(whole.Pixels, uint8(i)), append(whole.Offsets, int16(-i))
			whole.Residues = append(whole.Residues, float32(i)/7)
		}
	}
	before := inMemory
	defer func() { inMemory = before }()
	for _, inMemory = range []int{0, 13, 1 << 20} {
		passes := 0
		got, err := whole.DigestOf(func(yield func(*Images) error) error {
			passes++
			for i := range whole.Len() {
				if err := yield(whole.Take([]int{i})); err != nil {
					return err
				}
			}
			return nil
		})
		if want := whole.ContentDigest(); err != nil || got != want || passes != 1 {
			t.Errorf("%d bytes in memory: %s, %v after %d passes; want %s", inMemory, got, err, passes, want)
		}
	}
}
