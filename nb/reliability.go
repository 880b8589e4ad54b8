package nb

import (
	"github.com/certspec/certspec/calib"
	"github.com/certspec/certspec/internal/calib/calibplot"
)

// Reliability draws a reliability diagram under a title that names the data. Above is the accuracy of each bin with its
// mean confidence as a stroke, against the diagonal; below, the share of samples in the bin. Empty bins have no bar.
func Reliability(title string, bins []calib.Bin) *Figure {
	paint, err := calibplot.Reliability(title, bins, nil)
	end(err)
	if err != nil {
		return nil
	}
	return &Figure{Caption: "reliability diagram, accuracy against confidence: " + title, Width: calibplot.Width,
		Height: calibplot.Height, paint: paint}
}
