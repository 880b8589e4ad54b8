// Package rstest makes ledgers for benchmarks that no model would make in their time.
package rstest

import (
	"context"
	"errors"
	"math"
	"path/filepath"

	"github.com/certspec/certspec/classifier"
	"github.com/certspec/certspec/dataset/imageset"
	"github.com/certspec/certspec/internal/rs/ledger/ledgerio"
	"github.com/certspec/certspec/internal/rs/ledger/scorefile"
	"github.com/certspec/certspec/pixel"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/ledger"
)

// ScoredLedger writes a closed ledger with scores into a folder and returns its path: images of
// five labels, nearly all certified as class 1 from n samples each, n a multiple of 100, whose
// scores are the sigmoid of a Gaussian.
//
// Errors: those of the files.
func ScoredLedger(ctx context.Context, folder string, images, n int) (path string, err error) {
	opt := rs.Options{Sigma: .25, Rule: rs.Fixed, MaxSamples: n, Seed: 1,
		Scores: ledger.MaxScoreCells, Ledger: filepath.Join(folder, "template.ledger")}
	step := classifier.Step{Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, Thresholds: []float64{.2, .4, .6, .8}}
	run, err := rs.Certify(ctx, step, grey{}, opt)
	if err != nil {
		return "", err
	}
	h := run.Header
	h.Data.Images = images
	open, path := filepath.Join(folder, "open.ledger"), filepath.Join(folder, "scored.ledger")
	err = scorefile.Create(open, h, func(w *scorefile.Writer) error {
		err := ledgerio.Create(open, h, func(e *ledgerio.Encoder) error {
			for i := range images {
				selection := h.Selection / h.Block
				e.Look(ledger.Look{Image: i, Label: i % 5, To: selection,
					Counts: []ledger.Count{{Class: 1, N: h.Selection}}})
				hits := n - 1 - i%(n/20)
				look := ledger.Look{Image: i, Label: i % 5, From: selection, To: selection + n/h.Block,
					Counts: []ledger.Count{{Class: 1, N: hits}, {Class: 2, N: n - hits}}}
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
		return "", err
	}
	complete, err := rs.Canonical(ctx, path, open)
	if err == nil && !complete {
		err = errors.New("rstest: the ledger is not complete")
	}
	return path, err
}

// grey is one image.
type grey struct{}

func (grey) Load(context.Context) (*imageset.Images, error) {
	return &imageset.Images{
		Name: "grey", Digest: "sha256:grey", Shape: pixel.Shape{Height: 1, Width: 1, Channels: 1}, IDs: []int{0},
		Labels:  []int{1},
		Classes: []string{"a", "b", "c", "d", "e"}, Pixels: []uint8{77},
	}, nil
}

// sigmoidScores are n scores sigmoid(t + ξ), in the middles of their cells.
func sigmoidScores(l ledger.Look, n int, t float64) *scorefile.Record {
	const cells = ledger.MaxScoreCells
	s := &scorefile.Record{Image: l.Image, From: l.From, To: l.To, Class: 1}
	before := 0
	for j := range cells {
		p := float64(j+1) / cells
		below := n
		if j < cells-1 {
			below = int(float64(n) * math.Erfc((t-math.Log(p/(1-p)))/math.Sqrt2) / 2)
		}
		if count := below - before; count > 0 {
			s.Cells = append(s.Cells, scorefile.Cell{Index: 2*j + 1, N: count})
			s.Low += uint64(count) * uint64((float64(j)+.5)/cells*scorefile.Unit)
		}
		before = below
	}
	s.High = s.Low
	return s
}
