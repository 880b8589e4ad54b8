package mip

import (
	"context"
	"runtime"
	"sync"
)

// parallel calls f for 0 … n−1 on as many goroutines as there are cores, and done, if there is one, after each
// that succeeds. It returns the first error by index.
func parallel(ctx context.Context, n int, done func(), f func(i int) error) error {
	errs := make([]error, n)
	next := 0
	var mu sync.Mutex
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	var wg sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		wg.Go(func() {
			for i := take(); i < n && ctx.Err() == nil; i = take() {
				if errs[i] = f(i); errs[i] == nil && done != nil {
					mu.Lock()
					done()
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}
