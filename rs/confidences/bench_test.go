package confidences_test

import (
	"fmt"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/internal/testkit/rstest"
	"github.com/certspec/certspec/rs/confidences"
)

// 10,000 images at 20 radii.
func BenchmarkConfidences(b *testing.B) {
	var radii []float64
	for r := range 20 {
		radii = append(radii, float64(r)*.02)
	}
	for _, n := range []int{10_000, 100_000} {
		path, err := rstest.ScoredLedger(b.Context(), b.TempDir(), 10_000, n)
		if err != nil {
			b.Fatal(err)
		}
		for _, method := range []confidence.Method{confidence.MethodCDF, confidence.MethodStandard} {
			b.Run(fmt.Sprintf("%s/n=%d", method, n), func(b *testing.B) {
				for b.Loop() {
					c, err := confidences.Certify(b.Context(), path, radii, confidences.Options{Method: method})
					if err != nil || len(c[10].Images) < 9000 {
						b.Fatal(err, len(c[10].Images))
					}
				}
			})
		}
	}
}
