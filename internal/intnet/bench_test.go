//go:build linux && amd64

package intnet

import (
	"math/rand/v2"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// TestRates prints rates of the network in INTNET beside the peak of the processor, by the time of one thread.
func TestRates(t *testing.T) {
	path := os.Getenv("INTNET")
	if path == "" {
		t.Skip("INTNET names no network")
	}
	n, _, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	runtime.LockOSThread()
	seconds := func(f func()) float64 {
		at := func() time.Duration {
			var s unix.Timespec
			if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &s); err != nil {
				t.Fatal(err)
			}
			return time.Duration(s.Nano())
		}
		best := 1e9
		for range 7 {
			begun := at()
			f()
			best = min(best, (at() - begun).Seconds())
		}
		return best
	}
	const images1 = 256
	x := images(rand.New(rand.NewPCG(1, 1)), n, images1)
	logits := make([]int32, images1*n.Classes())
	for _, kernel := range vectorKernels {
		p, err := n.Program(kernel)
		if err != nil {
			t.Fatal(err)
		}
		const times = 2_000_000
		peak := map[string]func() float64{
			"vnni": func() float64 { return times * 12 * 64 / seconds(func() { peakVNNI(times) }) },
			"avx2": func() float64 { return times * 12 * 16 / seconds(func() { peakAVX2(times) }) },
		}[kernel]()
		rate := images1 / seconds(func() { p.Run(x, logits) })
		t.Logf("%s: %.0f samples/s, %.1f GMAC/s of %.1f: %.3f", kernel, rate, rate*float64(n.Products())/1e9, peak/1e9, rate*float64(n.Products())/peak)
		w := p.vector.pool.Get().(*workspace)
		for i := range p.vector.tail {
			s := seconds(func() {
				for range images1 {
					p.vector.layer(w, i, 0)
				}
			}) / images1
			t.Logf("layer %d %v %v: %.2f us, %.3f of peak", i+1, n.Layers[i].Op, n.values[i+1], s*1e6, float64(n.products(i))/s/peak)
		}
	}
}
