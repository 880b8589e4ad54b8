// Package corrupt changes images as the published robustness benchmarks do. It has the fifteen corruptions of CIFAR-C
// and its four extra ones (Hendrycks and Dietterich 2019), and the ten of CIFAR-C-bar (Mintun, Kirillov and Xie 2021).
// It also has the noise in rings of the spectrum of CIFAR-F (Sun et al. 2021).
//
// A corruption is a function of the image and of a random stream. The stream is a function of data set, seed, setting
// and index of the image alone. So the same bytes come out for any number of workers, in any order, in a file or in
// memory. They are the same on every platform, too: no operation rounds differently where a compiler fuses it with
// another.
//
// The strengths are for 32×32 images. For other sides, every length in pixels (radius, standard deviation of a
// blur, displacement, wavelength) is multiplied by max(1, min(height, width)/32). Grey images are corrupted where that
// makes sense; a corruption that only moves colour refuses them.
package corrupt

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/certspec/certspec/internal/corrupt/shared"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/progress"
)

// Setting is a corruption with its strength. The zero value of what a corruption does not know is its default.
type Setting struct {
	Name     string `json:"name"`
	Severity int    `json:"severity,omitempty"` // 1 to 5; not of "fourier"

	Centre int `json:"fc,omitempty"` // of "fourier": the ring of the spectrum, in cycles per image, 1 to 16
	// of "fourier": how fast the noise falls off beside the ring, e.g. 0.5, 1, 2, 3
	Decay float64 `json:"alpha,omitempty"`
	Norm  float64 `json:"eps,omitempty"` // of "fourier": ℓ2 norm of the noise over all values, full range 1

	Archive bool `json:"archive,omitempty"` // of "fourier": as the authors' archive computes it, instead of the paper

	// of "glass_blur": exchange pixels as intended, instead of copying as published
	GlassSwap   bool   `json:"glass_swap,omitempty"`
	Photographs string `json:"photographs,omitempty"` // of "frost": folder of photographs; else a drawn substitute
}

// String names the setting, as "fog:3" or "fourier:fc=3,a=0.5,eps=8".
func (s Setting) String() string {
	if s.Name == shared.FourierName {
		text := fmt.Sprintf("%s:fc=%d,a=%g,eps=%g", s.Name, s.Centre, s.Decay, s.Norm)
		if s.Archive {
			text += ",archive"
		}
		return text
	}
	text := fmt.Sprintf("%s:%d", s.Name, s.Severity)
	if s.GlassSwap {
		text += ",swap"
	}
	if s.Photographs != "" {
		text += ",photographs"
	}
	return text
}

// Key selects the random streams, beside the setting and the index of an image.
type Key struct {
	Data string `json:"data"` // name of the base set, e.g. "CIFAR-10"; empty means "images"
	Seed uint64 `json:"seed"`
}

// operator corrupts one image: it reads src, and overwrites dst. It may keep buffers, and serves one goroutine.
type operator func(dst, src []uint8, r *stream)

// Corrupter is a corruption made ready for images of one shape. It is safe for concurrent use.
type Corrupter struct {
	setting   Setting
	shape     pixel.Shape
	key       string // of the streams, but for the index
	operators sync.Pool
}

// New prepares a corruption for images of a shape. An unknown name is an *UnknownError, which names the nearest; a
// severity, parameter or shape that the corruption does not know is a *SettingError.
func New(s Setting, shape pixel.Shape, key Key) (*Corrupter, error) {
	e, err := find(s.Name)
	if err != nil {
		return nil, err
	}
	if err := e.check(s, shape); err != nil {
		return nil, err
	}
	build, err := e.prepare(job{Setting: s, shape: shape})
	if err != nil {
		return nil, err
	}
	c := &Corrupter{setting: s, shape: shape, key: streamKey(e.Family, s, key)}
	c.operators.New = func() any {
		o := build()
		return &o
	}
	return c, nil
}

// Apply corrupts the image of the given index. dst and src are shape.Len() bytes, HWC, and do not overlap. It panics if
// they have another length.
func (c *Corrupter) Apply(dst, src []uint8, index int) {
	if len(dst) != c.shape.Len() || len(src) != c.shape.Len() {
		panic(fmt.Sprintf("corrupt: %s of %d bytes into %d; expected images of %v", c.setting, len(src), len(dst),
			c.shape))
	}
	o := c.operators.Get().(*operator)
	defer c.operators.Put(o)
	(*o)(dst, src, newStream(c.key, index))
}

// Images corrupts images that stand one after the other: the i-th has the index indices[i]. Workers is the number of
// goroutines, 0 for one per processor; the bytes do not depend on it. It stops with the error of ctx.
func (c *Corrupter) Images(ctx context.Context, dst, src []uint8, indices []int, workers int,
	report progress.Reporter) error {
	size := c.shape.Len()
	if len(src) != len(indices)*size || len(dst) != len(src) {
		return fmt.Errorf("corrupt: %d bytes into %d; expected %d images of %v", len(src), len(dst), len(indices),
			c.shape)
	}
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	const chunk = 16
	var next, done atomic.Int64
	var group sync.WaitGroup
	for range min(workers, (len(indices)+chunk-1)/chunk) {
		group.Go(func() {
			o := c.operators.Get().(*operator)
			defer c.operators.Put(o)
			for ctx.Err() == nil {
				first := int(next.Add(chunk)) - chunk
				if first >= len(indices) {
					return
				}
				last := min(first+chunk, len(indices))
				for i := first; i < last; i++ {
					(*o)(dst[i*size:(i+1)*size], src[i*size:(i+1)*size], newStream(c.key, indices[i]))
				}
				done.Add(int64(last - first))
			}
		})
	}
	finished := make(chan struct{})
	go func() {
		group.Wait()
		close(finished)
	}()
	c.watch(finished, &done, len(indices), report)
	return ctx.Err()
}

// watch reports until the work is over.
func (c *Corrupter) watch(finished <-chan struct{}, done *atomic.Int64, total int, report progress.Reporter) {
	if report == nil {
		<-finished
		return
	}
	start := time.Now()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for final := false; !final; {
		select {
		case <-finished:
			final = true
		case <-tick.C:
		}
		n := float64(done.Load())
		rate := n / max(time.Since(start).Seconds(), 1e-9)
		left := time.Duration(-1)
		if rate > 0 {
			left = time.Duration((float64(total) - n) / rate * float64(time.Second))
		}
		report(progress.State{Task: "corrupt " + c.setting.String(), Done: n, Total: float64(total), Unit: "images",
			Rate: rate, Left: left, Final: final})
	}
}
