package nb

import (
	"cmp"
	"errors"
	"fmt"

	"gonum.org/v1/plot/vg/draw"

	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/calibplot"
	"github.com/certspec/certspec/rs"
	"github.com/certspec/certspec/rs/confidences"
	"github.com/certspec/certspec/table"
)

// Calibration certifies the confidences of a run with scores (Smoothing.KeepScores) at some radii: an estimate for each
// image that is certified there, and bounds that hold within the radius. Shown, it is the expected calibration error as
// it is and the largest that it can be within each radius. An error ends the cell.
func Calibration(run *rs.Run, radii ...float64) []confidences.Certified {
	all, err := certifiedConfidences(run, radii)
	end(err)
	return all
}

func certifiedConfidences(run *rs.Run, radii []float64) ([]confidences.Certified, error) {
	switch {
	case run.Path == "":
		return nil, errors.New("a run without a ledger keeps no scores: nb.Certify keeps one, or rs.Options.Ledger")
	case len(radii) == 0:
		return nil, errors.New("nb.Calibration: no radius; expected some, such as 0, 0.25")
	}
	return confidences.Certify(Context(), run.Path, radii, confidences.Options{})
}

// calibrationBins is the number of bins of a calibration error.
const calibrationBins = 15

// calibrated is the picture of certified confidences: points, since nothing is said between the radii.
func calibrated(all []confidences.Certified) []any {
	bins, err := calib.Uniform(calibrationBins, calib.LeftClosed)
	end(err)
	now, worst := Line{Name: "ECE as it is"}, Line{Name: "largest ECE within the radius"}
	t := Columns("radius", "images certified", "of", "accuracy", "ECE", "largest ECE within the radius")
	for _, c := range all {
		if len(c.Correct) == 0 {
			t.Add(c.Radius, 0, c.Of, table.None, table.None, table.None)
			continue
		}
		ece, err := calib.ECE(c.Correct, c.Confidence, bins)
		end(err)
		most, err := calib.ExactCCE(c.Correct, c.Lower, c.Upper, bins.Edges())
		end(err)
		accuracy, err := calib.Accuracy(c.Correct)
		end(err)
		now.X, now.Y = append(now.X, c.Radius), append(now.Y, ece)
		worst.X, worst.Y = append(worst.X, c.Radius), append(worst.Y, most.CCE)
		t.Add(c.Radius, len(c.Correct), c.Of, accuracy, ece, most.CCE)
	}
	t.Notes = []string{fmt.Sprintf("ECE: expected calibration error in %d bins, of the images that are certified at the "+
		"radius; the largest is exact.", calibrationBins)}
	points := Lines(Axes{X: "radius r (ℓ₂; full range of a pixel value = 1)", Y: "expected calibration error",
		Points: true, Title: fmt.Sprintf("Calibration error as it is and at worst, of %d images or fewer", all[0].Of),
		Caption: "expected calibration error at each radius, as it is and the largest within the radius"}, now, worst)
	return []any{points, t}
}

// Reliability draws the reliability diagram of a run with scores: of the images that are certified at a radius, with 15
// bins and their counts. At radius 0 the confidences are the smoothed classifier's; at a larger one they are as
// badly calibrated as they can become within it. An error ends the cell.
func Reliability(run *rs.Run, radius float64) *Figure {
	all, err := certifiedConfidences(run, []float64{radius})
	end(err)
	if err != nil {
		return nil
	}
	c := all[0]
	bins, err := calib.Uniform(calibrationBins, calib.LeftClosed)
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
