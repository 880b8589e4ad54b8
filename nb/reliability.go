package nb

import (
	"cmp"
	"fmt"

	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/rs/confidences"
)

// Reliability draws the reliability diagram of a certification with scores, from its ledger: of the images that are
// certified at a radius, with 15 bins. At radius 0 the confidences are those of the smoothed classifier; at a larger
// one they are as badly calibrated as they can become within it.
func Reliability(ledger string, radius float64) *Figure {
	all, err := confidences.Certify(Context(), ledger, []float64{radius}, confidences.Options{})
	end(err)
	if err != nil {
		return nil
	}
	c := all[0]
	bins, err := calib.Uniform(15, calib.LeftClosed)
	end(err)
	what := "calibration"
	if radius > 0 {
		worst, err := calib.ExactCCE(c.Correct, c.Lower, c.Upper, bins.Edges())
		end(err)
		c.Confidence, what = worst.Confidence, fmt.Sprintf("worst calibration within radius %g", radius)
	}
	bars, err := calib.Reliability(c.Correct, c.Confidence, bins)
	end(err)
	ece, err := calib.ECE(c.Correct, c.Confidence, bins)
	end(err)
	return reliability(fmt.Sprintf("%s of %d certified images, ECE %.3f", what, len(c.Correct), ece), bars)
}

// reliability draws, under a title, the accuracy of each bin with its mean confidence as a stroke, against the
// diagonal; below, the share of samples in the bin. Empty bins have no bar.
func reliability(title string, bins []calib.Bin) *Figure {
	if _, err := calibplot.Reliability(title, bins, nil); err != nil {
		end(err)
		return nil
	}
	return &Figure{Caption: "reliability diagram, accuracy against confidence: " + title, Width: calibplot.Width,
		Height: calibplot.Height, numbers: func() *Tabular {
			t := Columns("from", "to", "samples", "mean confidence", "accuracy")
			for _, b := range bins {
				t.Add(b.Lower, b.Upper, b.Count, b.Confidence, b.Accuracy)
			}
			return t
		},
		paint: func(f *Figure, c draw.Canvas) {
			paint, err := calibplot.Reliability(cmp.Or(f.Title, title), bins, nil)
			end(err)
			paint(c)
		}}
}
