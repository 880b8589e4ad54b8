package augment

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/certspec/certspec/pixel"
)

// Views applies an augmentation to n images at once. load fills in image i, address gives its stream, and save takes
// its view, which it may not keep. Each is called once for each image, in any order and from several goroutines. Its
// arguments do not depend on the number of workers (0 means one for each processor). The first error ends the work.
func Views(ctx context.Context, a Augmentation, shape pixel.Shape, n, workers int,
	load func(i int, dst []float32) error, address func(i int) Address, save func(i int, view []float32) error) error {
	if !shape.Valid() {
		return fmt.Errorf("augment: images of %v; expected at least one pixel", shape)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var wait sync.WaitGroup
	for range min(workers, n) {
		wait.Go(func() {
			im := Image{shape, make([]float32, shape.Len())}
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				err := load(i, im.Values)
				if err == nil {
					err = a.Apply(im, NewStream(address(i)))
				}
				if err == nil {
					err = save(i, im.Values)
				}
				if err != nil {
					cancel(fmt.Errorf("image %d: %w", i, err))
				}
			}
		})
	}
	wait.Wait()
	return context.Cause(ctx)
}

// FromBytes sets values to byte/255.
func FromBytes(dst []float32, src []uint8) {
	for i, b := range src {
		dst[i] = unit[b]
	}
}

// ToBytes clips values to [0, 1] and rounds them to the nearest byte, halves up.
func ToBytes(dst []uint8, src []float32) {
	for i, v := range src {
		dst[i] = round(v)
	}
}
