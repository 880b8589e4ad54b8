package lesson

import (
	"fmt"
	"math"
	"strings"

	"github.com/certspec/certspec/internal/printable"
	"github.com/certspec/certspec/model"
	"github.com/certspec/certspec/nb"
	"github.com/certspec/certspec/rs"
)

// Runs reports whether a network runs here; false where ONNX Runtime is missing. Other faults end the cell.
func Runs(m *model.Model) bool {
	_, err := m.Info()
	if err != nil && strings.Contains(err.Error(), "ONNX Runtime") {
		return false
	}
	nb.Check(err)
	return true
}

// SampleBySample compares two runs over the same images and noise samples: how many images have
// another count, how many samples got another answer, and the greatest difference of a radius.
func SampleBySample(a, b *rs.Run) (t *nb.Tabular, flipped int) {
	images, apart := 0, 0.0
	for i, row := range a.Rows {
		other := b.Rows[i]
		if row.N == other.N && row.K != other.K {
			images++
			flipped += max(row.K-other.K, other.K-row.K)
		}
		apart = max(apart, math.Abs(row.Radius-other.Radius))
	}
	return nb.Facts(
		"images with another count", fmt.Sprintf("%d of %d", images, len(a.Rows)),
		"noise samples with another answer", printable.Count(flipped)+" of "+printable.Count(a.Passes()),
		"greatest difference of a radius", apart,
	), flipped
}
