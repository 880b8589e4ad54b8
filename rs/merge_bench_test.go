package rs

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs/ledger"
)

// syntheticShards writes the shards by images of a run of the staged rule up to n = 100,000 whose model hits with a
// probability that is spread from ½ to 1.
func syntheticShards(b testing.TB, shards, images int) []string {
	b.Helper()
	plan, err := Options{Sigma: .25}.plan()
	if err != nil {
		b.Fatal(err)
	}
	info := classifier.Info{Name: "synthetic", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Classes: 10}
	h := newHeader(Options{Sigma: .25, Noise: "grid/1"}, plan, info, ledger.Data{Name: "synthetic", Digest: "sha256:0", Images: images})
	rng := rand.New(rand.NewPCG(1, 2))
	dir := b.TempDir()
	files := make([]string, shards)
	for s := range files {
		h.Shard = &ledger.Shard{By: ledger.ShardImages, Index: s, Count: shards}
		files[s] = filepath.Join(dir, fmt.Sprint(s))
		err := ledgerio.Create(files[s], h, func(e *ledgerio.Encoder) error {
			run := Run{Header: h}
			for image := s; image < images; image += shards {
				p := 1 - .5*math.Pow(rng.Float64(), 3)
				for t := plan.Trial(image, image%10); ; {
					from, to := t.Blocks()
					samples := (to - from) * h.Block
					spread := math.Sqrt(float64(samples) * p * (1 - p))
					hits := min(samples, max(1, int(p*float64(samples)+spread*rng.NormFloat64())))
					look := ledger.Look{Image: image, Label: image % 10, From: from, To: to, Counts: []ledger.Count{{Class: int32(image % 10), N: hits}}, Misses: samples - hits}
					if err := t.Add(look); err != nil {
						return err
					}
					e.Look(look)
					if t.Done() {
						run.Rows = append(run.Rows, rowOf(t))
						break
					}
				}
			}
			return e.Finish(run.claims())
		})
		if err != nil {
			b.Fatal(err)
		}
	}
	return files
}

func BenchmarkMerge(b *testing.B) {
	for _, c := range []struct{ shards, images int }{{100, 10_000}, {100, 1_000_000}} {
		b.Run(fmt.Sprintf("%d-shards-of-%d-images", c.shards, c.images/c.shards), func(b *testing.B) {
			if testing.Short() && c.images > 100_000 {
				b.Skip("-short: makes 200 MB of ledgers")
			}
			files := syntheticShards(b, c.shards, c.images)
			bytes := int64(0)
			for _, f := range files {
				info, err := os.Stat(f)
				if err != nil {
					b.Fatal(err)
				}
				bytes += info.Size()
			}
			b.SetBytes(bytes)
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				out := filepath.Join(b.TempDir(), fmt.Sprint(i))
				m, err := Merge(b.Context(), out, files, false)
				if err != nil || !m.Complete {
					b.Fatal(m, err)
				}
				os.Remove(out)
			}
		})
	}
}
