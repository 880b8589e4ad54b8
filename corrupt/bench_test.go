package corrupt

import "testing"

// BenchmarkApply corrupts 32×32×3 images at severity 3, and with one setting of CIFAR-F.
func BenchmarkApply(b *testing.B) {
	src := scenes(colour32, 16)
	dst := make([]uint8, colour32.Len())
	for _, e := range registry {
		s := Setting{Name: e.Name, Severity: 3}
		if e.Family == F {
			s = Setting{Name: e.Name, Centre: 3, Decay: 0.5, Norm: 10}
		}
		b.Run(e.Name, func(b *testing.B) {
			c, err := New(s, colour32, testKey)
			if err != nil {
				b.Fatal(err)
			}
			index := 0
			for b.Loop() {
				at := index % 16 * len(dst)
				c.Apply(dst, src[at:at+len(dst)], index)
				index++
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "images/s")
		})
	}
}
