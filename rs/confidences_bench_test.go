package rs_test

import (
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/certspec/certspec/calib/confidence"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// syntheticScores writes a closed ledger of images whose score is the sigmoid of a Gaussian, n copies each.
func syntheticScores(b *testing.B, images, n int) string {
	b.Helper()
	m, data := mixed(1)
	dir := b.TempDir()
	template := filepath.Join(dir, "template")
	opt := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: n, Scores: ledger.MaxScoreCells, Ledger: template}
	run, err := rs.Certify(b.Context(), m, data, opt)
	if err != nil {
		b.Fatal(err)
	}
	h := run.Header
	h.Data.Images = images
	selection := h.Selection / h.Block
	open, closed := filepath.Join(dir, "open"), filepath.Join(dir, "closed")
	err = ledger.CreateScores(open, h, func(w *ledger.ScoresWriter) error {
		err := ledger.Create(open, h, func(e *ledger.Encoder) error {
			for i := range images {
				hits := n - 1 - i%(n/20)
				e.Look(ledger.Look{Image: i, Label: i % 5, To: selection, Counts: []ledger.Count{{Class: 1, N: h.Selection}}})
				look := ledger.Look{Image: i, Label: i % 5, From: selection, To: selection + n/h.Block, Counts: []ledger.Count{{Class: 1, N: hits}, {Class: 2, N: n - hits}}}
				e.Look(look)
				w.Append(sigmoidScores(look, n, .5+float64(i%40)/10))
			}
			return e.Flush()
		})
		if err != nil {
			return err
		}
		return w.SyncProvisional(nil)
	})
	if err != nil {
		b.Fatal(err)
	}
	if complete, err := rs.Canonical(closed, open); err != nil || !complete {
		b.Fatal(complete, err)
	}
	return closed
}

// sigmoidScores are n scores sigmoid(t + ξ), in the middles of their cells.
func sigmoidScores(l ledger.Look, n int, t float64) *ledger.Scores {
	const cells = ledger.MaxScoreCells
	s := &ledger.Scores{Image: l.Image, From: l.From, To: l.To, Class: 1}
	before := 0
	for j := range cells {
		p := float64(j+1) / cells
		below := n
		if j < cells-1 {
			below = int(float64(n) * math.Erfc((t-math.Log(p/(1-p)))/math.Sqrt2) / 2)
		}
		if count := below - before; count > 0 {
			s.Cells = append(s.Cells, ledger.ScoreCell{Index: 2*j + 1, N: count})
			s.Low += uint64(count) * uint64((float64(j)+.5)/cells*ledger.ScoreUnit)
		}
		before = below
	}
	s.High = s.Low
	return s
}

// 10,000 images at 20 radii.
func BenchmarkConfidences(b *testing.B) {
	var radii []float64
	for r := range 20 {
		radii = append(radii, float64(r)*.02)
	}
	for _, n := range []int{10_000, 100_000} {
		path := syntheticScores(b, 10_000, n)
		for _, method := range []confidence.Method{confidence.MethodCDF, confidence.MethodStandard} {
			b.Run(fmt.Sprintf("%s/n=%d", method, n), func(b *testing.B) {
				for b.Loop() {
					c, err := rs.CertifyConfidences(path, radii, rs.ConfidenceOptions{Method: method})
					if err != nil || len(c[10].Images) < 9000 {
						b.Fatal(err, len(c[10].Images))
					}
				}
			})
		}
	}
}
