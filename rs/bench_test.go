package rs_test

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
)

// free is a model that costs nothing, so that a benchmark sees all the rest.
type free struct{ classifier.Classifier }

func (free) Classify(_ context.Context, batch classifier.Batch, result *classifier.Result) error {
	clear(result.Classes[:batch.N])
	return nil
}

// BenchmarkCertify is the whole pipeline but for the model: noise, counts, bounds, ledger.
func BenchmarkCertify(b *testing.B) {
	for _, shape := range []pixel.Shape{{Height: 32, Width: 32, Channels: 3}, {Height: 28, Width: 28, Channels: 1}} {
		for _, n := range []int{1000, 100_000} {
			b.Run(fmt.Sprintf("%v/n=%d", shape, n), func(b *testing.B) {
				model := free{classifier.Constant{Shape: shape, Classes: 10}}
				values := make([]uint8, max(1, 20_000/n))
				data := greys(shape, always(0), values...)
				b.ReportAllocs()
				samples, i := 0, 0
				for b.Loop() {
					i++
					run, err := rs.Certify(context.Background(), model, data, rs.Options{
						Sigma: .25, MaxSamples: n, Tolerance: 1e-9, Ledger: filepath.Join(b.TempDir(), fmt.Sprint(i)),
					})
					if err != nil {
						b.Fatal(err)
					}
					samples += run.Passes()
				}
				b.ReportMetric(float64(samples)/b.Elapsed().Seconds(), "samples/s")
			})
		}
	}
}

// BenchmarkMemory shows that what a certification holds does not grow with n.
func BenchmarkMemory(b *testing.B) {
	for _, n := range []int{1000, 10_000, 100_000} {
		b.Run(fmt.Sprintf("n=%d", n), func(b *testing.B) {
			shape := pixel.Shape{Height: 32, Width: 32, Channels: 3}
			var most uint64
			calls := 0
			m := model{Classifier: free{classifier.Constant{Shape: shape, Classes: 10}}, before: func(classifier.Batch) error {
				if calls++; calls%100 == 0 {
					var s runtime.MemStats
					runtime.GC()
					runtime.ReadMemStats(&s)
					most = max(most, s.HeapAlloc)
				}
				return nil
			}}
			for b.Loop() {
				if _, err := rs.Certify(context.Background(), m, greys(shape, always(0), make([]uint8, 40_000/min(n, 40_000))...),
					rs.Options{Sigma: .25, MaxSamples: n, Rule: rs.Fixed, Workers: 1}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(most)/(1<<20), "MiB-live")
		})
	}
}

// BenchmarkOpen10000Images opens a closed ledger of 10,000 images.
func BenchmarkOpen10000Images(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x")
	inner, data := mixed(10_000)
	if _, err := rs.Certify(context.Background(), inner, data, rs.Options{Sigma: .25, MaxSamples: 1600, Tolerance: 1e-9, Ledger: path}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := rs.Open(path); err != nil {
			b.Fatal(err)
		}
	}
}
